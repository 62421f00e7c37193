//! Typed identifiers: a ULID behind a prefix that says what it names.
//!
//! The time and the randomness of a new id are given by the caller; nothing here reads a clock.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ulid::Ulid;

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id: expected `{prefix}` followed by 26 characters of Crockford base32")]
pub struct InvalidIdError {
    prefix: &'static str,
}

/// How long the prefix of every id is, and an id with it.
const PREFIX_LEN: usize = 4;
const WRITTEN: usize = PREFIX_LEN + ulid::ULID_LEN;

macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        const _: () = assert!($prefix.len() == PREFIX_LEN);

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;

            /// An id made at `millis` (Unix time) with 80 bits of `entropy`.
            #[must_use]
            pub fn from_parts(millis: u64, entropy: u128) -> Self {
                Self(Ulid::from_parts(millis, entropy))
            }

            /// The 16 bytes that stores keep; they sort like the ids do.
            #[must_use]
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }

            /// The id behind 16 stored bytes.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Ulid::from_bytes(bytes))
            }

            /// Writes it out, without the long way by [`fmt`].
            fn write(self, text: &mut [u8; WRITTEN]) -> &str {
                let (prefix, rest) = text.split_at_mut(PREFIX_LEN);
                prefix.copy_from_slice($prefix.as_bytes());
                let mut ulid = [0u8; ulid::ULID_LEN];
                rest.copy_from_slice(self.0.array_to_str(&mut ulid).as_bytes());
                std::str::from_utf8(text).unwrap_or_default()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.write(&mut [0; WRITTEN]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.strip_prefix($prefix)
                    .and_then(|ulid| Ulid::from_string(ulid).ok())
                    .map(Self)
                    // Lower case and `o`/`l` look-alikes decode too: accept only the spelling that we print,
                    // so that one action never has two names.
                    .filter(|id| id.write(&mut [0; WRITTEN]) == text)
                    .ok_or(InvalidIdError { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.write(&mut [0; WRITTEN]))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    };
}

define_id!(
    /// Names one proposed action for its whole life.
    ActionId,
    "act_"
);
define_id!(
    /// Names a batch of actions that are reviewed together.
    BatchId,
    "bat_"
);
define_id!(
    /// Names a remembered grant.
    GrantId,
    "grt_"
);
define_id!(
    /// Names a freeze, the kill switch for an agent, a tool or everything.
    FreezeId,
    "frz_"
);
define_id!(
    /// Names a delegation of roles.
    DelegationId,
    "dlg_"
);
define_id!(
    /// Names a credential; the credential itself is a secret and is never an id.
    TokenId,
    "tok_"
);
define_id!(
    /// Names a person.
    PersonId,
    "usr_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_prints() {
        let id = ActionId::from_parts(1_700_000_000_000, 42);
        assert_eq!(id.to_string().parse::<ActionId>().unwrap(), id);
        assert_eq!(ActionId::from_bytes(id.to_bytes()), id);
    }

    #[test]
    fn other_spellings_are_refused() {
        let text = ActionId::from_parts(1_700_000_000_000, 42).to_string();
        for wrong in [
            "",
            "act_",
            &text.to_lowercase(),
            &text.replace("act_", "bat_"),
            &format!("{text}0"),
            &format!(" {text}"),
            "act_ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        ] {
            assert!(wrong.parse::<ActionId>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn ids_sort_by_time() {
        assert!(ActionId::from_parts(1, u128::MAX >> 48) < ActionId::from_parts(2, 0));
    }
}
