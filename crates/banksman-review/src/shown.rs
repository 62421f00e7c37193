//! What a reviewer sees is what executes.

use banksman_core::redact::is_redacted;
use banksman_core::wire::ActionView;
use banksman_core::{Decision, Digest, action_digest, forwarded_digest};

/// How far the digest that a decision names vouches for what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It is the digest of exactly this.
    Whole,
    /// Policy hides a part of it, so that nobody here can tell.
    InPart,
    /// It is the digest of something else, whatever the server, or something between it and us, says.
    SomethingElse,
}

impl Shown {
    /// How it is with this action.
    #[must_use]
    pub fn of(action: &ActionView) -> Self {
        match digest_of_shown(action) {
            None => Self::InPart,
            Some(digest) if digest == action.digest => Self::Whole,
            Some(_) => Self::SomethingElse,
        }
    }

    /// What to say of it, if anything.
    #[must_use]
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::InPart => Some(
                "Policy hides a part of it, which is shown as [redacted]: whether the digest is that of these \
                 arguments cannot be checked here.",
            ),
            Self::SomethingElse => {
                Some("The server's digest is not that of what is shown here: it can only be denied.")
            }
        }
    }

    /// Why it may not be decided like this, if that is so. A no lets nothing run, whatever it is about.
    #[must_use]
    pub fn objection(self, decision: Decision) -> Option<&'static str> {
        match self {
            Self::SomethingElse if decision.approves() => self.warning(),
            Self::Whole | Self::InPart | Self::SomethingElse => None,
        }
    }
}

/// The digest of what is shown, whatever the server, or something between it and us, says that it is. None, if a part of
/// it is hidden.
#[must_use]
pub fn digest_of_shown(action: &ActionView) -> Option<Digest> {
    if is_redacted(&action.args, &action.verdict.redact) {
        return None;
    }
    Some(match &action.context.server {
        Some(server) if action.context.forwarded => {
            forwarded_digest(server, &action.tool, action.kind, &action.args)
        }
        Some(_) | None => action_digest(&action.tool, action.kind, &action.args),
    })
}

#[cfg(all(test, feature = "sample"))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sample;

    #[test]
    fn what_is_something_else_can_only_be_denied() {
        let mut action = sample::action();
        assert_eq!(Shown::of(&action), Shown::Whole);
        action.args = sample::json(r#"{"amount":1,"order_id":"[redacted]"}"#);
        assert_eq!(Shown::of(&action), Shown::SomethingElse, "no path leads there");
        for decision in [Decision::Approve, Decision::Modify] {
            assert!(Shown::of(&action).objection(decision).unwrap().contains("only be denied"));
        }
        for decision in [Decision::Deny, Decision::Respond] {
            assert_eq!(Shown::of(&action).objection(decision), None);
        }
        Arc::make_mut(&mut action.verdict).redact = vec!["order_id".into()];
        assert_eq!(Shown::of(&action), Shown::InPart);
        assert_eq!(Shown::InPart.objection(Decision::Approve), None);
        action.args = sample::json(r#"{"amount":1}"#);
        assert_eq!(Shown::of(&action), Shown::SomethingElse, "nothing of it is hidden");
    }
}
