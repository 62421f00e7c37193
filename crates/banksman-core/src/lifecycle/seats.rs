//! Who sits in which place: what counts towards a quorum besides a person's own roles.

use super::Ballot;
use crate::{Acting, ActingSource, Case, Escalation, Review};

/// Who may be behind a review. Whoever brings someone in holds the link that makes them: until somebody else has
/// confirmed that there is another person, what the two say is one person's word.
pub(super) fn behind(review: &Review) -> &str {
    review.brought_by.as_deref().unwrap_or(&review.by)
}

/// The roles that count for a ballot and are not the reviewer's own: only those that the quorum asks for.
///
/// Stepping in by a hand-over takes a role of one's own, and what is lent is the lender's own: neither can be built on
/// the other. Whoever may not approve the action themselves lends nothing for it.
pub(super) fn acting(case: &Case, ballot: &Ballot) -> Vec<Acting> {
    let verdict = &case.submission.verdict;
    let own = &ballot.reviewer.roles;
    let is_needed = |role: &String| verdict.quorum.roles().contains(role) && !own.contains(role);
    let mut acting: Vec<Acting> = Vec::new();
    for step in case.steps_taken() {
        match &step.then {
            Escalation::HandTo { role, instead_of } if own.contains(role) => {
                let source = ActingSource::HandOver { as_role: role.clone() };
                let roles = instead_of.iter().filter(|role| is_needed(role));
                acting.extend(roles.map(|role| Acting { role: role.clone(), source: source.clone() }));
            }
            Escalation::HandTo { .. } | Escalation::NotifyAgain => {}
        }
    }
    let lent = ballot.lent.iter().filter(|lent| {
        is_needed(&lent.role)
            && lent.on_behalf_of().is_some_and(|lender| lender != ballot.reviewer.name && !case.is_of(lender))
    });
    acting.extend(lent.cloned());
    acting
}

/// The roles of each person who approved, as they count together.
///
/// A lent role is one person's role all the same. It counts once: not for a delegate if the lender has approved too, and
/// for the first of several delegates.
pub(super) fn people(approvals: &[&Review]) -> Vec<Vec<String>> {
    let mut used: Vec<(&str, &str)> = Vec::new();
    let mut people = Vec::with_capacity(approvals.len());
    for review in approvals {
        let mut roles = review.roles.clone();
        let mut uses: Vec<(&str, &str)> = Vec::new();
        for acting in &review.acting {
            let counts = match acting.on_behalf_of() {
                None => true,
                Some(lender) => {
                    let lent = (lender, acting.role.as_str());
                    let free = !used.contains(&lent) && approvals.iter().all(|other| other.by != lender);
                    if free {
                        uses.push(lent);
                    }
                    free
                }
            };
            if counts && !roles.contains(&acting.role) {
                roles.push(acting.role.clone());
            }
        }
        used.extend(uses);
        people.push(roles);
    }
    people
}
