//! Recovery codes: for when the authenticator app is lost.

use banksman_core::Digest;
use data_encoding::BASE32_NOPAD;

/// How many there are.
pub const RECOVERY_CODES: usize = 10;

/// Codes of eighty random bits each: nothing to guess, so a fast hash is enough to keep them.
#[must_use]
pub fn recovery_codes(random: &[[u8; 10]; RECOVERY_CODES]) -> Vec<String> {
    random
        .iter()
        .map(|bytes| {
            let text = BASE32_NOPAD.encode(bytes).to_lowercase();
            let groups: Vec<String> =
                text.as_bytes().chunks(4).map(|four| String::from_utf8_lossy(four).into_owned()).collect();
            groups.join("-")
        })
        .collect()
}

/// The hash to keep of a code, or to look for; however it was typed.
#[must_use]
pub fn recovery_hash(code: &str) -> Digest {
    let plain: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    Digest::of(format!("banksman recovery code:{}", plain.to_lowercase()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_however_they_are_typed() {
        let mut random = [[0u8; 10]; RECOVERY_CODES];
        for (number, bytes) in random.iter_mut().enumerate() {
            bytes[0] = u8::try_from(number).unwrap();
        }
        let codes = recovery_codes(&random);
        assert_eq!(codes.len(), RECOVERY_CODES);
        assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
        let first = recovery_hash(&codes[0]);
        assert_eq!(first, recovery_hash(&codes[0].to_uppercase().replace('-', " ")));
        assert!(codes[1..].iter().all(|other| recovery_hash(other) != first));
    }
}
