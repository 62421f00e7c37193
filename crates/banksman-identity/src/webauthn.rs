//! Passkeys: WebAuthn Level 3, sections 7.1 and 7.2, as far as a house needs them that asks for no attestation.
//!
//! Checked are: the type, the challenge, the origin, that no other page embedded ours, the site, that a person was there and
//! was recognised, the key, the signature, and the count of signatures. Attestation is neither asked for nor believed: the
//! house trusts whom it invited, not who made their key.

use banksman_core::Digest;
use serde::Deserialize;

use crate::PublicKey;
use crate::cbor::{Value, read};

/// Where passkeys are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The domain that passkeys are for.
    pub rp_id: String,
    /// The origin that pages are of, such as `https://banksman.example`.
    pub origin: String,
}

impl Site {
    /// The site of what a passkey signed, if its page was one that the passkey is for: of the domain itself or below it,
    /// and reached in a way that nobody can listen to. For those who read the signature later, when the house may have
    /// another address.
    #[must_use]
    pub fn of_assertion(rp_id: &str, client_data_json: &[u8]) -> Option<Self> {
        let said: ClientData = serde_json::from_slice(client_data_json).ok()?;
        let (scheme, rest) = said.origin.split_once("://")?;
        let host = rest.split_once(':').map_or(rest, |(host, _)| host);
        let within = host == rp_id || host.strip_suffix(rp_id).is_some_and(|above| above.ends_with('.'));
        let private = scheme == "https" || (scheme == "http" && rp_id == "localhost");
        (within && private).then(|| Self { rp_id: rp_id.to_owned(), origin: said.origin })
    }
}

/// Why what a passkey or its browser sent is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum WebauthnError {
    #[error("the browser's answer cannot be read")]
    Unreadable,
    #[error("the browser answers another question")]
    WrongType,
    #[error("the challenge is not the one that was asked")]
    WrongChallenge,
    #[error("the page is of another origin than {expected}")]
    WrongOrigin { expected: String },
    #[error("the passkey is for another site than {expected}")]
    WrongSite { expected: String },
    #[error("nobody touched the passkey")]
    NotPresent,
    #[error("the passkey did not check who touched it: set a PIN or a fingerprint for it")]
    NotVerified,
    #[error("the passkey's key is of a kind that cannot be checked here")]
    UnknownKey,
    #[error("the signature is not this passkey's")]
    BadSignature,
    #[error("the passkey counts fewer signatures than before: there may be a copy of it")]
    Copied,
}

/// A passkey that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPasskey {
    /// The credential's id.
    pub id: Vec<u8>,
    /// The public key as COSE.
    pub key: Vec<u8>,
    /// How many signatures it counts.
    pub count: u32,
}

/// What the browser says that it was asked, and where.
#[derive(Deserialize)]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

fn client_data(bytes: &[u8], kind: &str, site: &Site) -> Result<ClientData, WebauthnError> {
    let said: ClientData = serde_json::from_slice(bytes).map_err(|_| WebauthnError::Unreadable)?;
    if said.r#type != kind {
        return Err(WebauthnError::WrongType);
    }
    if said.origin != site.origin || said.cross_origin {
        return Err(WebauthnError::WrongOrigin { expected: site.origin.clone() });
    }
    Ok(said)
}

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const HAS_KEY: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// What the authenticator says.
struct AuthenticatorData<'a> {
    flags: u8,
    count: u32,
    rest: &'a [u8],
}

fn authenticator_data<'a>(bytes: &'a [u8], site: &Site) -> Result<AuthenticatorData<'a>, WebauthnError> {
    let (hash, rest) = bytes.split_at_checked(32).ok_or(WebauthnError::Unreadable)?;
    let (flags, rest) = rest.split_first().ok_or(WebauthnError::Unreadable)?;
    let (count, rest) = rest.split_first_chunk::<4>().ok_or(WebauthnError::Unreadable)?;
    if hash != Digest::of(site.rp_id.as_bytes()).as_bytes() {
        return Err(WebauthnError::WrongSite { expected: site.rp_id.clone() });
    }
    if flags & PRESENT == 0 {
        return Err(WebauthnError::NotPresent);
    }
    if flags & VERIFIED == 0 {
        return Err(WebauthnError::NotVerified);
    }
    Ok(AuthenticatorData { flags: *flags, count: u32::from_be_bytes(*count), rest })
}

