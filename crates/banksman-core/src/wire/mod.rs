//! What travels over HTTP: requests and answers, shared by the server and its clients.
//!
//! A request for a new action is read by [`crate::Action::from_json`], because it needs errors that say where;
//! everything else is small enough for serde.

mod action;
mod batch;
mod house;
mod ledger;
mod people;
mod post;
mod problem;
mod request;

pub use action::{ActionView, ContextView, OutcomeView, ResolutionView, ResolutionsView, VoteView};
pub use batch::{BatchDecisionRequest, BatchDecisionView, BatchView, ItemDecision, ItemResult};
pub use house::{
    DelegationBody, DelegationView, FallbackBody, FreezeBody, FreezeView, GrantBody, GrantView, ModeBody,
    ModeView, PolicyView, RefusedPolicyView, TokenView,
};
pub use ledger::{CheckpointView, ProofView};
pub use people::{LinkView, PersonBody, PersonView, RightsBody, StandingBody};
pub use post::{DeliveryView, JobView, TestMessageBody, TestMessageView};
pub use problem::{EventView, List, Page, Problem};
pub use request::{CancelBody, ClaimBody, ClaimView, DecisionRequest, OutcomeBody, OutcomeStatus};
