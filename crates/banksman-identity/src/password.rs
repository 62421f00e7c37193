//! Passwords: argon2id, in the PHC format, with OWASP's parameters.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

/// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Shorter ones can be guessed.
const SHORTEST: usize = 12;

/// Longer ones only cost time.
const LONGEST: usize = 256;

/// A password that will not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeakPasswordError {
    /// It can be guessed.
    #[error("a password has at least {SHORTEST} characters")]
    TooShort,
    /// It is too much to hash.
    #[error("a password has at most {LONGEST} bytes")]
    TooLong,
    /// It repeats itself.
    #[error("this password repeats a few characters; choose another")]
    Monotonous,
    /// It says whose it is.
    #[error("a password does not contain your name")]
    ContainsName,
    /// Everyone tries it first.
    #[error("this password is among those that are tried first; choose another")]
    Common,
}

/// What people choose who are asked for twelve characters, without digits and signs at the end.
const COMMON: &[&str] = &[
    "password",
    "passwort",
    "letmein",
    "qwertyuiop",
    "iloveyou",
    "administrator",
    "welcome",
    "changeme",
    "banksman",
    "correcthorsebatterystaple",
    "abcdefghijkl",
    "qwertyuiopas",
    "monkey",
    "dragon",
    "trustno",
];

/// Whether a person may use this password.
///
/// Length is what counts (NIST SP 800-63B); there are no rules about kinds of characters.
///
/// # Errors
/// If it is too short, too long, or easily guessed.
pub fn acceptable(password: &str, name: &str) -> Result<(), WeakPasswordError> {
    if password.chars().count() < SHORTEST {
        return Err(WeakPasswordError::TooShort);
    }
    if password.len() > LONGEST {
        return Err(WeakPasswordError::TooLong);
    }
    let mut different: Vec<char> = password.chars().collect();
    different.sort_unstable();
    different.dedup();
    if different.len() < 5 {
        return Err(WeakPasswordError::Monotonous);
    }
    let lower = password.to_lowercase();
    if name.chars().count() >= 4 && lower.contains(&name.to_lowercase()) {
        return Err(WeakPasswordError::ContainsName);
    }
    let core = lower.trim_matches(|c: char| !c.is_alphabetic());
    if COMMON.iter().any(|common| core == *common || core == format!("{common}{common}")) || core.is_empty() {
        return Err(WeakPasswordError::Common);
    }
    Ok(())
}

fn hasher() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// The hash to keep of a password.
///
/// # Errors
/// If it cannot be hashed, for lack of memory.
pub fn hash_password(password: &str, salt: [u8; 16]) -> Result<String, String> {
    let hash: PasswordHash =
        hasher().hash_password_with_salt(password.as_bytes(), &salt).map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

/// Whether a password is the one that was kept. The parameters are those that it was kept with.
#[must_use]
pub fn password_matches(kept: &str, password: &str) -> bool {
    // What is longer was never kept, and is not worth hashing.
    if password.len() > LONGEST {
        return false;
    }
    PasswordHash::new(kept).is_ok_and(|kept| hasher().verify_password(password.as_bytes(), &kept).is_ok())
}

/// A hash of nobody's password: checking it takes as long as checking someone's, so that an answer does not tell by its
/// time whether there is such a person.
#[derive(Debug, Clone)]
pub struct Decoy(String);

impl Decoy {
    /// From random bytes.
    ///
    /// # Errors
    /// As [`hash_password`].
    pub fn new(random: [u8; 16]) -> Result<Self, String> {
        hash_password(&crate::to_base64url(&random), random).map(Self)
    }

    /// The hash to check against.
    #[must_use]
    pub fn kept(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_password_matches() {
        let kept = hash_password("the cranes stand still", [7; 16]).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(password_matches(&kept, "the cranes stand still"));
        for wrong in ["", "the cranes stand stil", "the cranes stand still ", "The cranes stand still"] {
            assert!(!password_matches(&kept, wrong), "{wrong:?}");
        }
        assert!(!password_matches("", "the cranes stand still"));
        assert!(!password_matches("not a hash", "not a hash"));
        assert_ne!(kept, hash_password("the cranes stand still", [8; 16]).unwrap());
    }

    #[test]
    fn what_was_kept_with_other_parameters_still_matches() {
        let weaker = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8192, 1, 1, None).unwrap());
        let kept: PasswordHash = weaker.hash_password_with_salt(b"an older password", &[1; 16]).unwrap();
        let kept = kept.to_string();
        assert!(password_matches(&kept, "an older password"));
    }

    #[test]
    fn a_decoy_is_nobodys_password() {
        let decoy = Decoy::new([9; 16]).unwrap();
        assert!(!password_matches(decoy.kept(), "the cranes stand still"));
    }

    #[test]
    fn what_is_easily_guessed_is_refused() {
        for (password, problem) in [
            ("", WeakPasswordError::TooShort),
            ("elevenchars", WeakPasswordError::TooShort),
            ("aaaaaaaaaaaaaaaa", WeakPasswordError::Monotonous),
            ("abababababababab", WeakPasswordError::Monotonous),
            ("Password12345!", WeakPasswordError::Common),
            ("123456789012345", WeakPasswordError::Common),
            ("Adalbert was here", WeakPasswordError::ContainsName),
        ] {
            assert_eq!(acceptable(password, "adalbert"), Err(problem), "{password}");
        }
        assert_eq!(acceptable(&"long ".repeat(60), "ada"), Err(WeakPasswordError::TooLong));
        for good in ["the cranes stand still", "Zwölf Boxkämpfer jagen", "adaptable quorum 7"] {
            assert_eq!(acceptable(good, "ada"), Ok(()), "{good}");
        }
    }
}
