//! Codes of authenticator apps: RFC 6238 with SHA-1, six digits and steps of thirty seconds, which every app knows.

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;

const STEP_SECONDS: u64 = 30;
const DIGITS: usize = 6;

/// How many steps a clock may be off, either way.
const TOLERANCE: u64 = 1;

/// The secret that an app and the house share.
#[derive(Clone, PartialEq, Eq)]
pub struct TotpSecret([u8; 20]);

/// A text that is no such secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a secret of an authenticator app")]
pub struct TotpSecretError;

impl std::fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TotpSecret([hidden])")
    }
}

impl TotpSecret {
    /// From random bytes.
    #[must_use]
    pub fn new(random: [u8; 20]) -> Self {
        Self(random)
    }

    /// The bytes, to be sealed.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// From bytes that were sealed.
    ///
    /// # Errors
    /// If there are not twenty.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TotpSecretError> {
        bytes.try_into().map(Self).map_err(|_| TotpSecretError)
    }

    /// As a person types it into an app.
    #[must_use]
    pub fn to_base32(&self) -> String {
        BASE32_NOPAD.encode(&self.0)
    }

    /// What a form brought back.
    ///
    /// # Errors
    /// If it is not what [`TotpSecret::to_base32`] makes.
    pub fn from_base32(text: &str) -> Result<Self, TotpSecretError> {
        let bytes = BASE32_NOPAD.decode(text.as_bytes()).map_err(|_| TotpSecretError)?;
        Self::from_bytes(&bytes)
    }

    /// What a QR code says to an app.
    #[must_use]
    pub fn uri(&self, name: &str) -> String {
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"-._~".contains(&c);
        let name: String = name
            .bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect();
        format!("otpauth://totp/Banksman:{name}?secret={}&issuer=Banksman", self.to_base32())
    }

    /// The code of a step.
    fn code(&self, step: u64) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let bytes = tag.as_ref();
        let offset = usize::from(bytes.last().copied().unwrap_or(0) & 0x0f);
        let word = bytes.iter().skip(offset).take(4).fold(0u32, |word, byte| (word << 8) | u32::from(*byte));
        let number = (word & 0x7fff_ffff) % 10u32.pow(DIGITS as u32);
        format!("{number:0DIGITS$}")
    }

    /// The step whose code this is, if it is one of now and newer than the last that was used.
    ///
    /// Every step is tried, whichever matches, so that the time taken says nothing.
    #[must_use]
    pub fn step_of(&self, code: &str, now_seconds: u64, last_used: Option<u64>) -> Option<u64> {
        let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        let now = now_seconds / STEP_SECONDS;
        let mut found = None;
        for step in now.saturating_sub(TOLERANCE)..=now + TOLERANCE {
            let same = aws_lc_rs::constant_time::verify_slices_are_equal(
                self.code(step).as_bytes(),
                code.as_bytes(),
            );
            if same.is_ok() && last_used.is_none_or(|last| step > last) {
                found = found.or(Some(step));
            }
        }
        found
    }

    /// The code of this moment, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn code_at(&self, now_seconds: u64) -> String {
        self.code(now_seconds / STEP_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc() -> TotpSecret {
        TotpSecret::new(*b"12345678901234567890")
    }

    #[test]
    fn the_codes_are_those_of_rfc_6238() {
        // Appendix B, whose codes have eight digits.
        for (seconds, code) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(rfc().code_at(seconds), code[2..], "{seconds}");
        }
    }

    #[test]
    fn a_code_is_good_for_about_its_time_and_once() {
        let secret = rfc();
        let now = 1_234_567_890;
        let code = secret.code_at(now);
        let step = secret.step_of(&code, now, None).unwrap();
        assert_eq!(step, now / 30);
        assert_eq!(secret.step_of(&format!("{} {}", &code[..3], &code[3..]), now, None), Some(step));
        for near in [now - 30, now + 30] {
            assert_eq!(secret.step_of(&code, near, None), Some(step));
        }
        for far in [now - 61, now + 61] {
            assert_eq!(secret.step_of(&code, far, None), None);
        }
        assert_eq!(secret.step_of(&code, now, Some(step)), None, "used before");
        assert_eq!(secret.step_of(&code, now, Some(step + 1)), None, "older than the last that was used");
        assert_eq!(secret.step_of(&code, now, Some(step - 1)), Some(step));
        for wrong in ["", "0", "0000000", "94287082", "abcdef"] {
            assert_eq!(secret.step_of(wrong, now, None), None, "{wrong}");
        }
    }

    #[test]
    fn a_secret_reads_back_what_it_shows() {
        let secret = TotpSecret::new([0xa5; 20]);
        assert_eq!(TotpSecret::from_base32(&secret.to_base32()), Ok(secret.clone()));
        for wrong in ["", "AAAA", &secret.to_base32().to_lowercase(), &format!("{}A", secret.to_base32())] {
            assert!(TotpSecret::from_base32(wrong).is_err(), "{wrong}");
        }
        assert!(!format!("{secret:?}").contains("165"));
        assert!(secret.uri("Ann & Co/1").starts_with("otpauth://totp/Banksman:Ann%20%26%20Co%2F1?secret="));
    }
}
