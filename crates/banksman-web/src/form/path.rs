//! Where a value is among the arguments.

use crate::parts::percent_encoded;

/// The way to a value: keys and positions.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(crate) fn to(&self, step: impl Into<String>) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Self(steps)
    }

    pub(crate) fn steps(&self) -> &[String] {
        &self.0
    }

    /// As the name of a field. Encoded, because browsers change line breaks in names, and a key may hold any character.
    pub(crate) fn name(&self) -> String {
        self.0.iter().map(|step| format!("/{}", percent_encoded(step))).collect()
    }

    /// What such a name says; nothing, if it is none of ours.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Self::default());
        }
        name.strip_prefix('/')?.split('/').map(decoded).collect::<Option<Vec<String>>>().map(Self)
    }

    /// As findings and schemas write it (RFC 6901).
    pub(crate) fn pointer(&self) -> String {
        self.0.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
    }

    /// What the field with an error is found by.
    pub(crate) fn id(&self) -> String {
        format!("field{}", self.name())
    }
}

fn decoded(step: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_comes_back() {
        for key in ["to", "", "a/b", "a~1b", "a%2Fb", "a\r\nb", "\u{202e}", "key \u{f6}", "0", ":"] {
            let path = Path::default().to("outer").to(key);
            let name = path.name();
            assert!(name.is_ascii() && !name.contains(char::is_whitespace), "{name}");
            assert_eq!(Path::from_name(&name).as_ref(), Some(&path), "{key:?}");
        }
        assert_eq!(Path::from_name(""), Some(Path::default()));
        for foreign in ["x", "/%", "/%4", "/%zz", "/%ff"] {
            assert_eq!(Path::from_name(foreign), None, "{foreign}");
        }
        assert_eq!(Path::default().to("a/b").to("c~d").pointer(), "/a~1b/c~0d");
    }
}
