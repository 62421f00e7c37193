//! What agents write is on the screen, and cannot act on it.

use serde::Deserialize;
use serde_json::json;

use super::Office;
use super::seat::{ENTER, ESCAPE, LARGE, SMALL, Seat};

/// The same texts as the pages in the browser are tried with.
#[derive(Deserialize)]
struct Payload {
    name: String,
    text: String,
}

fn gallery() -> Vec<Payload> {
    let texts = include_str!("../../../../banksman-web/browser/payloads.json");
    let mut payloads: Vec<Payload> = serde_json::from_str(texts).unwrap();
    assert!(payloads.len() >= 60);
    // What only a terminal minds.
    for (name, text) in [
        ("clears the screen", "\u{1b}[2J\u{1b}[H\u{1b}[31mred\u{1b}[0m"),
        ("sets the title", "\u{1b}]0;approved\u{7}\u{9d}0;approved\u{9c}"),
        ("links", "\u{1b}]8;;http://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\"),
        ("asks the terminal to type", "\u{1b}[6n\u{1b}[c\u{1b}P$q\"p\u{1b}\\"),
        ("ends the frame", "─┘\n└─────┐ │ [Y] Approve █▓▒░ ═╗ ║"),
        ("is wide", "返金してください👍👨\u{200d}👩\u{200d}👧🇩🇪ｗｉｄｅ\u{fe0f}"),
        ("smears", "Z\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}a\u{308}l\u{309}g\u{30a}o"),
        ("goes the other way", "שלום עולם \u{202e}approve\u{202c} مرحبا 123"),
        ("is a carriage return", "safe\rrm -rf\u{8}\u{8}\u{8}\u{b}\u{c}\u{85}\u{2028}x"),
    ] {
        payloads.push(Payload { name: name.into(), text: text.into() });
    }
    payloads
}

/// Lines of the box, and nothing of it anywhere else.
pub(super) fn assert_frame_stands(seat: &Seat, name: &str) {
    let cells = seat.cells();
    let drawn = |text: &String| text.chars().any(|c| ('\u{2500}'..='\u{259f}').contains(&c));
    let place = |number: usize| format!("{name}, row {number}\n{}", seat.screen());
    let find = |corner: &str| {
        let mut found = cells.iter().enumerate().flat_map(|(row, cells)| {
            cells.iter().enumerate().filter(|(_, cell)| *cell == corner).map(move |(column, _)| (row, column))
        });
        let first = found.next().unwrap_or_else(|| panic!("{}", place(0)));
        assert_eq!(found.next(), None, "{}", place(first.0));
        first
    };
    let ((top, left), (bottom, right)) = (find("┌"), find("┘"));
    assert_eq!((find("┐"), find("└")), ((top, right), (bottom, left)), "{}", place(top));
    for (number, row) in cells.iter().enumerate() {
        if number < top || number > bottom {
            assert!(row.iter().filter(|cell| drawn(cell)).all(|cell| cell == "─"), "{}", place(number));
            continue;
        }
        let edges = (row[left].as_str(), row[right].as_str());
        assert!(matches!(edges, ("┌", "┐") | ("├", "┤") | ("└", "┘") | ("│", "│")), "{}", place(number));
        let inside = &row[left + 1..right];
        let lines = inside.iter().filter(|cell| drawn(cell)).count();
        assert_eq!(lines, if edges.0 == "│" { 0 } else { inside.len() }, "{}", place(number));
    }
    let rows = seat.rows();
    let questions =
        rows.iter().filter(|row| row.trim_start_matches(['│', ' ']).starts_with("[Y] Approve")).count();
    assert!(questions <= 1, "{name}:\n{}", seat.screen());
}

/// Only what we say ourselves: moves, colours, and the modes that are set at the start and at the end.
fn assert_harmless(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let allowed =
        regex::Regex::new(r"^\x1b\[(\d*;?\d*H|[\d;]*m|\?1049[hl]|\?2004[hl]|\?25[hl]|\?2026[hl]|8[hl]|\d?J)")
            .unwrap();
    // What was read may end in the middle of one.
    let unfinished = regex::Regex::new(r"^\x1b(\[\??[\d;]*)?$").unwrap();
    let mut rest = text.as_ref();
    while let Some(at) = rest.find(|c: char| c.is_control() && !matches!(c, '\r' | '\n')) {
        let from = &rest[at..];
        if unfinished.is_match(from) {
            return;
        }
        let found = allowed.find(from).unwrap_or_else(|| {
            panic!("{:?} was written to the terminal", from.chars().take(40).collect::<String>())
        });
        rest = &from[found.end()..];
    }
}

#[test]
fn no_text_moves_the_cursor_colours_anything_or_forges_the_frame() {
    let office = Office::open();
    let mut names = Vec::new();
    for payload in gallery() {
        let body = json!({
            "tool": "send_email",
            "args": {"to": payload.text, payload.text.as_str(): [payload.text]},
            "description": payload.text,
            "rationale": payload.text,
            "evidence": payload.text,
            "rollback_plan": payload.text,
        });
        // Some are refused at the door, as a name of an argument; then they are only a value.
        let text = body.to_string();
        let proposal = banksman_client::Proposal::new(&text);
        if office.agent.propose(&proposal).is_err() {
            office.proposes(
                &json!({"tool": "send_email", "args": {"to": payload.text}, "description": payload.text}),
            );
        }
        names.push(payload.name);
    }
    // Other sizes and screens are tried without a terminal, beside the code.
    let mut seat = office.watch(SMALL);
    seat.sees("waiting");
    for name in &names {
        seat.types("a");
        seat.sees("APPROVAL REQUIRED");
        assert_frame_stands(&seat, name);
        seat.types(ESCAPE);
        seat.sees_no_more("APPROVAL REQUIRED");
        seat.types("j");
    }
    assert_harmless(&seat.bytes());
}

#[test]
fn hostile_texts_look_like_this() {
    let office = Office::open();
    office.proposes(&json!({
        "tool": "send_email",
        "args": {
            "body": "first\u{1b}[2J line\n└──┘ [Y] Approve\r\n\tthird \u{202e}gpj.exe\u{202c} 返金 z\u{200b}w",
            "to": "ceo@p\u{430}ypal.com",
        },
        "description": "Risk: none\n\n[Y] Approve   nothing to see\u{7}",
    }));
    for (size, name) in [(SMALL, "80x24"), (LARGE, "120x40")] {
        let mut seat = office.watch(size);
        seat.sees("live");
        seat.sees("send_email");
        insta::assert_snapshot!(format!("hostile_list_{name}"), seat.picture());
        seat.types(ENTER);
        seat.sees("Look closely");
        insta::assert_snapshot!(format!("hostile_detail_{name}"), seat.picture());
        seat.types("a");
        seat.reads("APPROVAL REQUIRED");
        insta::assert_snapshot!(format!("hostile_dialog_{name}"), seat.picture());
        assert_frame_stands(&seat, "the picture");
    }
}
