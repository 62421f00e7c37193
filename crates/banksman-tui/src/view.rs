//! How it looks.

mod bars;
mod dialog;
mod freezes;
mod help;
mod list;
mod page;
pub(crate) mod plan;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::model::{Dialog, Model, Page};
use crate::paint::Tone;

/// Less than this cannot show an action and a question.
const FEWEST_COLUMNS: u16 = 40;
const FEWEST_ROWS: u16 = 12;

/// Draws everything.
pub(crate) fn draw(model: &Model, buffer: &mut Buffer) {
    let area = buffer.area;
    if area.width < FEWEST_COLUMNS || area.height < FEWEST_ROWS {
        let words = format!("Too small: {FEWEST_COLUMNS} x {FEWEST_ROWS} is the least. q quits.");
        text(buffer, area, 0, model.paint.span(Tone::Bold, words).into());
        return;
    }
    bars::draw(model, buffer);
    let body = plan::body(model);
    match &model.page {
        Page::Inbox => list::draw(model, buffer, body),
        Page::Detail(detail) => page::detail(model, detail, buffer, body),
        Page::Tail => page::tail(model, buffer, body),
    }
    match &model.dialog {
        Some(Dialog::Deciding(deciding)) => dialog::deciding(model, deciding, buffer),
        Some(Dialog::Several(several)) => dialog::several(model, several, buffer),
        Some(Dialog::BadEdit { problem, .. }) => dialog::bad_edit(model, problem, buffer),
        Some(Dialog::Freezing(freezing)) => freezes::draw(model, freezing, buffer),
        Some(Dialog::Help) => help::draw(model, buffer),
        None => {}
    }
}

/// Writes a line into a row of an area, and nothing beside it.
fn text(buffer: &mut Buffer, area: Rect, row: u16, line: Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, &line, area.width);
    }
}
