//! Messages in, effects and screens out; no terminal, no server, no clock.

use std::sync::Arc;

use banksman_core::wire::{ActionView, DecisionRequest, ResolutionView};
use banksman_core::{Decision, Risk, Status, Timestamp};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::sample::{self, NOW, later};
use crate::message::{Answered, Effect, House, Message};
use crate::model::Model;
use crate::paint::Paint;
use crate::update::update;
use crate::view;

pub(super) fn house(pending: Vec<ActionView>) -> Message {
    Message::Loaded(Box::new(House { pending, more: false, freezes: Vec::new() }))
}

pub(super) fn model(pending: Vec<ActionView>, size: (u16, u16)) -> Model {
    let mut model = Model::new("http://127.0.0.1:7447".into(), Paint { colours: true }, size, NOW);
    update(&mut model, house(pending), NOW);
    model
}

/// Presses keys, all at this moment.
pub(super) fn press(model: &mut Model, keys: &str, now: Timestamp) -> Vec<Effect> {
    let code = |c: char| match c {
        '\r' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        c => KeyCode::Char(c),
    };
    let key = |c: char| Message::Key(KeyEvent::new(code(c), KeyModifiers::NONE));
    keys.chars().flat_map(|c| update(model, key(c), now)).collect()
}

pub(super) fn cells(model: &Model) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.columns, model.rows));
    view::draw(model, &mut buffer);
    buffer
}

fn screen(model: &Model) -> String {
    let buffer = cells(model);
    buffer.content.chunks(usize::from(model.columns)).fold(String::new(), |mut text, row| {
        row.iter().for_each(|cell| text.push_str(cell.symbol()));
        text.push('\n');
        text
    })
}

fn sent(effects: &[Effect]) -> Vec<&DecisionRequest> {
    let decided = effects.iter().filter_map(|effect| match effect {
        Effect::Decide(_, request) => Some(request.as_ref()),
        _ => None,
    });
    decided.collect()
}

