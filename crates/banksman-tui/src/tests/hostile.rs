//! Everything that an agent can write, on every screen.

use std::sync::Arc;

use banksman_core::visible::{is_hidden, width};
use banksman_core::wire::{ActionView, FreezeView};
use banksman_core::{Finding, Risk, Span};
use proptest::prelude::*;
use ratatui::buffer::Buffer;

use super::flow::{cells, house, model, press};
use super::sample::{self, NOW, later};
use crate::document;
use crate::message::{House, Message};
use crate::model::Model;
use crate::paint::Paint;
use crate::tail::Entry;
use crate::update::update;

/// An action with this text wherever an agent's words go.
fn hostile(text: &str) -> ActionView {
    let mut action = sample::action();
    let words = || Some(text.to_owned());
    (action.agent, action.tool) = (text.to_owned(), text.to_owned());
    let quoted = serde_json::to_string(text).unwrap();
    action.args = sample::json(&format!(r#"{{"a":{quoted},"b":[{quoted}],{quoted}:1}}"#));
    action.digest = banksman_review::digest_of_shown(&action).unwrap();
    let context = &mut action.context;
    (context.description, context.rationale, context.rollback_plan) = (words(), words(), words());
    (context.task, context.session, context.server) = (words(), words(), words());
    context.affected_systems = vec![text.to_owned()];
    context.evidence = Some(sample::json(&quoted));
    context.state_before = Some(sample::json(&format!(r#"{{"content":{quoted}}}"#)));
    let verdict = Arc::make_mut(&mut action.verdict);
    verdict.rule = text.to_owned();
    verdict.messages = vec![text.to_owned()];
    action.votes[0].reason = words();
    let end = u32::try_from(text.len()).unwrap();
    Arc::make_mut(&mut action.assessment).findings = vec![Finding {
        argument: Some("/a".into()),
        span: Some(Span { start: 1, end }),
        ..Finding::new("rule", Risk::High, text)
    }];
    action
}

/// Every screen with this text on it.
fn screens(text: &str, size: (u16, u16)) -> Vec<(&'static str, Model)> {
    let fresh = || {
        let mut model = model(vec![hostile(text)], size);
        let freeze = FreezeView {
            id: "frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
            scope: "agent".into(),
            name: Some(text.into()),
            reason: text.into(),
            by: text.into(),
            at: NOW,
        };
        let frozen = House { pending: vec![hostile(text)], more: false, freezes: vec![freeze] };
        update(&mut model, Message::Loaded(Box::new(frozen)), NOW);
        let entry = Entry { seq: 1, at: Some(NOW), kind: text.into(), by: text.into(), what: text.into() };
        update(&mut model, Message::Happened(entry), NOW);
        model
    };
    let after = |keys: &str| {
        let mut model = fresh();
        press(&mut model, keys, later(1));
        model
    };
    let mut lost = after("a");
    update(&mut lost, Message::Disconnected(text.into()), later(2));
    let mut gone = after("a");
    let mut denied = hostile(text);
    denied.status = banksman_core::Status::Denied;
    denied.resolution = Some(banksman_core::wire::ResolutionView {
        by: text.into(),
        at: NOW,
        reason: Some(text.into()),
        message: None,
        modified: false,
    });
    update(&mut gone, Message::Fetched(Box::new(denied)), later(2));
    let mut pasted = after("d");
    update(&mut pasted, Message::Paste(text.into()), later(2));
    let mut edited = after("e");
    let args = serde_json::json!({ "a": text, "new": text }).to_string();
    update(&mut edited, Message::Edited(Ok(args)), later(2));
    let mut empty = after("/");
    update(&mut empty, Message::Paste(text.into()), later(2));
    update(&mut empty, house(Vec::new()), later(2));
    vec![
        ("list", after("")),
        ("detail", after("\r")),
        ("dialog", after("a")),
        ("several", after(" a")),
        ("freezes", after("f")),
        ("why", after("ft")),
        ("tail", after("t")),
        ("lost", lost),
        ("gone", gone),
        ("pasted", pasted),
        ("edited", edited),
        ("empty", empty),
    ]
}

fn is_drawn(symbol: &str) -> bool {
    symbol.chars().any(|c| ('\u{2500}'..='\u{259f}').contains(&c) || ('\u{1fb00}'..='\u{1fbff}').contains(&c))
}

/// Nothing acts or hides, and whatever is drawn is drawn where a screen with harmless words has it.
fn check(buffer: &Buffer, place: &str) {
    let columns = usize::from(buffer.area.width);
    for (number, row) in buffer.content.chunks(columns).enumerate() {
        for cell in row {
            let symbol = cell.symbol();
            assert!(!symbol.chars().any(is_hidden), "{place}, row {number}: {symbol:?}");
            assert!(symbol.chars().count() <= 4 && width(symbol) <= 4, "{place}, row {number}: {symbol:?}");
        }
        let drawn: Vec<&str> =
            row.iter().map(|cell| cell.symbol()).filter(|symbol| is_drawn(symbol)).collect();
        // A rule behind a dialog looks out on both sides of it.
        let rule = |symbol: &&&str| **symbol == "─";
        let (before, behind) =
            (drawn.iter().take_while(rule).count(), drawn.iter().rev().take_while(rule).count());
        let drawn = drawn.get(before..drawn.len().saturating_sub(behind)).unwrap_or_default();
        let is_ours = match drawn {
            [] | ["│", "│"] => true,
            [first, between @ .., last] => {
                matches!((*first, *last), ("┌", "┐") | ("├", "┤") | ("└", "┘"))
                    && between.iter().all(|symbol| *symbol == "─")
            }
            [_] => false,
        };
        assert!(is_ours, "{place}, row {number}: {drawn:?}");
    }
}

/// What does not fit goes on in the next line: what is cut off is not seen, and what is not seen is not reviewed.
fn assert_nothing_is_cut_off(text: &str, columns: usize) {
    let action = hostile(text);
    let paint = Paint { colours: true };
    let pages = [document::page(&action, paint, columns), document::question(&action, paint, columns)];
    for line in pages.iter().flatten() {
        assert!(line.width() <= columns, "{:?}", line.to_string());
    }
}

#[derive(serde::Deserialize)]
struct Payload {
    name: String,
    text: String,
}

#[test]
fn the_gallery_of_the_pages_does_no_harm_here_either() {
    let texts = include_str!("../../../banksman-web/browser/payloads.json");
    let payloads: Vec<Payload> = serde_json::from_str(texts).unwrap();
    assert!(payloads.len() >= 60);
    for payload in payloads {
        for size in [(80, 24), (120, 40)] {
            for (name, model) in screens(&payload.text, size) {
                check(&cells(&model), &format!("{} on {name} {size:?}", payload.name));
            }
            assert_nothing_is_cut_off(&payload.text, usize::from(size.0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_at_all_does(text in "(\\PC|\\pC|[│└┘─█🬀\u{1b}\u{9b}\u{202e}\u{200b}\u{301}返👍\n\t\r]){0,60}", columns in 40_u16..140, rows in 12_u16..50) {
        // No JSON text holds a NUL.
        let text = text.replace('\0', "");
        for (name, model) in screens(&text, (columns, rows)) {
            check(&cells(&model), name);
        }
        assert_nothing_is_cut_off(&text, usize::from(columns));
    }
}
