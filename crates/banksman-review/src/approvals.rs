//! Who approved, and who is still missing.

use banksman_core::Tier;
use banksman_core::wire::{ActionView, VoteView};

/// How far the current version of an action has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals<'a> {
    /// How many places of the quorum are filled.
    pub given: u32,
    /// How many there are: none, if policy or a grant let it through without asking anyone.
    pub needed: u32,
    /// Roles of which nobody has approved yet.
    pub missing_roles: Vec<&'a str>,
}

impl<'a> Approvals<'a> {
    /// Counts different people who approved this version.
    #[must_use]
    pub fn of(action: &'a ActionView) -> Self {
        let quorum = &action.verdict.quorum;
        let mut approvals: Vec<&VoteView> = action
            .votes
            .iter()
            .filter(|vote| vote.version == action.version && vote.decision.approves())
            .collect();
        approvals.sort_by(|one, other| one.by.cmp(&other.by));
        approvals.dedup_by(|one, other| one.by == other.by);
        let people: Vec<Vec<String>> = approvals
            .iter()
            .map(|vote| {
                let acting = vote.acting.iter().map(|acting| acting.role.clone());
                vote.roles.iter().cloned().chain(acting).collect()
            })
            .collect();
        let people: Vec<&[String]> = people.iter().map(Vec::as_slice).collect();
        let mut missing_roles: Vec<&str> = quorum
            .roles()
            .iter()
            .filter(|role| !people.iter().any(|roles| roles.contains(role)))
            .map(String::as_str)
            .collect();
        missing_roles.dedup();
        let needed = if asks_nobody(action) { 0 } else { quorum.count() };
        Self { given: quorum.progress(&people), needed, missing_roles }
    }

    /// In a few words.
    #[must_use]
    pub fn short(&self) -> String {
        match self.needed {
            0 => "no approval needed".to_owned(),
            needed => format!("{} of {needed} approvals", self.given),
        }
    }
}

/// Whether nobody was asked, or is to be.
fn asks_nobody(action: &ActionView) -> bool {
    let by_grant = action.resolution.as_ref().is_some_and(|resolution| resolution.by == "grant");
    match action.verdict.tier {
        Tier::Auto | Tier::Notify => true,
        Tier::Approve | Tier::Escalate | Tier::Block => by_grant && action.votes.is_empty(),
    }
}

#[cfg(all(test, feature = "sample"))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sample;

    #[test]
    fn nobody_is_missing_where_nobody_is_asked() {
        let mut action = sample::action();
        assert!(Approvals::of(&action).short().ends_with("approvals"));
        Arc::make_mut(&mut action.verdict).tier = Tier::Auto;
        assert_eq!(Approvals::of(&action).short(), "no approval needed");
    }
}
