//! Bytes that are kept for years: audit events, and what stores keep of a case.
//!
//! Each file in `golden/` holds exactly the bytes that this code writes. A change there changes what old
//! installations have on disk and what auditors have hashed: add to the format, never change it. With
//! `UPDATE_GOLDEN=1` the files that are missing are written; those that are there are never overwritten.

use std::collections::BTreeSet;
use std::path::PathBuf;

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::json::{CanonicalJson, parse};
use banksman_core::{
    Acting, ActingSource, Action, ActionId, Actor, ArgPatterns, Assertion, Assessment, Authority, BatchId,
    ChainProgress, Claim, Decision, Delegation, DelegationId, DeliveryStatus, Digest, Escalation,
    EscalationStep, Factor, Finding, Freeze, FreezeId, FreezeScope, Grant, GrantId, GrantReach, JobStatus,
    Mode, PasskeyFact, PersonChange, PrincipalKind, Purpose, Quorum, RememberLimits, RememberScope, Review,
    Risk, SignInMethod, Span, State, Status, Submission, Tier, Timestamp, TokenId, Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

const AT: Timestamp = Timestamp::from_micros(1_700_000_000_123_456);
const LATER: Timestamp = Timestamp::from_micros(1_700_000_300_000_000);

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "core", "golden"].iter().collect()
}

#[track_caller]
fn check(name: &str, bytes: &[u8]) {
    let path = folder().join(format!("{name}.json"));
    if !path.exists() && std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, bytes).unwrap();
    }
    let pinned = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(String::from_utf8_lossy(bytes), String::from_utf8_lossy(&pinned), "{name}");
}

/// Pins the stored JSON of a value, and reads it back.
#[track_caller]
fn check_stored<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(name: &str, value: &T) {
    let bytes = serde_json::to_vec(value).unwrap();
    check(name, &bytes);
    assert_eq!(&serde_json::from_slice::<T>(&bytes).unwrap(), value, "{name}");
}

fn action_id(number: u128) -> ActionId {
    ActionId::from_parts(1_700_000_000_000, number)
}

fn digest() -> Digest {
    full_submission().digest
}

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

/// Every member set, and every text with something that has to be escaped.
fn full_submission() -> Submission {
    let body = r#"{"tool":"process_refund","kind":"http","args":{"order":"78\u002f291","amount":899.00,"id":9007199254740993},
        "description":"Refund \"all\"","rationale":"the customer\nasked","evidence":[{"mail":"é😀"}],"session":"s-1",
        "thread":"t-1","task":"k-1","action_type":"config_change","predicted_severity":"S3",
        "estimate":{"cost_usd":1014.3244285714285,"duration_ms":1500},"affected_systems":["orders","bank"],
        "reversible":false,"rollback_plan":"charge again","args_schema":{"type":"object"},
        "state_before":{"paid":true},"preconditions":{"order.version":4},"checkpoint":{"n":1e400},
        "timeout_seconds":600}"#;
    let action = Action::from_json(parse(body.as_bytes()).unwrap()).unwrap();
    Submission { digest: action.digest(), action, assessment: assessment(), verdict: verdict() }
}

fn assessment() -> Assessment {
    Assessment::of(vec![
        Finding {
            argument: Some("/url".into()),
            span: Some(Span { start: 3, end: 12 }),
            ..Finding::new("url.unknown-host", Risk::Medium, "sends to a new host")
        },
        Finding::new("amount.large", Risk::Critical, "899 is > 500"),
    ])
}

fn verdict() -> Verdict {
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

fn grant(digest: Option<Digest>, reach: GrantReach) -> Grant {
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
    }
}

fn freeze(scope: FreezeScope) -> Freeze {
    Freeze {
        id: FreezeId::from_parts(1_700_000_000_000, 6),
        scope,
        reason: "drill".into(),
        by: "ada".into(),
        at: AT,
    }
}

fn handed_over() -> EscalationStep {
    let then = Escalation::HandTo { role: "director".into(), instead_of: vec!["finance".into()] };
    EscalationStep { after_seconds: 1_800, then }
}

