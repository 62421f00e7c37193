//! What names an action: the SHA-256 of the canonical form of what will execute.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use crate::Kind;
use crate::json::CanonicalJson;

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: expected `sha256:` followed by 64 lower-case hexadecimal digits")]
pub struct InvalidDigestError;

impl Digest {
    const PREFIX: &'static str = "sha256:";

    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of some bytes as a leaf of a Merkle tree (RFC 6962).
    #[must_use]
    pub fn of_leaf(bytes: &[u8]) -> Self {
        // What tells a leaf from a node, so that none can be passed off as the other.
        Self(Sha256::new_with_prefix([0]).chain_update(bytes).finalize().into())
    }

    /// The digest behind stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes that stores keep.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The digest of what will execute: `{"args":…,"kind":…,"tool":…}` in canonical form.
///
/// Description, rationale and everything else that only people read is left out on purpose: it may be
/// reworded without changing what runs, and no wording changes what was approved.
#[must_use]
pub fn action_digest(tool: &str, kind: Kind, args: &CanonicalJson) -> Digest {
    digest_of(None, tool, kind, args)
}

/// The digest of what Banksman itself passes on to a server: `{"args":…,"kind":…,"server":…,"tool":…}`.
///
/// Where an agent says which server it means, that is its own word. Where Banksman runs the tool, the server is part of
/// what runs: the same tool of another server is another action.
#[must_use]
pub fn forwarded_digest(server: &str, tool: &str, kind: Kind, args: &CanonicalJson) -> Digest {
    digest_of(Some(server), tool, kind, args)
}

fn digest_of(server: Option<&str>, tool: &str, kind: Kind, args: &CanonicalJson) -> Digest {
    let names = tool.len() + server.map_or(0, str::len);
    let mut text = String::with_capacity(args.as_str().len() + names + 56);
    text.push_str("{\"args\":");
    text.push_str(args.as_str());
    text.push_str(",\"kind\":\"");
    text.push_str(kind.as_str());
    text.push('"');
    if let Some(server) = server {
        text.push_str(",\"server\":");
        crate::json::write_string(&mut text, server);
    }
    text.push_str(",\"tool\":");
    crate::json::write_string(&mut text, tool);
    text.push('}');
    Digest::of(text.as_bytes())
}

/// How long a digest is when it is written.
const WRITTEN: usize = Digest::PREFIX.len() + 64;

impl Digest {
    /// Writes it out. A digest is written a dozen times in the life of an action, and the way by [`fmt`] is a long one.
    fn write(self, text: &mut [u8; WRITTEN]) -> &str {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let (prefix, digits) = text.split_at_mut(Self::PREFIX.len());
        prefix.copy_from_slice(Self::PREFIX.as_bytes());
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            if let [high, low] = pair {
                *high = HEX.get(usize::from(byte >> 4)).copied().unwrap_or(b'?');
                *low = HEX.get(usize::from(byte & 15)).copied().unwrap_or(b'?');
            }
        }
        std::str::from_utf8(text).unwrap_or_default()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write(&mut [0; WRITTEN]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix(Self::PREFIX).ok_or(InvalidDigestError)?;
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(InvalidDigestError);
        }
        let value = |digit: u8| if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        let mut bytes = [0u8; 32];
        for (slot, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            if let [high, low] = *pair {
                *slot = value(high) << 4 | value(low);
            }
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.write(&mut [0; WRITTEN]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(args: &str) -> Digest {
        action_digest("process_refund", Kind::Tool, &CanonicalJson::parse(args.as_bytes()).unwrap())
    }

    #[test]
    fn any_sha256_tool_can_check_it() {
        // printf '{"args":{"amount":899,"order_id":"78291"},"kind":"tool","tool":"process_refund"}' | sha256sum
        assert_eq!(
            digest(r#"{"order_id":"78291","amount":899.00}"#).to_string(),
            "sha256:545767bf419fc04e345e026e0ee40fa1718890af2d54be99b8b528efb250d941"
        );
    }

    #[test]
    fn what_is_passed_on_is_named_with_its_server() {
        let args = CanonicalJson::parse(b"{}").unwrap();
        let forwarded = |server, tool| forwarded_digest(server, tool, Kind::Tool, &args);
        // printf '{"args":{},"kind":"tool","server":"files","tool":"read"}' | sha256sum
        assert_eq!(
            forwarded("files", "read").to_string(),
            "sha256:dc88041a9dc2fa12db3c7116cdaee06e38d34c509fefc296fc8e887098e01faf"
        );
        assert_ne!(forwarded("files", "read"), forwarded("mail", "read"));
        assert_ne!(forwarded("files", "read"), action_digest("read", Kind::Tool, &args));
        // Neither name can pass for the other.
        assert_ne!(forwarded("a\",\"tool\":\"b", "c"), forwarded("a", "b\",\"tool\":\"c"));
    }

    #[test]
    fn spelling_is_nothing_and_value_is_everything() {
        assert_eq!(digest(r#"{"a":899,"b":[1,2]}"#), digest(r#"{"b":[1.0,2e0], "a":899.00}"#));
        assert_ne!(digest(r#"{"a":9007199254740993}"#), digest(r#"{"a":9007199254740992}"#));
        assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":"1"}"#));
        assert_ne!(digest(r#"{"a":true}"#), digest(r#"{"a":"true"}"#));
        let args = CanonicalJson::parse(b"{}").unwrap();
        assert_ne!(action_digest("a", Kind::Tool, &args), action_digest("b", Kind::Tool, &args));
        assert_ne!(action_digest("a", Kind::Tool, &args), action_digest("a", Kind::Shell, &args));
        // A tool name cannot smuggle members into the hashed text.
        assert_ne!(action_digest("a\",\"x\":\"", Kind::Tool, &args), action_digest("a", Kind::Tool, &args));
    }

    #[test]
    fn only_one_spelling_of_a_digest_is_read() {
        let text = digest("{}").to_string();
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        assert!(text.to_uppercase().parse::<Digest>().is_err());
        assert!("sha256:abcd".parse::<Digest>().is_err());
        assert!(format!("sha256:{}é", "a".repeat(62)).parse::<Digest>().is_err());
    }
}
