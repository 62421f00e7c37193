//! The provider: sending people to it, and believing it when they come back.

use std::time::Duration;

use banksman_core::{Digest, PrincipalKind, Timestamp};
use banksman_identity::to_base64url;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use jsonwebtoken::jwk::JwkSet;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use url::Url;

use crate::Config;
use crate::address::named_by;
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
struct Discovered {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What of it can be believed.
#[derive(Debug, Clone)]
struct Metadata {
    authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
    tells_secret: TellsSecret,
}

/// How a secret is told to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TellsSecret {
    /// In the header, as everyone understands it.
    InHeader,
    /// In the form, for those who understand nothing else.
    InForm,
}

impl Discovered {
    fn believed(self, issuer: &str) -> Result<Metadata, ProviderError> {
        if self.issuer != issuer {
            return Err(ProviderError::Unreachable(format!("it calls itself {:?}", self.issuer)));
        }
        let address = |what: &str, text: &str| {
            named_by(issuer, text).ok_or_else(|| {
                ProviderError::Unreachable(format!(
                    "discovery names {what} that is no https address: {text:?}"
                ))
            })
        };
        // Without a word about it, the header is what every provider has to understand (OpenID Connect Discovery, 3).
        let in_header = self
            .token_endpoint_auth_methods_supported
            .is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        Ok(Metadata {
            authorization_endpoint: address("a page to sign in at", &self.authorization_endpoint)?,
            token_endpoint: address("a place for tokens", &self.token_endpoint)?,
            jwks_uri: address("a place for keys", &self.jwks_uri)?,
            tells_secret: if in_header { TellsSecret::InHeader } else { TellsSecret::InForm },
        })
    }
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
        // They were looked at when the file was read.
        let trusting = config.authorities.as_deref().and_then(Transport::trusting);
        let transport = trusting.unwrap_or_else(Transport::new);
        Self { config, redirect_uri, transport, known: Mutex::default() }
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
        let mut url = metadata.authorization_endpoint;
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
        let (authorization, form) = self.token_request(metadata.tells_secret, begun, code)?;
        let answer = self.transport.post_form(&metadata.token_endpoint, authorization, form).await;
        answer.map_err(ProviderError::NotBelieved)
    }

    /// What is asked for a token: the header that says who we are, if that is where, and the form.
    fn token_request(
        &self,
        tells_secret: TellsSecret,
        begun: &Begun,
        code: &str,
    ) -> Result<(Option<HeaderValue>, String), ProviderError> {
        let client_id = &self.config.client_id;
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("code_verifier", &begun.verifier);
        let mut authorization = None;
        match (&self.config.client_secret, tells_secret) {
            (Some(secret), TellsSecret::InHeader) => authorization = Some(basic(client_id, secret)?),
            (Some(secret), TellsSecret::InForm) => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret);
            }
            (None, _) => {
                form.append_pair("client_id", client_id);
            }
        }
        Ok((authorization, form.finish()))
    }

    async fn metadata(&self, now: Timestamp) -> Result<Metadata, ProviderError> {
        let mut known = self.known.lock().await;
        if let Some((metadata, at)) = &known.metadata
            && now.since(*at) < KNOWN_FOR
        {
            return Ok(metadata.clone());
        }
        let issuer = self.config.issuer.trim_end_matches('/');
        let address = Url::parse(&format!("{issuer}/.well-known/openid-configuration"))
            .map_err(|error| ProviderError::Unreachable(error.to_string()))?;
        let found: Discovered = self.transport.get(&address).await.map_err(ProviderError::Unreachable)?;
        let found = found.believed(&self.config.issuer)?;
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

/// Who we are and our secret, for the header (RFC 6749, 2.3.1: each encoded as in a form before they are joined).
fn basic(client_id: &str, secret: &str) -> Result<HeaderValue, ProviderError> {
    let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(secret)));
    HeaderValue::from_str(&format!("Basic {both}"))
        .map_err(|_| ProviderError::Unreachable("the client's secret cannot be sent".into()))
}

fn random() -> Result<String, ProviderError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| ProviderError::Unreachable(format!("no entropy: {error}")))?;
    Ok(to_base64url(&bytes))
}

#[cfg(test)]
mod tests;
