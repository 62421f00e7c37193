//! The kill switch.

use banksman_core::visible::cut;
use banksman_review::relative;
use ratatui::buffer::Buffer;
use ratatui::text::{Line, Span};

use super::dialog::{Frame, field, problem};
use super::{plan, text};
use crate::freezing::{Freezing, Scope, Stage, covers};
use crate::model::Model;
use crate::paint::{Tone, foreign};

pub(super) fn draw(model: &Model, freezing: &Freezing, buffer: &mut Buffer) {
    let paint = model.paint;
    let columns = plan::dialog_width(model.columns);
    let lines = listed(model, freezing, columns);
    let room = plan::dialog_room(model.rows, lines.len());
    let frame =
        Frame::draw(model, buffer, room, "FREEZE: STOP AN AGENT, A TOOL OR EVERYTHING", Span::raw(""));
    for (row, line) in lines.into_iter().take(room).enumerate() {
        text(buffer, frame.body, u16::try_from(row).unwrap_or(u16::MAX), line);
    }
    let bold = |words: String| Line::from(paint.span(Tone::Bold, cut(&words, columns)));
    let foot = match &freezing.stage {
        Stage::List => vec![
            problem(paint, freezing.problem.as_deref(), columns),
            bold("Keys as above.".into()),
            paint.span(Tone::Faint, "[Esc] back").into(),
        ],
        Stage::Why(scope, words) => vec![
            bold(format!("Freeze {}", scope.words())),
            field(paint, "Why: ", words, columns),
            paint.span(Tone::Faint, "[Enter] on   [Esc] back").into(),
        ],
        Stage::Freeze(scope, _) => vec![
            paint.span(Tone::Alarm, cut(&format!("Freeze {}, at once?", scope.words()), columns)).into(),
            bold("[Y] Freeze   any other key: no".into()),
        ],
        Stage::Lift(id) => {
            let what = model.freezes.iter().find(|freeze| freeze.id == *id).map(covers).unwrap_or_default();
            vec![
                paint.span(Tone::Alarm, cut(&format!("Lift the freeze of {what}?"), columns)).into(),
                bold("[Y] Lift it   any other key: no".into()),
            ]
        }
        Stage::Sending => vec![bold("Sending ...".into())],
    };
    frame.foot(buffer, foot);
}

fn listed(model: &Model, freezing: &Freezing, columns: usize) -> Vec<Line<'static>> {
    let paint = model.paint;
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut offer = |key: &str, words: String| {
        let line = vec![
            paint.span(Tone::Bold, format!("[{key}] ")),
            Span::raw(cut(&words, columns.saturating_sub(4))),
        ];
        lines.push(line.into());
    };
    offer("E", "freeze everything".into());
    if let Some(agent) = &freezing.agent {
        offer("A", format!("freeze {}", Scope::Agent(agent.clone()).words()));
    }
    if let Some(tool) = &freezing.tool {
        offer("T", format!("freeze {}", Scope::Tool(tool.clone()).words()));
    }
    if !model.freezes.is_empty() {
        offer("L", "lift the freeze that > points at".into());
    }
    lines.push(Line::default());
    if model.freezes.is_empty() {
        lines.push(paint.span(Tone::Faint, "Nothing is frozen.").into());
    }
    for (position, freeze) in model.freezes.iter().enumerate() {
        let at = if position == freezing.cursor { '>' } else { ' ' };
        let words = format!(
            "{at} {}, by {} {}: {}",
            covers(freeze),
            foreign(&freeze.by),
            relative(model.now, freeze.at),
            foreign(&freeze.reason)
        );
        lines.push(paint.span(Tone::Alarm, cut(&words, columns)).into());
    }
    lines
}
