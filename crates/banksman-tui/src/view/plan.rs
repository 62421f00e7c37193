//! Where things are.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::model::Model;

/// The title, the question's status and its keys, and the edges around them.
const DIALOG_FRAME: u16 = 8;
/// Wider text is harder to read.
const WIDEST_DIALOG: u16 = 100;
/// The rows above the text of an action's page.
pub(crate) const DETAIL_HEAD: u16 = 2;
/// From so many rows on there is room for a look at the action under the cursor.
const ROOM_FOR_BOTH: u16 = 26;

/// What is left between the bar above and the lines below.
pub(crate) fn body(model: &Model) -> Rect {
    let above = 1 + u16::from(!model.freezes.is_empty());
    Rect::new(0, above, model.columns, model.rows.saturating_sub(above + 2))
}

/// The list, and the place for a look at the action under the cursor, if there is room for both.
pub(crate) fn halves(body: Rect) -> (Rect, Option<Rect>) {
    if body.height < ROOM_FOR_BOTH {
        return (body, None);
    }
    let list = body.height * 2 / 5;
    let look = Rect::new(body.x, body.y + list, body.width, body.height - list);
    (Rect { height: list, ..body }, Some(look))
}

/// How many actions fit into the list, below its heading.
pub(crate) fn list_rows(model: &Model) -> u16 {
    halves(body(model)).0.height.saturating_sub(1)
}

/// How wide a dialog is, with its frame.
pub(crate) fn dialog_columns(columns: u16) -> u16 {
    columns.saturating_sub(2).min(WIDEST_DIALOG)
}

/// How wide the text in a dialog is.
pub(crate) fn dialog_width(columns: u16) -> usize {
    usize::from(dialog_columns(columns).saturating_sub(4))
}

/// How many of so many lines a dialog shows at once.
pub(crate) fn dialog_room(rows: u16, lines: usize) -> usize {
    lines.clamp(1, usize::from(rows.saturating_sub(DIALOG_FRAME + 1).max(1)))
}

/// A dialog in the middle, for so many rows of text.
pub(crate) fn dialog(model: &Model, room: usize) -> Rect {
    let width = dialog_columns(model.columns);
    let height = u16::try_from(room).unwrap_or(u16::MAX).saturating_add(DIALOG_FRAME).min(model.rows);
    Rect::new((model.columns - width) / 2, (model.rows - height) / 2, width, height)
}

/// How much time is left, in at most seven columns.
pub(crate) fn left(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        3_600..172_800 => format!("{} h {:02}", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_short() {
        for (seconds, text) in [
            (0, "0:00"),
            (59, "0:59"),
            (250, "4:10"),
            (3_600, "1 h 00"),
            (172_799, "47 h 59"),
            (172_800, "2 d"),
        ] {
            assert_eq!(left(Duration::from_secs(seconds)), text);
        }
    }
}
