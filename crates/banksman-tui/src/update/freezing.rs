//! Keys in the dialog of the kill switch.

use crossterm::event::{KeyCode, KeyEvent};

use crate::freezing::{Freezing, Scope, Stage};
use crate::input::Input;
use crate::message::Effect;
use crate::model::{Dialog, Model, Page};
use crate::paint::{Tone, foreign};

pub(super) fn open(model: &mut Model) {
    let current = match &model.page {
        Page::Detail(detail) => Some(detail.subject.shown()),
        Page::Inbox | Page::Tail => model.inbox.current(),
    };
    model.dialog = Some(Dialog::Freezing(Freezing {
        stage: Stage::List,
        cursor: 0,
        agent: current.map(|action| action.agent.clone()),
        tool: current.map(|action| action.tool.clone()),
        problem: None,
    }));
}

pub(super) fn field(freezing: &mut Freezing) -> Option<&mut Input> {
    match &mut freezing.stage {
        Stage::Why(_, words) => Some(words),
        Stage::List | Stage::Freeze(..) | Stage::Lift(_) | Stage::Sending => None,
    }
}

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let count = model.freezes.len();
    let Some(Dialog::Freezing(freezing)) = &mut model.dialog else { return Vec::new() };
    freezing.problem = None;
    let stage = match (&mut freezing.stage, key.code) {
        (Stage::Sending, _) => return Vec::new(),
        (Stage::List, KeyCode::Esc | KeyCode::Char('q' | 'f')) => {
            model.dialog = None;
            return Vec::new();
        }
        (Stage::List, KeyCode::Up | KeyCode::Char('k')) => {
            freezing.cursor = freezing.cursor.saturating_sub(1);
            return Vec::new();
        }
        (Stage::List, KeyCode::Down | KeyCode::Char('j')) => {
            freezing.cursor = (freezing.cursor + 1).min(count.saturating_sub(1));
            return Vec::new();
        }
        (Stage::List, KeyCode::Char('e')) => why(Scope::Everything),
        (Stage::List, KeyCode::Char('a')) => {
            freezing.agent.clone().map_or(Stage::List, |name| why(Scope::Agent(name)))
        }
        (Stage::List, KeyCode::Char('t')) => {
            freezing.tool.clone().map_or(Stage::List, |name| why(Scope::Tool(name)))
        }
        (Stage::List, KeyCode::Char('l') | KeyCode::Enter) => {
            model.freezes.get(freezing.cursor).map_or(Stage::List, |freeze| Stage::Lift(freeze.id))
        }
        (Stage::Why(scope, words), KeyCode::Enter) => Stage::Freeze(scope.clone(), words.said()),
        (Stage::Why(..) | Stage::Freeze(..) | Stage::Lift(_), KeyCode::Esc) => Stage::List,
        (Stage::Why(_, words), _) => {
            words.take(key);
            return Vec::new();
        }
        (Stage::Freeze(scope, reason), KeyCode::Char('y' | 'Y')) => {
            let body = scope.body(reason.clone());
            freezing.stage = Stage::Sending;
            return vec![Effect::Freeze(body)];
        }
        (Stage::Lift(id), KeyCode::Char('y' | 'Y')) => {
            let id = *id;
            freezing.stage = Stage::Sending;
            return vec![Effect::Lift(id)];
        }
        // Anything that is not clearly yes is no.
        (Stage::Freeze(..) | Stage::Lift(_), _) => Stage::List,
        (Stage::List, _) => return Vec::new(),
    };
    freezing.stage = stage;
    Vec::new()
}

fn why(scope: Scope) -> Stage {
    Stage::Why(scope, Input::default())
}

pub(super) fn heard_back(model: &mut Model, said: Result<String, String>) -> Vec<Effect> {
    match (&mut model.dialog, said) {
        (Some(Dialog::Freezing(_)), Ok(words)) => {
            model.dialog = None;
            model.say(Tone::Fine, foreign(&words));
        }
        (Some(Dialog::Freezing(freezing)), Err(why)) => {
            freezing.stage = Stage::List;
            freezing.problem = Some(foreign(&why));
        }
        (_, Ok(words)) => model.say(Tone::Fine, foreign(&words)),
        (_, Err(why)) => model.say(Tone::Alarm, foreign(&why)),
    }
    vec![Effect::Reload]
}
