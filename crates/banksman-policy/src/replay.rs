//! A changed policy against what was judged before: what would have been otherwise, and whom it contradicts.

use std::collections::VecDeque;

use banksman_core::{ActionId, Tier, Timestamp, Verdict};

/// An action of the past, and what two policies say of it.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The action.
    pub id: ActionId,
    /// When it was proposed.
    pub at: Timestamp,
    /// By which agent.
    pub agent: String,
    /// With which tool.
    pub tool: String,
    /// What was demanded of it then.
    pub before: Verdict,
    /// What would be demanded now.
    pub after: Verdict,
    /// What a person said about it, if one did.
    pub human: Option<HumanAnswer>,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanAnswer {
    /// Who.
    pub by: String,
    /// Whether they let it through.
    pub approved: bool,
}

/// How a verdict contradicts a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// It would have run without anyone being asked, and a person said no.
    LetsThroughDenied,
    /// It would never have run, and a person said yes.
    BlocksApproved,
}

impl Contradiction {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LetsThroughDenied => "lets_through_denied",
            Self::BlocksApproved => "blocks_approved",
        }
    }
}

impl Replayed {
    /// Whether what is demanded of people, or of the action, is another thing now.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let of = |verdict: &Verdict| {
            let mut roles = verdict.quorum.roles().to_vec();
            roles.sort();
            let people = (verdict.quorum.count(), roles, verdict.require_reason, verdict.require_passkey);
            (effective(verdict), people)
        };
        of(&self.before) != of(&self.after)
    }

    /// Whether a person is contradicted, and how.
    #[must_use]
    pub fn contradiction(&self) -> Option<Contradiction> {
        let human = self.human.as_ref()?;
        match (human.approved, effective(&self.after)) {
            (false, Tier::Auto | Tier::Notify) => Some(Contradiction::LetsThroughDenied),
            (true, Tier::Block) => Some(Contradiction::BlocksApproved),
            (false, Tier::Approve | Tier::Escalate | Tier::Block)
            | (true, Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate) => None,
        }
    }
}

/// The tier that counts: what a preset approves in a person's place, or is only observed, runs at once.
fn effective(verdict: &Verdict) -> Tier {
    if verdict.approved_by_preset.is_some() || verdict.observed { Tier::Notify } else { verdict.tier }
}

/// What came of replaying. It counts everything and keeps the last so many: memory does not grow with history.
#[derive(Debug)]
pub struct Replay {
    keep: usize,
    counts: [[u64; Tier::ALL.len()]; Tier::ALL.len()],
    changed: u64,
    contradicting: u64,
    kept_changed: VecDeque<Replayed>,
    kept_contradicting: VecDeque<Replayed>,
}

impl Replay {
    /// Nothing yet; keeps at most `keep` of the changed and of the contradicting ones.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self {
            keep,
            counts: Default::default(),
            changed: 0,
            contradicting: 0,
            kept_changed: VecDeque::new(),
            kept_contradicting: VecDeque::new(),
        }
    }

    /// Adds an action.
    pub fn add(&mut self, replayed: Replayed) {
        let cell = self
            .counts
            .get_mut(effective(&replayed.before) as usize)
            .and_then(|row| row.get_mut(effective(&replayed.after) as usize));
        if let Some(count) = cell {
            *count += 1;
        }
        if replayed.contradiction().is_some() {
            self.contradicting += 1;
            keep_newest(&mut self.kept_contradicting, self.keep, replayed.clone());
        }
        if replayed.is_changed() {
            self.changed += 1;
            keep_newest(&mut self.kept_changed, self.keep, replayed);
        }
    }

    /// How many actions were of one tier, and would be of another.
    #[must_use]
    pub fn count(&self, before: Tier, after: Tier) -> u64 {
        self.counts.get(before as usize).and_then(|row| row.get(after as usize)).copied().unwrap_or(0)
    }

    /// How many actions were replayed.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// How many verdicts are another now.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.changed
    }

    /// How many verdicts contradict a person.
    #[must_use]
    pub fn contradicting(&self) -> u64 {
        self.contradicting
    }

    /// The last of the changed ones, the newest first.
    pub fn kept_changed(&self) -> impl Iterator<Item = &Replayed> {
        self.kept_changed.iter().rev()
    }

    /// The last of the contradicting ones, the newest first.
    pub fn kept_contradicting(&self) -> impl Iterator<Item = &Replayed> {
        self.kept_contradicting.iter().rev()
    }
}

fn keep_newest(kept: &mut VecDeque<Replayed>, most: usize, one: Replayed) {
    kept.push_back(one);
    if kept.len() > most {
        kept.pop_front();
    }
}
