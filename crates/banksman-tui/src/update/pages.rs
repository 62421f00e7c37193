//! Keys on the list, on the page of one action, and on the tail of the log.

use banksman_core::Decision;
use crossterm::event::{KeyCode, KeyEvent};

use super::{ask, deciding, freezing, say};
use crate::deciding::{Scroll, Step};
use crate::message::Effect;
use crate::model::{Detail, Dialog, Model, Page};
use crate::paint::Tone;
use crate::several::Several;
use crate::subject::Subject;
use crate::view::plan;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if model.inbox.is_typing {
        type_filter(model, key);
        return Vec::new();
    }
    match key.code {
        KeyCode::Char('?') | KeyCode::F(1) => model.dialog = Some(Dialog::Help),
        KeyCode::Char('f') => freezing::open(model),
        KeyCode::Char('t') => {
            model.page = if matches!(model.page, Page::Tail) { Page::Inbox } else { Page::Tail };
        }
        _ => {
            return match &model.page {
                Page::Inbox => on_inbox(model, key.code),
                Page::Detail(_) => on_detail(model, key.code),
                Page::Tail => on_tail(model, key.code),
            };
        }
    }
    Vec::new()
}

fn type_filter(model: &mut Model, key: KeyEvent) {
    let inbox = &mut model.inbox;
    match key.code {
        KeyCode::Enter => inbox.is_typing = false,
        KeyCode::Esc => {
            inbox.is_typing = false;
            inbox.filter = Default::default();
        }
        _ => inbox.filter.take(key),
    }
    inbox.settle();
}

fn on_inbox(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let page = isize::from(i16::try_from(plan::list_rows(model)).unwrap_or(1).max(1));
    match code {
        KeyCode::Up | KeyCode::Char('k') => model.inbox.step(-1),
        KeyCode::Down | KeyCode::Char('j') => model.inbox.step(1),
        KeyCode::PageUp => model.inbox.step(-page),
        KeyCode::PageDown => model.inbox.step(page),
        KeyCode::Home | KeyCode::Char('g') => model.inbox.go_to(0),
        KeyCode::End | KeyCode::Char('G') => model.inbox.go_to(usize::MAX),
        KeyCode::Char('/') => model.inbox.is_typing = true,
        KeyCode::Char('s') => {
            model.inbox.sort_otherwise();
            let order = model.inbox.sort.as_str();
            model.say(Tone::Plain, format!("Ordered by {order}."));
        }
        KeyCode::Char(' ') => {
            model.inbox.turn_mark();
            model.inbox.step(1);
        }
        KeyCode::Char('b') => {
            if !model.inbox.mark_batch() {
                model.say(Tone::Plain, "This action is not part of a batch.");
            }
        }
        KeyCode::Char('u') => model.inbox.clear_marks(),
        KeyCode::Esc => {
            model.inbox.clear_marks();
            model.inbox.filter = Default::default();
            model.inbox.settle();
        }
        KeyCode::Char('q') => return vec![Effect::Quit],
        KeyCode::Enter | KeyCode::Right => {
            if let Some(action) = model.inbox.current().cloned() {
                let detail = Detail { subject: Subject::new(action), text: Scroll::default() };
                model.page = Page::Detail(Box::new(detail));
                model.lay_out();
            }
        }
        code => {
            if let Some(step) = intent(code) {
                match model.inbox.marked().as_slice() {
                    [] => {
                        if let Some(action) = model.inbox.current().cloned() {
                            return decide(model, Subject::new(action), step);
                        }
                    }
                    marked => {
                        let subjects = marked.iter().map(|action| Subject::new((*action).clone())).collect();
                        decide_several(model, subjects, step);
                    }
                }
            }
        }
    }
    Vec::new()
}

fn on_detail(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let Page::Detail(detail) = &mut model.page else { return Vec::new() };
    let page = detail.text.page();
    match code {
        KeyCode::Up | KeyCode::Char('k') => detail.text.scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => detail.text.scroll(1),
        KeyCode::PageUp => detail.text.scroll(-page),
        KeyCode::PageDown | KeyCode::Char(' ') => detail.text.scroll(page),
        KeyCode::Home | KeyCode::Char('g') => detail.text.scroll(isize::MIN),
        KeyCode::End | KeyCode::Char('G') => detail.text.scroll(isize::MAX),
        KeyCode::Enter => {
            if detail.subject.catch_up() {
                detail.text.scroll(isize::MIN);
                model.lay_out();
            }
        }
        KeyCode::Esc | KeyCode::Left | KeyCode::Char('q') => model.page = Page::Inbox,
        code => {
            if let Some(step) = intent(code) {
                let subject = detail.subject.clone();
                return decide(model, subject, step);
            }
        }
    }
    Vec::new()
}

fn on_tail(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let page = isize::from(i16::try_from(plan::body(model).height).unwrap_or(1));
    match code {
        KeyCode::Up | KeyCode::Char('k') => model.tail.scroll(1),
        KeyCode::Down | KeyCode::Char('j') => model.tail.scroll(-1),
        KeyCode::PageUp => model.tail.scroll(page),
        KeyCode::PageDown => model.tail.scroll(-page),
        KeyCode::Home | KeyCode::Char('g') => model.tail.scroll(isize::MAX),
        KeyCode::End | KeyCode::Char('G') => model.tail.scroll(isize::MIN),
        KeyCode::Esc | KeyCode::Left | KeyCode::Char('q') => model.page = Page::Inbox,
        _ => {}
    }
    Vec::new()
}

/// What someone wants to do about an action.
enum Intent {
    Look(Step),
    Edit,
}

fn intent(code: KeyCode) -> Option<Intent> {
    match code {
        KeyCode::Char('a') => Some(Intent::Look(Step::Ask)),
        KeyCode::Char('d') => Some(Intent::Look(say(Decision::Deny))),
        KeyCode::Char('r') => Some(Intent::Look(say(Decision::Respond))),
        KeyCode::Char('e') => Some(Intent::Edit),
        _ => None,
    }
}

fn decide(model: &mut Model, subject: Subject, intent: Intent) -> Vec<Effect> {
    match intent {
        Intent::Look(step) => {
            ask(model, subject, step);
            Vec::new()
        }
        Intent::Edit => deciding::edit(model, subject, None),
    }
}

fn decide_several(model: &mut Model, subjects: Vec<Subject>, intent: Intent) {
    match intent {
        Intent::Look(Step::Say { decision: Decision::Respond, .. }) | Intent::Edit => {
            model.say(Tone::Plain, "That is for one action at a time: press u to clear the marks.");
        }
        Intent::Look(step) => {
            let several = Several::new(subjects, step, model.now, model.paint);
            model.dialog = Some(Dialog::Several(Box::new(several)));
            model.lay_out();
        }
    }
}
