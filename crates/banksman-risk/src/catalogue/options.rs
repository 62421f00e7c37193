//! Takes the arguments of a program apart: subcommand, flags, values, operands.

use crate::fact::Word;

use super::rule::{OptionStyle, ProgramSpec};

/// The arguments of a program, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Arguments<'w, 's> {
    pub(crate) subcommand: Vec<&'w str>,
    pub(crate) flags: Vec<Flag<'w, 's>>,
    pub(crate) operands: Vec<&'w Word<'s>>,
    /// How many of the operands stand behind a `--`.
    pub(crate) after_dashes: usize,
    /// The program would only tell how it is used.
    pub(crate) help: bool,
}

/// An option as it was given.
#[derive(Debug)]
pub(crate) struct Flag<'w, 's> {
    /// `-f`, `--force`, `-delete`, `if`.
    pub(crate) name: FlagName<'w>,
    pub(crate) value: Option<Value<'w, 's>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagName<'w> {
    /// One letter, alone or in a cluster.
    Short(char),
    /// A word with its dashes.
    Long(&'w str),
}

/// The value of an option: the next argument, or what is attached to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'w, 's> {
    Attached(&'w str, &'w Word<'s>),
    Next(&'w Word<'s>),
}

impl<'w, 's> Value<'w, 's> {
    pub(crate) fn text(&self) -> &'w str {
        match self {
            Self::Attached(text, _) => text,
            Self::Next(word) => &word.text,
        }
    }

    pub(crate) fn word(&self) -> &'w Word<'s> {
        match self {
            Self::Attached(_, word) | Self::Next(word) => word,
        }
    }
}

impl FlagName<'_> {
    /// Whether a flag as a rule writes it could be this one. In doubt it is.
    pub(crate) fn is(&self, written: &str, style: OptionStyle) -> bool {
        match self {
            Self::Short(letter) => {
                let mut letters = written.chars();
                letters.next() == Some('-') && letters.next() == Some(*letter) && letters.next().is_none()
            }
            Self::Long(name) => {
                *name == written
                    || match style {
                        // GNU's abbreviations; two letters at least, so that `--f` is not every flag with an f.
                        OptionStyle::Gnu => {
                            name.len() >= 4 && name.starts_with("--") && written.starts_with(name)
                        }
                        OptionStyle::Powershell => {
                            name.len() >= 2
                                && written
                                    .split_at_checked(name.len())
                                    .is_some_and(|(start, _)| start.eq_ignore_ascii_case(name))
                        }
                        OptionStyle::Plain | OptionStyle::Words | OptionStyle::Assignments => false,
                    }
            }
        }
    }

    /// Whether it is this one without a doubt: `--force` is not short for `--force-with-lease`.
    fn is_surely(&self, written: &str, style: OptionStyle) -> bool {
        match self {
            Self::Long(name) if *name != written => {
                name.len() >= 5
                    && self.is(written, style)
                    && written.get(name.len()..).is_some_and(|rest| !rest.starts_with('-'))
            }
            Self::Long(_) | Self::Short(_) => self.is(written, style),
        }
    }

    /// Whether it takes a flag back: `--no-force` after `--force`.
    fn takes_back(&self, written: &str) -> bool {
        match self {
            Self::Long(name) => {
                name.strip_prefix("--no-").is_some_and(|rest| written.strip_prefix("--") == Some(rest))
            }
            Self::Short(_) => false,
        }
    }
}

impl Flag<'_, '_> {
    /// `--force=false` does not force, and `--dry-run=none` is not dry.
    fn is_off(&self) -> bool {
        matches!(self.value, Some(Value::Attached("false" | "False" | "0" | "no" | "none", _)))
    }
}

