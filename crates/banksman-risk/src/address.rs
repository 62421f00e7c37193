//! Reads URLs and hosts: what is talked to.

use serde::{Deserialize, Serialize};

use crate::inspection::Inspection;

/// Where a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// A cloud's metadata service, which hands out credentials.
    Metadata,
    /// The internet.
    Public,
    /// Not known before it runs.
    Unknown,
}

/// A URL or host, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) reach: Reach,
}

impl Target {
    /// Takes a URL or a bare host apart, with the spelling tricks undone (octal, decimal, IPv6-mapped, userinfo).
    pub(crate) fn of(_text: &str) -> Self {
        Self { scheme: String::new(), host: String::new(), reach: Reach::Unknown }
    }
}

/// States what an action of kind `http` would do, given as `METHOD URL` or just a URL.
pub(crate) fn inspect_text(_inspection: &mut Inspection<'_>, _text: &str) {}
