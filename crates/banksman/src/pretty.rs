//! JSON for people, as every surface shows it.

use banksman_core::json::{CanonicalJson, Json};
pub(crate) use banksman_core::visible::{one_line, pretty};

/// A value, on one line.
pub(crate) fn value_on_one_line(value: &Json) -> String {
    one_line(&CanonicalJson::of(value))
}
