//! Keys in the dialog about several actions.

use banksman_core::Decision;
use crossterm::event::{KeyCode, KeyEvent};

use super::say;
use crate::deciding::Step;
use crate::message::Effect;
use crate::model::{Dialog, Model};
use crate::paint::Tone;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let now = model.now;
    let Some(Dialog::Several(several)) = &mut model.dialog else { return Vec::new() };
    match &mut several.step {
        Step::Sending => {
            if key.code == KeyCode::Esc {
                model.dialog = None;
                model.say(Tone::Plain, "They are on their way; the last answer comes here.");
            }
            Vec::new()
        }
        Step::Say { decision, words } => match key.code {
            KeyCode::Esc => {
                several.step = Step::Ask;
                Vec::new()
            }
            KeyCode::Enter => {
                let (decision, reason) = (*decision, words.said());
                if reason.is_none() && several.needs_reason(decision, now) {
                    model.say(Tone::Alarm, "Policy asks for a reason.");
                    return Vec::new();
                }
                send(model, decision, reason)
            }
            _ => {
                words.take(key);
                Vec::new()
            }
        },
        Step::Ask => answer(model, key.code),
    }
}

fn answer(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let now = model.now;
    let Some(Dialog::Several(several)) = &mut model.dialog else { return Vec::new() };
    let page = several.text.page();
    match code {
        KeyCode::Up | KeyCode::Char('k') => several.step_to(-1),
        KeyCode::Down | KeyCode::Char('j') => several.step_to(1),
        KeyCode::PageUp => several.text.scroll(-page),
        KeyCode::PageDown => several.text.scroll(page),
        KeyCode::Char(' ') => several.turn_choice(),
        KeyCode::Esc | KeyCode::Char('q') => model.dialog = None,
        KeyCode::Char('y' | 'Y') => {
            if let Some(problem) = several.too_early(now) {
                model.say(Tone::Alarm, problem);
            } else if several.needs_reason(Decision::Approve, now) {
                several.step = say(Decision::Approve);
            } else {
                return send(model, Decision::Approve, None);
            }
        }
        KeyCode::Char('n' | 'N' | 'd') => several.step = say(Decision::Deny),
        _ => {}
    }
    Vec::new()
}

fn send(model: &mut Model, decision: Decision, reason: Option<String>) -> Vec<Effect> {
    let now = model.now;
    let Some(Dialog::Several(several)) = &mut model.dialog else { return Vec::new() };
    let orders = several.send(decision, reason, now);
    if orders.is_empty() {
        several.step = Step::Ask;
        model.say(Tone::Alarm, "Nothing is chosen that could be decided.");
        return Vec::new();
    }
    several.step = Step::Sending;
    orders.into_iter().map(|(id, request)| Effect::Decide(id, Box::new(request))).collect()
}
