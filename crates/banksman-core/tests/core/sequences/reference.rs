//! The lifecycle as its description has it, in seconds and plain facts.

use std::collections::BTreeSet;

use banksman_core::{Decision, PrincipalKind, Status, Submission, Tier, Verdict};

use super::{Ask, VersionIs, Vote};

/// What decides about an action's next step.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) status: Status,
    pub(super) version: u32,
    /// When time itself moves the action on: its deadline, its lapse or the end of its lease.
    pub(super) wakes_at: Option<i64>,
    verdict: Verdict,
    patience: Option<u64>,
    relies_on_stock: bool,
    /// Who approved the current version, and with which roles.
    approved: Vec<(String, Vec<String>)>,
}

type Answer = Result<(), &'static str>;

fn seconds(count: u64) -> i64 {
    i64::try_from(count).unwrap()
}

impl Reference {
    pub(super) fn begin(submission: &Submission, frozen: bool, now: i64) -> Self {
        let verdict = Verdict::clone(&submission.verdict);
        let mut new = Self {
            status: Status::Blocked,
            version: 1,
            wakes_at: None,
            patience: submission.action.timeout_seconds,
            relies_on_stock: submission.action.preconditions.is_some(),
            approved: Vec::new(),
            verdict,
        };
        match new.verdict.tier {
            _ if frozen => {}
            Tier::Block => {}
            Tier::Auto | Tier::Notify => new.authorise(now),
            Tier::Approve | Tier::Escalate => new.hold(now),
        }
        new
    }