fn delegation() -> Delegation {
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

fn acting() -> Vec<Acting> {
    let source = ActingSource::Delegation { delegation: delegation().id, on_behalf_of: "ann".into() };
    vec![
        Acting { role: "finance".into(), source },
        Acting { role: "lead".into(), source: ActingSource::HandOver { as_role: "director".into() } },
    ]
}

fn decided(decision: Decision, reason: Option<String>, message: Option<String>) -> Fact {
    Fact::Decided { decision, reason, message, acting: Vec::new(), solo_operator: false, step_up: None }
}

fn passkey() -> PasskeyFact {
    PasskeyFact {
        id: "a2V5".into(),
        key: "pQEC".into(),
        rp_id: "localhost".into(),
        label: "blue \"key\"".into(),
    }
}

/// One fact of every type. Each names the one after it, so a new variant does not compile without a place here.
fn after(fact: Option<&Fact>) -> Option<Fact> {
    let reason = || Some("because".to_owned());
    Some(match fact {
        None => Fact::Proposed {
            assessment: assessment(),
            verdict: verdict(),
            grant: Some(GrantId::from_parts(1, 5)),
        },
        Some(Fact::Proposed { .. }) => decided(Decision::Respond, reason(), Some("refund 49".into())),
        Some(Fact::Decided { .. }) => Fact::Modified {
            from: Digest::of(b"the first version"),
            assessment: Assessment::of(Vec::new()),
            verdict: verdict(),
            reason: reason(),
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

fn facts() -> Vec<Fact> {
    std::iter::successors(after(None), |fact| after(Some(fact))).collect()
}

/// Where an action stands after such a fact; nothing if it is about the house.
fn status_after(fact: &Fact) -> Option<Status> {
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

fn actor(fact: &Fact) -> Actor {
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

fn event(fact: Fact) -> Event {
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
fn state(status: Status) -> State {
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

fn review(roles: &[&str], reason: Option<&str>, message: Option<&str>) -> Review {
    Review {
        by: "ann".into(),
        roles: roles.iter().map(ToString::to_string).collect(),
        acting: Vec::new(),
        solo_operator: false,
        decision: Decision::Modify,
        version: 2,
        at: AT,
        reason: reason.map(str::to_owned),
        message: message.map(str::to_owned),
    }
}

#[test]
fn events() {
    for fact in facts() {
        let event = event(fact);
        let bytes = event.to_bytes().unwrap();
        check(&format!("event_{}", event.fact.type_name()), &bytes);
        assert_eq!(Event::from_bytes(&bytes).unwrap(), event);
    }
}

/// Members that are left out when there is nothing to say, and the variants inside of facts.
#[test]
fn events_in_their_shortest_form_and_with_every_scope() {
    for fact in [
        Fact::Proposed { assessment: Assessment::of(Vec::new()), verdict: verdict(), grant: None },
        decided(Decision::Approve, None, None),
        Fact::Cancelled { reason: None },
        Fact::Finished { late: false, error: None },
        Fact::Frozen { freeze: freeze(FreezeScope::Everything) },
        Fact::Frozen { freeze: freeze(FreezeScope::Agent("riley".into())) },
        Fact::Granted { grant: grant(None, GrantReach::Agent) },
    ] {
        let event = event(fact);
        assert_eq!(Event::from_bytes(&event.to_bytes().unwrap()).unwrap(), event);
    }
}

#[test]
fn every_type_of_event_has_its_file_and_every_file_its_test() {
    let names =
        facts().iter().map(|fact| format!("event_{}.json", fact.type_name())).collect::<BTreeSet<_>>();
    // As many names as variants: no two types share one.
    assert_eq!(names.len(), facts().len());
    let states = Status::ALL.iter().map(|status| format!("state_{status}.json"));
    let others = [
        "action_annotated",
        "action_forwarded",
        "submission",
        "review_full",
        "review_short",
        "review_acting",
        "state_pending_escalated",
        "verdict_for_people",
        "event_decided_acting",
        "event_decided_via",
        "event_granted_patterns",
        "event_mode_fallback",
    ]
    .map(|name| format!("{name}.json"));
    let expected: BTreeSet<String> = names.into_iter().chain(states).chain(others).collect();
    let files =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn events_of_an_unknown_format_are_not_read() {
    let bytes = event(Fact::Expired).to_bytes().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.starts_with(r#"{"v":1,"#));
    for other in ["2", "0", "-1", "1.0", "\"1\""] {
        let changed = text.replacen("\"v\":1", &format!("\"v\":{other}"), 1);
        assert!(Event::from_bytes(changed.as_bytes()).is_err(), "{other}");
    }
    assert!(Event::from_bytes(text.replacen("expired", "exploded", 1).as_bytes()).is_err());
}

#[test]
fn states() {
    for &status in Status::ALL {
        assert_eq!(state(status).status(), status);
        check_stored(&format!("state_{status}"), &state(status));
    }
}

#[test]
fn reviews() {
    check_stored("review_full", &review(&["lead", "finance"], Some("wrong amount"), Some("49 is right")));
    check_stored("review_short", &review(&[], None, None));
}

/// What came later than the first files: chains, delegations, patterns, bounds, fallbacks.
#[test]
fn what_people_share_and_hand_over() {
    check_stored(
        "review_acting",
        &Review { acting: acting(), solo_operator: true, ..review(&[], None, None) },
    );
    let chain = ChainProgress { taken: 1, next_at: Some(AT) };
    check_stored("state_pending_escalated", &State::Pending { deadline: LATER, chain });
    let remind = EscalationStep { after_seconds: 600, then: Escalation::NotifyAgain };
    let limits = RememberLimits {
        max_seconds: 3_600,
        scopes: vec![
            RememberScope::Exact,
            RememberScope::Args,
            RememberScope::Tool,
            RememberScope::AllSessions,
        ],
        uses: Some(3),
    };
    let full = Verdict {
        escalation: vec![remind, handed_over()],
        remember_limits: limits,
        observed: true,
        ..verdict()
    };
    check_stored("verdict_for_people", &full);
    let like = [("to".to_owned(), "*@example.com".to_owned())].into();
    let patterned = Grant {
        args: Some(ArgPatterns { like, rest: Digest::of(b"{}") }),
        uses_left: Some(2),
        ..grant(None, GrantReach::Agent)
    };
    let approved = Fact::Decided {
        decision: Decision::Approve,
        reason: None,
        message: None,
        acting: acting(),
        solo_operator: true,
        step_up: None,
    };
    let touched = Fact::Decided {
        decision: Decision::Approve,
        reason: None,
        message: None,
        acting: Vec::new(),
        solo_operator: false,
        step_up: Some(Assertion {
            passkey: "a2V5".into(),
            nonce: "bm9uY2U".into(),
            authenticator_data: "YXV0aA".into(),
            client_data: "Y2xpZW50".into(),
            signature: "c2ln".into(),
        }),
    };
    let signed_in = Fact::Person {
        person: "ann".into(),
        change: PersonChange::SignedIn {
            token: TokenId::from_parts(1_700_000_000_000, 7),
            method: SignInMethod::RecoveryCode,
        },
    };
    let rights = Fact::Person {
        person: "ann".into(),
        change: PersonChange::RightsChanged { kind: PrincipalKind::Admin, roles: vec!["lead".into()] },
    };
    let fell_back = Fact::ModeChanged {
        from: Mode::Production,
        to: Mode::Shadow,
        reason: Some("5 failures".into()),
        fallback: true,
    };
    let pressed = event(Fact::Decided {
        decision: Decision::Approve,
        reason: None,
        message: None,
        acting: Vec::new(),
        solo_operator: false,
        step_up: None,
    });
    let pressed = pressed.by_way_of("team-slack").to_bytes().unwrap();
    check("event_decided_via", &pressed);
    assert_eq!(Event::from_bytes(&pressed).unwrap().via.as_deref(), Some("team-slack"));
    for (name, fact) in [
        ("event_decided_acting", approved),
        ("event_decided_touched", touched),
        ("event_person_signed_in", signed_in),
        ("event_person_rights", rights),
        ("event_granted_patterns", Fact::Granted { grant: patterned }),
        ("event_mode_fallback", fell_back),
    ] {
        let event = event(fact);
        let bytes = event.to_bytes().unwrap();
        check(name, &bytes);
        assert_eq!(Event::from_bytes(&bytes).unwrap(), event);
    }
}

/// Came later than the other members, so it has a file of its own.
#[test]
fn what_a_server_says_of_its_tool() {
    let body = r#"{"title":"Refund","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}"#;
    let annotated = format!(r#"{{"tool":"process_refund","args":{{}},"annotations":{body}}}"#);
    let action = Action::from_json(parse(annotated.as_bytes()).unwrap()).unwrap();
    assert_eq!(action.digest(), Action { annotations: None, ..action.clone() }.digest());
    check_stored("action_annotated", &action);
}

/// Came later too: what the gateway passes on to a server by itself.
#[test]
fn what_banksman_itself_passes_on() {
    let body = r#"{"tool":"read_file","args":{"path":"a"},"server":"files"}"#;
    let asked = Action::from_json(parse(body.as_bytes()).unwrap()).unwrap();
    let action = Action { forwarded: true, ..asked.clone() };
    assert_ne!(action.digest(), asked.digest(), "its server is part of what runs");
    check_stored("action_forwarded", &action);
}

#[test]
fn a_submission_with_everything() {
    let submission = full_submission();
    check_stored("submission", &submission);
    // What executes is what its digest says, also after it was stored.
    let read: Submission = serde_json::from_slice(&serde_json::to_vec(&submission).unwrap()).unwrap();
    assert_eq!(read.action.digest(), submission.digest);
}
