//! As much of CBOR (RFC 8949) as authenticators write: definite lengths, no tags, no floats.
//!
//! What is read here comes from outside, so lengths are believed only as far as there are bytes, and depth is limited.

const DEEPEST: usize = 8;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Int(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Value<'a>>),
    Map(Vec<(Value<'a>, Value<'a>)>),
    Simple(u8),
}

impl<'a> Value<'a> {
    /// A member of a map. Of two with the same key, none: they would be two opinions.
    pub(crate) fn member(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let Self::Map(members) = self else { return None };
        let mut found = members.iter().filter(|(known, _)| known == key);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }

    pub(crate) fn int(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    pub(crate) fn bytes(&self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// The value at the beginning of some bytes, and the bytes behind it.
pub(crate) fn read(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    value(bytes, 0)
}

fn value(bytes: &[u8], depth: usize) -> Option<(Value<'_>, &[u8])> {
    if depth > DEEPEST {
        return None;
    }
    let (first, rest) = bytes.split_first()?;
    let (argument, rest) = argument(first & 0x1f, rest)?;
    match first >> 5 {
        0 => Some((Value::Int(i64::try_from(argument).ok()?), rest)),
        1 => Some((Value::Int(-1 - i64::try_from(argument).ok()?), rest)),
        2 => rest
            .split_at_checked(usize::try_from(argument).ok()?)
            .map(|(text, rest)| (Value::Bytes(text), rest)),
        3 => {
            let (text, rest) = rest.split_at_checked(usize::try_from(argument).ok()?)?;
            Some((Value::Text(std::str::from_utf8(text).ok()?), rest))
        }
        4 => {
            let mut items = Vec::new();
            let mut rest = rest;
            for _ in 0..argument {
                let (item, behind) = value(rest, depth + 1)?;
                items.push(item);
                rest = behind;
            }
            Some((Value::Array(items), rest))
        }
        5 => {
            let mut members = Vec::new();
            let mut rest = rest;
            for _ in 0..argument {
                let (key, behind) = value(rest, depth + 1)?;
                let (item, behind) = value(behind, depth + 1)?;
                members.push((key, item));
                rest = behind;
            }
            Some((Value::Map(members), rest))
        }
        // False, true, null, undefined. Floats and tags are none of an authenticator's business.
        7 if (20..=23).contains(&argument) && first & 0x1f < 24 => {
            Some((Value::Simple(u8::try_from(argument).ok()?), rest))
        }
        _ => None,
    }
}

/// The number in or behind the first byte.
fn argument(short: u8, rest: &[u8]) -> Option<(u64, &[u8])> {
    let width = match short {
        0..=23 => return Some((u64::from(short), rest)),
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(width)?;
    Some((number.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn the_examples_of_rfc_8949() {
        for (hex, number) in [
            ("00", 0),
            ("17", 23),
            ("1818", 24),
            ("1903e8", 1000),
            ("1b000000e8d4a51000", 1_000_000_000_000),
            ("20", -1),
            ("3903e7", -1000),
        ] {
            assert_eq!(read(&bytes(hex)), Some((Value::Int(number), [].as_slice())), "{hex}");
        }
        assert_eq!(read(&bytes("4401020304")).unwrap().0.bytes(), Some([1, 2, 3, 4].as_slice()));
        assert_eq!(read(&bytes("62c3bc")).unwrap().0, Value::Text("ü"));
        let map = bytes("a26161016162820203");
        let (map, rest) = read(&map).unwrap();
        assert!(rest.is_empty());
        assert_eq!(map.member(&Value::Text("a")).and_then(Value::int), Some(1));
        assert_eq!(map.member(&Value::Text("b")), Some(&Value::Array(vec![Value::Int(2), Value::Int(3)])));
    }

    #[test]
    fn what_is_odd_is_refused() {
        // Endless, cut off, tagged, a float, reserved, too deep, a number beyond all numbers, not UTF-8.
        for hex in [
            "9fff",
            "5f4101ff",
            "",
            "18",
            "44010203",
            "c11a514b67b0",
            "f90000",
            "fb3ff199999999999a",
            "1c",
            "fe",
            "62c328",
            "1bffffffffffffffff",
            "9bffffffffffffffff",
        ] {
            assert_eq!(read(&bytes(hex)), None, "{hex}");
        }
        assert_eq!(read(&[0x81; 100]), None);
        let twice = bytes("a2010a010b");
        assert_eq!(read(&twice).unwrap().0.member(&Value::Int(1)), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall_over(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
