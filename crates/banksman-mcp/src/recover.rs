//! After a start: what was held, approved or under way when the last program ended, or another node did.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{Authority, Case, Digest, State, Status};
use banksman_engine::EngineError;
use banksman_store::{CaseQuery, Order};

use crate::errand::{Errand, Out};
use crate::gateway::Gateway;
use crate::hold::OFFERED_FOR;
use crate::session::IDLE;
use crate::ways::Way;

/// How often to look for what another node has left behind: for so long an approved call may wait if its node is gone and
/// its client does not ask another one. What is authorised and not yet claimed is few and found by an index.
const SWEEP: Duration = Duration::from_secs(5);

/// How much longer than its lease it is remembered that a call was passed on again: nodes' clocks may differ.
const REMEMBERED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// How many actions are read at a time.
const PAGE: usize = 256;

impl Gateway {
    /// Takes care of what was held or approved before this start, or by a node that is gone; now and from time to time.
    pub(crate) async fn find_left_behind(self: Arc<Self>) {
        self.remember_recent().await;
        let mut first = true;
        loop {
            for status in [Status::Authorised, Status::Pending, Status::Executing] {
                // What is pending or executing on other nodes has its keeper there.
                if !first && status != Status::Authorised {
                    continue;
                }
                if let Err(error) = self.adopt(status).await {
                    tracing::warn!(%error, "held calls cannot be listed; trying again later");
                }
            }
            first = false;
            self.sessions.sweep(IDLE, &self.holds.sessions());
            self.parked.sweep();
            for upstream in self.upstreams.values() {
                crate::aggregate::end(upstream.house.take_idle(IDLE));
            }
            tokio::time::sleep(SWEEP).await;
        }
    }

    async fn adopt(self: &Arc<Self>, status: Status) -> Result<(), EngineError> {
        self.each(status, usize::MAX, |case| {
            let by_people = matches!(
                &case.state,
                State::Pending { .. }
                    | State::Authorised { authority: Authority::Reviewers, .. }
                    | State::Executing { authority: Authority::Reviewers, .. }
            );
            by_people.then_some(())
        })
        .await?
        .into_iter()
        .for_each(|case| self.adopt_one(case));
        Ok(())
    }

    fn adopt_one(self: &Arc<Self>, case: Case) {
        let gateway = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(agent) = gateway.engine.agent_named(&case.agent).await else { return };
            if case.status() == Status::Executing {
                gateway.run_again(&case).await;
            }
            gateway.keep(&case, case.submission.digest, agent);
        });
    }

    /// A call that was under way when this program ended: nobody knows whether it ran, so it runs again only if its tool
    /// was declared such that this does no harm.
    async fn run_again(self: &Arc<Self>, case: &Case) {
        let Some(upstream) = self.upstream_of(case) else { return };
        if !upstream.config.is_idempotent(&case.submission.action.tool) {
            return;
        }
        // What was let through before is not let through any more, and the same if nobody can say.
        let action = &case.submission.action;
        match self.engine.house_rules().await {
            Ok(rules) if !rules.freezes.iter().any(|freeze| freeze.covers(&case.agent, &action.tool)) => {}
            Ok(_) => {
                tracing::info!(action = %case.id, "a call that was under way is frozen, and not passed on again");
                return;
            }
            Err(error) => {
                tracing::warn!(action = %case.id, %error, "a call that was under way is not passed on again");
                return;
            }
        }
        if !self.is_first_to_pass_on_again(case).await {
            return;
        }
        tracing::info!(action = %case.id, "a call that was under way is passed on again: its tool is idempotent");
        let errand = Errand::of(upstream, &Arc::new(case.clone()), case.submission.digest, Way::Ours);
        let errand = Errand { again: true, ..errand };
        errand.run(Arc::clone(self), Out::Nobody).await;
    }

    /// Several nodes may begin anew at the same time, and each finds what none of them has ended.
    async fn is_first_to_pass_on_again(&self, case: &Case) -> bool {
        let Some(claim) = case.state.claim() else { return false };
        let key = format!("the MCP call {}, claimed until {}, again", case.id, claim.lease_expires_at);
        let until = claim.lease_expires_at.after(REMEMBERED_AFTER);
        match self.engine.spend_once(Digest::of(key.as_bytes()), until).await {
            Ok(first) => first,
            Err(error) => {
                tracing::warn!(action = %case.id, %error, "a call that was under way is not passed on again");
                false
            }
        }
    }

    /// Offers what ended lately, perhaps while its client could not hear of it.
    async fn remember_recent(self: &Arc<Self>) {
        for status in [Status::Succeeded, Status::Failed] {
            let now = self.engine.now();
            let found = self
                .each(status, 4 * PAGE, |case| {
                    let (State::Succeeded { authority: Authority::Reviewers, at, .. }
                    | State::Failed { authority: Authority::Reviewers, at, .. }) = &case.state
                    else {
                        return None;
                    };
                    (now.since(*at) < OFFERED_FOR && case.version == 1).then_some(())
                })
                .await;
            for case in found.unwrap_or_default() {
                self.holds.offer(&case);
            }
        }
    }

    /// The forwarded actions of a status that are wanted, newest first.
    async fn each(
        &self,
        status: Status,
        most: usize,
        wanted: impl Fn(&Case) -> Option<()>,
    ) -> Result<Vec<Case>, EngineError> {
        let mut found = Vec::new();
        let mut read = 0;
        let mut after = None;
        while read < most {
            let query = CaseQuery {
                status: Some(status),
                after,
                order: Order::Descending,
                ..CaseQuery::newest(PAGE)
            };
            let page = self.engine.actions(query).await?;
            let is_last = page.len() < PAGE;
            read += page.len();
            after = page.last().map(|case| case.id);
            found.extend(
                page.into_iter().filter(|case| case.submission.action.forwarded && wanted(case).is_some()),
            );
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}
