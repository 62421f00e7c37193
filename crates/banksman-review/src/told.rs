//! What an event of the audit log says, in a sentence.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Acting, Assertion, FreezeScope};

use crate::{decided, standing, step_taken, to_the_second};

/// A piece of a sentence. What is not ours is as someone wrote it: whoever shows it makes it visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Our words.
    Ours(String),
    /// Our words, and what matters in them.
    Strong(&'static str),
    /// Someone's words, or a name that someone gave.
    Theirs(String),
    /// What names something, to be copied.
    Id(String),
}

impl Part {
    /// The words, whoever's they are.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Strong(text) => text,
            Self::Ours(text) | Self::Theirs(text) | Self::Id(text) => text,
        }
    }
}

/// An event in a line: what was said, by which channel, and about which action.
#[must_use]
pub fn event_line(event: &Event) -> String {
    let mut line: String = told(&event.fact).iter().map(Part::text).collect();
    if let Some(channel) = &event.via {
        line.push_str(&format!(" via {channel}"));
    }
    if let Some(action) = &event.action {
        let about = format!(": {} ({}) {} -> {}", action.tool, action.risk, action.id, action.status);
        line.push_str(&about);
    }
    line
}

/// The sentence.
#[must_use]
pub fn told(fact: &Fact) -> Vec<Part> {
    let mut it = Sentence::default();
    match fact {
        Fact::Proposed { freeze: Some(freeze), .. } => {
            it.ours("proposed; ").strong("blocked").ours(" by ").id(freeze.id);
            it.because(Some(&freeze.reason).filter(|reason| !reason.is_empty()));
        }
        Fact::Proposed { verdict, grant, freeze: None, assessment: _ } => {
            it.ours(format!("proposed; {} by ", verdict.tier)).theirs(&verdict.rule);
            it.if_so(verdict.observed, " (observed only)");
            if let Some(grant) = grant {
                it.ours(", let through by ").id(grant);
            }
        }
        Fact::Decided { decision, reason, message, acting, solo_operator, step_up } => {
            it.strong(decided(*decision)).because(reason.as_ref()).telling_the_agent(message.as_ref());
            it.on_whose_word(acting, *solo_operator, step_up.as_ref());
        }
        Fact::Modified {
            verdict,
            reason,
            message,
            acting,
            solo_operator,
            step_up,
            from: _,
            assessment: _,
        } => {
            it.strong("edited").ours(format!(", now {}", verdict.tier)).because(reason.as_ref());
            it.telling_the_agent(message.as_ref());
            it.on_whose_word(acting, *solo_operator, step_up.as_ref());
        }
        Fact::Escalated { number, step } => {
            it.ours(format!("escalated, step {number}: ")).theirs(&step_taken(step));
        }
        Fact::Cancelled { reason } => drop(it.ours("withdrawn").because(reason.as_ref())),
        Fact::Expired => drop(it.ours("expired: nobody decided in time")),
        Fact::Revoked { reason } => drop(it.ours("authorisation taken back").because(reason.as_ref())),
        Fact::Lapsed => drop(it.ours("authorisation lapsed unclaimed")),
        Fact::Claimed { lease_expires_at: _ } => drop(it.ours("claimed")),
        Fact::Finished { late, error } => {
            it.ours("outcome recorded").if_so(*late, ", late").because(error.as_ref());
        }
        Fact::LeaseEnded => drop(it.strong("no outcome came: it may have run")),
        Fact::BatchProposed { batch, items, digest: _ } => {
            it.ours(format!("proposed a batch of {} ", items.len())).id(batch);
        }
        Fact::Frozen { freeze } => {
            it.strong("froze");
            match &freeze.scope {
                FreezeScope::Everything => it.ours(" everything"),
                FreezeScope::Agent(name) => it.ours(" agent ").theirs(name),
                FreezeScope::Tool(name) => it.ours(" tool ").theirs(name),
            };
            it.because(Some(&freeze.reason)).ours(" ").id(freeze.id);
        }
        Fact::Unfrozen { freeze } => drop(it.ours("lifted ").id(freeze)),
        Fact::Granted { grant } => {
            it.ours("granted ").theirs(&grant.agent).ours(" the tool ").theirs(&grant.tool);
            it.ours(" ").id(grant.id);
        }
        Fact::GrantRevoked { grant } => drop(it.ours("revoked ").id(grant)),
        Fact::Delegated { delegation } => {
            it.theirs(&delegation.from).ours(" lends ");
            match delegation.roles.as_slice() {
                [] => it.ours("all roles"),
                roles => it.theirs(&roles.join(", ")),
            };
            it.ours(" to ").theirs(&delegation.to);
            it.ours(format!(" until {} ", to_the_second(delegation.ends_at))).id(delegation.id);
        }
        Fact::DelegationRevoked { delegation } => drop(it.ours("ended ").id(delegation)),
        Fact::ModeChanged { from, to, reason, fallback } => {
            let how = if *fallback { "fell back" } else { "mode" };
            it.ours(format!("{how} from {from} to {to}")).because(reason.as_ref());
        }
        Fact::TokenIssued { token, kind, name, roles } => {
            it.ours(format!("issued a credential: {kind} ")).theirs(name);
            if !roles.is_empty() {
                it.ours(" with ").theirs(&roles.join(", "));
            }
            it.ours(" ").id(token);
        }
        Fact::TokenRevoked { token } => drop(it.ours("revoked credential ").id(token)),
        Fact::PolicyLoaded { digest, source } => {
            it.ours("policy loaded from ").theirs(source).ours(" ").id(digest);
        }
        Fact::InboundRefused { why, who, about, unrecorded, event: _ } => {
            it.ours("refused what came in: ").theirs(why);
            if let Some(who) = who {
                it.ours(" from ").theirs(who);
            }
            if let Some(about) = about {
                it.ours(" about ").id(about);
            }
            if *unrecorded > 0 {
                it.ours(format!(", and {unrecorded} more before"));
            }
        }
        Fact::Notified { about, channel, recipient, outcome, error, delivery: _, purpose } => {
            it.ours(format!("message ({purpose}) to ")).theirs(recipient).ours(" by ").theirs(channel);
            it.ours(" about ").id(about).ours(format!(": {outcome}")).because(error.as_ref());
        }
        Fact::NotificationRetried { about, delivery } => {
            it.ours(format!("message {delivery} to be sent again about ")).id(about);
        }
        Fact::Resumed { about, outcome, error, job: _ } => {
            it.ours("the agent's side was called about ").id(about);
            it.ours(format!(": {outcome}")).because(error.as_ref());
        }
        Fact::JobRetried { about, job } => {
            it.ours(format!("the agent's side to be called again (job {job}) about ")).id(about);
        }
        Fact::JobDropped { about, job } => {
            it.ours(format!("the agent's side not to be called (job {job}) about ")).id(about);
        }
        Fact::Person { person, change } => drop(it.theirs(person).ours(" ").theirs(&change.words())),
    }
    it.parts
}

