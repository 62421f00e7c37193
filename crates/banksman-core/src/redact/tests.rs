use proptest::prelude::*;

use super::*;
use crate::{Finding, Kind, Resume, Risk, Span, Triage};

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
