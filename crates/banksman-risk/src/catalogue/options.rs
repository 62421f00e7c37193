//! Takes the arguments of a program apart: subcommand, flags, values, operands.

use crate::fact::Word;

use super::rule::{OptionStyle, ProgramSpec};

/// The arguments of a program, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Arguments<'w, 's> {
    pub(crate) subcommand: Vec<&'w str>,
    pub(crate) flags: Vec<Flag<'w, 's>>,
    pub(crate) operands: Vec<&'w Word<'s>>,
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

impl<'w> FlagName<'w> {
    /// Whether a flag as a rule writes it is this one.
    pub(crate) fn is(&self, written: &str, style: OptionStyle) -> bool {
        match self {
            Self::Short(letter) => {
                let mut letters = written.chars();
                letters.next() == Some('-') && letters.next() == Some(*letter) && letters.next().is_none()
            }
            Self::Long(name) => {
                *name == written
                    // GNU's abbreviations; three letters at least, so that `--f` is not every flag with an f.
                    || (style == OptionStyle::Gnu && name.len() >= 5 && name.starts_with("--") && written.starts_with(*name))
            }
        }
    }
}

impl<'w, 's> Arguments<'w, 's> {
    /// Takes arguments apart by what is known of the program. `sub` finds the spec of a subcommand.
    pub(crate) fn parse<'p>(
        spec: &'p ProgramSpec,
        args: &'w [Word<'s>],
        sub: impl Fn(&[&str]) -> Option<&'p ProgramSpec>,
    ) -> Self {
        let mut parsed = Self::default();
        let mut current = spec;
        let mut wanted = spec.subcommands;
        let mut rest = args.iter();
        let mut only_operands = false;
        while let Some(word) = rest.next() {
            let text = &*word.text;
            if only_operands || text == "-" || !is_option(text, current.style) {
                if wanted > 0 && !only_operands {
                    wanted -= 1;
                    parsed.subcommand.push(text);
                    if let Some(found) = sub(&parsed.subcommand) {
                        wanted = wanted.max(found.subcommands);
                        current = found;
                    }
                    continue;
                }
                parsed.operands.push(word);
                continue;
            }
            if text == "--" {
                only_operands = true;
                continue;
            }
            let takes = |name: FlagName<'_>| {
                current
                    .values
                    .iter()
                    .chain(&current.reads)
                    .chain(&current.writes)
                    .any(|v| name.is(v, current.style))
                    || spec.values.iter().any(|v| name.is(v, spec.style))
            };
            match current.style {
                OptionStyle::Assignments => {
                    if let Some((name, value)) = text.split_once('=') {
                        let value = Some(Value::Attached(value, word));
                        parsed.flags.push(Flag { name: FlagName::Long(name), value });
                    }
                }
                OptionStyle::Words => {
                    let (name, attached) = split_value(text);
                    let name = FlagName::Long(name);
                    let value = match attached {
                        Some(value) => Some(Value::Attached(value, word)),
                        None if takes(name) => rest.next().map(Value::Next),
                        None => None,
                    };
                    parsed.flags.push(Flag { name, value });
                }
                OptionStyle::Gnu | OptionStyle::Plain if text.starts_with("--") => {
                    let (name, attached) = split_value(text);
                    let name = FlagName::Long(name);
                    let value = match attached {
                        Some(value) => Some(Value::Attached(value, word)),
                        None if takes(name) => rest.next().map(Value::Next),
                        None => None,
                    };
                    parsed.flags.push(Flag { name, value });
                }
                OptionStyle::Gnu | OptionStyle::Plain => {
                    let letters = text.get(1..).unwrap_or_default();
                    for (at, letter) in letters.char_indices() {
                        let name = FlagName::Short(letter);
                        if takes(name) {
                            let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                            let value = if attached.is_empty() {
                                rest.next().map(Value::Next)
                            } else {
                                Some(Value::Attached(attached, word))
                            };
                            parsed.flags.push(Flag { name, value });
                            break;
                        }
                        parsed.flags.push(Flag { name, value: None });
                    }
                    // Some programs take whole words after one dash in any style (`-exec`, `-rf`): keep it as written.
                    if letters.chars().count() > 1 {
                        parsed.flags.push(Flag { name: FlagName::Long(text), value: None });
                    }
                }
            }
        }
        parsed
    }

    /// Whether a flag was given.
    pub(crate) fn has(&self, written: &str, style: OptionStyle) -> bool {
        self.flags.iter().any(|flag| flag.name.is(written, style))
    }

    /// The values given to an option.
    pub(crate) fn values_of(&self, written: &str, style: OptionStyle) -> impl Iterator<Item = Value<'w, 's>> {
        self.flags.iter().filter(move |flag| flag.name.is(written, style)).filter_map(|flag| flag.value)
    }
}

fn is_option(text: &str, style: OptionStyle) -> bool {
    match style {
        OptionStyle::Assignments => text.contains('='),
        OptionStyle::Gnu | OptionStyle::Plain | OptionStyle::Words => text.starts_with('-'),
    }
}

fn split_value(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    }
}
