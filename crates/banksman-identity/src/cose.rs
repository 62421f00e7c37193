//! Public keys of passkeys (COSE, RFC 9053), and what they signed.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use crate::cbor::{Value, read};

/// The algorithms that pages ask for, best first.
pub(crate) const ES256: i64 = -7;
pub(crate) const EDDSA: i64 = -8;
pub(crate) const RS256: i64 = -257;

/// A key that this house cannot check signatures with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key is none of ES256, EdDSA (Ed25519) and RS256")]
pub struct PublicKeyError;

/// The public half of a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Uncompressed.
    P256([u8; 65]),
    Ed25519([u8; 32]),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl PublicKey {
    /// From COSE, and nothing behind it.
    ///
    /// # Errors
    /// If it is no key of a known kind.
    pub fn from_cose(bytes: &[u8]) -> Result<Self, PublicKeyError> {
        match read(bytes) {
            Some((key, [])) => Self::of(&key).ok_or(PublicKeyError),
            Some(_) | None => Err(PublicKeyError),
        }
    }

    fn of(key: &Value<'_>) -> Option<Self> {
        let member = |label| key.member(&Value::Int(label));
        let number = |label| member(label).and_then(Value::int);
        let bytes = |label| member(label).and_then(Value::bytes);
        let kind = match (number(1)?, number(3)?) {
            (2, ES256) if number(-1) == Some(1) => {
                let (x, y): ([u8; 32], [u8; 32]) = (bytes(-2)?.try_into().ok()?, bytes(-3)?.try_into().ok()?);
                let point = [[4].as_slice(), &x, &y].concat();
                Kind::P256(point.try_into().ok()?)
            }
            (1, EDDSA) if number(-1) == Some(6) => Kind::Ed25519(bytes(-2)?.try_into().ok()?),
            (3, RS256) => Kind::Rsa { n: bytes(-1)?.to_vec(), e: bytes(-2)?.to_vec() },
            _ => return None,
        };
        Some(Self(kind))
    }

    /// Whether this key signed the message.
    #[must_use]
    pub fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let checked = match &self.0 {
            Kind::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            Kind::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(message, signature),
            Kind::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        };
        checked.is_ok()
    }
}
