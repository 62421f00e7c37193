//! Whatever serde can take apart, as JSON text: the bytes that `serde_json` writes, sooner.
//!
//! Every transition writes what it did into the store and the log, and answers with most of it. Most of that are short
//! texts under short names, which `serde_json` puts together from five pieces each and looks through byte by byte.

use std::fmt;

use serde::ser::{self, Serialize};

/// What `serde_json` calls a text that is JSON already.
const RAW: &str = "$serde_json::private::RawValue";

/// A value that cannot be written as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(String);

impl ser::Error for WriteError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self(problem.to_string())
    }
}

/// Appends a value to a text.
///
/// # Errors
/// If it has no form in JSON; then what was appended is of no use.
pub fn write(value: &(impl Serialize + ?Sized), out: &mut String) -> Result<(), WriteError> {
    value.serialize(&mut Writer { out, raw: false })
}

/// Appends a text in quotes, escaped exactly as RFC 8785, section 3.2.2.2, says; `serde_json` does the same.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some((plain, escaped, behind)) = at_first_escaped(rest) {
        out.push_str(plain);
        match escaped {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                out.extend([control >> 4, control & 15].map(|digit| char::from(hex(digit))));
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out.push('"');
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}

/// What comes before the first character that cannot stand as it is, that character, and what comes behind it.
fn at_first_escaped(text: &str) -> Option<(&str, u8, &str)> {
    let (eights, few) = text.as_bytes().as_chunks::<8>();
    let clean = eights.iter().take_while(|eight| !has_escaped(u64::from_le_bytes(**eight))).count();
    let near = eights.get(clean).map_or(few, <[u8; 8]>::as_slice);
    let escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let place = 8 * clean + near.iter().position(escaped)?;
    // Each of them is one byte, so both sides are whole characters.
    let (plain, behind) = text.split_at_checked(place)?;
    Some((plain, *behind.as_bytes().first()?, behind.get(1..)?))
}

/// Whether any of eight bytes cannot stand as it is.
fn has_escaped(eight: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
    // The top bit of a byte is set by the subtraction, and was not before, only if some byte was less.
    let any_below = |bytes: u64, limit: u64| bytes.wrapping_sub(ONES * limit) & !bytes & TOPS;
    let any_is = |byte: u8| any_below(eight ^ (ONES * u64::from(byte)), 1);
    any_below(eight, 0x20) | any_is(b'"') | any_is(b'\\') != 0
}

struct Writer<'o> {
    out: &'o mut String,
    /// Whether the next text is JSON already.
    raw: bool,
}

impl Writer<'_> {
    fn integer(&mut self, value: impl itoa::Integer) {
        self.out.push_str(itoa::Buffer::new().format(value));
    }

    /// Floats are rare, and how they are written is `serde_json`'s business.
    fn float(&mut self, value: impl Serialize) -> Result<(), WriteError> {
        let text = serde_json::to_string(&value).map_err(ser::Error::custom)?;
        self.out.push_str(&text);
        Ok(())
    }

    fn open(&mut self, open: char, close: &'static str) -> Parts<'_> {
        self.out.push(open);
        Parts { out: self.out, first: true, raw: false, close }
    }

    /// Opens what is the only member of an object, by the name of a variant.
    fn open_variant(&mut self, variant: &str, open: char, close: &'static str) -> Parts<'_> {
        self.out.push('{');
        write_string(self.out, variant);
        self.out.push(':');
        self.open(open, close)
    }
}

/// The parts of an array or object.
struct Parts<'o> {
    out: &'o mut String,
    first: bool,
    /// Whether this is no object, but a text that is JSON already.
    raw: bool,
    close: &'static str,
}

impl Parts<'_> {
    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), WriteError> {
        value.serialize(&mut Writer { out: self.out, raw: self.raw })
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), WriteError> {
        self.comma();
        self.value(value)
    }

    fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), WriteError> {
        if !self.raw {
            self.comma();
            write_string(self.out, name);
            self.out.push(':');
        }
        self.value(value)
    }

    /// The name of a member, of whatever type: what is no text becomes one, if that is what it would be.
    fn name(&mut self, name: &(impl Serialize + ?Sized)) -> Result<(), WriteError> {
        self.comma();
        let start = self.out.len();
        self.value(name)?;
        match self.out.as_bytes().get(start) {
            Some(b'"') => {}
            Some(b'0'..=b'9' | b'-' | b't' | b'f') => {
                self.out.insert(start, '"');
                self.out.push('"');
            }
            Some(_) | None => return Err(WriteError("the name of a member must be a text".to_owned())),
        }
        self.out.push(':');
        Ok(())
    }

    fn end(self) -> Result<(), WriteError> {
        self.out.push_str(self.close);
        Ok(())
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), WriteError> {
            self.integer(value);
            Ok(())
        })*
    };
}

