//! The file as it is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use banksman_config::{Seconds, TimeTest};
use banksman_core::Risk;
use banksman_secrets::SecretPlace;
use ipnet::IpNet;
use serde::Deserialize;
use serde_saphyr::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) version: Spanned<u32>,
    /// Where people reach the console, such as `https://banksman.example.org`.
    #[serde(default)]
    pub(super) console: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) channels: BTreeMap<String, Spanned<ChannelFile>>,
    #[serde(default)]
    pub(super) people: BTreeMap<String, Spanned<ContactFile>>,
    #[serde(default)]
    pub(super) places: BTreeMap<String, Spanned<BTreeMap<String, String>>>,
    #[serde(default)]
    pub(super) limits: Option<Spanned<LimitsFile>>,
    /// Private networks that may be called.
    #[serde(default)]
    pub(super) reach: Vec<IpNet>,
    #[serde(default)]
    pub(super) resume: Option<Spanned<ResumeFile>>,
}

/// One of `slack`, `line`, `email` and `webhook`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelFile {
    #[serde(default)]
    pub(super) slack: Option<SlackFile>,
    #[serde(default)]
    pub(super) line: Option<LineFile>,
    #[serde(default)]
    pub(super) email: Option<EmailFile>,
    #[serde(default)]
    pub(super) webhook: Option<WebhookFile>,
    /// What is riskier is decided in the console; with `none`, everything is.
    #[serde(default)]
    pub(super) decide_up_to: Option<Risk>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlackFile {
    pub(super) token: SecretPlace,
    pub(super) signing_secret: SecretPlace,
    #[serde(default)]
    pub(super) api: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineFile {
    pub(super) access_token: SecretPlace,
    pub(super) channel_secret: SecretPlace,
    #[serde(default)]
    pub(super) api: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmailFile {
    pub(super) host: String,
    #[serde(default)]
    pub(super) port: Option<u16>,
    #[serde(default)]
    pub(super) security: SecurityFile,
    #[serde(default)]
    pub(super) user: Option<String>,
    #[serde(default)]
    pub(super) password: Option<SecretPlace>,
    pub(super) from: String,
    #[serde(default)]
    pub(super) authorities: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SecurityFile {
    #[default]
    Starttls,
    Tls,
    None,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhookFile {
    pub(super) url: String,
    pub(super) key: SecretPlace,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ContactFile {
    pub(super) addresses: BTreeMap<String, String>,
    pub(super) prefers: Vec<String>,
    pub(super) time_zone: Option<String>,
    pub(super) quiet_hours: Option<TimeTest>,
    pub(super) wake_for: Option<Risk>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsFile {
    pub(super) tries: Option<u32>,
    pub(super) messages: Option<u64>,
    pub(super) within: Option<Seconds>,
    pub(super) digest_above: Option<usize>,
    pub(super) remind_after: Option<Seconds>,
    pub(super) reminders: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeFile {
    pub(super) allow: Vec<Spanned<String>>,
    pub(super) key: Spanned<SecretPlace>,
    #[serde(default)]
    pub(super) tries: Option<u32>,
}
