//! What is on its way to people and to the agent's side.

use serde::{Deserialize, Serialize};

use crate::{ActionId, DeliveryStatus, JobStatus, Purpose, Timestamp};

/// A message to one recipient by one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveryView {
    /// Its number.
    pub id: i64,
    /// About which action.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub action: ActionId,
    /// Which version of it.
    pub version: u32,
    /// Why.
    pub purpose: Purpose,
    /// By which channel.
    pub channel: String,
    /// To whom.
    pub recipient: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempt: u32,
    /// When it is due, as long as it is to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_at: Option<Timestamp>,
    /// What the provider calls the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Why the last attempt failed, or why it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was planned.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When it last changed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
}

/// A call of the agent's side, because its action was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobView {
    /// Its number.
    pub id: i64,
    /// About which action.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub action: ActionId,
    /// Where it stands.
    pub status: JobStatus,
    /// How often it was tried.
    pub attempt: u32,
    /// When it is due, as long as it is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_at: Option<Timestamp>,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When it last changed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
}

/// `POST /v1/notifications/test`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TestMessageBody {
    /// The channel, by name.
    pub channel: String,
    /// To whom: yourself, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
}

/// What came of a test message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestMessageView {
    /// Whether it is known to have arrived, and not only to have been taken for delivery.
    pub delivered: bool,
    /// What the provider calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}
