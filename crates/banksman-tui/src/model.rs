//! What is known, and what is on the screen.

use banksman_core::wire::FreezeView;
use banksman_core::{ActionId, Timestamp};

use crate::deciding::{Deciding, Scroll};
use crate::document;
use crate::freezing::Freezing;
use crate::inbox::Inbox;
use crate::paint::{Paint, Tone};
use crate::several::Several;
use crate::subject::Subject;
use crate::tail::Tail;
use crate::view::plan;

pub(crate) struct Model {
    pub(crate) now: Timestamp,
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    pub(crate) paint: Paint,
    /// The server's address.
    pub(crate) server: String,
    pub(crate) link: Link,
    pub(crate) inbox: Inbox,
    pub(crate) freezes: Vec<FreezeView>,
    pub(crate) tail: Tail,
    pub(crate) page: Page,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) note: Option<Note>,
    /// What is being changed in an editor.
    pub(crate) editing: Option<Subject>,
}

/// Whether the server is there.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Since when the feed is down, and why.
    pub(crate) lost: Option<(Timestamp, String)>,
    /// Why the house could not be looked at, the last time.
    pub(crate) not_loaded: Option<String>,
    /// When the house was last looked at.
    pub(crate) loaded: Option<Timestamp>,
}

pub(crate) enum Page {
    Inbox,
    Detail(Box<Detail>),
    Tail,
}

/// The page about one action.
pub(crate) struct Detail {
    pub(crate) subject: Subject,
    pub(crate) text: Scroll,
}

pub(crate) enum Dialog {
    Deciding(Box<Deciding>),
    Several(Box<Several>),
    Freezing(Freezing),
    /// What was saved in the editor cannot be used; it is kept for another try.
    BadEdit {
        subject: Box<Subject>,
        text: String,
        problem: String,
    },
    Help,
}

/// The last thing that was said, made visible.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Model {
    pub(crate) fn new(server: String, paint: Paint, (columns, rows): (u16, u16), now: Timestamp) -> Self {
        Self {
            now,
            columns,
            rows,
            paint,
            server,
            link: Link::default(),
            inbox: Inbox::default(),
            freezes: Vec::new(),
            tail: Tail::default(),
            page: Page::Inbox,
            dialog: None,
            note: None,
            editing: None,
        }
    }

    pub(crate) fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.note = Some(Note { tone, text: text.into() });
    }

    /// Everything that someone is looking at, or about to decide.
    pub(crate) fn subjects_mut(&mut self) -> Vec<&mut Subject> {
        let mut subjects: Vec<&mut Subject> = self.editing.as_mut().into_iter().collect();
        if let Page::Detail(detail) = &mut self.page {
            subjects.push(&mut detail.subject);
        }
        match &mut self.dialog {
            Some(Dialog::Deciding(deciding)) => subjects.push(&mut deciding.subject),
            Some(Dialog::Several(several)) => {
                subjects.extend(several.items.iter_mut().map(|item| &mut item.subject));
            }
            Some(Dialog::BadEdit { subject, .. }) => subjects.push(subject),
            Some(Dialog::Freezing(_) | Dialog::Help) | None => {}
        }
        subjects
    }

    /// Writes what is shown anew, for the size that the screen has.
    pub(crate) fn lay_out(&mut self) {
        let (columns, rows, paint) = (self.columns, self.rows, self.paint);
        let body = plan::body(self);
        if let Page::Detail(detail) = &mut self.page {
            detail.text.replace(document::page(detail.subject.shown(), paint, usize::from(columns)));
            detail.text.show_in(usize::from(body.height.saturating_sub(plan::DETAIL_HEAD)));
        }
        match &mut self.dialog {
            Some(Dialog::Deciding(deciding)) => {
                deciding.lay_out(paint, plan::dialog_width(columns));
                deciding.text.show_in(plan::dialog_room(rows, deciding.text.lines.len()));
            }
            Some(Dialog::Several(several)) => {
                several.lay_out(plan::dialog_width(columns));
                several.text.show_in(plan::dialog_room(rows, several.text.lines.len()));
            }
            Some(Dialog::Freezing(_) | Dialog::BadEdit { .. } | Dialog::Help) | None => {}
        }
    }

    /// Those that someone looks at and that the list does not have: they may have ended.
    pub(crate) fn unaccounted(&mut self) -> Vec<ActionId> {
        let known: Vec<ActionId> = self.inbox.all().iter().map(|action| action.id).collect();
        let mut ids: Vec<ActionId> = self.subjects_mut().iter().map(|subject| subject.id()).collect();
        ids.retain(|id| !known.contains(id));
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
