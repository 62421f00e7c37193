//! Keys in the dialog about one action, and editing.

use banksman_core::Decision;
use banksman_core::json::{CanonicalJson, Json, parse};
use banksman_core::visible::pretty;
use crossterm::event::{KeyCode, KeyEvent};

use super::say;
use crate::deciding::{Deciding, Step};
use crate::message::Effect;
use crate::model::{Dialog, Model};
use crate::paint::{Tone, foreign};
use crate::subject::Subject;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let now = model.now;
    let Some(Dialog::Deciding(deciding)) = &mut model.dialog else { return Vec::new() };
    if deciding.step != Step::Sending && deciding.subject.obstacle(now).is_some() {
        return only_look(model, key.code);
    }
    match &mut deciding.step {
        // What is on its way cannot be taken back; who does not want to wait for the answer reads it below the list.
        Step::Sending => {
            if key.code == KeyCode::Esc {
                model.dialog = None;
                model.say(Tone::Plain, "It is on its way; the answer comes here.");
            }
            Vec::new()
        }
        Step::Say { decision, words } => match key.code {
            KeyCode::Esc => {
                deciding.step = Step::Ask;
                deciding.problem = None;
                Vec::new()
            }
            KeyCode::Enter => {
                let (decision, said) = (*decision, words.said());
                send(deciding, decision, said, now)
            }
            _ => {
                words.take(key);
                Vec::new()
            }
        },
        Step::Ask => {
            deciding.problem = None;
            answer(model, key.code)
        }
    }
}

/// What is shown is no longer what would be decided: nothing but looking is left.
fn only_look(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let now = model.now;
    let Some(Dialog::Deciding(deciding)) = &mut model.dialog else { return Vec::new() };
    let page = deciding.text.page();
    match code {
        KeyCode::Up => deciding.text.scroll(-1),
        KeyCode::Down => deciding.text.scroll(1),
        KeyCode::PageUp => deciding.text.scroll(-page),
        KeyCode::PageDown => deciding.text.scroll(page),
        KeyCode::Esc => model.dialog = None,
        KeyCode::Enter if deciding.subject.catch_up() => {
            // As if it had just been opened: nobody has read this yet.
            deciding.edit = None;
            deciding.step = Step::Ask;
            deciding.problem = None;
            deciding.opened = now;
            deciding.text.scroll(isize::MIN);
            model.lay_out();
        }
        _ => {}
    }
    Vec::new()
}

fn answer(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let now = model.now;
    let Some(Dialog::Deciding(deciding)) = &mut model.dialog else { return Vec::new() };
    let page = deciding.text.page();
    match code {
        KeyCode::Up | KeyCode::Char('k') => deciding.text.scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => deciding.text.scroll(1),
        KeyCode::PageUp => deciding.text.scroll(-page),
        KeyCode::PageDown | KeyCode::Char(' ') => deciding.text.scroll(page),
        KeyCode::Home => deciding.text.scroll(isize::MIN),
        KeyCode::End => deciding.text.scroll(isize::MAX),
        KeyCode::Esc | KeyCode::Char('q') => model.dialog = None,
        KeyCode::Char('y' | 'Y' | 'w') => {
            let decision = deciding.approval();
            let too_early = || deciding.too_early(now).map(str::to_owned);
            if let Some(problem) = deciding.subject.objection(decision, now).or_else(too_early) {
                deciding.problem = Some(problem);
            } else {
                let must_say = deciding.subject.shown().verdict.require_reason;
                if code == KeyCode::Char('w') || must_say {
                    deciding.step = say(decision);
                } else {
                    return send(deciding, decision, None, now);
                }
            }
        }
        KeyCode::Char('n' | 'N' | 'd') => deciding.step = say(Decision::Deny),
        KeyCode::Char('r') => deciding.step = say(Decision::Respond),
        KeyCode::Char('e') => {
            let (subject, draft) = (deciding.subject.clone(), deciding.edit.as_ref().map(pretty));
            return edit(model, subject, draft);
        }
        _ => {}
    }
    Vec::new()
}

