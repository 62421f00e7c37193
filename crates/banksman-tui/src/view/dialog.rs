//! The modal dialog: what would run, and the keys that decide.

use banksman_core::Decision;
use banksman_core::visible::{cut, width, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::list::deadline;
use super::{plan, text};
use crate::deciding::{Deciding, Scroll, Step};
use crate::input::Input;
use crate::model::Model;
use crate::paint::{Paint, Tone, foreign, padded};
use crate::several::{Answer, Several};

/// What is behind a dialog steps back, and leaves a margin around it.
fn clear_behind(buffer: &mut Buffer, area: Rect) {
    buffer.set_style(buffer.area, Style::new().add_modifier(Modifier::DIM));
    let left = area.x.saturating_sub(2);
    let right = (area.x + area.width + 2).min(buffer.area.width);
    for y in area.y..area.y + area.height {
        for x in left..right {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
}

/// A box over everything else. Its lines are drawn here and nowhere else, and no text of others can hold one.
pub(super) struct Frame {
    pub(super) body: Rect,
    pub(super) foot: Rect,
}

impl Frame {
    pub(super) fn draw(
        model: &Model,
        buffer: &mut Buffer,
        room: usize,
        title: &str,
        right: Span<'static>,
    ) -> Self {
        let area = plan::dialog(model, room);
        clear_behind(buffer, area);
        let inner = usize::from(area.width.saturating_sub(2));
        let bar = "─".repeat(inner);
        let blank = " ".repeat(inner);
        for row in 0..area.height {
            let last = area.height - 1;
            let line = match row {
                0 => format!("┌{bar}┐"),
                2 => format!("├{bar}┤"),
                row if row == last => format!("└{bar}┘"),
                row if row == last.saturating_sub(4) => format!("├{bar}┤"),
                _ => format!("│{blank}│"),
            };
            text(buffer, area, row, Line::raw(line));
        }
        let body =
            Rect::new(area.x + 2, area.y + 3, area.width.saturating_sub(4), area.height.saturating_sub(8));
        let foot = Rect { y: (area.y + area.height).saturating_sub(4), height: 3, ..body };
        let head = Rect { y: area.y + 1, height: 1, ..body };
        let room = usize::from(head.width).saturating_sub(width(&right.content) + 1);
        let title = model.paint.span(Tone::Bold, padded(&cut(title, room), room) + " ");
        text(buffer, head, 0, vec![title, right].into());
        Self { body, foot }
    }

    fn scroll(&self, buffer: &mut Buffer, scroll: &Scroll) {
        for (row, line) in scroll.visible().iter().enumerate() {
            text(buffer, self.body, u16::try_from(row).unwrap_or(u16::MAX), line.clone());
        }
    }

    pub(super) fn foot(&self, buffer: &mut Buffer, lines: Vec<Line<'static>>) {
        for (row, line) in lines.into_iter().enumerate() {
            text(buffer, self.foot, u16::try_from(row).unwrap_or(u16::MAX), line);
        }
    }
}

pub(super) fn deciding(model: &Model, deciding: &Deciding, buffer: &mut Buffer) {
    let paint = model.paint;
    let (tone, left) = deadline(model, deciding.subject.shown());
    let title = if deciding.edit.is_some() { "SEND YOUR EDIT?" } else { "APPROVAL REQUIRED" };
    let room = plan::dialog_room(model.rows, deciding.text.lines.len());
    let frame = Frame::draw(model, buffer, room, title, paint.span(tone, format!("{left} left")));
    frame.scroll(buffer, &deciding.text);
    let obstacle = deciding.subject.obstacle(model.now);
    let columns = plan::dialog_width(model.columns);
    let lines = match (&deciding.step, &obstacle) {
        (Step::Sending, _) => vec![paint.span(Tone::Bold, "Sending ...").into()],
        (_, Some(obstacle)) => {
            let hint = if deciding.subject.has_news() {
                "[Enter] See how it is now  [Esc] Back"
            } else {
                "[Esc] Back"
            };
            let mut lines: Vec<Line<'static>> = wrap(obstacle, columns)
                .into_iter()
                .take(2)
                .map(|piece| paint.span(Tone::Alarm, piece).into())
                .collect();
            lines.push(paint.span(Tone::Bold, hint).into());
            lines
        }
        (Step::Say { decision, words }, None) => {
            vec![
                problem(paint, deciding.problem.as_deref(), columns),
                field(paint, label(*decision), words, columns),
                confirm(paint, *decision),
            ]
        }
        (Step::Ask, None) => {
            let status = match &deciding.problem {
                Some(_) => problem(paint, deciding.problem.as_deref(), columns),
                None => more_below(paint, &deciding.text),
            };
            let approve = if deciding.edit.is_some() { "[Y] Send it" } else { "[Y] Approve" };
            vec![
                status,
                paint.span(Tone::Bold, format!("{approve}   [N] Reject   [R] Respond   [E] Edit")).into(),
                paint.span(Tone::Faint, "[W] with a reason   [Esc] not now").into(),
            ]
        }
    };
    frame.foot(buffer, lines);
}

pub(super) fn several(model: &Model, several: &Several, buffer: &mut Buffer) {
    let paint = model.paint;
    let open = |decision| several.open(decision, model.now).count();
    let (chosen, approvable) = (open(Decision::Deny), open(Decision::Approve));
    let title = format!("APPROVAL REQUIRED: {} ACTIONS", several.items.len());
    let room = plan::dialog_room(model.rows, several.text.lines.len());
    let right = paint.span(Tone::Bold, format!("{chosen} chosen"));
    let frame = Frame::draw(model, buffer, room, &title, right);
    frame.scroll(buffer, &several.text);
    for row in 0..several.text.visible().len() {
        if let Some(head) =
            several.item_at(several.text.top + row).and_then(|item| several.head(item, model.now))
        {
            text(buffer, frame.body, u16::try_from(row).unwrap_or(u16::MAX), head);
        }
    }
    let columns = plan::dialog_width(model.columns);
    let note = model.note.as_ref().map(|note| note.text.as_str());
    let answered =
        several.items.iter().any(|item| matches!(item.answer, Answer::Done(_) | Answer::Refused(_)));
    let lines = match &several.step {
        Step::Sending => vec![paint.span(Tone::Bold, "Sending ...").into()],
        Step::Say { decision, words } => {
            vec![
                problem(paint, note, columns),
                field(paint, label(*decision), words, columns),
                confirm(paint, *decision),
            ]
        }
        Step::Ask => {
            let status =
                if note.is_some() { problem(paint, note, columns) } else { more_below(paint, &several.text) };
            let keys = if answered && chosen == 0 {
                "Nothing more is chosen.   [Space] choose this one".to_owned()
            } else {
                format!("[Y] Approve {approvable}   [N] Reject {chosen}   [Space] choose or leave this one")
            };
            vec![
                status,
                paint.span(Tone::Bold, cut(&keys, columns)).into(),
                paint.span(Tone::Faint, "Up/Down next item   PgDn more   [Esc] back").into(),
            ]
        }
    };
    frame.foot(buffer, lines);
}

pub(super) fn bad_edit(model: &Model, problem: &str, buffer: &mut Buffer) {
    let paint = model.paint;
    let columns = plan::dialog_width(model.columns);
    let lines = wrap(problem, columns);
    let room = plan::dialog_room(model.rows, lines.len() + 1);
    let frame = Frame::draw(model, buffer, room, "YOUR EDIT CANNOT BE USED", Span::raw(""));
    for (row, piece) in lines.into_iter().enumerate() {
        let row = u16::try_from(row).unwrap_or(u16::MAX);
        text(buffer, frame.body, row, paint.span(Tone::Alarm, piece).into());
    }
    frame.foot(
        buffer,
        vec![
            Line::raw("Nothing was sent, and your text is kept."),
            paint.span(Tone::Bold, "[E] Edit again   [Esc] Drop it").into(),
        ],
    );
}

fn label(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve | Decision::Modify | Decision::Deny => "Why: ",
        Decision::Respond => "To the agent: ",
    }
}

fn confirm(paint: Paint, decision: Decision) -> Line<'static> {
    let words = match decision {
        Decision::Approve => "[Enter] Approve with this reason   [Esc] back",
        Decision::Modify => "[Enter] Send the edit with this reason   [Esc] back",
        Decision::Deny => "[Enter] Reject   [Esc] back",
        Decision::Respond => "[Enter] Reject, with these words for the agent   [Esc] back",
    };
    paint.span(Tone::Bold, words).into()
}

/// A line that is being typed; of a long one its end.
pub(super) fn field(paint: Paint, label: &'static str, input: &Input, columns: usize) -> Line<'static> {
    let room = columns.saturating_sub(width(label) + 2);
    let typed = foreign(input.text());
    let mut start = 0;
    while width(typed.get(start..).unwrap_or_default()) > room {
        start += typed.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    let end = typed.get(start..).unwrap_or_default().to_owned();
    vec![paint.span(Tone::Bold, label), Span::raw(end), paint.span(Tone::Bar, " ")].into()
}

pub(super) fn problem(paint: Paint, problem: Option<&str>, columns: usize) -> Line<'static> {
    paint.span(Tone::Alarm, cut(problem.unwrap_or_default(), columns)).into()
}

fn more_below(paint: Paint, scroll: &Scroll) -> Line<'static> {
    match scroll.below() {
        0 => Line::default(),
        1 => paint.span(Tone::Warning, "1 more line: Down").into(),
        below => paint.span(Tone::Warning, format!("{below} more lines: Down or PgDn")).into(),
    }
}
