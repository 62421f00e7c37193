//! The paths among a program's arguments, by what is known of the program.

use super::run::{Invocation, Runner};
use super::value::{Field, Taint};
use crate::catalogue::Operands;
use crate::fact::{Access, Word};

/// What a program reads.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Where its output comes from.
    pub(super) taint: Taint,
    /// The files that it reads, if each of them was written by this script.
    pub(super) known: Option<String>,
    /// Whether it reads any file at all.
    pub(super) any: bool,
}

impl Runner<'_, '_> {
    /// States which paths a program uses.
    pub(super) fn paths(&mut self, name: &str, invocation: &Invocation) -> Reading {
        let arguments = invocation.arguments();
        let words: Vec<Word<'_>> = arguments.iter().map(Field::word).collect();
        let catalogue = self.inspection.catalogue();
        let (spec, parsed) = catalogue.arguments(name, &words);
        let mut reading = Reading::default();
        if parsed.help {
            return reading;
        }
        let mut uses: Vec<(Access, Field)> = Vec::new();
        let field_of = |word: &Word<'_>, text: &str| Field {
            text: text.to_owned(),
            taint: Taint::NONE,
            glob: word.glob,
            origin: crate::origin::Origin::of_span(word.span),
        };
        for flag in &parsed.flags {
            let Some(value) = flag.value else { continue };
            for (names, access) in [(&spec.reads, Access::Read), (&spec.writes, Access::Truncate)] {
                if names.iter().any(|known| flag.name.is(known, spec.style)) {
                    uses.push((access, field_of(value.word(), value.text())));
                }
            }
        }
        // A pattern that is given by an option leaves no pattern among the operands.
        let has_pattern = spec.skip > 0
            && parsed.flags.iter().any(|flag| {
                ["-e", "--regexp", "-f", "--file", "--expression", "--files"]
                    .iter()
                    .any(|known| flag.name.is(known, spec.style))
            });
        let skip = if has_pattern { 0 } else { spec.skip };
        let operands: Vec<&Word<'_>> = parsed.operands.iter().skip(skip).copied().collect();
        let recursive = parsed.has("-r", spec.style)
            || parsed.has("-R", spec.style)
            || parsed.has("--recursive", spec.style);
        // Without force, what is removed is judged by the rules for the program.
        let tree = recursive && (parsed.has("-f", spec.style) || parsed.has("--force", spec.style));
        let count = operands.len();
        let target = parsed.flags.iter().any(|flag| flag.name.is("-t", spec.style) && flag.value.is_some());
        for (at, word) in operands.iter().enumerate() {
            let last = at + 1 == count && !target;
            let access = match spec.operands {
                None => continue,
                Some(Operands::Read) => Access::Read,
                Some(Operands::Write) => Access::Write,
                Some(Operands::Truncate) => Access::Truncate,
                Some(Operands::Delete) if tree => Access::DeleteTree,
                Some(Operands::Delete) => Access::Delete,
                Some(Operands::Copy) if last && count > 1 => Access::Write,
                Some(Operands::Copy) => Access::Read,
                Some(Operands::Move) if last && count > 1 => Access::Write,
                Some(Operands::Move) => Access::Delete,
                Some(Operands::Permissions) => Access::Permissions,
                Some(Operands::Execute) if at == 0 => Access::Execute,
                Some(Operands::Execute) => continue,
            };
            uses.push((access, field_of(word, &word.text)));
        }
        drop(words);
        self.use_paths(uses, &mut reading);
        reading
    }

    fn use_paths(&mut self, uses: Vec<(Access, Field)>, reading: &mut Reading) {
        let mut content = Some(String::new());
        let before = self.inspection.secrets_read();
        for (access, file) in uses {
            if super::redirect::is_stream(&file.text) && self.scope.file(&file.text).is_none() {
                continue;
            }
            if access == Access::Read {
                reading.any = true;
                match self.scope.file(&file.text) {
                    Some(text) => {
                        reading.taint |= text.taint;
                        if let Some(content) = &mut content {
                            content.push_str(&text.text);
                        }
                    }
                    None => {
                        reading.taint |= Taint::FILE;
                        content = None;
                    }
                }
            }
            if !file.text.starts_with("/dev/fd/") {
                let span = file.span();
                self.path(access, &file, span);
            }
        }
        if self.inspection.secrets_read() > before {
            reading.taint |= Taint::SECRET;
        }
        reading.known = content.filter(|_| reading.any);
    }
}
