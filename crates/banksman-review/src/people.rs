//! Who may answer, and on what their word rests, in words.

use std::time::Duration;

use banksman_core::{Acting, ActingSource, Escalation, EscalationStep};

use crate::span;

/// What someone's approval rested on besides their own roles.
#[must_use]
pub fn standing(acting: &[Acting], solo_operator: bool) -> String {
    let mut text = String::new();
    for acting in acting {
        let role = &acting.role;
        text.push_str(&match &acting.source {
            ActingSource::HandOver { as_role } => format!(", as {as_role} in place of {role}"),
            ActingSource::Delegation { on_behalf_of, .. } => {
                format!(", as {role} on behalf of {on_behalf_of}")
            }
        });
    }
    if solo_operator {
        text.push_str(", THEIR OWN, as solo operator");
    }
    text
}

/// What a step of a chain did.
#[must_use]
pub fn step_taken(step: &EscalationStep) -> String {
    match &step.then {
        Escalation::NotifyAgain => "told again".into(),
        Escalation::HandTo { role, .. } => format!("handed to {role}"),
    }
}

/// What happens while nobody decides.
#[must_use]
pub fn chain(steps: &[EscalationStep]) -> String {
    let steps = steps.iter().map(|step| {
        let after = span(Duration::from_secs(step.after_seconds));
        match &step.then {
            Escalation::NotifyAgain => format!("after {after} people are told again"),
            Escalation::HandTo { role, instead_of } if instead_of.is_empty() => {
                format!("after {after} {role} is told")
            }
            Escalation::HandTo { role, instead_of } => {
                format!("after {after} {role} may answer for {}", instead_of.join(", "))
            }
        }
    });
    steps.collect::<Vec<_>>().join("; ")
}