/// Extensions are skipped, but they have to be there if they are announced, and nothing else may be.
fn nothing_but_extensions(flags: u8, rest: &[u8]) -> Result<(), WebauthnError> {
    let rest = if flags & HAS_EXTENSIONS == 0 {
        rest
    } else {
        match read(rest) {
            Some((Value::Map(_), rest)) => rest,
            Some(_) | None => return Err(WebauthnError::Unreadable),
        }
    };
    if rest.is_empty() { Ok(()) } else { Err(WebauthnError::Unreadable) }
}

/// Checks a new passkey (section 7.1).
///
/// # Errors
/// If any of it is not as it was asked for.
pub fn check_registration(
    site: &Site,
    challenge: &str,
    client_data_json: &[u8],
    attestation_object: &[u8],
) -> Result<NewPasskey, WebauthnError> {
    let said = client_data(client_data_json, "webauthn.create", site)?;
    if said.challenge != challenge {
        return Err(WebauthnError::WrongChallenge);
    }
    let Some((object, [])) = read(attestation_object) else { return Err(WebauthnError::Unreadable) };
    let data =
        object.member(&Value::Text("authData")).and_then(Value::bytes).ok_or(WebauthnError::Unreadable)?;
    let data = authenticator_data(data, site)?;
    if data.flags & HAS_KEY == 0 {
        return Err(WebauthnError::Unreadable);
    }
    let (_maker, rest) = data.rest.split_at_checked(16).ok_or(WebauthnError::Unreadable)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or(WebauthnError::Unreadable)?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length == 0 || length > 1023 {
        return Err(WebauthnError::Unreadable);
    }
    let (id, behind_id) = rest.split_at_checked(length).ok_or(WebauthnError::Unreadable)?;
    let (_, rest) = read(behind_id).ok_or(WebauthnError::Unreadable)?;
    let key = behind_id.get(..behind_id.len() - rest.len()).ok_or(WebauthnError::Unreadable)?;
    PublicKey::from_cose(key).map_err(|_| WebauthnError::UnknownKey)?;
    nothing_but_extensions(data.flags, rest)?;
    Ok(NewPasskey { id: id.to_vec(), key: key.to_vec(), count: data.count })
}

/// The challenge that an assertion claims to answer. It proves nothing until [`check_assertion`] says so.
///
/// # Errors
/// If the browser's answer cannot be read.
pub fn assertion_challenge(client_data_json: &[u8]) -> Result<String, WebauthnError> {
    let said: ClientData = serde_json::from_slice(client_data_json).map_err(|_| WebauthnError::Unreadable)?;
    Ok(said.challenge)
}

/// Checks what a passkey signed (section 7.2), and gives the count of its signatures.
///
/// # Errors
/// If any of it is not as it was asked for.
pub fn check_assertion(
    site: &Site,
    challenge: &str,
    key: &PublicKey,
    client_data_json: &[u8],
    authenticator: &[u8],
    signature: &[u8],
) -> Result<u32, WebauthnError> {
    let said = client_data(client_data_json, "webauthn.get", site)?;
    if said.challenge != challenge {
        return Err(WebauthnError::WrongChallenge);
    }
    let data = authenticator_data(authenticator, site)?;
    nothing_but_extensions(data.flags, data.rest)?;
    let message = [authenticator, Digest::of(client_data_json).as_bytes()].concat();
    if key.signed(&message, signature) { Ok(data.count) } else { Err(WebauthnError::BadSignature) }
}

#[cfg(test)]
mod tests;
