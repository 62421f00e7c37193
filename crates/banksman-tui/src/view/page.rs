//! One action, and the tail of the log.

use banksman_core::visible::width;
use banksman_core::wire::ActionView;
use banksman_core::{Decision, Status};
use banksman_review::to_the_second;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::list::deadline;
use super::{plan, text};
use crate::document;
use crate::model::{Detail, Model};
use crate::paint::{Tone, cell, foreign, padded};
use crate::tail::Entry;

pub(super) fn detail(model: &Model, detail: &Detail, buffer: &mut Buffer, body: Rect) {
    let action = detail.subject.shown();
    text(buffer, body, 0, heading(model, action));
    let columns = usize::from(body.width);
    let line = match detail.subject.objection(Decision::Approve, model.now) {
        Some(obstacle) => {
            let hint = if detail.subject.has_news() { " Enter shows how it is now." } else { "" };
            model.paint.span(Tone::AlarmBar, padded(&format!(" {obstacle}{hint}"), columns))
        }
        None => model.paint.span(Tone::Faint, edge(columns, detail)),
    };
    text(buffer, body, 1, line.into());
    let area = Rect::new(body.x, body.y + plan::DETAIL_HEAD, body.width, body.height - plan::DETAIL_HEAD);
    for (row, line) in detail.text.visible().iter().enumerate() {
        text(buffer, area, u16::try_from(row).unwrap_or(u16::MAX), line.clone());
    }
}

/// A rule that also says how much is below.
fn edge(columns: usize, detail: &Detail) -> String {
    let below = detail.text.below();
    let words = if below > 0 { format!(" {below} more lines: PgDn ") } else { String::new() };
    "─".repeat(columns.saturating_sub(width(&words))) + &words
}

fn heading(model: &Model, action: &ActionView) -> Line<'static> {
    let paint = model.paint;
    let risk = action.verdict.risk;
    let (tone, left) = deadline(model, action);
    let state = if action.status == Status::Pending {
        paint.span(tone, format!("  {left} left"))
    } else {
        paint.span(Tone::Bold, format!("  {}", action.status))
    };
    let version = if action.version > 1 { format!("  version {}", action.version) } else { String::new() };
    let tail = format!("  {}", action.verdict.tier);
    let room = usize::from(model.columns).saturating_sub(48).max(12);
    let tool = cell(&action.tool, room);
    vec![
        paint.span(risk.into(), format!(" {} ", risk.as_str().to_uppercase())),
        paint.span(Tone::Bold, format!(" {}", tool.trim_end())),
        Span::raw(format!(" ({})", action.kind)),
        Span::raw(tail),
        state,
        Span::raw(version),
    ]
    .into()
}

/// A look at the action under the cursor, below the list.
pub(super) fn glance(model: &Model, action: &ActionView, buffer: &mut Buffer, area: Rect) {
    let lines = document::page(action, model.paint, usize::from(area.width));
    let rows = usize::from(area.height.saturating_sub(2));
    let below = lines.len().saturating_sub(rows);
    let words = if below > 0 { format!(" {below} more lines: Enter ") } else { String::new() };
    let edge = "─".repeat(usize::from(area.width).saturating_sub(width(&words))) + &words;
    text(buffer, area, 0, model.paint.span(Tone::Faint, edge).into());
    text(buffer, area, 1, heading(model, action));
    for (row, line) in lines.into_iter().take(rows).enumerate() {
        text(buffer, area, u16::try_from(row + 2).unwrap_or(u16::MAX), line);
    }
}

pub(super) fn tail(model: &Model, buffer: &mut Buffer, body: Rect) {
    let heading = format!(" {:<20} {:<14} {:<12} WHAT", "TIME", "EVENT", "BY");
    text(buffer, body, 0, model.paint.span(Tone::Faint, heading).into());
    if model.tail.is_empty() {
        text(buffer, body, 2, model.paint.span(Tone::Plain, "  Nothing has happened yet.").into());
        return;
    }
    let behind = model.tail.behind();
    let rows = usize::from(body.height.saturating_sub(1 + u16::from(behind > 0)));
    for (row, entry) in model.tail.window(rows).enumerate() {
        let row = u16::try_from(row + 1).unwrap_or(u16::MAX);
        text(buffer, body, row, event(model, entry, usize::from(body.width)));
    }
    if behind > 0 {
        let words = format!(" {behind} newer lines below: End");
        text(buffer, body, body.height - 1, model.paint.span(Tone::Warning, words).into());
    }
}

fn event(model: &Model, entry: &Entry, columns: usize) -> Line<'static> {
    let at = entry.at.map(to_the_second).unwrap_or_default();
    let what = columns.saturating_sub(51).max(10);
    let tone = match entry.kind.as_str() {
        "decided" | "modified" => Tone::Bold,
        "frozen" | "expired" | "lease_ended" | "revoked" => Tone::Warning,
        _ => Tone::Plain,
    };
    vec![
        model.paint.span(Tone::Faint, format!(" {at:<20} ")),
        model.paint.span(tone, cell(&entry.kind, 14) + " "),
        Span::raw(cell(&entry.by, 12) + " "),
        Span::raw(padded(&foreign(&entry.what), what)),
    ]
    .into()
}
