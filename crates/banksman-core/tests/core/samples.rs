//! One of everything whose bytes are kept.

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::json::{CanonicalJson, parse};
use banksman_core::{
    Acting, ActingSource, Action, ActionId, Actor, Assessment, Authority, BatchId, ChainProgress, Claim,
    Decision, Delegation, DelegationId, DeliveryStatus, Digest, Escalation, EscalationStep, Factor, Finding,
    Freeze, FreezeId, FreezeScope, Grant, GrantId, GrantReach, JobStatus, Mode, PasskeyFact, PersonChange,
    PrincipalKind, Purpose, Quorum, Review, Risk, Span, State, Status, Submission, Tier, Timestamp, TokenId,
    Verdict,
};

pub(crate) const AT: Timestamp = Timestamp::from_micros(1_700_000_000_123_456);
pub(crate) const LATER: Timestamp = Timestamp::from_micros(1_700_000_300_000_000);

pub(crate) fn action_id(number: u128) -> ActionId {
    ActionId::from_parts(1_700_000_000_000, number)
}

pub(crate) fn digest() -> Digest {
    full_submission().digest
}

pub(crate) fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

/// Every member set, and every text with something that has to be escaped.
pub(crate) fn full_submission() -> Submission {
    let body = r#"{"tool":"process_refund","kind":"http","args":{"order":"78\u002f291","amount":899.00,"id":9007199254740993},
        "description":"Refund \"all\"","rationale":"the customer\nasked","evidence":[{"mail":"é😀"}],"session":"s-1",
        "thread":"t-1","task":"k-1","action_type":"config_change","predicted_severity":"S3",
        "estimate":{"cost_usd":1014.3244285714285,"duration_ms":1500},"affected_systems":["orders","bank"],
        "reversible":false,"rollback_plan":"charge again","args_schema":{"type":"object"},
        "state_before":{"paid":true},"preconditions":{"order.version":4},"checkpoint":{"n":1e400},
        "timeout_seconds":600}"#;
    let action = Action::from_json(parse(body.as_bytes()).unwrap()).unwrap();
    Submission::new(action, assessment(), verdict())
}

pub(crate) fn assessment() -> Assessment {
    Assessment::of(vec![
        Finding {
            argument: Some("/url".into()),
            span: Some(Span { start: 3, end: 12 }),
            ..Finding::new("url.unknown-host", Risk::Medium, "sends to a new host")
        },
        Finding::new("amount.large", Risk::Critical, "899 is > 500"),
    ])
}

pub(crate) fn verdict() -> Verdict {
    Verdict {
        matched: vec!["refunds".into(), "large-refunds".into()],
        quorum: Quorum::new(2, vec!["lead".into(), "finance".into()]),
        timeout_seconds: 3_600,
        claim_within_seconds: 900,
        lease_seconds: 300,
        require_reason: true,
        allow_remember: true,
        ..Verdict::new(Tier::Escalate, Risk::Critical, "large-refunds")
    }
}

pub(crate) fn grant(digest: Option<Digest>, reach: GrantReach) -> Grant {
    Grant {
        id: GrantId::from_parts(1_700_000_000_000, 5),
        agent: "riley".into(),
        tool: "process_refund".into(),
        digest,
        args: None,
        reach,
        by: "ann".into(),
        at: AT,
        expires_at: LATER,
        uses_left: None,
        risk: None,
    }
}

pub(crate) fn freeze(scope: FreezeScope) -> Freeze {
    Freeze {
        id: FreezeId::from_parts(1_700_000_000_000, 6),
        scope,
        reason: "drill".into(),
        by: "ada".into(),
        at: AT,
    }
}

pub(crate) fn handed_over() -> EscalationStep {
    let then = Escalation::HandTo { role: "director".into(), instead_of: vec!["finance".into()] };
    EscalationStep { after_seconds: 1_800, then }
}

pub(crate) fn delegation() -> Delegation {
    Delegation {
        id: DelegationId::from_parts(1_700_000_000_000, 8),
        from: "ann".into(),
        to: "bob".into(),
        roles: vec!["finance".into()],
        starts_at: AT,
        ends_at: LATER,
        by: "ada".into(),
        at: AT,
        reason: Some("a holiday".into()),
    }
}

pub(crate) fn acting() -> Vec<Acting> {
    let source = ActingSource::Delegation { delegation: delegation().id, on_behalf_of: "ann".into() };
    vec![
        Acting { role: "finance".into(), source },
        Acting { role: "lead".into(), source: ActingSource::HandOver { as_role: "director".into() } },
    ]
}

pub(crate) fn decided(decision: Decision, reason: Option<String>, message: Option<String>) -> Fact {
    Fact::Decided { decision, reason, message, acting: Vec::new(), solo_operator: false, step_up: None }
}

pub(crate) fn passkey() -> PasskeyFact {
    PasskeyFact {
        id: "a2V5".into(),
        key: "pQEC".into(),
        rp_id: "localhost".into(),
        label: "blue \"key\"".into(),
    }
}

