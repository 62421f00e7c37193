//! The channels that people answer on.

use std::collections::BTreeMap;
use std::sync::Arc;

use banksman_notify::Conversation;
use banksman_outbox::Outbox;

/// The channels that people answer on.
pub struct Hooks {
    /// Who attends to what comes in.
    pub outbox: Arc<Outbox>,
    /// Who verifies it, and answers: by the name of the channel, which is the last part of the path that its provider
    /// calls.
    pub conversations: BTreeMap<String, Arc<dyn Conversation>>,
}
