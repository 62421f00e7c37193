use proptest::prelude::*;

use super::*;
use crate::{
    ActionId, Actor, ClaimRequest, Command, Finding, Kind, Moment, Opening, Outcome, PrincipalKind, Resume,
    Risk, Span, Tier, Timestamp, TokenId, Triage, Verdict, open, step,
};

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[test]
fn what_a_path_leads_to_is_black() {
    for (path, expected) in [
        ("card", r#"{"card":"[redacted]","to":{"name":"ann","pin":[1,{"pin":2}]}}"#),
        ("to.pin", r#"{"card":{"pin":7},"to":{"name":"ann","pin":"[redacted]"}}"#),
        ("to.*", r#"{"card":{"pin":7},"to":{"name":"[redacted]","pin":"[redacted]"}}"#),
        ("**.pin", r#"{"card":{"pin":"[redacted]"},"to":{"name":"ann","pin":"[redacted]"}}"#),
        ("to.pin.1.pin", r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":"[redacted]"}]}}"#),
        ("to.**", r#"{"card":{"pin":7},"to":"[redacted]"}"#),
        ("to.**.**", r#"{"card":{"pin":7},"to":"[redacted]"}"#),
        ("to.*.**", r#"{"card":{"pin":7},"to":{"name":"[redacted]","pin":"[redacted]"}}"#),
        ("to.pin.**.pin", r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":"[redacted]"}]}}"#),
        ("to.**.**.1.pin", r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":"[redacted]"}]}}"#),
        ("**.to.**", r#"{"card":{"pin":7},"to":"[redacted]"}"#),
        ("**.**.card", r#"{"card":"[redacted]","to":{"name":"ann","pin":[1,{"pin":2}]}}"#),
        // They stay an object: each of them is black.
        ("**", r#"{"card":"[redacted]","to":"[redacted]"}"#),
        ("**.**", r#"{"card":"[redacted]","to":"[redacted]"}"#),
        ("nowhere.at.all", r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":2}]}}"#),
    ] {
        let value = json(r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":2}]}}"#);
        assert_eq!(redacted(&value, &paths(&[path])).as_str(), expected, "{path}");
    }
}

#[test]
fn what_stays_black_in_an_edit_keeps_its_value() {
    let original = json(r#"{"amount":50,"card":"4111","to":[{"pin":1},{"pin":2}]}"#);
    let hidden = paths(&["card", "**.pin"]);
    let edited = json(r#"{"amount":40,"card":"[redacted]","to":[{"pin":"[redacted]"},{"pin":3}]}"#);
    let restored = restore(&edited, &original, &hidden).unwrap();
    assert_eq!(restored.as_str(), r#"{"amount":40,"card":"4111","to":[{"pin":1},{"pin":3}]}"#);
}

#[test]
fn nobody_uncovers_elsewhere_what_is_hidden_here() {
    let original = json(r#"{"card":"4111","note":"x"}"#);
    let edited = json(r#"{"card":"[redacted]","note":"[redacted]"}"#);
    let restored = restore(&edited, &original, &paths(&["card"])).unwrap();
    assert_eq!(restored.as_str(), r#"{"card":"4111","note":"[redacted]"}"#);
}

/// How it would be done by hand: every way to match is tried.
fn leads_to(path: &[&str], place: &[&str]) -> bool {
    match (path, place) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=place.len()).any(|skipped| leads_to(rest, &place[skipped..])),
        ([step, rest @ ..], [member, beyond @ ..]) => {
            (*step == "*" || step == member) && leads_to(rest, beyond)
        }
        ([_, ..], []) | ([], [_, ..]) => false,
    }
}

proptest! {
    #[test]
    fn a_leaf_is_black_if_a_path_leads_to_it_or_to_what_it_is_part_of(
        path in proptest::collection::vec(prop_oneof!["\\*", "\\*\\*", "[ab]"], 1..6),
        place in proptest::collection::vec("[ab]", 1..7),
    ) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let place: Vec<&str> = place.iter().map(String::as_str).collect();
        let text = place.iter().rev().fold("1".to_owned(), |inner, name| format!("{{\"{name}\":{inner}}}"));
        let shown = redacted(&json(&text), &[path.join(".")]);
        let expected = (1..=place.len()).any(|part| leads_to(&path, &place[..part]));
        prop_assert_eq!(shown.as_str() != text, expected, "{} in {}: {}", path.join("."), text, shown.as_str());
        prop_assert_eq!(is_redacted(&shown, &[path.join(".")]), expected);
        prop_assert_eq!(restore(&shown, &json(&text), &[path.join(".")]).unwrap(), json(&text));
    }
}

#[test]
fn many_ways_to_one_place_are_one() {
    let path = vec!["**.*"; 30].join(".") + ".b";
    let deep = "{\"a\":".repeat(60) + "1" + &"}".repeat(60);
    assert_eq!(redacted(&json(&deep), &[path]).as_str(), deep);
}

#[test]
fn what_is_no_object_is_black_as_a_whole_if_everything_is_hidden() {
    for text in [r#""secret""#, "[1,2]", "7"] {
        assert_eq!(redacted(&json(text), &paths(&["**"])).as_str(), r#""[redacted]""#);
    }
}

#[test]
fn a_hidden_value_never_comes_to_another_item_of_a_list() {
    let original =
        json(r#"{"to":[{"account":"A","name":"Ann","pin":1},{"account":"B","name":"Bob","pin":2}]}"#);
    let hidden = paths(&["to.*.account", "**.pin"]);
    let black = r#""account":"[redacted]","pin":"[redacted]""#;
    for items in [
        format!(r#"{{{black},"name":"Bob"}}"#),
        format!(r#"{{{black},"name":"Bob"}},{{{black},"name":"Ann"}}"#),
        format!(r#"{{{black},"name":"Ann"}},{{{black},"name":"Eve"}}"#),
        format!(r#"{{{black},"name":"Ann"}},{{{black},"name":"Bob"}},{{{black},"name":"Eve"}}"#),
        format!(r#"{{{black},"name":"Ann"}},{{{black},"name":"Bob"}},{{"name":"Eve"}}"#),
        format!(r#"{{{black},"name":"Ann","note":"new"}},{{{black},"name":"Bob"}}"#),
        r#"{"account":"[redacted]","name":"Bob"},{"account":"B","name":"Ann"}"#.to_owned(),
    ] {
        let edited = json(&format!(r#"{{"to":[{items}]}}"#));
        let refused = restore(&edited, &original, &hidden).unwrap_err();
        assert!(matches!(&refused, RestoreError::OtherItem(place) if place.starts_with("to.")), "{refused}");
    }
    let restored = |items: &str| {
        let edited = json(&format!(r#"{{"note":"x","to":[{items}]}}"#));
        restore(&edited, &original, &hidden).unwrap().as_str().to_owned()
    };
    assert_eq!(
        restored(&format!(r#"{{{black},"name":"Ann"}},{{"account":"C","name":"Cem","pin":3}}"#)),
        r#"{"note":"x","to":[{"account":"A","name":"Ann","pin":1},{"account":"C","name":"Cem","pin":3}]}"#
    );
    assert_eq!(
        restored(&format!(r#"{{{black},"name":"Ann"}},{{"account":"[redacted]","name":"Bob","pin":9}}"#)),
        r#"{"note":"x","to":[{"account":"A","name":"Ann","pin":1},{"account":"B","name":"Bob","pin":9}]}"#
    );
    assert_eq!(
        restored(r#"{"account":"B","name":"Bob"}"#),
        r#"{"note":"x","to":[{"account":"B","name":"Bob"}]}"#
    );
}

#[test]
fn what_is_black_where_nothing_was_hidden_is_refused() {
    let original = json(r#"{"card":{"number":"4111"},"note":"x"}"#);
    let hidden = paths(&["card", "**.pin", "codes.*"]);
    for (edited, place) in [
        (r#"{"card":"[redacted]","pin":"[redacted]"}"#, "pin"),
        (r#"{"card":{"number":"[redacted]"}}"#, "card.number"),
        (r#"{"card":["[redacted]"]}"#, "card.0"),
        (r#"{"card":"[redacted]","codes":["[redacted]"]}"#, "codes.0"),
        (r#"{"card":"[redacted]","note":{"pin":"[redacted]"}}"#, "note.pin"),
    ] {
        let refused = restore(&json(edited), &original, &hidden).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{place} ")), "{edited}: {refused}");
    }
}

#[test]
fn what_reading_found_in_hidden_values_is_not_told() {
    let args = json(r#"{"a~/b":{"x":{"secret":"rm -rf /srv/key"}},"command":"cat /etc/motd"}"#);
    let found = |argument: &str| Finding {
        argument: Some(argument.into()),
        span: Some(Span { start: 1, end: 9 }),
        ..Finding::new("rule", Risk::High, "why")
    };
    let resources = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let mut assessment = Assessment::of(vec![found("/a~0~1b/x/secret"), found("/command")]);
    assessment.resources = resources(&["file:/srv/key", "file:/etc/motd"]);
    assessment.triage =
        Some(Triage { rationale: Some("rm -rf /srv/key is bad".into()), ..Triage::default() });
    let mut of_picture = Assessment::of(Vec::new());
    of_picture.resources = resources(&["file:/etc/motd", "file:/[redacted]"]);
    let told = assessment.clone().discreet(&args, &paths(&["a~/b.*"]), &of_picture);
    assert_eq!(told.resources, ["file:/etc/motd"]);
    assert_eq!(told.triage.unwrap().rationale.as_deref(), Some(REDACTED));
    assert_eq!((told.findings[0].argument.as_deref(), told.findings[0].span), (Some("/a~0~1b/x"), None));
    assert_eq!((told.level, &told.findings[1]), (Risk::High, &assessment.findings[1]));
}

#[test]
fn an_action_is_redacted_in_all_that_it_carries() {
    let secret = Some(json(r#"{"card":"4111","more":1}"#));
    let action = Action {
        evidence: secret.clone(),
        state_before: secret.clone(),
        preconditions: secret.clone(),
        checkpoint: secret.clone(),
        resume: Some(Resume { url: "https://example.org/4111".into() }),
        ..Action::bare("charge", Kind::Tool, json(r#"{"card":"4111"}"#))
    };
    assert_eq!(action.redacted(&[]), action);
    let shown = serde_json::to_string(&action.redacted(&paths(&["card"]))).unwrap();
    assert!(!shown.contains("4111") && shown.matches("[redacted]").count() == 4, "{shown}");
}

/// Authorised: an action whose agent says in its own words what is hidden in its arguments.
fn talkative() -> Case {
    let args = r#"{"card":"4111-1111","more":{"password":"hunter2"},"pin":99887766,"short":"abc"}"#;
    let action = Action {
        description: Some("charge 4111-1111, known as abc".into()),
        rationale: Some("4111-1111 is theirs, by pin 99887766".into()),
        task: Some("4111-1111".into()),
        affected_systems: vec!["bank of 4111-1111".into()],
        rollback_plan: Some("credit 4111-1111 by hunter2".into()),
        evidence: Some(json(r#"{"4111-1111":[99887766,"paid by 4111-1111"],"pin":"0000-1111"}"#)),
        ..Action::bare("charge", Kind::Tool, json(args))
    };
    let mut verdict = Verdict::new(Tier::Auto, Risk::High, "cards");
    verdict.redact = paths(&["card", "pin", "short", "**.password"]);
    let agent = Principal {
        token: TokenId::from_parts(0, 1),
        kind: PrincipalKind::Agent,
        name: "riley".into(),
        owner: None,
        roles: Vec::new(),
    };
    let submission = Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict));
    let opening = Opening { id: ActionId::from_parts(1, 1), agent, batch: None, submission, grant: None };
    open(opening, &moment()).case
}

fn moment() -> Moment<'static> {
    Moment::at(Timestamp::from_micros(1_000_000))
}

const SECRETS: &[&str] = &["4111-1111", "hunter2", "99887766", "0000-1111", "s3cret"];

#[track_caller]
fn tells_nothing(shown: &str) {
    assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
}

#[test]
fn what_is_hidden_is_not_told_by_the_agents_own_words() {
    let view = ActionView::for_people(&talkative());
    tells_nothing(&serde_json::to_string(&view).unwrap());
    // By chance, a short one is in many words.
    assert_eq!(view.context.description.as_deref(), Some("charge [redacted], known as abc"));
    assert_eq!(view.context.rollback_plan.as_deref(), Some("credit [redacted] by [redacted]"));
    let evidence = r#"{"[redacted]":["[redacted]","paid by [redacted]"],"pin":"[redacted]"}"#;
    assert_eq!(view.context.evidence.unwrap().as_str(), evidence);
}

#[test]
fn what_came_of_it_is_redacted_for_people_and_for_the_log() {
    let authorised = talkative();
    let digest = authorised.submission.digest;
    let claim = Command::Claim(ClaimRequest { digest, preconditions: None });
    let running = step(&authorised, claim, &moment()).unwrap().case;
    let result = json(r#"{"card":"4111-1111","log":"4111-1111 by s3cret","user":[{"password":"s3cret"}]}"#);
    let error = Some("4111-1111 was refused: s3cret is wrong".to_owned());
    let outcome = Outcome::Failed { error: error.clone(), result: Some(result.clone()) };
    let failed = step(&running, Command::Report(outcome), &moment()).unwrap();
    let logged = String::from_utf8(failed.event.to_bytes().unwrap()).unwrap();
    assert!(logged.contains("[redacted] was refused: [redacted] is wrong"), "{logged}");
    tells_nothing(&logged);
    let seen = ActionView::for_people(&failed.case).outcome.unwrap();
    let expected =
        r#"{"card":"[redacted]","log":"[redacted] by [redacted]","user":[{"password":"[redacted]"}]}"#;
    assert_eq!(seen.result.as_ref().map(CanonicalJson::as_str), Some(expected));
    assert_eq!(seen.error.as_deref(), Some("[redacted] was refused: [redacted] is wrong"));
    let whole = ActionView::from(&failed.case).outcome.unwrap();
    assert_eq!((whole.error, whole.result), (error, Some(result)), "the agent knows what it said");
}

#[test]
fn why_an_agent_withdraws_is_told_without_what_is_hidden() {
    let reason = Some("4111-1111 is not theirs".to_owned());
    let cancel = Command::Cancel { by: Actor::Agent { name: "riley".into() }, reason };
    let revoked = step(&talkative(), cancel, &moment()).unwrap();
    tells_nothing(&String::from_utf8(revoked.event.to_bytes().unwrap()).unwrap());
    let seen = ActionView::for_people(&revoked.case).resolution.unwrap();
    assert_eq!(seen.reason.as_deref(), Some("[redacted] is not theirs"));
}

#[test]
fn where_too_much_is_hidden_to_look_for_nothing_is_said() {
    let many: Vec<String> = (0..65).map(|n| format!(r#""a{n}":"secret-{n}""#)).collect();
    let hidden = Hidden::of(&json(&format!("{{{}}}", many.join(","))), &paths(&["**"]));
    assert_eq!(hidden.veiled("anything"), REDACTED);
}

#[test]
fn what_was_proposed_is_hidden_by_the_rules_of_either_version() {
    let case = talkative();
    let mut proposed = Submission::clone(&case.submission);
    proposed.action.args = json(r#"{"amount":1,"card":"4111-1111","iban":"4111-1111"}"#);
    let mut verdict = Verdict::clone(&proposed.verdict);
    verdict.redact = paths(&["iban"]);
    proposed.verdict = Arc::new(verdict);
    let seen = |kind| {
        let viewer = Principal {
            kind,
            token: TokenId::from_parts(0, 2),
            name: "ann".into(),
            owner: None,
            roles: Vec::new(),
        };
        let view = ActionView::seen_by(&viewer, &case).with_proposed(&viewer, &proposed);
        view.proposed_args.unwrap().as_str().to_owned()
    };
    assert_eq!(seen(PrincipalKind::Agent), proposed.action.args.as_str());
    assert_eq!(seen(PrincipalKind::Reviewer), r#"{"amount":1,"card":"[redacted]","iban":"[redacted]"}"#);
}
