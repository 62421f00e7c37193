//! Bytes that are kept for years: audit events, and what stores keep of a case.
//!
//! Each file in `golden/` holds exactly the bytes that this code writes. A change there changes what old
//! installations have on disk and what auditors have hashed: add to the format, never change it. With
//! `UPDATE_GOLDEN=1` the files that are missing are written; those that are there are never overwritten.

use std::collections::BTreeSet;
use std::path::PathBuf;

use banksman_core::audit::{Event, Fact, FreezeRef};
use banksman_core::json::parse;
use banksman_core::{
    Action, ArgPatterns, Assertion, Assessment, ChainProgress, Decision, Digest, Escalation, EscalationStep,
    FreezeScope, Grant, GrantReach, Mode, PersonChange, PrincipalKind, RememberLimits, RememberScope, Review,
    Risk, SignInMethod, State, Status, Submission, TokenId, Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::samples::{
    AT, LATER, acting, decided, event, facts, freeze, full_submission, grant, handed_over, review, state,
    verdict,
};

fn folder() -> PathBuf {
    ["tests", "core", "golden"].iter().collect()
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
        Fact::Proposed {
            assessment: Assessment::of(Vec::new()).into(),
            verdict: verdict().into(),
            grant: None,
            freeze: None,
        },
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
        "event_decided_touched",
        "event_decided_via",
        "event_granted_patterns",
        "event_granted_reviewed",
        "event_mode_fallback",
        "event_modified_with_message",
        "event_person_rights",
        "event_person_signed_in",
        "event_proposed_frozen",
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
    let reviewed = Grant { risk: Some(Risk::High), ..patterned.clone() };
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
        ("event_granted_reviewed", Fact::Granted { grant: reviewed }),
        ("event_granted_patterns", Fact::Granted { grant: patterned }),
        ("event_mode_fallback", fell_back),
    ] {
        let event = event(fact);
        let bytes = event.to_bytes().unwrap();
        check(name, &bytes);
        assert_eq!(Event::from_bytes(&bytes).unwrap(), event);
    }
}

/// Came later than the events themselves.
#[test]
fn what_stopped_a_proposal_and_what_an_editor_said() {
    let frozen = freeze(FreezeScope::Everything);
    let stopped = Fact::Proposed {
        assessment: Assessment::of(Vec::new()).into(),
        verdict: verdict().into(),
        grant: None,
        freeze: Some(FreezeRef::from(&frozen)),
    };
    let edited = Fact::Modified {
        from: Digest::of(b"the first version"),
        assessment: Assessment::of(Vec::new()).into(),
        verdict: verdict().into(),
        reason: None,
        message: Some("49 is right".into()),
        acting: Vec::new(),
        solo_operator: false,
        step_up: None,
    };
    for (name, fact) in [("event_proposed_frozen", stopped), ("event_modified_with_message", edited)] {
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
