//! JSON as Banksman needs it: strict, exact, and canonical.
//!
//! `serde_json::Value` takes the last of two duplicate keys and rounds 9007199254740993 to a neighbour; a
//! gate that reviews one action and lets another run cannot afford either (decision record 0002).

mod canonical;
mod number;
mod parse;
mod value;
mod write;

pub use canonical::CanonicalJson;
pub use number::Number;
pub use parse::{JsonError, JsonErrorKind, Limits, parse, parse_with};
pub use value::{Json, Object};
pub(crate) use write::write_string;
pub use write::{WriteError, write};
