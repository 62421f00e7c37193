//! Which policy is in force.

use banksman_core::wire::PolicyView;
use maud::html;

use crate::frame::{Frame, Place};
use crate::moment::moment;
use crate::text::{Foreign, ForeignLines};

/// The page about the policy.
#[derive(Debug)]
pub struct PolicyPage<'a> {
    /// What is in force.
    pub policy: &'a PolicyView,
}

impl PolicyPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let policy = self.policy;
        let body = html! {
            h1 { "Policy" }
            @if let Some(refused) = &policy.refused {
                section.panel.wrong {
                    h2 { "A newer policy could not be used" }
                    p { "Tried " (moment(refused.at)) ". The one below stays in force." }
                    pre tabindex="0" { (ForeignLines(&refused.problem)) }
                }
            }
            section.panel {
                h2 { "In force" }
                dl.pairs {
                    dt { "From" } dd { @if policy.source.is_empty() { span.quiet { "built in" } } @else { code { (Foreign(&policy.source)) } } }
                    dt { "Since" } dd { (moment(policy.loaded_at)) }
                    dt { "Digest" } dd { code { (policy.digest.to_string()) } }
                }
                p.quiet { "The digest is the one that the audit log names. What the policy says of an action: " code { "banksman policy explain ACTION.json" } "." }
            }
        };
        frame.page(Place::Policy, "Policy", &body)
    }
}
