//! What the clients of databases understand besides SQL: `\! ls`, `.shell ls`, `\copy`.

use std::borrow::Cow;

use crate::fact::{Access, Fact, Statement, Word};
use crate::inspection::{Code, Inspection};
use crate::origin::Origin;
use crate::path;

/// States what the commands for the client do, and returns the text with them blanked out.
pub(super) fn take_commands<'t>(
    inspection: &mut Inspection<'_>,
    text: &'t str,
    origin: Origin,
) -> Cow<'t, str> {
    let mut blanked: Option<Vec<u8>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        let end = at + line.trim_end().len();
        at += line.len();
        let Some(command) = text.get(start..end).filter(|command| is_command(command)) else { continue };
        if !inspection.spend(8, origin.span(start..end)) {
            break;
        }
        take_command(inspection, command, origin, start);
        let bytes = blanked.get_or_insert_with(|| text.as_bytes().to_vec());
        if let Some(part) = bytes.get_mut(start..end) {
            part.fill(b' ');
        }
    }
    blanked.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn is_command(line: &str) -> bool {
    match line.as_bytes() {
        [b'\\', next, ..] => next.is_ascii_alphabetic() || matches!(next, b'!' | b'?'),
        [b'.', next, ..] => next.is_ascii_lowercase(),
        _ => false,
    }
}

fn take_command(inspection: &mut Inspection<'_>, line: &str, origin: Origin, start: usize) {
    let span = origin.span(start..start + line.len());
    let (name, rest) = match line.strip_prefix("\\!") {
        Some(rest) => ("\\!", rest),
        None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
    };
    let argument = rest.trim();
    let argument_at = start + line.len() - rest.trim_start().len();
    let shell = origin.verbatim(argument_at..argument_at + argument.len());
    let mut state = |verb: &'static str| {
        let statement =
            Statement { verb: Cow::Borrowed(verb), traits: Vec::new(), objects: Vec::new(), span };
        inspection.state(&Fact::Statement(statement), span);
    };
    match name {
        "\\!" | ".shell" | ".system" => {
            state("client shell");
            inspection.read(Code::Shell, argument, shell);
        }
        "\\copy" => state("copy"),
        "\\i" | "\\ir" | "\\include" | ".read" => {
            state("client include");
            path::state(inspection, Access::Execute, Word::known(argument, span));
        }
        "\\o" | "\\out" | "\\g" | ".output" | ".once" | ".log" if !argument.is_empty() => {
            match argument.strip_prefix('|') {
                Some(command) => {
                    state("client shell");
                    inspection.read(Code::Shell, command, Origin::of_span(span));
                }
                None => path::state(inspection, Access::Truncate, Word::known(argument, span)),
            }
        }
        ".import" | ".restore" | ".load" | "\\lo_import" | "\\lo_export" | "\\lo_unlink" | ".archive"
        | ".clone" | ".save" | ".backup" => state("client import"),
        "\\password" => state("alter user"),
        _ => state("client command"),
    }
}