    /// Whether the executor sees the stock as it was, and nothing that nobody declared.
    fn is_as_declared(&self, seen: Option<&str>) -> bool {
        if self.relies_on_stock { seen == Some(r#"{"stock":3.0}"#) } else { seen.is_none() }
    }

    fn hold(&mut self, now: i64) {
        self.status = Status::Pending;
        let patience = self.patience.unwrap_or(u64::MAX);
        self.wakes_at = Some(now + seconds(self.verdict.timeout_seconds.min(patience)));
    }

    fn authorise(&mut self, now: i64) {
        self.status = Status::Authorised;
        self.wakes_at = Some(now + seconds(self.verdict.claim_within_seconds));
    }

    fn end(&mut self, status: Status) -> Answer {
        self.status = status;
        self.wakes_at = None;
        Ok(())
    }

    /// Whether the moment at which time moves the action on has come.
    fn is_due(&self, now: i64) -> bool {
        self.wakes_at.is_some_and(|at| at <= now)
    }

    /// The order is the contract: what the decision is about, whether it is in time, whether it is still open,
    /// and only then who decides and how.
    fn admit(&self, vote: &Vote, now: i64) -> Answer {
        if vote.version_is != VersionIs::Current {
            return Err("stale_version");
        }
        if !vote.digest_is_right {
            return Err("digest_mismatch");
        }
        if self.status == Status::Expired || (self.status == Status::Pending && self.is_due(now)) {
            return Err("expired");
        }
        if self.status != Status::Pending {
            return Err("already_decided");
        }
        if vote.reviewer.kind == PrincipalKind::Agent {
            return Err("missing_role");
        }
        let wants_it_to_run = matches!(vote.decision, Decision::Approve | Decision::Modify);
        if wants_it_to_run && ["olga", "riley"].contains(&vote.reviewer.name.as_str()) {
            return Err("self_approval");
        }
        if self.verdict.require_reason && !says(vote.reason) && !says(vote.message) {
            return Err("reason_required");
        }
        if vote.decision == Decision::Respond && !says(vote.message) {
            return Err("message_required");
        }
        Ok(())
    }

    /// Whether one more person would bring the quorum closer: every approval so far fits into some way of
    /// meeting it, and so must theirs.
    fn helps(&self, vote: &Vote) -> Answer {
        if self.approved.iter().any(|(name, _)| *name == vote.reviewer.name) {
            return Err("already_voted");
        }
        let mut people = self.approved.clone();
        let before = places_filled(&self.verdict, &people);
        people.push((vote.reviewer.name.clone(), vote.reviewer.roles.clone()));
        if places_filled(&self.verdict, &people) > before { Ok(()) } else { Err("missing_role") }
    }

    fn count_approval(&mut self, vote: &Vote, now: i64) {
        self.approved.push((vote.reviewer.name.clone(), vote.reviewer.roles.clone()));
        if places_filled(&self.verdict, &self.approved) == self.verdict.quorum.count() as usize {
            self.authorise(now);
        }
    }

    fn decide(&mut self, vote: &Vote, now: i64, frozen: bool) -> Answer {
        self.admit(vote, now)?;
        match vote.decision {
            Decision::Modify => Err("wrong_decision"),
            Decision::Deny | Decision::Respond => self.end(Status::Denied),
            Decision::Approve if frozen => Err("frozen"),
            Decision::Approve => {
                self.helps(vote)?;
                let one_is_enough =
                    self.verdict.quorum.count() == 1 && self.verdict.quorum.roles().is_empty();
                let may_remember =
                    self.verdict.allow_remember && self.verdict.tier == Tier::Approve && one_is_enough;
                if vote.remember && !may_remember {
                    return Err("remember_not_allowed");
                }
                self.count_approval(vote, now);
                Ok(())
            }
        }
    }

    /// An edit makes the next version: only its author's approval counts for it, and where it demands more not even
    /// that, and it is held for as long as a new one.
    pub(super) fn edit(&mut self, vote: &Vote, verdict: &Verdict, now: i64, frozen: bool) -> Answer {
        self.admit(vote, now)?;
        if vote.decision != Decision::Modify {
            return Err("wrong_decision");
        }
        if frozen {
            return Err("frozen");
        }
        if verdict.tier == Tier::Block {
            return Err("modification_blocked");
        }
        if verdict.require_reason && !says(vote.reason) && !says(vote.message) {
            return Err("reason_required");
        }
        let demands_more = verdict.tier > self.verdict.tier || verdict.quorum != self.verdict.quorum;
        let approved_before = std::mem::take(&mut self.approved);
        let verdict_before = std::mem::replace(&mut self.verdict, verdict.clone());
        if !demands_more && let Err(code) = self.helps(vote) {
            self.approved = approved_before;
            self.verdict = verdict_before;
            return Err(code);
        }
        self.version += 1;
        if demands_more {
            self.hold(now);
        } else {
            self.count_approval(vote, now);
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, ask: &Ask, now: i64, frozen: bool) -> Answer {
        use Status::{
            Authorised, Blocked, Cancelled, Denied, Executing, Expired, Failed, Lapsed, Pending, Revoked,
            Succeeded, Unknown,
        };
        match ask {
            Ask::Decide(vote) => self.decide(vote, now, frozen),
            Ask::Edit { .. } => unreachable!("an edit comes with the verdict of what it makes"),
            Ask::Cancel => match self.status {
                Pending if self.is_due(now) => Err("expired"),
                Pending => self.end(Cancelled),
                Authorised if self.is_due(now) => Err("lapsed"),
                Authorised => self.end(Revoked),
                Expired => Err("expired"),
                Lapsed => Err("lapsed"),
                Executing | Succeeded | Failed | Unknown => Err("already_claimed"),
                Blocked | Denied | Cancelled | Revoked => Err("already_decided"),
            },
            Ask::Claim { digest_is_right: false, .. } => Err("digest_mismatch"),
            Ask::Claim { preconditions, .. } => match self.status {
                Authorised if self.is_due(now) => Err("lapsed"),
                Authorised if frozen => Err("frozen"),
                Authorised if !self.is_as_declared(*preconditions) => Err("precondition_failed"),
                Authorised => {
                    self.status = Executing;
                    self.wakes_at = Some(now + seconds(self.verdict.lease_seconds));
                    Ok(())
                }
                Lapsed => Err("lapsed"),
                Executing | Succeeded | Failed | Unknown => Err("already_claimed"),
                Blocked | Pending | Denied | Expired | Cancelled | Revoked => Err("not_authorised"),
            },
            Ask::Report { succeeded } => match self.status {
                Executing | Unknown => self.end(if *succeeded { Succeeded } else { Failed }),
                Succeeded | Failed => Err("already_recorded"),
                Blocked | Pending | Authorised | Denied | Expired | Cancelled | Lapsed | Revoked => {
                    Err("not_claimed")
                }
            },
            Ask::PassTime if !self.is_due(now) => Err("not_due"),
            Ask::PassTime => match self.status {
                Pending => self.end(Expired),
                Authorised => self.end(Lapsed),
                Executing => self.end(Unknown),
                Blocked | Denied | Expired | Cancelled | Succeeded | Failed | Unknown | Lapsed | Revoked => {
                    Err("not_due")
                }
            },
        }
    }
}

/// How many places of the quorum these people can fill at most, each of them one: found by trying every way.
fn places_filled(verdict: &Verdict, people: &[(String, Vec<String>)]) -> usize {
    fn best(places: &[Option<&str>], people: &[(String, Vec<String>)], taken: &mut BTreeSet<usize>) -> usize {
        let Some(((_, roles), rest)) = people.split_first() else { return taken.len() };
        // They may also stay out, to leave a place to someone else.
        let mut most = best(places, rest, taken);
        for (place, wanted) in places.iter().enumerate() {
            let fits = wanted.is_none_or(|wanted| roles.iter().any(|role| role == wanted));
            if fits && taken.insert(place) {
                most = most.max(best(places, rest, taken));
                taken.remove(&place);
            }
        }
        most
    }
    let roles = verdict.quorum.roles();
    let free = verdict.quorum.count() as usize - roles.len();
    let mut places: Vec<Option<&str>> = roles.iter().map(|role| Some(role.as_str())).collect();
    places.extend(std::iter::repeat_n(None, free));
    best(&places, people, &mut BTreeSet::new())
}

fn says(words: Option<&str>) -> bool {
    words.is_some_and(|words| !words.trim().is_empty())
}