/// Sends the decision, if nothing stands in its way.
fn send(
    deciding: &mut Deciding,
    decision: Decision,
    said: Option<String>,
    now: banksman_core::Timestamp,
) -> Vec<Effect> {
    let verdict = &deciding.subject.shown().verdict;
    let missing = match decision {
        Decision::Respond if said.is_none() => Some("The agent needs words: what should it do instead?"),
        Decision::Approve | Decision::Deny | Decision::Modify if verdict.require_reason && said.is_none() => {
            Some("Policy asks for a reason.")
        }
        Decision::Approve | Decision::Deny | Decision::Modify | Decision::Respond => None,
    };
    if let Some(problem) = deciding.subject.objection(decision, now).or_else(|| missing.map(str::to_owned)) {
        deciding.problem = Some(problem);
        return Vec::new();
    }
    let mut request = deciding.subject.request(decision);
    match decision {
        Decision::Respond => {
            // A policy that wants a reason gets the words as one: they say why not.
            request.reason = said.clone().filter(|_| verdict.require_reason);
            request.message = said;
        }
        Decision::Approve | Decision::Deny => request.reason = said,
        Decision::Modify => {
            request.reason = said;
            request.args.clone_from(&deciding.edit);
        }
    }
    deciding.step = Step::Sending;
    deciding.problem = None;
    vec![Effect::Decide(deciding.subject.id(), Box::new(request))]
}

/// Opens the editor on the arguments, or on a draft of them.
pub(super) fn edit(model: &mut Model, subject: Subject, draft: Option<String>) -> Vec<Effect> {
    if let Some(objection) = subject.objection(Decision::Modify, model.now) {
        model.say(Tone::Alarm, objection);
        return Vec::new();
    }
    let text = draft.unwrap_or_else(|| pretty(&subject.shown().args));
    model.dialog = None;
    model.editing = Some(subject);
    vec![Effect::Edit(text)]
}

/// Someone closed their editor.
pub(super) fn edited(model: &mut Model, saved: Result<String, String>) -> Vec<Effect> {
    let Some(subject) = model.editing.take() else { return Vec::new() };
    let text = match saved {
        Ok(text) => text,
        Err(problem) => {
            model.say(Tone::Alarm, foreign(&problem));
            return Vec::new();
        }
    };
    match read_args(&text) {
        Ok(args) if args == subject.shown().args => {
            model.say(Tone::Plain, "You changed nothing; nothing was sent.");
        }
        Ok(args) => {
            let deciding = Deciding::new(subject, Some(args), Step::Ask, model.now);
            model.dialog = Some(Dialog::Deciding(Box::new(deciding)));
            model.lay_out();
        }
        Err(problem) => model.dialog = Some(Dialog::BadEdit { subject: Box::new(subject), text, problem }),
    }
    Vec::new()
}

/// The work in the editor is not thrown away because of a comma.
pub(super) fn press_bad_edit(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    match (key.code, model.dialog.take()) {
        (KeyCode::Char('e') | KeyCode::Enter, Some(Dialog::BadEdit { subject, text, .. })) => {
            edit(model, *subject, Some(text))
        }
        (KeyCode::Esc | KeyCode::Char('q' | 'n'), Some(_)) => {
            model.say(Tone::Plain, "Nothing was sent.");
            Vec::new()
        }
        (_, dialog) => {
            model.dialog = dialog;
            Vec::new()
        }
    }
}

fn read_args(text: &str) -> Result<CanonicalJson, String> {
    let value = parse(text.trim().as_bytes())
        .map_err(|error| foreign(&format!("The arguments are not JSON: {error}.")))?;
    match value {
        Json::Object(_) => Ok(CanonicalJson::of(&value)),
        other => Err(format!("The arguments have to be an object, not {}.", other.kind_name())),
    }
}
