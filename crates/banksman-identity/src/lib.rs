//! Who someone is.
//!
//! Pure: no clock, no randomness, no store. Times and random bytes come in as values; what comes out is yes, no, or something
//! to keep. Signatures, ciphers and hashes are those of aws-lc-rs and argon2; what is written here is only what WebAuthn,
//! TOTP and the audit log say around them (decision record 0019).

mod challenge;
mod password;
mod recovery;
mod seal;
mod totp;

mod cbor;
mod cose;
mod webauthn;

mod evidence;

pub use challenge::Challenges;
pub use cose::{PublicKey, PublicKeyError};
pub use evidence::{Evidence, Flaw};
pub use password::{Decoy, WeakPasswordError, acceptable, hash_password, password_matches};
pub use recovery::{RECOVERY_CODES, recovery_codes, recovery_hash};
pub use seal::{SealError, open, seal};
pub use totp::{TotpSecret, TotpSecretError};
pub use webauthn::{
    NewPasskey, Site, WebauthnError, assertion_challenge, check_assertion, check_registration,
};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Bytes as they travel.
#[must_use]
pub fn to_base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What travelled, as bytes; nothing if it is not base64url without padding.
#[must_use]
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