#[derive(Default)]
struct Sentence {
    parts: Vec<Part>,
}

impl Sentence {
    fn with(&mut self, part: Part) -> &mut Self {
        self.parts.push(part);
        self
    }

    fn ours(&mut self, text: impl Into<String>) -> &mut Self {
        self.with(Part::Ours(text.into()))
    }

    fn strong(&mut self, text: &'static str) -> &mut Self {
        self.with(Part::Strong(text))
    }

    fn theirs(&mut self, text: &str) -> &mut Self {
        self.with(Part::Theirs(text.to_owned()))
    }

    fn id(&mut self, id: impl ToString) -> &mut Self {
        self.with(Part::Id(id.to_string()))
    }

    fn if_so(&mut self, so: bool, text: &'static str) -> &mut Self {
        if so { self.ours(text) } else { self }
    }

    fn because(&mut self, reason: Option<&String>) -> &mut Self {
        match reason {
            Some(reason) => self.ours(" (").theirs(reason).ours(")"),
            None => self,
        }
    }

    fn telling_the_agent(&mut self, message: Option<&String>) -> &mut Self {
        match message {
            Some(message) => self.ours("; to the agent: ").theirs(message),
            None => self,
        }
    }

    /// On what a decision rested besides the person's own roles.
    fn on_whose_word(&mut self, acting: &[Acting], solo_operator: bool, step_up: Option<&Assertion>) {
        let standing = standing(acting, solo_operator);
        if !standing.is_empty() {
            self.theirs(&standing);
        }
        self.if_so(step_up.is_some(), ", with the touch of a passkey");
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::audit::FreezeRef;
    use banksman_core::{ActingSource, Assessment, Decision, Digest, FreezeId, Risk, Tier, Verdict};

    use super::*;

    fn line(fact: &Fact) -> String {
        told(fact).iter().map(Part::text).collect()
    }

    #[test]
    fn a_decision_says_on_whose_word_it_rests() {
        let assertion = Assertion {
            passkey: "k".into(),
            nonce: "n".into(),
            authenticator_data: String::new(),
            client_data: String::new(),
            signature: String::new(),
        };
        let source = ActingSource::HandOver { as_role: "lead".into() };
        let fact = Fact::Decided {
            decision: Decision::Approve,
            reason: Some("checked".into()),
            message: Some("go on".into()),
            acting: vec![Acting { role: "finance".into(), source }],
            solo_operator: true,
            step_up: Some(assertion),
        };
        assert_eq!(
            line(&fact),
            "approved (checked); to the agent: go on, as lead in place of finance, THEIR OWN, as solo operator, \
             with the touch of a passkey"
        );
    }

    #[test]
    fn what_a_freeze_stopped_is_said_to_be_stopped_by_it() {
        let verdict = Verdict::new(Tier::Approve, Risk::High, "defaults.unknown_tool");
        let id = FreezeId::from_parts(1, 1);
        let fact = Fact::Proposed {
            assessment: Assessment::of(Vec::new()).into(),
            verdict: verdict.into(),
            grant: None,
            freeze: Some(FreezeRef { id, reason: "incident 7".into() }),
        };
        assert_eq!(line(&fact), format!("proposed; blocked by {id} (incident 7)"));
    }

    #[test]
    fn an_edit_says_what_the_agent_was_told() {
        let fact = Fact::Modified {
            from: Digest::of(b"before"),
            assessment: Assessment::of(Vec::new()).into(),
            verdict: Verdict::new(Tier::Approve, Risk::High, "rule").into(),
            reason: Some("too much".into()),
            message: Some("49 is right".into()),
            acting: Vec::new(),
            solo_operator: false,
            step_up: None,
        };
        assert_eq!(line(&fact), "edited, now approve (too much); to the agent: 49 is right");
    }

    #[test]
    fn what_others_wrote_is_never_ours() {
        let hostile = "\u{1b}[2J";
        let facts = [
            Fact::Cancelled { reason: Some(hostile.into()) },
            Fact::Finished { late: true, error: Some(hostile.into()) },
            Fact::Proposed {
                assessment: Assessment::of(Vec::new()).into(),
                verdict: Verdict::new(Tier::Approve, Risk::Low, hostile).into(),
                grant: None,
                freeze: None,
            },
        ];
        for fact in facts {
            let parts = told(&fact);
            assert!(parts.contains(&Part::Theirs(hostile.into())), "{parts:?}");
            let ours = |part: &&Part| !matches!(part, Part::Theirs(_));
            assert!(!parts.iter().filter(ours).any(|part| part.text().contains('\u{1b}')), "{parts:?}");
        }
    }
}
