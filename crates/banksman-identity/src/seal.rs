//! What has to be read again is kept under a key that is not in the database.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// A sealed text that was not sealed by this house, for this purpose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what was sealed cannot be opened: it was changed, or the signing key is another one")]
pub struct SealError;

fn cipher(key: &[u8; 32]) -> Result<LessSafeKey, SealError> {
    UnboundKey::new(&AES_256_GCM, key).map(LessSafeKey::new).map_err(|_| SealError)
}

/// Seals bytes for a purpose. The nonce has to be random.
///
/// # Errors
/// Never in practice.
pub fn seal(
    key: &[u8; 32],
    nonce: [u8; NONCE_LEN],
    purpose: &str,
    plain: &[u8],
) -> Result<String, SealError> {
    let mut sealed = plain.to_vec();
    cipher(key)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(purpose.as_bytes()),
            &mut sealed,
        )
        .map_err(|_| SealError)?;
    Ok(crate::to_base64url(&[nonce.as_slice(), &sealed].concat()))
}

/// Opens what was sealed for the same purpose.
///
/// # Errors
/// If it was not.
pub fn open(key: &[u8; 32], purpose: &str, sealed: &str) -> Result<Vec<u8>, SealError> {
    let bytes = crate::from_base64url(sealed).ok_or(SealError)?;
    let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN).ok_or(SealError)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError)?;
    let mut sealed = sealed.to_vec();
    let plain = cipher(key)?
        .open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut sealed)
        .map_err(|_| SealError)?;
    Ok(plain.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_and_purpose_open_it() {
        let sealed = seal(&[1; 32], [2; 12], "totp of ann", b"secret").unwrap();
        assert_eq!(open(&[1; 32], "totp of ann", &sealed).unwrap(), b"secret");
        assert_eq!(open(&[3; 32], "totp of ann", &sealed), Err(SealError));
        assert_eq!(open(&[1; 32], "totp of bob", &sealed), Err(SealError));
        for place in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(open(&[1; 32], "totp of ann", &changed), Err(SealError), "{place}");
        }
        for wrong in ["", "AAAA", "not base64url"] {
            assert_eq!(open(&[1; 32], "totp of ann", wrong), Err(SealError));
        }
    }
}
