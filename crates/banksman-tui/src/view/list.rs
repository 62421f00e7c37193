//! What waits, row by row.

use std::time::Duration;

use banksman_core::visible::one_line;
use banksman_core::wire::ActionView;
use banksman_review::Approvals;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{page, plan, text};
use crate::model::Model;
use crate::paint::{Tone, cell, foreign, padded};

/// Below this many seconds a deadline is near.
const SOON: Duration = Duration::from_secs(60);
/// From so many columns on, the tier has a column of its own.
const WIDE: u16 = 100;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, body: Rect) {
    let (list, look) = plan::halves(body);
    let shown = model.inbox.shown();
    if shown.is_empty() {
        empty(model, buffer, list);
        return;
    }
    let columns = Columns::for_width(list.width);
    text(buffer, list, 0, model.paint.span(Tone::Faint, columns.heading()).into());
    let rows = usize::from(list.height.saturating_sub(1));
    let cursor = model.inbox.row();
    // The cursor stays in sight, and the list stands still while it can.
    let top = cursor.saturating_sub(rows.saturating_sub(1)).max(cursor / rows.max(1) * rows.max(1));
    let top = top.min(shown.len().saturating_sub(rows));
    for (position, action) in shown.iter().enumerate().skip(top).take(rows) {
        let row = u16::try_from(position - top + 1).unwrap_or(u16::MAX);
        text(buffer, list, row, columns.row(model, action, position == cursor));
        if position == cursor {
            let area = Rect::new(list.x, list.y + row, list.width, 1);
            buffer.set_style(area, ratatui::style::Style::new().add_modifier(Modifier::REVERSED));
        }
    }
    if let (Some(area), Some(action)) = (look, model.inbox.current()) {
        page::glance(model, action, buffer, area);
    }
}

fn empty(model: &Model, buffer: &mut Buffer, area: Rect) {
    let lines: &[(Tone, String)] = if model.inbox.all().is_empty() {
        &[
            (Tone::Bold, "Nothing is waiting.".into()),
            (Tone::Plain, String::new()),
            (
                Tone::Plain,
                "When an agent asks for something that policy holds, it appears here by itself.".into(),
            ),
            (Tone::Faint, "t shows what happens, f stops an agent, a tool or everything.".into()),
        ]
    } else {
        let filter = cell(model.inbox.filter.text(), 30);
        &[
            (Tone::Bold, format!("Nothing matches {}", filter.trim_end())),
            (Tone::Plain, String::new()),
            (Tone::Plain, format!("Esc shows all {} that wait.", model.inbox.all().len())),
        ]
    };
    for (row, (tone, words)) in lines.iter().enumerate() {
        let row = u16::try_from(row + 2).unwrap_or(u16::MAX);
        text(buffer, area, row, model.paint.span(*tone, format!("  {words}")).into());
    }
}

/// How wide each column is.
struct Columns {
    tier: usize,
    agent: usize,
    tool: usize,
    args: usize,
}

impl Columns {
    fn for_width(width: u16) -> Self {
        let tier = if width >= WIDE { 12 } else { 0 };
        let (agent, tool) = if width >= WIDE { (18, 24) } else { (13, 17) };
        let gaps = if tier > 0 { 6 } else { 5 };
        let args = usize::from(width).saturating_sub(2 + 7 + 8 + tier + agent + tool + gaps);
        Self { tier, agent, tool, args }
    }

    fn heading(&self) -> String {
        let Self { tier, agent, tool, args } = *self;
        let tier_heading = if tier > 0 { format!("{:<tier$} ", "TIER") } else { String::new() };
        format!(
            "   {:>7} {:<8} {tier_heading}{:<agent$} {:<tool$} {:<args$}",
            "LEFT", "RISK", "AGENT", "TOOL", "WHAT WILL RUN"
        )
    }

    fn row(&self, model: &Model, action: &ActionView, is_current: bool) -> Line<'static> {
        let paint = model.paint;
        let at = if is_current { '>' } else { ' ' };
        let mark = if model.inbox.is_marked(action.id) { '*' } else { ' ' };
        let (tone, left) = deadline(model, action);
        let risk = action.verdict.risk;
        let mut row = vec![
            Span::raw(format!("{at}{mark} ")),
            paint.span(tone, format!("{left:>7} ")),
            paint.span(risk.into(), format!("{:<8} ", risk.as_str())),
        ];
        if self.tier > 0 {
            let approvals = Approvals::of(action);
            let tier = action.verdict.tier.as_str();
            let tier = if approvals.needed > 1 {
                format!("{tier} {}/{}", approvals.given, approvals.needed)
            } else {
                tier.to_owned()
            };
            row.push(Span::raw(padded(&tier, self.tier) + " "));
        }
        row.push(Span::raw(cell(&action.agent, self.agent) + " "));
        row.push(paint.span(Tone::Bold, cell(&action.tool, self.tool) + " "));
        row.push(Span::raw(padded(&foreign(&one_line(&action.args)), self.args)));
        row.into()
    }
}

/// How much time is left.
pub(super) fn deadline(model: &Model, action: &ActionView) -> (Tone, String) {
    match action.expires_at {
        None => (Tone::Plain, "-".into()),
        Some(at) if at > model.now => {
            let left = at.since(model.now);
            (if left < SOON { Tone::Alarm } else { Tone::Plain }, plan::left(left))
        }
        // The server has not yet got round to it, or our clocks differ: it has the last word.
        Some(_) => (Tone::Alarm, "over".into()),
    }
}
