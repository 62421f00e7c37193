//! What is shown of an action is enough to judge it by again.

use std::sync::Arc;

use banksman_core::wire::ActionView;
use banksman_core::{
    Action, ActionId, Annotations, Moment, Opening, Principal, PrincipalKind, Submission, TokenId, open,
};

use crate::samples::{AT, assessment, full_submission, verdict};

#[test]
fn an_action_that_is_shown_is_the_one_that_was_proposed() {
    let annotations = Some(Annotations { destructive_hint: Some(true), ..Annotations::default() });
    let server = Some("work".to_owned());
    let proposed = Action { server, annotations, forwarded: true, ..full_submission().action };
    let agent = Principal {
        token: TokenId::from_parts(1, 1),
        kind: PrincipalKind::Agent,
        name: "riley".into(),
        owner: None,
        roles: Vec::new(),
    };
    let submission = Arc::new(Submission::new(proposed.clone(), assessment(), verdict()));
    let opening = Opening { id: ActionId::from_parts(1, 1), agent, batch: None, submission, grant: None };
    let shown = ActionView::from(&open(opening, &Moment::at(AT)).case).to_action();
    // These are the agent's own, and policy does not ask about them.
    assert_eq!(shown, Action { checkpoint: None, resume: None, timeout_seconds: None, ..proposed });
}
