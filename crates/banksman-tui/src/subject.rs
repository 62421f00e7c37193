//! An action as a person sees it, and what has become of it since.

use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{ActionId, Decision, Timestamp};
use banksman_review::{Shown, overtaken};

use crate::paint::foreign;

/// What is on the screen is what is decided, at the version and digest that are on the screen. What comes in later
/// does not replace it by itself: that would change under a finger that is about to press a key.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    shown: ActionView,
    /// What the server says now, if it is something else.
    news: Option<Box<ActionView>>,
    /// How far its digest vouches for it.
    vouched: Shown,
}

impl Subject {
    pub(crate) fn new(action: ActionView) -> Self {
        Self { vouched: Shown::of(&action), shown: action, news: None }
    }

    pub(crate) fn id(&self) -> ActionId {
        self.shown.id
    }

    pub(crate) fn shown(&self) -> &ActionView {
        &self.shown
    }

    /// Takes note of how an action stands now. Whether what is shown is to be drawn again.
    pub(crate) fn hear(&mut self, action: &ActionView) -> bool {
        if action.id != self.shown.id {
            return false;
        }
        let same_question = action.status == self.shown.status
            && action.version == self.shown.version
            && action.digest == self.shown.digest;
        if same_question {
            // Who approved, and until when there is time, may change without changing what would run.
            let redraw = *action != self.shown;
            if redraw {
                *self = Self::new(action.clone());
            }
            return redraw;
        }
        self.news = Some(Box::new(action.clone()));
        false
    }

    /// Shows what the server says now, because the person asked for it. Whether anything changed.
    pub(crate) fn catch_up(&mut self) -> bool {
        match self.news.take() {
            Some(news) => {
                *self = Self::new(*news);
                true
            }
            None => false,
        }
    }

    pub(crate) fn has_news(&self) -> bool {
        self.news.is_some()
    }

    /// Why nothing can be decided here, if that is so. It quotes others, made visible.
    pub(crate) fn obstacle(&self, now: Timestamp) -> Option<String> {
        let current = self.news.as_deref().unwrap_or(&self.shown);
        overtaken(&self.shown, current, now).map(|words| foreign(&words))
    }

    /// Why it cannot be decided like this here, if that is so. It quotes others, made visible.
    pub(crate) fn objection(&self, decision: Decision, now: Timestamp) -> Option<String> {
        self.obstacle(now).or_else(|| self.vouched.objection(decision).map(str::to_owned))
    }

    /// A decision on exactly what is shown.
    pub(crate) fn request(&self, decision: Decision) -> DecisionRequest {
        DecisionRequest {
            decision,
            version: self.shown.version,
            digest: self.shown.digest,
            reason: None,
            args: None,
            message: None,
            remember: None,
        }
    }
}
