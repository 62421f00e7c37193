//! The API, call by call, in the order of an action's life.

use std::fmt;
use std::time::Duration;

use banksman_core::wire::{
    ActionView, BatchDecisionRequest, BatchDecisionView, BatchView, CancelBody, CheckpointView, ClaimBody,
    ClaimView, DecisionRequest, DelegationBody, DelegationView, DeliveryView, EventView, FallbackBody,
    FreezeBody, FreezeView, GrantBody, GrantView, JobView, List, ModeBody, ModeView, OutcomeBody, Page,
    PolicyView, ProofView, ResolutionsView, TestMessageBody, TestMessageView,
};
use banksman_core::{ActionId, BatchId, DelegationId, FreezeId, GrantId};
use serde::Serialize;

use crate::transport::{Call, Transport};
use crate::{ActionsQuery, AuditQuery, ClientError, Events, PostQuery, Proposal};

/// A client with one server and one credential.
///
/// Connecting may take five seconds and a whole call thirty, plus what the call itself asks to wait. Nothing is
/// ever sent twice: whether to repeat is for callers to decide, who know what repeating costs.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
}

impl fmt::Debug for Client {
    /// Without the credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `base_url`. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ClientError::InvalidRequest`] if the address is not that of an HTTP server or the token cannot be sent.
    pub fn new(base_url: &str, token: &str) -> Result<Self, ClientError> {
        Transport::new(base_url, token).map(|transport| Self { transport })
    }

    /// The same client, which gives up on a call after `patience` instead of thirty seconds.
    #[must_use]
    pub fn answered_within(self, patience: Duration) -> Self {
        Self { transport: self.transport.answered_within(patience) }
    }