impl<'w, 's> Arguments<'w, 's> {
    /// Takes arguments apart by what is known of the program. `sub` finds the spec of a subcommand; the last one
    /// found is given back.
    pub(crate) fn parse<'p>(
        spec: &'p ProgramSpec,
        args: &'w [Word<'s>],
        sub: impl Fn(&[&str]) -> Option<&'p ProgramSpec>,
    ) -> (&'p ProgramSpec, Self) {
        let mut parsed = Self::default();
        let mut current = spec;
        let mut wanted = spec.subcommands;
        let mut rest = args.iter();
        let mut only_operands = false;
        while let Some(word) = rest.next() {
            let text = &*word.text;
            if !only_operands && text == "--" {
                // `git -- push` is `git push`.
                only_operands = wanted == 0 || !parsed.subcommand.is_empty();
                continue;
            }
            if only_operands || text == "-" || !is_option(text, current.style) {
                if wanted > 0 && !only_operands {
                    wanted -= 1;
                    parsed.subcommand.push(text);
                    parsed.help |= current.help.iter().any(|help| help == text);
                    if let Some(found) = sub(&parsed.subcommand) {
                        wanted = wanted.max(found.subcommands);
                        current = found;
                    }
                } else if current.style != OptionStyle::Words || !matches!(text, "(" | ")" | "!" | ",") {
                    parsed.after_dashes += usize::from(only_operands);
                    parsed.operands.push(word);
                    only_operands |= current.options_first;
                }
                continue;
            }
            let takes = |name: FlagName<'_>| takes_value(name, current, spec);
            match current.style {
                OptionStyle::Assignments => {
                    if let Some((name, value)) = text.split_once('=') {
                        let value = Some(Value::Attached(value, word));
                        parsed.flags.push(Flag { name: FlagName::Long(name), value });
                    }
                }
                OptionStyle::Gnu | OptionStyle::Plain if !text.starts_with("--") => {
                    parsed.cluster(word, takes, &mut rest);
                }
                OptionStyle::Gnu | OptionStyle::Plain | OptionStyle::Words | OptionStyle::Powershell => {
                    let (name, attached) = split_value(text, current.style);
                    let name = FlagName::Long(name);
                    if current.commands.iter().any(|runs| name.is(runs, current.style)) {
                        // What stands between is another program's: its flags are not this one's.
                        rest.find(|word| matches!(&*word.text, ";" | "\\;" | "+"));
                    }
                    let value = match attached {
                        Some(value) => Some(Value::Attached(value, word)),
                        None if takes(name) => rest.next().map(Value::Next),
                        None => None,
                    };
                    parsed.flags.push(Flag { name, value });
                }
            }
            parsed.help |= if current.help.is_empty() {
                // Alone these mean the same everywhere; beside others, `-h` may be a host and `-V` a volume.
                let alone = args.len() == parsed.subcommand.len() + 1;
                (text == "--help" && parsed.operands.is_empty())
                    || (alone && matches!(text, "-h" | "-?" | "-V" | "--version"))
            } else {
                current.help.iter().any(|help| help == text)
            };
        }
        (current, parsed)
    }

    /// `-rf`, `-n5`, `-o file`.
    fn cluster(
        &mut self,
        word: &'w Word<'s>,
        takes: impl Fn(FlagName<'_>) -> bool,
        rest: &mut std::slice::Iter<'w, Word<'s>>,
    ) {
        let letters = word.text.get(1..).unwrap_or_default();
        for (at, letter) in letters.char_indices() {
            let name = FlagName::Short(letter);
            if takes(name) {
                let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                let value = if attached.is_empty() {
                    rest.next().map(Value::Next)
                } else {
                    Some(Value::Attached(attached, word))
                };
                self.flags.push(Flag { name, value });
                break;
            }
            self.flags.push(Flag { name, value: None });
        }
        // Some programs take whole words after one dash in any style (`-exec`, `-rf`): keep it as written.
        if letters.chars().nth(1).is_some() {
            self.flags.push(Flag { name: FlagName::Long(&word.text), value: None });
        }
    }

    /// Whether a flag was given, and not taken back after that.
    pub(crate) fn has(&self, written: &str, style: OptionStyle) -> bool {
        let mut given = false;
        for flag in &self.flags {
            if flag.name.is(written, style) {
                given = !flag.is_off();
            } else if flag.name.takes_back(written) {
                given = false;
            }
        }
        given
    }

    /// Whether one of several flags was given.
    pub(super) fn has_any(&self, group: &[String], style: OptionStyle) -> bool {
        let mut longs = group.iter().filter(|written| written.starts_with("--"));
        match (longs.next(), longs.next()) {
            // All are spellings of one flag, and `--no-patch` takes `-p` back as well.
            (Some(long), None) => {
                let mut given = false;
                for flag in &self.flags {
                    if group.iter().any(|written| flag.name.is(written, style)) {
                        given = !flag.is_off();
                    } else if flag.name.takes_back(long) {
                        given = false;
                    }
                }
                given
            }
            _ => group.iter().any(|written| self.has(written, style)),
        }
    }

    /// Whether one of several flags was given beyond doubt: it makes the command less than it seems.
    pub(super) fn has_surely(&self, group: &[String], style: OptionStyle) -> bool {
        let mut given = false;
        for flag in &self.flags {
            if group.iter().any(|written| flag.name.is_surely(written, style)) {
                given = !flag.is_off();
            } else if group.iter().any(|written| flag.name.takes_back(written)) {
                given = false;
            }
        }
        given
    }

    /// The values given to an option.
    pub(crate) fn values_of(&self, written: &str, style: OptionStyle) -> impl Iterator<Item = Value<'w, 's>> {
        self.flags.iter().filter(move |flag| flag.name.is(written, style)).filter_map(|flag| flag.value)
    }
}

/// Whether an option takes the next argument as its value. What the program itself understands, its subcommands do
/// too, except for single letters where each subcommand has an alphabet of its own (`git -C dir`, `git diff -C`).
fn takes_value(name: FlagName<'_>, current: &ProgramSpec, program: &ProgramSpec) -> bool {
    let own = current.values.iter().chain(&current.reads).chain(&current.writes);
    let global = !std::ptr::eq(current, program)
        && (current.style != OptionStyle::Gnu || matches!(name, FlagName::Long(_)));
    own.chain(program.values.iter().filter(|_| global)).any(|written| name.is(written, current.style))
}

fn is_option(text: &str, style: OptionStyle) -> bool {
    match style {
        OptionStyle::Assignments => text.contains('='),
        OptionStyle::Gnu | OptionStyle::Plain | OptionStyle::Words | OptionStyle::Powershell => {
            text.starts_with('-')
        }
    }
}

fn split_value(text: &str, style: OptionStyle) -> (&str, Option<&str>) {
    let sign = if style == OptionStyle::Powershell { ':' } else { '=' };
    match text.split_once(sign) {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    }
}
