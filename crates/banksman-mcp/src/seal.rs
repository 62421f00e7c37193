//! Handles that only we can make and read: session ids and the state of calls that take several rounds.
//!
//! They carry what they mean, encrypted and authenticated, so there is no table of them that a million clients could
//! fill, and they outlive a restart. The key comes from the signing key, so every node reads what another has made.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longer handles are none of ours.
const LONGEST: usize = 16 * 1024;

/// What a handle is for. One kind never passes for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `Mcp-Session-Id`.
    Session,
    /// `requestState` of a call that is held, or that its server asks something about.
    Round,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Session => b"session",
            Self::Round => b"round",
        }
    }
}

/// Makes and reads handles.
pub(crate) struct Seal {
    key: LessSafeKey,
}

/// A handle could not be made.
#[derive(Debug, thiserror::Error)]
#[error("no handle could be made: {0}")]
pub(crate) struct SealError(&'static str);

impl Seal {
    pub(crate) fn new(key: &[u8; 32]) -> Result<Self, SealError> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| SealError("the key cannot be used"))?;
        Ok(Self { key: LessSafeKey::new(key) })
    }

    pub(crate) fn close(&self, purpose: Purpose, value: &impl Serialize) -> Result<String, SealError> {
        let mut sealed = [0u8; NONCE_LEN];
        getrandom::fill(&mut sealed).map_err(|_| SealError("the machine has no entropy"))?;
        let nonce = Nonce::assume_unique_for_key(sealed);
        let mut text = serde_json::to_vec(value).map_err(|_| SealError("it cannot be written"))?;
        self.key
            .seal_in_place_append_tag(nonce, Aad::from(purpose.label()), &mut text)
            .map_err(|_| SealError("it cannot be sealed"))?;
        Ok(URL_SAFE_NO_PAD.encode([sealed.as_slice(), &text].concat()))
    }

    /// What a handle means; `None` if it is not one of ours, for this purpose, as it was made.
    pub(crate) fn open<T: DeserializeOwned>(&self, purpose: Purpose, handle: &str) -> Option<T> {
        if handle.len() > LONGEST {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(handle).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let plain = self.key.open_in_place(nonce, Aad::from(purpose.label()), &mut text).ok()?;
        serde_json::from_slice(plain).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_made_for_this_purpose_is_read() {
        let seal = Seal::new(&[1; 32]).unwrap();
        let handle = seal.close(Purpose::Session, &"riley").unwrap();
        assert!(!handle.contains("riley"));
        assert_eq!(seal.open::<String>(Purpose::Session, &handle).as_deref(), Some("riley"));
        assert_eq!(seal.open::<String>(Purpose::Round, &handle), None);
        assert_eq!(Seal::new(&[2; 32]).unwrap().open::<String>(Purpose::Session, &handle), None);
        for position in 0..handle.len() {
            let mut altered = handle.clone().into_bytes();
            altered[position] = if altered[position] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(seal.open::<String>(Purpose::Session, &altered), None, "byte {position}");
        }
        for other in ["", "x", "not base64 !", &"A".repeat(20_000)] {
            assert_eq!(seal.open::<String>(Purpose::Session, other), None);
        }
    }
}
