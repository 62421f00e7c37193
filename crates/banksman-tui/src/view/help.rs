//! The keys.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::dialog::Frame;
use super::{plan, text};
use crate::model::Model;
use crate::paint::Tone;

const KEYS: &[(&str, &str)] = &[
    ("Up Down PgUp PgDn", "move (also j k g G)"),
    ("Enter", "look at an action; Esc goes back"),
    ("a", "approve: shows exactly what will run, then y or n"),
    ("d", "deny, with a reason"),
    ("r", "deny, and tell the agent what to do instead"),
    ("e", "change the arguments in $EDITOR, then see the change"),
    ("Space  b  u", "mark; mark the whole batch; clear the marks"),
    ("", "with marks, a and d are about all of them at once"),
    ("/", "filter: words, or agent: tool: tier: risk:"),
    ("s", "order by deadline, risk or age"),
    ("t", "the audit log, as it grows"),
    ("f", "freeze or lift: stop an agent, a tool or everything"),
    ("Ctrl-L  Ctrl-Z  q", "paint anew; step back to the shell; quit"),
];

pub(super) fn draw(model: &Model, buffer: &mut Buffer) {
    let room = plan::dialog_room(model.rows, KEYS.len());
    let frame = Frame::draw(model, buffer, room, "KEYS", Span::raw(""));
    for (row, (key, words)) in KEYS.iter().enumerate().take(room) {
        let line = vec![model.paint.span(Tone::Bold, format!("{key:<18} ")), Span::raw(*words)];
        text(buffer, frame.body, u16::try_from(row).unwrap_or(u16::MAX), line.into());
    }
    let words = "An answer is one key, pressed after the question is on the screen.";
    frame.foot(
        buffer,
        vec![
            model.paint.span(Tone::Faint, words).into(),
            model.paint.span(Tone::Bold, "any key: back").into(),
        ],
    );
}