    /// The server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        self.transport.base()
    }

    /// Proposes an action. The answer is the action as it stands; a blocked one is a [`ClientError::Problem`]. What
    /// people or time said no to while this waited, or before to the same key, is looked up: its status says so.
    ///
    /// # Errors
    /// As every call here: [`ClientError`] says whether the request was seen, refused or not understood.
    pub fn propose(&self, proposal: &Proposal<'_>) -> Result<ActionView, ClientError> {
        match self.transport.fetch(proposing("/v1/actions", proposal)) {
            Err(ClientError::Problem(problem)) if matches!(&*problem.code, "denied" | "not_authorised") => {
                match problem.action {
                    Some(id) => self.action(id),
                    None => Err(ClientError::Problem(problem)),
                }
            }
            answer => answer,
        }
    }

    /// An action as it stands.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn action(&self, id: ActionId) -> Result<ActionView, ClientError> {
        self.transport.fetch(Call::get(format!("/v1/actions/{id}")))
    }

    /// An action as it stands once it is decided, or after so many seconds.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn await_action(&self, id: ActionId, seconds: u64) -> Result<ActionView, ClientError> {
        self.transport.fetch(Call::get(format!("/v1/actions/{id}")).wait(seconds))
    }

    /// A page of actions.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn actions(&self, query: &ActionsQuery) -> Result<Page<ActionView>, ClientError> {
        self.transport.fetch(Call::get("/v1/actions").query(query.pairs()))
    }

    /// Every action that matches, page after page, from the query's cursor on.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn all_actions(&self, query: &ActionsQuery) -> Result<Vec<ActionView>, ClientError> {
        let mut query = query.clone();
        let mut all = Vec::new();
        loop {
            let page = self.actions(&query)?;
            all.extend(page.items);
            // A server that hands out the same cursor again would keep us here for ever.
            if page.next_cursor.is_none() || page.next_cursor == query.cursor {
                return Ok(all);
            }
            query.cursor = page.next_cursor;
        }
    }

    /// Decides over an action, at the version and digest that the reviewer saw.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn decide(&self, id: ActionId, decision: &DecisionRequest) -> Result<ActionView, ClientError> {
        self.post(format!("/v1/actions/{id}/decision"), decision)
    }

    /// Claims an authorised action: it is to be run now, once.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn claim(&self, id: ActionId, claim: &ClaimBody) -> Result<ClaimView, ClientError> {
        self.post(format!("/v1/actions/{id}/claim"), claim)
    }

    /// Records how a claimed action ended.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn outcome(&self, id: ActionId, outcome: &OutcomeBody) -> Result<ActionView, ClientError> {
        self.post(format!("/v1/actions/{id}/outcome"), outcome)
    }

    /// Withdraws an action.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn cancel(&self, id: ActionId, cancel: &CancelBody) -> Result<ActionView, ClientError> {
        self.post(format!("/v1/actions/{id}/cancel"), cancel)
    }

    /// What was resolved since an earlier answer's `next_since`; 0 for everything.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn resolutions(&self, since: u64) -> Result<ResolutionsView, ClientError> {
        self.transport.fetch(Call::get("/v1/resolutions").query(vec![("since", since.to_string())]))
    }

    /// Proposes a batch of actions.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn propose_batch(&self, proposal: &Proposal<'_>) -> Result<BatchView, ClientError> {
        self.transport.fetch(proposing("/v1/batches", proposal))
    }

    /// A batch as it stands.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn batch(&self, id: BatchId) -> Result<BatchView, ClientError> {
        self.transport.fetch(Call::get(format!("/v1/batches/{id}")))
    }

    /// Decides over items of a batch, at the digest that the reviewer saw.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn decide_batch(
        &self,
        id: BatchId,
        decision: &BatchDecisionRequest,
    ) -> Result<BatchDecisionView, ClientError> {
        self.post(format!("/v1/batches/{id}/decision"), decision)
    }

    /// The freezes in force.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn freezes(&self) -> Result<List<FreezeView>, ClientError> {
        self.transport.fetch(Call::get("/v1/freezes"))
    }

    /// Freezes an agent, a tool or everything.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn freeze(&self, freeze: &FreezeBody) -> Result<FreezeView, ClientError> {
        self.post("/v1/freezes", freeze)
    }

    /// Lifts a freeze.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn unfreeze(&self, id: FreezeId) -> Result<(), ClientError> {
        self.transport.perform(Call::delete(format!("/v1/freezes/{id}")))
    }

    /// The grants in force.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn grants(&self) -> Result<List<GrantView>, ClientError> {
        self.transport.fetch(Call::get("/v1/grants"))
    }

    /// Grants without an action at hand.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn grant(&self, grant: &GrantBody) -> Result<GrantView, ClientError> {
        self.post("/v1/grants", grant)
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn revoke_grant(&self, id: GrantId) -> Result<(), ClientError> {
        self.transport.perform(Call::delete(format!("/v1/grants/{id}")))
    }

    /// The delegations that are not over.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn delegations(&self) -> Result<List<DelegationView>, ClientError> {
        self.transport.fetch(Call::get("/v1/delegations"))
    }

    /// Lets another person use one's roles for a period.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn delegate(&self, delegation: &DelegationBody) -> Result<DelegationView, ClientError> {
        self.post("/v1/delegations", delegation)
    }

    /// Ends a delegation.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn revoke_delegation(&self, id: DelegationId) -> Result<(), ClientError> {
        self.transport.perform(Call::delete(format!("/v1/delegations/{id}")))
    }

    /// Who was told of an action, oldest first.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn notifications_of(&self, id: ActionId) -> Result<List<DeliveryView>, ClientError> {
        self.transport.fetch(Call::get(format!("/v1/actions/{id}/notifications")))
    }

    /// Messages to people, newest first.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn notifications(&self, query: &PostQuery) -> Result<List<DeliveryView>, ClientError> {
        self.transport.fetch(Call::get("/v1/notifications").query(query.pairs()))
    }

    /// Has a failed message sent again.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn retry_notification(&self, id: i64) -> Result<DeliveryView, ClientError> {
        self.transport.fetch(Call::post(format!("/v1/notifications/{id}/retry"), Vec::new()))
    }

    /// Sends a test message.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn test_channel(&self, test: &TestMessageBody) -> Result<TestMessageView, ClientError> {
        self.post("/v1/notifications/test", test)
    }

    /// Calls of agents whose actions were resolved, newest first.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn jobs(&self, query: &PostQuery) -> Result<List<JobView>, ClientError> {
        self.transport.fetch(Call::get("/v1/jobs").query(query.pairs()))
    }

    /// Has the agent's side called again.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn retry_job(&self, id: i64) -> Result<JobView, ClientError> {
        self.transport.fetch(Call::post(format!("/v1/jobs/{id}/retry"), Vec::new()))
    }

    /// Gives a call of the agent's side up.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn drop_job(&self, id: i64) -> Result<JobView, ClientError> {
        self.transport.fetch(Call::post(format!("/v1/jobs/{id}/drop"), Vec::new()))
    }

    /// The operating mode, and whether policy is enforced.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn mode(&self) -> Result<ModeView, ClientError> {
        self.transport.fetch(Call::get("/v1/mode"))
    }

    /// Changes the operating mode.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn set_mode(&self, mode: &ModeBody) -> Result<ModeView, ClientError> {
        self.post("/v1/mode", mode)
    }

    /// Falls back from production to shadow.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn fall_back(&self, fallback: &FallbackBody) -> Result<ModeView, ClientError> {
        self.post("/v1/mode/fallback", fallback)
    }

    /// Which policy is in force.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn policy(&self) -> Result<PolicyView, ClientError> {
        self.transport.fetch(Call::get("/v1/policy"))
    }

    /// A page of the audit log.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn audit(&self, query: &AuditQuery) -> Result<Page<EventView>, ClientError> {
        self.transport.fetch(Call::get("/v1/audit").query(query.pairs()))
    }

    /// The audit log as it stands, signed.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn checkpoint(&self) -> Result<CheckpointView, ClientError> {
        self.transport.fetch(Call::get("/v1/audit/checkpoint"))
    }

    /// That an event is in it, in its place.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn proof(&self, seq: u64) -> Result<ProofView, ClientError> {
        self.transport.fetch(Call::get(format!("/v1/audit/proof/{seq}")))
    }

    /// What happens from now on, or after event `since`, until the connection ends.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn events(&self, since: Option<u64>) -> Result<Events, ClientError> {
        let since = since.map(|seq| ("since", seq.to_string())).into_iter().collect();
        self.transport.follow(Call::get("/v1/events").query(since))
    }

    /// Whether the server serves.
    ///
    /// # Errors
    /// As [`Client::propose`].
    pub fn ready(&self) -> Result<(), ClientError> {
        self.transport.perform(Call::get("/ready"))
    }

    fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::InvalidRequest {
            detail: format!("the request has no JSON form: {error}"),
        })?;
        self.transport.fetch(Call::post(path, body))
    }
}

fn proposing(path: &str, proposal: &Proposal<'_>) -> Call {
    let mut call = Call::post(path, proposal.body.as_bytes().to_vec());
    if let Some(key) = proposal.idempotency_key {
        call = call.header("Idempotency-Key", key);
    }
    if let Some(seconds) = proposal.wait_seconds {
        call = call.wait(seconds);
    }
    call
}
