//! The channels that people answer on.

use std::collections::HashMap;
use std::sync::Arc;

use banksman_engine::Desk;
use banksman_notify::Conversation;

/// A channel that people answer on.
#[derive(Clone)]
pub struct Hook {
    /// Who verifies what comes in, and answers.
    pub conversation: Arc<dyn Conversation>,
    /// Who may say what there.
    pub desk: Arc<Desk>,
}

/// The channels that people answer on, by name: the last part of the path that their providers call.
pub type Hooks = HashMap<String, Hook>;
