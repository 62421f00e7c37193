//! The provider: sending people to it, and believing it when they come back.

use std::time::Duration;

use banksman_core::{Digest, PrincipalKind, Timestamp};
use banksman_identity::to_base64url;
use jsonwebtoken::jwk::JwkSet;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use url::Url;

use crate::Config;
use crate::token::{Expected, TokenError, verify};
use crate::transport::Transport;

/// How long what discovery said is believed.
const KNOWN_FOR: Duration = Duration::from_secs(3600);

/// Keys are not fetched more often than this, whatever tokens say.
const KEYS_EVERY: Duration = Duration::from_secs(10);

/// Why the provider's word does not let someone in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// It cannot be asked.
    #[error("the identity provider cannot be asked now: {0}")]
    Unreachable(String),
    /// It says no, or something that is not believed.
    #[error("what the identity provider says is not believed: {0}")]
    NotBelieved(String),
    /// It vouches for someone whom the operator does not let in.
    #[error("the identity provider knows you, but nothing that it says about you lets you in here")]
    NotAdmitted,
}

/// Someone whom the provider vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// The provider.
    pub issuer: String,
    /// Its name for them, which it never gives to another.
    pub subject: String,
    /// Their name here.
    pub name: String,
    /// Reviewer or administrator.
    pub kind: PrincipalKind,
    /// What they may approve.
    pub roles: Vec<String>,
}

/// A sign-in that was begun. The browser keeps it, sealed, until it comes back.
#[derive(Clone, Serialize, Deserialize)]
pub struct Begun {
    state: String,
    nonce: String,
    verifier: String,
    /// Where to go then.
    pub next: String,
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begun")
    }
}

/// What discovery says.
#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

/// What is known of the provider, and since when.
#[derive(Default)]
struct Known {
    metadata: Option<(Metadata, Timestamp)>,
    keys: Option<(JwkSet, Timestamp)>,
}

/// An identity provider.
pub struct Provider {
    config: Config,
    redirect_uri: String,
    transport: Transport,
    known: Mutex<Known>,
}

impl Provider {
    /// A provider that sends people back to this server, at its public origin.
    #[must_use]
    pub fn new(config: Config, origin: &str) -> Self {
        let redirect_uri = format!("{origin}/sign-in/provider/callback");
        Self { config, redirect_uri, transport: Transport::new(), known: Mutex::default() }
    }

    /// What people know it by.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.config.label
    }

    /// Where to send someone, and what their browser keeps meanwhile.
    ///
    /// # Errors
    /// If the provider cannot be found.
    pub async fn begin(&self, next: &str, now: Timestamp) -> Result<(String, Begun), ProviderError> {
        let metadata = self.metadata(now).await?;
        let begun = Begun { state: random()?, nonce: random()?, verifier: random()?, next: next.to_owned() };
        let challenge = to_base64url(Digest::of(begun.verifier.as_bytes()).as_bytes());
        let mut url = Url::parse(&metadata.authorization_endpoint)
            .map_err(|_| ProviderError::Unreachable("discovery names no page to sign in at".into()))?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.config.client_id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", &self.config.scopes)
            .append_pair("state", &begun.state)
            .append_pair("nonce", &begun.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok((url.into(), begun))
    }

    /// Who came back, with this in the address.
    ///
    /// # Errors
    /// If it is not the answer to what was begun, or the provider's word does not let them in.
    pub async fn finish(
        &self,
        begun: &Begun,
        state: &str,
        issuer: Option<&str>,
        code: &str,
        now: Timestamp,
    ) -> Result<Vouched, ProviderError> {
        let not_believed = |why: &str| ProviderError::NotBelieved(why.into());
        if state != begun.state || state.is_empty() {
            return Err(not_believed("it answers another sign-in; begin again"));
        }
        // RFC 9207: an answer that another provider was tricked into.
        if issuer.is_some_and(|issuer| issuer != self.config.issuer) {
            return Err(not_believed("it is of another provider"));
        }
        let metadata = self.metadata(now).await?;
        let answer = self.exchange(&metadata, begun, code).await?;
        let expected = Expected {
            issuer: &self.config.issuer,
            client_id: &self.config.client_id,
            nonce: &begun.nonce,
            now,
        };
        let keys = self.keys(&metadata, now, false).await?;
        let claims = match verify(&answer.id_token, &keys, &expected) {
            // The provider may have begun to sign with another key.
            Err(TokenError::UnknownKey) => {
                verify(&answer.id_token, &self.keys(&metadata, now, true).await?, &expected)
            }
            verified => verified,
        };
        let claims = claims.map_err(|error| match error {
            TokenError::UnknownKey => not_believed("it is signed with a key that it does not publish"),
            TokenError::Wrong(why) => ProviderError::NotBelieved(why),
        })?;
        let rights = self.config.rights(&claims).ok_or(ProviderError::NotAdmitted)?;
        let subject = claims.get("sub").and_then(|sub| sub.as_str()).unwrap_or_default().to_owned();
        Ok(Vouched {
            issuer: self.config.issuer.clone(),
            subject,
            name: rights.name,
            kind: rights.kind,
            roles: rights.roles,
        })
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        begun: &Begun,
        code: &str,
    ) -> Result<TokenAnswer, ProviderError> {
        let form = self.token_request(begun, code);
        let answer = self.transport.post_form(&metadata.token_endpoint, form).await;
        answer.map_err(ProviderError::NotBelieved)
    }

    fn token_request(&self, begun: &Begun, code: &str) -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("client_id", &self.config.client_id)
            .append_pair("code_verifier", &begun.verifier);
        if let Some(secret) = &self.config.client_secret {
            form.append_pair("client_secret", secret);
        }
        form.finish()
    }

    async fn metadata(&self, now: Timestamp) -> Result<Metadata, ProviderError> {
        let mut known = self.known.lock().await;
        if let Some((metadata, at)) = &known.metadata
            && now.since(*at) < KNOWN_FOR
        {
            return Ok(metadata.clone());
        }
        let issuer = self.config.issuer.trim_end_matches('/');
        let found: Metadata = self
            .transport
            .get(&format!("{issuer}/.well-known/openid-configuration"))
            .await
            .map_err(ProviderError::Unreachable)?;
        if found.issuer != self.config.issuer {
            return Err(ProviderError::Unreachable(format!("it calls itself {:?}", found.issuer)));
        }
        known.metadata = Some((found.clone(), now));
        Ok(found)
    }

    async fn keys(&self, metadata: &Metadata, now: Timestamp, newer: bool) -> Result<JwkSet, ProviderError> {
        let mut known = self.known.lock().await;
        if let Some((keys, at)) = &known.keys {
            let age = now.since(*at);
            if (!newer && age < KNOWN_FOR) || age < KEYS_EVERY {
                return Ok(keys.clone());
            }
        }
        let keys: JwkSet =
            self.transport.get(&metadata.jwks_uri).await.map_err(ProviderError::Unreachable)?;
        known.keys = Some((keys.clone(), now));
        Ok(keys)
    }
}

fn random() -> Result<String, ProviderError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| ProviderError::Unreachable(format!("no entropy: {error}")))?;
    Ok(to_base64url(&bytes))
}

#[cfg(test)]
mod tests;
