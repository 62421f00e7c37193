//! Time spans as people write them in the configuration: those of all our files, as a duration.

use std::time::Duration;

use banksman_config::Seconds;
use serde::{Deserialize, Deserializer};

/// A time span, written as `90s`, `15m` or `1h`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span(pub(crate) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Seconds::deserialize(deserializer).map(|seconds| Self(Duration::from_secs(seconds.0)))
    }
}