/// One fact of every type. Each names the one after it, so a new variant does not compile without a place here.
pub(crate) fn after(fact: Option<&Fact>) -> Option<Fact> {
    let reason = || Some("because".to_owned());
    Some(match fact {
        None => Fact::Proposed {
            assessment: assessment().into(),
            verdict: verdict().into(),
            grant: Some(GrantId::from_parts(1, 5)),
            freeze: None,
        },
        Some(Fact::Proposed { .. }) => decided(Decision::Respond, reason(), Some("refund 49".into())),
        Some(Fact::Decided { .. }) => Fact::Modified {
            from: Digest::of(b"the first version"),
            assessment: Assessment::of(Vec::new()).into(),
            verdict: verdict().into(),
            reason: reason(),
            message: None,
            acting: Vec::new(),
            solo_operator: false,
            step_up: None,
        },
        Some(Fact::Modified { .. }) => Fact::Escalated { number: 2, step: handed_over() },
        Some(Fact::Escalated { .. }) => Fact::Cancelled { reason: reason() },
        Some(Fact::Cancelled { .. }) => Fact::Expired,
        Some(Fact::Expired) => Fact::Revoked { reason: None },
        Some(Fact::Revoked { .. }) => Fact::Lapsed,
        Some(Fact::Lapsed) => Fact::Claimed { lease_expires_at: LATER },
        Some(Fact::Claimed { .. }) => Fact::Finished { late: true, error: Some("timeout".into()) },
        Some(Fact::Finished { .. }) => Fact::LeaseEnded,
        Some(Fact::LeaseEnded) => Fact::BatchProposed {
            batch: BatchId::from_parts(1_700_000_000_000, 2),
            digest: Digest::of(b"batch"),
            items: vec![action_id(1), action_id(2)],
        },
        Some(Fact::BatchProposed { .. }) => {
            Fact::Frozen { freeze: freeze(FreezeScope::Tool("shell".into())) }
        }
        Some(Fact::Frozen { .. }) => Fact::Unfrozen { freeze: FreezeId::from_parts(1_700_000_000_000, 6) },
        Some(Fact::Unfrozen { .. }) => {
            Fact::Granted { grant: grant(Some(digest()), GrantReach::Session { session: "s-1".into() }) }
        }
        Some(Fact::Granted { .. }) => Fact::GrantRevoked { grant: GrantId::from_parts(1_700_000_000_000, 5) },
        Some(Fact::GrantRevoked { .. }) => Fact::Delegated { delegation: delegation() },
        Some(Fact::Delegated { .. }) => Fact::DelegationRevoked { delegation: delegation().id },
        Some(Fact::DelegationRevoked { .. }) => {
            Fact::ModeChanged { from: Mode::Shadow, to: Mode::Production, reason: None, fallback: false }
        }
        Some(Fact::ModeChanged { .. }) => Fact::TokenIssued {
            token: TokenId::from_parts(1_700_000_000_000, 7),
            kind: PrincipalKind::Reviewer,
            name: "ann".into(),
            roles: vec!["lead".into()],
        },
        Some(Fact::TokenIssued { .. }) => {
            Fact::TokenRevoked { token: TokenId::from_parts(1_700_000_000_000, 7) }
        }
        Some(Fact::TokenRevoked { .. }) => {
            Fact::PolicyLoaded { digest: Digest::of(b"policy"), source: "policy.yaml".into() }
        }
        Some(Fact::PolicyLoaded { .. }) => Fact::InboundRefused {
            why: "stranger".into(),
            event: Some("01H810YECXQQZ37VAXPF6H9E6T".into()),
            who: Some("U4af4980629".into()),
            about: Some(action_id(1)),
            unrecorded: 3,
        },
        Some(Fact::InboundRefused { .. }) => Fact::Notified {
            about: action_id(1),
            delivery: 12_345,
            purpose: Purpose::Ask,
            channel: "slack".into(),
            recipient: "ann".into(),
            outcome: DeliveryStatus::Failed,
            error: Some("no such \"channel\"".into()),
        },
        Some(Fact::Notified { .. }) => Fact::NotificationRetried { about: action_id(1), delivery: 12_345 },
        Some(Fact::NotificationRetried { .. }) => Fact::Resumed {
            about: action_id(1),
            job: 812,
            outcome: JobStatus::Dead,
            error: Some("answered 404".into()),
        },
        Some(Fact::Resumed { .. }) => Fact::JobRetried { about: action_id(1), job: 812 },
        Some(Fact::JobRetried { .. }) => Fact::JobDropped { about: action_id(1), job: 812 },
        Some(Fact::JobDropped { .. }) => Fact::Person {
            person: "ann".into(),
            change: PersonChange::Enrolled { factor: Factor::Passkey(passkey()) },
        },
        Some(Fact::Person { .. }) => return None,
    })
}

pub(crate) fn facts() -> Vec<Fact> {
    std::iter::successors(after(None), |fact| after(Some(fact))).collect()
}