impl<'w> ser::Serializer for &'w mut Writer<'_> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = Parts<'w>;
    type SerializeTuple = Parts<'w>;
    type SerializeTupleStruct = Parts<'w>;
    type SerializeTupleVariant = Parts<'w>;
    type SerializeMap = Parts<'w>;
    type SerializeStruct = Parts<'w>;
    type SerializeStructVariant = Parts<'w>;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    fn serialize_bool(self, value: bool) -> Result<(), WriteError> {
        self.out.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), WriteError> {
        self.float(value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), WriteError> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<(), WriteError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), WriteError> {
        if self.raw {
            self.out.push_str(text);
        } else {
            write_string(self.out, text);
        }
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), WriteError> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), WriteError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), WriteError> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), WriteError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), WriteError> {
        write_string(self.out, variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        let mut parts = self.open('{', "}");
        parts.member(variant, value)?;
        parts.end()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'w>, WriteError> {
        Ok(self.open('[', "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'w>, WriteError> {
        Ok(self.open('[', "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'w>, WriteError> {
        Ok(self.open('[', "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'w>, WriteError> {
        Ok(self.open_variant(variant, '[', "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'w>, WriteError> {
        Ok(self.open('{', "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'w>, WriteError> {
        if name == RAW {
            return Ok(Parts { out: self.out, first: true, raw: true, close: "" });
        }
        Ok(self.open('{', "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'w>, WriteError> {
        Ok(self.open_variant(variant, '{', "}}"))
    }
}

macro_rules! parts {
    ($trait:ident, $method:ident, item) => {
        impl ser::$trait for Parts<'_> {
            type Ok = ();
            type Error = WriteError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
                self.item(value)
            }

            fn end(self) -> Result<(), WriteError> {
                Parts::end(self)
            }
        }
    };
    ($trait:ident, $method:ident, member) => {
        impl ser::$trait for Parts<'_> {
            type Ok = ();
            type Error = WriteError;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), WriteError> {
                self.member(name, value)
            }

            fn end(self) -> Result<(), WriteError> {
                Parts::end(self)
            }
        }
    };
}

parts!(SerializeSeq, serialize_element, item);
parts!(SerializeTuple, serialize_element, item);
parts!(SerializeTupleStruct, serialize_field, item);
parts!(SerializeTupleVariant, serialize_field, item);
parts!(SerializeStruct, serialize_field, member);
parts!(SerializeStructVariant, serialize_field, member);

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), WriteError> {
        self.name(name)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        self.value(value)
    }

    fn end(self) -> Result<(), WriteError> {
        Parts::end(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[track_caller]
    fn same(value: &(impl Serialize + ?Sized)) {
        let mut text = String::new();
        write(value, &mut text).unwrap();
        assert_eq!(text, serde_json::to_string(value).unwrap());
    }

    #[derive(Serialize)]
    enum Variety {
        Unit,
        Newtype(u8),
        Tuple(u8, &'static str),
        Struct { a: u8, b: Option<()> },
    }

    #[derive(Serialize)]
    #[serde(tag = "type")]
    enum Tagged {
        One { a: u8 },
    }

    #[derive(Serialize)]
    struct Flat {
        before: char,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(rename = "odd \" name")]
        odd: (),
    }

    #[derive(Serialize)]
    struct Nothing;

    #[derive(Serialize)]
    struct Pair(i64, u128);

    #[test]
    fn every_shape_is_written_as_serde_json_does() {
        same(&[
            Variety::Unit,
            Variety::Newtype(1),
            Variety::Tuple(2, "x"),
            Variety::Struct { a: 3, b: None },
        ]);
        same(&Flat { before: '"', tagged: Tagged::One { a: 255 }, odd: () });
        same(&(Nothing, Pair(i64::MIN, u128::MAX), true, None::<u8>, Some("x")));
        same(&(1.5f32, 0.1f64, 1e300, f64::NAN, f64::INFINITY, -0.0, i8::MIN, u64::MAX, i128::MIN));
        same(&BTreeMap::from([(3, "three"), (-4, "four")]));
        same(&BTreeMap::from([(true, 1), (false, 0)]));
        same(&BTreeMap::from([('c', Vec::<u8>::new())]));
        same(&(Vec::<()>::new(), BTreeMap::<String, ()>::new()));
        let raw = RawValue::from_string(r#"{"a" : [1.50, "é\n"]}"#.to_owned()).unwrap();
        same(&(&raw, "next", BTreeMap::from([("raw", &raw)])));
    }

    #[test]
    fn every_character_is_written_as_serde_json_does() {
        let all: String = (0..0x300).filter_map(char::from_u32).collect();
        same(&all);
        for before in 0..17 {
            for odd in ["\"", "\\", "\n", "\0", "\u{1f}", "\u{7f}", "é", "€", "🏗", ""] {
                same(&format!("{}{odd}{}", "x".repeat(before), "y".repeat(9)));
            }
        }
    }

    #[test]
    fn what_json_cannot_name_is_refused() {
        assert!(write(&BTreeMap::from([(Vec::<u8>::new(), 1)]), &mut String::new()).is_err());
        assert!(write(&BTreeMap::from([((), 1)]), &mut String::new()).is_err());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::hash_map(".*", inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_serde_json_does(value in any_value()) {
            same(&value);
        }
    }
}
