//! What a message does: to what is known, and to the world, as effects.

mod deciding;
mod freezing;
mod pages;
mod several;

use banksman_core::{Decision, Timestamp};
use banksman_review::result;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::deciding::{Deciding, Step};
use crate::message::{Answered, Effect, House, Message};
use crate::model::{Dialog, Model, Page};
use crate::paint::{Tone, foreign};
use crate::several::Answer;
use crate::subject::Subject;

/// How long after a failure the house is looked at again.
const TRY_AGAIN_SECONDS: u64 = 3;

pub(crate) fn update(model: &mut Model, message: Message, now: Timestamp) -> Vec<Effect> {
    model.now = now;
    match message {
        Message::Key(key) => press(model, key),
        Message::Paste(text) => paste(model, &text),
        Message::Resized { columns, rows } => {
            (model.columns, model.rows) = (columns, rows);
            model.lay_out();
            vec![Effect::Redraw]
        }
        Message::Tick => tick(model),
        Message::Loaded(house) => loaded(model, *house),
        Message::NotLoaded(why) => {
            model.link.not_loaded = Some(foreign(&why));
            model.link.loaded = Some(now);
            Vec::new()
        }
        Message::Fetched(action) => {
            hear(model, &[*action]);
            Vec::new()
        }
        Message::Happened(entry) => {
            model.tail.add(entry);
            vec![Effect::Reload]
        }
        Message::Connected => {
            model.link.lost = None;
            vec![Effect::Reload]
        }
        Message::Disconnected(why) => {
            let since = model.link.lost.as_ref().map_or(now, |(since, _)| *since);
            model.link.lost = Some((since, foreign(&why)));
            Vec::new()
        }
        Message::Answered(answered) => heard_back(model, *answered),
        Message::House(said) => freezing::heard_back(model, said),
        Message::Edited(saved) => deciding::edited(model, saved),
    }
}

fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        match key.code {
            KeyCode::Char('c') => return vec![Effect::Quit],
            KeyCode::Char('z') => return vec![Effect::Suspend],
            KeyCode::Char('l') => return vec![Effect::Redraw],
            _ => {}
        }
    }
    model.note = None;
    match &mut model.dialog {
        Some(Dialog::Deciding(_)) => deciding::press(model, key),
        Some(Dialog::Several(_)) => several::press(model, key),
        Some(Dialog::Freezing(_)) => freezing::press(model, key),
        Some(Dialog::BadEdit { .. }) => deciding::press_bad_edit(model, key),
        Some(Dialog::Help) => {
            model.dialog = None;
            Vec::new()
        }
        None => pages::press(model, key),
    }
}

/// What is pasted is a text, never an answer.
fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    let field = match &mut model.dialog {
        Some(Dialog::Deciding(deciding)) => said(&mut deciding.step),
        Some(Dialog::Several(several)) => said(&mut several.step),
        Some(Dialog::Freezing(freezing)) => freezing::field(freezing),
        Some(Dialog::BadEdit { .. } | Dialog::Help) => None,
        None => (model.inbox.is_typing).then_some(&mut model.inbox.filter),
    };
    if let Some(field) = field {
        field.paste(text);
        model.inbox.settle();
    }
    Vec::new()
}

fn said(step: &mut Step) -> Option<&mut crate::input::Input> {
    match step {
        Step::Say { words, .. } => Some(words),
        Step::Ask | Step::Sending => None,
    }
}

fn tick(model: &mut Model) -> Vec<Effect> {
    let failed = model.link.not_loaded.is_some();
    let long_ago = model.link.loaded.is_some_and(|at| model.now.since(at).as_secs() >= TRY_AGAIN_SECONDS);
    if failed && long_ago { vec![Effect::Reload] } else { Vec::new() }
}

fn loaded(model: &mut Model, house: House) -> Vec<Effect> {
    model.link.not_loaded = None;
    model.link.loaded = Some(model.now);
    let banner_changed = model.freezes.is_empty() != house.freezes.is_empty();
    model.freezes = house.freezes;
    hear(model, &house.pending);
    model.inbox.load(house.pending, house.more);
    if banner_changed {
        model.lay_out();
    }
    model.unaccounted().into_iter().map(Effect::Fetch).collect()
}

/// Tells everything that someone looks at how it stands now.
fn hear(model: &mut Model, actions: &[banksman_core::wire::ActionView]) {
    let mut redraw = false;
    for subject in model.subjects_mut() {
        if let Some(action) = actions.iter().find(|action| action.id == subject.id()) {
            redraw |= subject.hear(action);
        }
    }
    if redraw {
        model.lay_out();
    }
}

fn heard_back(model: &mut Model, answered: Answered) -> Vec<Effect> {
    let Answered { id, decision, outcome, now: stands } = answered;
    hear(model, stands.as_slice());
    let now = model.now;
    let said = match &outcome {
        Ok(action) => {
            model.inbox.unmark(id);
            Ok(foreign(&result(decision, action, now)))
        }
        Err(why) => Err(foreign(why)),
    };
    match (&mut model.dialog, said) {
        (Some(Dialog::Deciding(deciding)), Ok(words)) if deciding.subject.id() == id => {
            model.dialog = None;
            // The list is where the next one waits.
            if matches!(&model.page, Page::Detail(detail) if detail.subject.id() == id) {
                model.page = Page::Inbox;
            }
            model.say(Tone::Fine, words);
        }
        (Some(Dialog::Deciding(deciding)), Err(why)) if deciding.subject.id() == id => {
            deciding.step = Step::Ask;
            // If someone was faster, that is said by the subject itself, with who and when.
            deciding.problem = Some(why);
        }
        (Some(Dialog::Several(several)), said) => {
            if let Some(item) = several.item_mut(id) {
                item.answer = match said {
                    Ok(words) => Answer::Done(words),
                    Err(why) => Answer::Refused(item.subject.obstacle(now).unwrap_or(why)),
                };
            }
            if several.is_answered() {
                several.step = Step::Ask;
            }
        }
        // The dialog is gone: someone resized, quit or went on. The answer still matters.
        (_, Ok(words)) => model.say(Tone::Fine, words),
        (_, Err(why)) => model.say(Tone::Alarm, why),
    }
    vec![Effect::Reload]
}

/// Opens the dialog about an action, unless there is nothing to decide.
fn ask(model: &mut Model, subject: Subject, step: Step) {
    if let Some(obstacle) = subject.obstacle(model.now) {
        model.say(Tone::Alarm, obstacle);
        return;
    }
    model.dialog = Some(Dialog::Deciding(Box::new(Deciding::new(subject, None, step, model.now))));
    model.lay_out();
}

/// Typing words for a decision.
fn say(decision: Decision) -> Step {
    Step::Say { decision, words: crate::input::Input::default() }
}
