//! Signed authorisations that anyone can verify offline, and the key that they are signed with.
//!
//! A token is a compact JWS (RFC 7515) with Ed25519 (RFC 8037). Writing one takes three concatenations, so it is
//! done here rather than by a JWT library with every other algorithm in tow (decision record 0005).

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use banksman_core::{Case, Digest, Timestamp};
use banksman_ledger::NoteKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use crate::EngineError;

/// What the key is called in checkpoints.
const NOTE_KEY: &str = "banksman";

/// Signs authorisations and checkpoints.
pub struct Signer {
    key: Ed25519KeyPair,
    /// The header of every token, encoded.
    header: String,
    key_id: String,
    /// What other keys are derived from. The signing key itself never leaves.
    root: Digest,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// What an authorisation says.
#[derive(Debug, Serialize)]
struct Claims<'a> {
    iss: &'static str,
    /// The agent that it is for.
    sub: &'a str,
    /// One for each version of each action: whoever accepts tokens can keep a list of those it has seen.
    jti: String,
    iat: i64,
    exp: i64,
    action: String,
    version: u32,
    tool: &'a str,
    digest: String,
    /// Whether the one claim has been taken. Only then may it run.
    claimed: bool,
}

impl Signer {
    /// A signer with a 32-byte secret.
    #[must_use]
    #[expect(clippy::expect_used, reason = "only a seed of another length is refused")]
    pub fn new(secret: &[u8; 32]) -> Self {
        let key = Ed25519KeyPair::from_seed_unchecked(secret).expect("a seed of 32 bytes");
        let key_id = thumbprint(&public_x(&key));
        let header = format!(r#"{{"alg":"EdDSA","kid":"{key_id}","typ":"JWT"}}"#);
        let root = Digest::of(&[b"banksman keys derived from:".as_slice(), secret].concat());
        Self { key, header: URL_SAFE_NO_PAD.encode(header), key_id, root }
    }

    /// A key for one purpose: the same on every node and after every start that has the same signing key.
    #[must_use]
    pub fn derived_key(&self, purpose: &str) -> [u8; 32] {
        *Digest::of(&[self.root.as_bytes(), purpose.as_bytes()].concat()).as_bytes()
    }

    /// What names the key, in tokens and in the key set.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// A token for an action that may run until `expires`.
    pub(crate) fn authorisation(
        &self,
        case: &Case,
        issued: Timestamp,
        expires: Timestamp,
        claimed: bool,
    ) -> Result<String, EngineError> {
        let failed = |error: &dyn std::fmt::Display| EngineError::Internal(error.to_string());
        let action = case.id.to_string();
        let claims = Claims {
            iss: "banksman",
            sub: &case.agent,
            jti: format!("{action}.{}", case.version),
            iat: issued.as_micros().div_euclid(1_000_000),
            exp: expires.as_micros().div_euclid(1_000_000),
            action,
            version: case.version,
            tool: &case.submission.action.tool,
            digest: case.submission.digest.to_string(),
            claimed,
        };
        let mut token = String::with_capacity(640);
        token.push_str(&self.header);
        token.push('.');
        let mut text = String::with_capacity(384);
        banksman_core::json::write(&claims, &mut text).map_err(|error| failed(&error))?;
        URL_SAFE_NO_PAD.encode_string(text, &mut token);
        let signature = self.key.try_sign(token.as_bytes()).map_err(|error| failed(&error))?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    /// What checkpoints of the audit log are signed with: the same key, under a name.
    #[must_use]
    pub fn note_key(&self) -> NoteKey {
        let public = self.key.public_key().as_ref().try_into().unwrap_or_default();
        NoteKey::new(NOTE_KEY, public)
    }

    /// A signature of a checkpoint's text. Nothing of that form is a token, whose text begins with its encoded header.
    pub(crate) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, EngineError> {
        let signature = self.key.try_sign(text).map_err(|error| EngineError::Internal(error.to_string()))?;
        Ok(signature.as_ref().to_vec())
    }

    /// The public key as a JSON Web Key Set (RFC 7517).
    #[must_use]
    pub fn jwks(&self) -> serde_json::Value {
        serde_json::json!({"keys": [{
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
            "kid": self.key_id, "x": public_x(&self.key),
        }]})
    }
}

fn public_x(key: &Ed25519KeyPair) -> String {
    URL_SAFE_NO_PAD.encode(key.public_key())
}

/// RFC 7638: the hash of the key's required members in lexical order.
fn thumbprint(x: &str) -> String {
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(banksman_core::Digest::of(members.as_bytes()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_id_is_the_thumbprint_of_rfc_8037() {
        // Appendix A.3 of RFC 8037.
        assert_eq!(
            thumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }

    #[test]
    fn the_secret_is_never_shown() {
        let shown = format!("{:?}", Signer::new(&[7; 32]));
        assert!(!shown.contains("7, 7"), "{shown}");
    }
}
