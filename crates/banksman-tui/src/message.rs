//! What comes in, and what is asked for.

use banksman_core::wire::{ActionView, DecisionRequest, FreezeBody, FreezeView};
use banksman_core::{ActionId, Decision, FreezeId};
use crossterm::event::KeyEvent;

use crate::tail::Entry;

/// What comes in.
#[derive(Debug)]
pub(crate) enum Message {
    Key(KeyEvent),
    Paste(String),
    Resized {
        columns: u16,
        rows: u16,
    },
    /// Time passes.
    Tick,
    /// How the house stands now.
    Loaded(Box<House>),
    /// It could not be learned how the house stands.
    NotLoaded(String),
    /// How one action stands now.
    Fetched(Box<ActionView>),
    /// Something happened.
    Happened(Entry),
    /// The feed is connected.
    Connected,
    /// The feed is not connected, and why.
    Disconnected(String),
    /// What came of a decision.
    Answered(Box<Answered>),
    /// What came of freezing or lifting, in words.
    House(Result<String, String>),
    /// What someone saved in their editor.
    Edited(Result<String, String>),
}

/// How the house stands.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) pending: Vec<ActionView>,
    /// Whether more waits than that.
    pub(crate) more: bool,
    pub(crate) freezes: Vec<FreezeView>,
}

/// What came of a decision.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) id: ActionId,
    pub(crate) decision: Decision,
    /// The action afterwards, or why not, in words.
    pub(crate) outcome: Result<ActionView, String>,
    /// After a refusal: how the action stands now, so that it can be said who was faster.
    pub(crate) now: Option<ActionView>,
}

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Learn how the house stands.
    Reload,
    /// Learn how one action stands.
    Fetch(ActionId),
    /// Send a decision.
    Decide(ActionId, Box<DecisionRequest>),
    Freeze(FreezeBody),
    Lift(FreezeId),
    /// Open an editor on a text.
    Edit(String),
    /// Paint everything anew.
    Redraw,
    /// Step back behind the shell.
    Suspend,
    Quit,
}