/// Where an action stands after such a fact; nothing if it is about the house.
pub(crate) fn status_after(fact: &Fact) -> Option<Status> {
    match fact {
        Fact::Proposed { .. } | Fact::Modified { .. } | Fact::Escalated { .. } => Some(Status::Pending),
        Fact::Decided { .. } => Some(Status::Denied),
        Fact::Cancelled { .. } => Some(Status::Cancelled),
        Fact::Expired => Some(Status::Expired),
        Fact::Revoked { .. } => Some(Status::Revoked),
        Fact::Lapsed => Some(Status::Lapsed),
        Fact::Claimed { .. } => Some(Status::Executing),
        Fact::Finished { .. } => Some(Status::Failed),
        Fact::LeaseEnded => Some(Status::Unknown),
        Fact::BatchProposed { .. }
        | Fact::Frozen { .. }
        | Fact::Unfrozen { .. }
        | Fact::Granted { .. }
        | Fact::GrantRevoked { .. }
        | Fact::Delegated { .. }
        | Fact::DelegationRevoked { .. }
        | Fact::ModeChanged { .. }
        | Fact::TokenIssued { .. }
        | Fact::TokenRevoked { .. }
        | Fact::PolicyLoaded { .. }
        | Fact::InboundRefused { .. }
        | Fact::Notified { .. }
        | Fact::NotificationRetried { .. }
        | Fact::Resumed { .. }
        | Fact::JobRetried { .. }
        | Fact::JobDropped { .. }
        | Fact::Person { .. } => None,
    }
}

pub(crate) fn actor(fact: &Fact) -> Actor {
    match fact {
        Fact::Expired
        | Fact::Lapsed
        | Fact::LeaseEnded
        | Fact::Escalated { .. }
        | Fact::InboundRefused { .. }
        | Fact::Notified { .. }
        | Fact::Resumed { .. } => Actor::System,
        Fact::Proposed { .. } | Fact::BatchProposed { .. } | Fact::Claimed { .. } | Fact::Finished { .. } => {
            Actor::Agent { name: "riley".into() }
        }
        Fact::ModeChanged { .. } | Fact::Frozen { .. } => Actor::Admin { name: "ada".into() },
        Fact::TokenIssued { .. } | Fact::TokenRevoked { .. } | Fact::PolicyLoaded { .. } => Actor::Operator,
        _ => Actor::Reviewer { name: "ann".into() },
    }
}

pub(crate) fn event(fact: Fact) -> Event {
    let actor = actor(&fact);
    let Some(status) = status_after(&fact) else { return Event::general(AT, actor, fact) };
    let action = ActionRef {
        id: action_id(1),
        revision: 3,
        version: 2,
        digest: digest(),
        agent: "riley".into(),
        tool: "process_refund".into(),
        risk: Risk::Critical,
        tier: Tier::Escalate,
        status,
        session: Some("s-1".into()),
        batch: Some(BatchId::from_parts(1_700_000_000_000, 2)),
    };
    Event { v: 1, at: AT, actor, action: Some(action), via: None, fact }
}

/// One state of every status; the three kinds of authority are spread over them.
pub(crate) fn state(status: Status) -> State {
    let at = AT;
    let by = || "ann".to_owned();
    let claim = || Claim { at: AT, lease_expires_at: LATER };
    let grant = || Authority::Grant { grant: GrantId::from_parts(1_700_000_000_000, 5) };
    match status {
        Status::Blocked => State::Blocked { at, reason: "policy blocks it (rm)".into() },
        Status::Pending => State::Pending { deadline: LATER, chain: ChainProgress::default() },
        Status::Authorised => State::Authorised { authority: grant(), at, lapses_at: LATER },
        Status::Denied => State::Denied { at, by: by() },
        Status::Expired => State::Expired { at },
        Status::Cancelled => State::Cancelled { at, by: by(), reason: None },
        Status::Executing => State::Executing { authority: Authority::Policy, claim: claim() },
        Status::Succeeded => State::Succeeded {
            authority: Authority::Reviewers,
            claim: claim(),
            at: LATER,
            result: Some(json(r#"{"id":9007199254740993,"fee":0.10}"#)),
        },
        Status::Failed => State::Failed {
            authority: Authority::Reviewers,
            claim: claim(),
            at: LATER,
            error: Some("declined".into()),
            result: Some(json("[1e400]")),
        },
        Status::Unknown => State::Unknown { authority: grant(), claim: claim(), at: LATER },
        Status::Lapsed => State::Lapsed { at },
        Status::Revoked => State::Revoked { at, by: by(), reason: Some("changed my mind".into()) },
    }
}

pub(crate) fn review(roles: &[&str], reason: Option<&str>, message: Option<&str>) -> Review {
    Review {
        by: "ann".into(),
        roles: roles.iter().map(ToString::to_string).collect(),
        acting: Vec::new(),
        brought_by: None,
        solo_operator: false,
        decision: Decision::Modify,
        version: 2,
        at: AT,
        reason: reason.map(str::to_owned),
        message: message.map(str::to_owned),
    }
}
