//! Cards of actions.

use super::*;
use crate::testing::{Held, hostile_texts};
use crate::wording::{elsewhere, remarks};

const SHOWING: Showing<'_> = Showing { console: "https://gate.example.org/", may_decide: true };

#[test]
fn a_card_shows_what_will_run_and_where_to_look() {
    let case = Held::new("refund", r#"{"amount":899,"to":[{"name":"Ann Lee"}],"note":{}}"#).case();
    let card = Card::of(&case, SHOWING);
    let lines: Vec<String> =
        card.arguments.iter().map(|argument| format!("{} = {}", argument.name, argument.shown)).collect();
    assert_eq!(lines, ["amount = 899", "note = {}", r#"to[0].name = "Ann Lee""#]);
    assert_eq!(card.link, format!("https://gate.example.org/actions/{}", case.id));
    assert_eq!((card.standing.clone(), card.approvals, card.needed), (Standing::Waiting, 0, 1));
    assert!(card.offers_decision());
    assert!(!Card::of(&case, Showing { may_decide: false, ..SHOWING }).offers_decision());
}

#[test]
fn whoever_sees_only_a_part_is_offered_no_decision() {
    let many: Vec<String> = (0..11).map(|n| format!(r#""k{n}":{n}"#)).collect();
    let too_many = format!("{{{}}}", many.join(","));
    let too_long = format!(r#"{{"command":"{}; rm -rf /"}}"#, "x".repeat(400));
    let long_name = format!(r#"{{"{}":1}}"#, "k".repeat(80));
    for args in [too_many, too_long, long_name] {
        let card = Card::of(&Held::new("run", &args).case(), SHOWING);
        assert!(!card.offers_decision(), "{args}");
    }
    let card = Card::of(&Held::new("run", r#"{"command":"ls"}"#).case(), SHOWING);
    assert!(card.offers_decision());
    // Two tools that begin and end alike look the same once the middle is cut.
    for (length, whole) in [(80, true), (81, false)] {
        let tool = format!("{}_read_only", "x".repeat(length - 10));
        let card = Card::of(&Held::new(&tool, "{}").case(), SHOWING);
        assert_eq!((card.tool_whole, card.offers_decision()), (whole, whole), "{tool}");
    }
}

#[test]
fn a_host_that_is_not_what_it_looks_like_is_named_and_decided_on_its_page() {
    let args = "{\"url\":\"https://p\u{430}ypal.com/pay\"}";
    let card = Card::of(&Held::new("fetch", args).case(), SHOWING);
    assert!(!card.offers_decision() && !card.is_approved_here());
    assert_eq!(card.odd_hosts, ["p\u{430}ypal.com is spelled to look like paypal.com"]);
    assert!(remarks(&card).contains(&("Look closely", card.odd_hosts[0].as_str())));
    assert!(elsewhere(&card).is_some_and(|words| words.starts_with("A host name in it")));
    let honest = Card::of(&Held::new("fetch", r#"{"url":"https://paypal.com/pay"}"#).case(), SHOWING);
    assert!(honest.offers_decision() && honest.odd_hosts.is_empty() && elsewhere(&honest).is_none());
}

#[test]
fn whoever_is_not_told_all_that_policy_says_is_offered_no_decision() {
    let (most, too_long) = ("x".repeat(SENTENCE), "x".repeat(SENTENCE + 1));
    // Each becomes longer when it is spelled.
    let hidden = "\u{202e}".repeat(SENTENCE / 2);
    for (messages, whole) in [
        (vec![], true),
        (vec!["Ask ann first."; SENTENCES], true),
        (vec!["Ask ann first."; SENTENCES + 1], false),
        (vec![most.as_str()], true),
        (vec!["Ask ann first.", &too_long], false),
        (vec![hidden.as_str()], false),
    ] {
        let card = Card::of(&Held::new("refund", "{}").telling(&messages).case(), SHOWING);
        assert_eq!((card.messages_whole, card.offers_decision()), (whole, whole), "{messages:?}");
        assert_eq!(elsewhere(&card).is_none(), whole, "{messages:?}");
    }
}

#[test]
fn no_two_arguments_have_the_same_name() {
    let name = |args: &str| Card::of(&Held::new("run", args).case(), SHOWING).arguments[0].name.clone();
    assert_ne!(name(r#"{"options.dry_run":true}"#), name(r#"{"options":{"dry_run":true}}"#));
    // A letter that shows nothing.
    assert_eq!(name("{\"to\u{3164}\":1}"), r#""to\u3164""#);
}

#[test]
fn a_message_about_an_earlier_version_offers_nothing() {
    let card = Card::of(&Held::new("refund", r#"{"amount":1}"#).case(), SHOWING).outdated();
    assert!(!card.offers_decision() && card.expires.is_none());
    assert_eq!(card.standing.to_string(), "edited since this was sent");
    let decided = Held::new("refund", "{}").decided("ann", banksman_core::Decision::Deny);
    assert_eq!(Card::of(&decided, SHOWING).outdated().standing.to_string(), "denied by ann");
}

#[test]
fn the_end_of_a_long_value_is_always_there() {
    let args = format!(r#"{{"command":"{}; rm -rf /"}}"#, "x".repeat(4000));
    let card = Card::of(&Held::new("run", &args).case(), SHOWING);
    let [argument] = card.arguments.as_slice() else { panic!("{card:?}") };
    assert!(argument.shown.ends_with("rm -rf /\"") && argument.shown.chars().count() < 400);
}

#[test]
fn nothing_that_policy_redacts_is_on_a_card_not_even_in_the_agents_words() {
    let case = Held::new("pay", r#"{"card":"4111111111111111","to":{"iban":"DE02120300000000202051"}}"#)
        .redacting(&["card", "**.iban"])
        .because("charge 4111111111111111 as agreed")
        .case();
    let card = Card::of(&case, SHOWING);
    let all = format!("{card:?}");
    assert!(!all.contains("41111111") && !all.contains("DE02"), "{all}");
    assert_eq!(card.why.as_deref(), Some(REDACTED));
    assert!(card.offers_decision());
}

#[test]
fn no_text_of_an_agent_hides_acts_or_breaks_a_line() {
    for text in hostile_texts() {
        let args = format!(r#"{{{0}:{0}}}"#, serde_json::to_string(&text).unwrap());
        let case = Held::new(&text, &args).by(&text).because(&text).case();
        let card = Card::of(&case, SHOWING);
        let mut texts = vec![card.tool.clone(), card.agent.clone(), card.why.clone().unwrap()];
        for argument in &card.arguments {
            texts.extend([argument.name.clone(), argument.shown.clone()]);
        }
        for shown in texts {
            assert!(!shown.chars().any(banksman_core::visible::is_hidden), "{shown:?}");
            assert!(shown.chars().count() < 400, "{shown:?}");
        }
    }
}

#[test]
fn what_is_settled_says_how_and_by_whom_and_is_not_decided_again() {
    let held = || Held::new("refund", r#"{"amount":1}"#);
    for (case, words) in [
        (held().decided("ann", banksman_core::Decision::Approve), "approved by ann"),
        (held().decided("ann", banksman_core::Decision::Deny), "denied by ann"),
        (held().expired(), "expired: nobody decided in time"),
        (held().tier(Tier::Notify).case(), "let run by policy"),
        (held().tier(Tier::Block).case(), "blocked by policy"),
    ] {
        let card = Card::of(&case, SHOWING);
        assert_eq!(card.standing.to_string(), words);
        assert!(!card.offers_decision() && card.expires.is_none());
    }
}