#[test]
fn a_decision_names_the_version_and_digest_on_the_screen() {
    let mut model = model(vec![sample::action()], (80, 40));
    press(&mut model, "a", NOW);
    // What comes in now is not on the screen, and is not what is decided.
    let mut changed = sample::action();
    changed.version = 2;
    changed.args = sample::json(r#"{"amount":9999}"#);
    changed.digest = banksman_review::digest_of_shown(&changed).unwrap();
    update(&mut model, house(vec![changed.clone()]), later(1));
    assert!(screen(&model).contains("It changed: version 2"), "{}", screen(&model));
    assert!(sent(&press(&mut model, "yYn\r", later(2))).is_empty());
    press(&mut model, "\r", later(2));
    let effects = press(&mut model, "y", later(3));
    let request = sent(&effects)[0];
    assert_eq!((request.version, request.digest), (2, changed.digest));
}

#[test]
fn a_digest_of_something_else_can_only_be_denied() {
    let mut lie = sample::action();
    lie.args = sample::json(r#"{"amount":1}"#);
    for keys in ["a", "e"] {
        let mut model = model(vec![lie.clone()], (80, 40));
        press(&mut model, keys, NOW);
        let effects = press(&mut model, "yYwe", later(5));
        assert!(effects.is_empty(), "{keys}: {effects:?}");
        assert!(screen(&model).contains("not that of what is shown"), "{keys}: {}", screen(&model));
    }
    // Of several, a yes is about the others.
    let mut both = model(vec![lie.clone(), sample::numbered(1, Risk::Low)], (100, 60));
    press(&mut both, "  a", NOW);
    assert!(screen(&both).contains("[Y] Approve 1   [N] Reject 2"), "{}", screen(&both));
    assert_eq!(sent(&press(&mut both, "y", later(5)))[0].digest, sample::numbered(1, Risk::Low).digest);
    for (keys, decision) in
        [("dno\r", Decision::Deny), ("rno\r", Decision::Respond), ("ano\r", Decision::Deny)]
    {
        let mut model = model(vec![lie.clone()], (80, 40));
        let effects = press(&mut model, keys, later(5));
        assert_eq!(sent(&effects)[0].decision, decision, "{keys}");
    }
}

#[test]
fn what_policy_hides_in_part_is_decided_and_said_to_be_unchecked() {
    let mut hidden = sample::action();
    hidden.args = sample::json(r#"{"amount":899,"order_id":"[redacted]"}"#);
    Arc::make_mut(&mut hidden.verdict).redact = vec!["order_id".into()];
    for (keys, decision) in
        [("y", Decision::Approve), ("nno\r", Decision::Deny), ("rno\r", Decision::Respond)]
    {
        let mut model = model(vec![hidden.clone()], (80, 40));
        press(&mut model, "a", NOW);
        let text = screen(&model);
        assert!(text.contains("cannot be checked here") && !text.contains("Exactly this"), "{text}");
        let effects = press(&mut model, keys, later(1));
        assert_eq!((sent(&effects)[0].decision, sent(&effects)[0].digest), (decision, hidden.digest));
    }
    let mut model = model(vec![hidden.clone()], (80, 40));
    press(&mut model, "e", NOW);
    let saved = r#"{"amount":4,"order_id":"[redacted]"}"#.to_owned();
    update(&mut model, Message::Edited(Ok(saved.clone())), later(1));
    assert!(screen(&model).contains("what is still [redacted]"), "{}", screen(&model));
    let effects = press(&mut model, "y", later(2));
    assert_eq!(sent(&effects)[0].args, Some(sample::json(&saved)));
}

#[test]
fn a_key_that_was_pressed_before_the_question_is_no_answer() {
    let mut model = model(vec![sample::action()], (80, 40));
    assert!(sent(&press(&mut model, "ay", NOW)).is_empty());
    assert_eq!(sent(&press(&mut model, "y", later(1))).len(), 1);
    // And what is on its way is not sent twice.
    assert!(sent(&press(&mut model, "yyy", later(2))).is_empty());
}

#[test]
fn pasting_types_words_and_never_answers() {
    let mut model = model(vec![sample::action()], (80, 40));
    press(&mut model, "a", NOW);
    assert!(update(&mut model, Message::Paste("y".into()), later(1)).is_empty());
    press(&mut model, "n", later(1));
    update(&mut model, Message::Paste("because\ny\r".into()), later(1));
    let effects = press(&mut model, "\r", later(2));
    assert_eq!(sent(&effects)[0].reason.as_deref(), Some("because y"));
    assert_eq!(sent(&effects)[0].decision, Decision::Deny);
}

#[test]
fn a_lost_race_says_who_and_when() {
    let mut model = model(vec![sample::action()], (80, 40));
    press(&mut model, "a", NOW);
    press(&mut model, "y", later(1));
    let mut lost = sample::action();
    lost.status = Status::Denied;
    lost.resolution = Some(ResolutionView {
        by: "bob".into(),
        at: later(1),
        reason: Some("no\u{1b}[2J".into()),
        message: None,
        modified: false,
    });
    let answered = Answered {
        id: lost.id,
        decision: Decision::Approve,
        outcome: Err("bob has decided (already_decided)".into()),
        now: Some(lost),
    };
    update(&mut model, Message::Answered(Box::new(answered)), later(4));
    assert!(screen(&model).contains(r"Already denied by bob 3 s ago: no\u{1b}[2J."), "{}", screen(&model));
    assert!(sent(&press(&mut model, "y", later(5))).is_empty());
}

#[test]
fn what_is_open_and_no_longer_listed_is_asked_about() {
    let mut model = model(vec![sample::action()], (80, 24));
    press(&mut model, "\r", NOW);
    let effects = update(&mut model, house(Vec::new()), later(1));
    assert!(matches!(effects.as_slice(), [Effect::Fetch(id)] if *id == sample::action().id));
    let mut over = sample::action();
    over.status = Status::Expired;
    update(&mut model, Message::Fetched(Box::new(over)), later(2));
    assert!(screen(&model).contains("It is expired now."), "{}", screen(&model));
    assert!(press(&mut model, "a", later(3)).is_empty());
    assert!(model.dialog.is_none());
}

#[test]
fn our_own_clock_never_says_that_it_is_too_late() {
    let mut model = model(vec![sample::action()], (80, 40));
    press(&mut model, "a", later(900));
    assert!(screen(&model).contains("over left"), "{}", screen(&model));
    assert_eq!(sent(&press(&mut model, "y", later(901))).len(), 1, "the server has the last word");
}

#[test]
fn a_lost_connection_is_shown_with_how_old_everything_is() {
    let mut model = model(vec![sample::action()], (80, 24));
    update(&mut model, Message::Disconnected("refused".into()), later(2));
    update(&mut model, Message::Disconnected("refused".into()), later(5));
    let text = screen(&model);
    assert!(text.contains("NO CONNECTION for 3 s") && text.contains("from 5 s ago"), "{text}");
    let effects = update(&mut model, Message::Connected, later(6));
    assert!(matches!(effects.as_slice(), [Effect::Reload]));
    assert!(screen(&model).contains("live"), "{}", screen(&model));
}

#[test]
fn some_of_several_are_decided_and_each_gets_its_answer() {
    let actions: Vec<ActionView> = (0..3).map(|number| sample::numbered(number, Risk::Low)).collect();
    let mut model = model(actions, (100, 60));
    press(&mut model, "   a", NOW);
    press(&mut model, "j ", later(1));
    let effects = press(&mut model, "y", later(1));
    assert_eq!(sent(&effects).len(), 2);
    assert!(sent(&effects).iter().all(|request| request.decision == Decision::Approve));
    let digests: Vec<_> = sent(&effects).iter().map(|request| request.digest).collect();
    assert_ne!(digests[0], digests[1], "each is bound to its own");
}

#[test]
fn a_reason_that_policy_wants_is_wanted_for_several_too() {
    let mut strict = sample::action();
    Arc::make_mut(&mut strict.verdict).require_reason = true;
    let mut model = model(vec![strict], (100, 60));
    press(&mut model, " a", NOW);
    assert!(sent(&press(&mut model, "y\r", later(1))).is_empty());
    let effects = press(&mut model, "because\r", later(2));
    assert_eq!(sent(&effects)[0].reason.as_deref(), Some("because"));
}
