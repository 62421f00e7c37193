//! The bar above, and the lines below: where one is, what was said, which keys there are.

use banksman_core::Risk;
use banksman_core::visible::{cut, width};
use banksman_review::{relative, span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::text;
use crate::freezing::covers;
use crate::model::{Model, Page};
use crate::paint::{Tone, cell, foreign, padded};

pub(super) fn draw(model: &Model, buffer: &mut Buffer) {
    let area = buffer.area;
    above(model, buffer, area);
    let note = Rect::new(0, area.height - 2, area.width, 1);
    text(buffer, note, 0, note_line(model));
    let keys = Rect::new(0, area.height - 1, area.width, 1);
    text(buffer, keys, 0, model.paint.span(Tone::Faint, keys_for(model)).into());
}

fn above(model: &Model, buffer: &mut Buffer, area: Rect) {
    let columns = usize::from(area.width);
    let (tone, link) = match &model.link.lost {
        None => (Tone::Bar, "live".to_owned()),
        Some((since, _)) => (Tone::AlarmBar, format!("NO CONNECTION for {}", span(model.now.since(*since)))),
    };
    let host = model.server.split_once("://").map_or(model.server.as_str(), |(_, host)| host);
    let right = format!("{link}  {} ", foreign(host));
    let left = padded(&format!(" banksman  {}", waiting(model)), columns.saturating_sub(width(&right)));
    text(buffer, area, 0, model.paint.span(tone, padded(&(left + &right), columns)).into());
    if let Some(freeze) = model.freezes.first() {
        let more = match model.freezes.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let words = format!(
            " FROZEN: {}{more}, by {} {}: {}",
            covers(freeze),
            foreign(&freeze.by),
            relative(model.now, freeze.at),
            foreign(&freeze.reason)
        );
        text(buffer, area, 1, model.paint.span(Tone::AlarmBar, padded(&words, columns)).into());
    }
}

fn waiting(model: &Model) -> String {
    let inbox = &model.inbox;
    let more = if inbox.more { " or more" } else { "" };
    let levels: Vec<String> = Risk::ALL
        .iter()
        .rev()
        .map(|risk| (inbox.count(*risk), risk))
        .filter(|(count, _)| *count > 0)
        .map(|(count, risk)| format!("{count} {risk}"))
        .collect();
    match inbox.all().len() {
        0 => "nothing is waiting".into(),
        count => format!("{count}{more} waiting: {}", levels.join(", ")),
    }
}

fn note_line(model: &Model) -> Line<'static> {
    let paint = model.paint;
    let columns = usize::from(model.columns);
    if model.inbox.is_typing {
        let typed = foreign(model.inbox.filter.text());
        return vec![
            paint.span(Tone::Bold, " filter: "),
            paint.span(Tone::Plain, typed),
            paint.span(Tone::Bar, " "),
            paint.span(Tone::Faint, "  words, agent:NAME tool:NAME tier:NAME risk:LEVEL"),
        ]
        .into();
    }
    if let Some(note) = &model.note {
        return paint.span(note.tone, cut(&format!(" {}", note.text), columns)).into();
    }
    let since = model.link.loaded.map(|at| relative(model.now, at)).unwrap_or_default();
    if let Some((_, why)) = &model.link.lost {
        let words = format!(" What you see is from {since}. Trying again: {why}");
        return paint.span(Tone::Alarm, cut(&words, columns)).into();
    }
    if let Some(why) = &model.link.not_loaded {
        return paint
            .span(Tone::Alarm, cut(&format!(" The list could not be renewed: {why}"), columns))
            .into();
    }
    let marked = model.inbox.marked().len();
    if marked > 0 {
        let words = format!(" {marked} marked: a and d are about all of them, u clears the marks");
        return paint.span(Tone::Bold, words).into();
    }
    if !model.inbox.filter.text().is_empty() {
        let (shown, all) = (model.inbox.shown().len(), model.inbox.all().len());
        let filter = cell(model.inbox.filter.text(), 40);
        let words = format!(" {shown} of {all} shown, Esc shows all; filter: {}", filter.trim_end());
        return paint.span(Tone::Bold, words).into();
    }
    Line::default()
}

/// The keys that matter here, as many as fit.
fn keys_for(model: &Model) -> String {
    let keys: &[&str] = match &model.page {
        // A dialog has its own keys.
        _ if model.dialog.is_some() => &["Ctrl-C quit"],
        _ if model.inbox.is_typing => &["Enter keep", "Esc clear", "Ctrl-U empty", "Ctrl-W word back"],
        Page::Inbox => &[
            "? help",
            "Enter look",
            "a approve",
            "d deny",
            "e edit",
            "Space mark",
            "/ filter",
            "f freeze",
            "t audit",
            "r respond",
            "s order",
            "q quit",
        ],
        Page::Detail(detail) if detail.subject.has_news() => {
            &["? help", "Esc back", "Enter see how it is now", "f freeze", "t audit"]
        }
        Page::Detail(_) => &[
            "? help",
            "Esc back",
            "a approve",
            "d deny",
            "e edit",
            "r respond",
            "PgDn more",
            "f freeze",
            "t audit",
        ],
        Page::Tail => &["? help", "Esc back", "Up older", "End newest", "f freeze"],
    };
    let mut line = String::new();
    for key in keys {
        if width(&line) + width(key) + 2 > usize::from(model.columns) {
            break;
        }
        line.push_str(if line.is_empty() { " " } else { "  " });
        line.push_str(key);
    }
    line
}
