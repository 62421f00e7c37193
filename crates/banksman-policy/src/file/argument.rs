//! What a rule asks of an argument, as it is written.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::glob::Glob;

/// What an argument has to be: a value, which it has to equal exactly and in type, or conditions.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub enum ArgumentTest {
    /// Conditions, all of which have to hold.
    Conditions(Box<Conditions>),
    /// A value that it equals.
    Value(Literal),
}

/// By hand, so that a mistake in a condition is told where it is, and not as "none of both".
impl<'de> Deserialize<'de> for ArgumentTest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = ArgumentTest;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value, or conditions such as {gt: 500}")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<ArgumentTest, E> {
                Ok(ArgumentTest::Value(Literal::Bool(value)))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<ArgumentTest, E> {
                Ok(ArgumentTest::Value(Literal::Whole(value)))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<ArgumentTest, E> {
                let whole = i64::try_from(value).map_err(|_| E::custom(format!("{value} is too large")))?;
                self.visit_i64(whole)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<ArgumentTest, E> {
                Ok(ArgumentTest::Value(Literal::Decimal(value)))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<ArgumentTest, E> {
                Ok(ArgumentTest::Value(Literal::Text(value.to_owned())))
            }

            fn visit_unit<E: de::Error>(self) -> Result<ArgumentTest, E> {
                Ok(ArgumentTest::Value(Literal::Null(())))
            }

            fn visit_none<E: de::Error>(self) -> Result<ArgumentTest, E> {
                self.visit_unit()
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ArgumentTest, A::Error> {
                Conditions::deserialize(MapAccessDeserializer::new(map))
                    .map(|conditions| ArgumentTest::Conditions(Box::new(conditions)))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// A value as YAML has it. `true` and `"true"` are two values.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Literal {
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Decimal(f64),
    /// A text.
    Text(String),
    /// `null`
    Null(()),
}

/// Conditions on an argument.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Is this value, exactly and in type.
    pub equals: Option<Literal>,
    /// Is another value than this.
    pub not: Option<Literal>,
    /// Is one of these values.
    #[serde(rename = "in")]
    #[schemars(length(min = 1))]
    pub one_of: Option<Vec<Literal>>,
    /// Is none of these values.
    pub not_in: Option<Vec<Literal>>,
    /// Is a text in which this regular expression is found, anywhere.
    pub regex: Option<String>,
    /// Is a text that fits this pattern with `*` and `?`.
    pub glob: Option<Glob>,
    /// Is a text that contains this, or a list that has it.
    pub contains: Option<Literal>,
    /// Is more than this.
    pub gt: Option<f64>,
    /// Is this or more.
    pub gte: Option<f64>,
    /// Is less than this.
    pub lt: Option<f64>,
    /// Is this or less.
    pub lte: Option<f64>,
    /// Is there (`true`), or is not there (`false`).
    pub present: Option<bool>,
    /// Means yes (`true`: true, "true", "yes", "on", "1", 1) or does not (`false`), however it is spelled.
    pub truthy: Option<bool>,
}
