//! The grammar of PowerShell, as far as it takes to find the commands.

use super::super::super::run::Runner;
use super::super::super::scope::Variable;
use super::super::super::value::{HOLE, Taint, Text};
use crate::origin::Origin;

/// Code on the way through.
pub(super) struct Reader<'r, 'i, 'c, 't> {
    pub(super) runner: &'r mut Runner<'i, 'c>,
    pub(super) code: &'t str,
    at: usize,
    pub(super) origin: Origin,
    broken: bool,
}

/// A word, and the variable that it is if it is nothing else.
#[derive(Default)]
struct Word {
    text: Text,
    variable: Option<String>,
    /// Whether it was written as a value (quoted, in parentheses), not as the name of a command.
    value: bool,
}

impl<'r, 'i, 'c, 't> Reader<'r, 'i, 'c, 't> {
    pub(super) fn new(runner: &'r mut Runner<'i, 'c>, code: &'t str, origin: Origin) -> Self {
        Self { runner, code, at: 0, origin, broken: false }
    }

    /// Reads it all: what it prints, and whether it is not well-formed.
    pub(super) fn read(mut self) -> (Text, bool) {
        let output = self.script(None, &Text::unknown(Taint::NONE));
        (output, self.broken)
    }
}

impl Reader<'_, '_, '_, '_> {
    fn peek(&self) -> Option<char> {
        self.code.get(self.at..).and_then(|rest| rest.chars().next())
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.code.get(self.at..).is_some_and(|rest| rest.starts_with(text));
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn blanks(&mut self) {
        loop {
            if self.takes("`\n") || self.takes("`\r\n") {
                continue;
            }
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('#') => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.next();
                    }
                }
                _ => return,
            }
        }
    }

    /// Commands up to what closes them; `item` is what `$_` stands for.
    fn script(&mut self, closing: Option<char>, item: &Text) -> Text {
        let mut output = Text::default();
        let span = self.origin.span(0..0);
        if !self.runner.descend(span) {
            self.at = self.code.len();
            return Text::unknown(Taint::OUTPUT);
        }
        loop {
            self.blanks();
            match self.peek() {
                None => {
                    self.broken |= closing.is_some();
                    break;
                }
                letter if letter == closing => {
                    self.next();
                    break;
                }
                Some(';' | '\n' | ',') => self.at += 1,
                Some(')' | '}') => {
                    self.broken = true;
                    self.at += 1;
                }
                Some(_) if !self.runner.spend(4) => self.at = self.code.len(),
                Some(_) => {
                    let printed = self.pipeline(item);
                    output.append(&printed);
                }
            }
        }
        self.runner.ascend();
        output
    }

    fn pipeline(&mut self, item: &Text) -> Text {
        let mut stream = None;
        loop {
            let before = self.at;
            let output = self.element(item, stream.as_ref());
            self.blanks();
            if self.takes("||") || self.takes("&&") {
                stream = None;
            } else if self.takes("|") {
                stream = Some(output);
                while matches!(self.peek(), Some('\n' | '\r' | ' ')) {
                    self.at += 1;
                }
            } else {
                if self.at == before {
                    self.next();
                }
                return output;
            }
        }
    }

    fn element(&mut self, item: &Text, stream: Option<&Text>) -> Text {
        let mut words: Vec<Word> = Vec::new();
        let mut blocks: Option<Text> = None;
        let mut calls = false;
        loop {
            self.blanks();
            let before = self.at;
            match self.peek() {
                None | Some(';' | '\n' | '|' | ')' | '}') => break,
                Some('&') if self.code.get(self.at + 1..).is_some_and(|rest| rest.starts_with('&')) => break,
                Some('&') => {
                    calls |= words.is_empty();
                    self.at += 1;
                }
                Some('.')
                    if words.is_empty()
                        && self.code.get(self.at + 1..).is_some_and(|rest| rest.starts_with(' ')) =>
                {
                    calls = true;
                    self.at += 1;
                }
                Some(',') => self.at += 1,
                Some('@')
                    if self.code.get(self.at + 1..).is_some_and(|rest| rest.starts_with(['(', '{'])) =>
                {
                    self.at += 1;
                }
                Some('{') => {
                    self.at += 1;
                    let printed = self.script(Some('}'), stream.unwrap_or(item));
                    blocks.get_or_insert_default().append(&printed);
                }
                Some('=') | Some('+') if matches!(words.as_slice(), [Word { variable: Some(_), .. }]) => {
                    let adds = self.takes("+");
                    self.takes("=");
                    let value = self.pipeline(item);
                    let value = if adds { Text::unknown(value.taint) } else { value };
                    if let Some(Word { variable: Some(name), .. }) = words.first() {
                        self.runner.scope.set(name, Variable::One(value), true);
                    }
                    return Text::default();
                }
                Some(_) => {
                    let word = self.word(item);
                    words.push(word);
                }
            }
            if self.at == before {
                self.next();
            }
        }
        let Some(first) = words.first() else { return blocks.unwrap_or_default() };
        if first.value && !calls {
            return if words.len() == 1 {
                words.swap_remove(0).text
            } else {
                Text::unknown(first.text.taint)
            };
        }
        let name = first.text.clone();
        let arguments: Vec<Text> = words.into_iter().skip(1).map(|word| word.text).collect();
        self.command(&name, arguments, stream, blocks)
    }

    fn word(&mut self, item: &Text) -> Word {
        let mut word = Word::default();
        let start = self.at;
        while let Some(letter) = self.peek() {
            let at_start = self.at == start;
            match letter {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | ')' | '}' | ',' | '{' => break,
                '&' | '=' if word.variable.is_some() || letter == '&' => break,
                '\'' | '"' => {
                    self.at += 1;
                    let text = self.quoted(letter, item);
                    word.text.append(&text);
                    word.value |= at_start;
                }
                '`' => {
                    self.at += 1;
                    word.text.text.extend(self.next());
                }
                '$' => {
                    let (value, name) = self.variable(item);
                    word.text.append(&value);
                    word.variable = name.filter(|_| at_start);
                    word.value |= at_start;
                    continue;
                }
                '(' => {
                    self.at += 1;
                    let value = self.script(Some(')'), item);
                    word.text.append(&value);
                    word.value |= at_start;
                }
                '[' if at_start => {
                    let name = self.type_name();
                    if self.takes("::") {
                        let method = self.name();
                        let arguments = if self.takes("(") { self.arguments(item) } else { Vec::new() };
                        word.text = self.static_call(&name, &method, &arguments);
                        word.value = true;
                    }
                }
                '.' if word.value => {
                    self.at += 1;
                    let method = self.name();
                    if self.takes("(") {
                        let arguments = self.arguments(item);
                        word.text = self.method(&word.text, &method, &arguments);
                    } else {
                        word.text = Text::unknown(word.text.taint);
                    }
                }
                letter => {
                    self.next();
                    // What a shell around it filled in, with a member of it: `$_.Name`.
                    word.value |= at_start && letter == HOLE && self.peek() == Some('.');
                    word.text.text.push(letter);
                }
            }
            word.variable = None;
        }
        word
    }

    fn quoted(&mut self, quote: char, item: &Text) -> Text {
        let mut text = Text::default();
        while let Some(letter) = self.peek() {
            if letter == '$' && quote == '"' {
                let (value, _) = self.variable(item);
                text.append(&value);
                continue;
            }
            self.next();
            match letter {
                '`' if quote == '"' => text.text.extend(self.next()),
                // Doubled, it stands for itself.
                letter if letter == quote && self.peek() == Some(quote) => text.text.extend(self.next()),
                letter if letter == quote => return text,
                letter => text.text.push(letter),
            }
        }
        self.broken = true;
        text
    }

    /// `$x`, `${x}`, `$env:X`, `$(...)`: its value, and its name if it has one.
    fn variable(&mut self, item: &Text) -> (Text, Option<String>) {
        self.at += 1;
        if self.takes("(") {
            return (self.script(Some(')'), item), None);
        }
        let braced = self.takes("{");
        let start = self.at;
        while self.peek().is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':') {
            self.next();
        }
        let name = self.code.get(start..self.at).unwrap_or_default().to_ascii_lowercase();
        if braced {
            self.takes("}");
        }
        let value = match name.as_str() {
            "" => Text::known("$"),
            "_" | "psitem" => item.clone(),
            "home" | "env:home" | "env:userprofile" => Text::known("~"),
            "true" | "false" | "null" => Text::known(name.as_str()),
            _ => match self.runner.scope.variable(&name) {
                Some(value) => super::super::super::expand::join(value),
                None => Text::unknown(Taint::NONE),
            },
        };
        (value, Some(name).filter(|name| !name.is_empty()))
    }

    fn name(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            self.next();
        }
        self.code.get(start..self.at).unwrap_or_default().to_ascii_lowercase()
    }

    fn type_name(&mut self) -> String {
        self.at += 1;
        let start = self.at;
        while self.peek().is_some_and(|letter| letter != ']') {
            self.next();
        }
        let name = self.code.get(start..self.at).unwrap_or_default().to_ascii_lowercase();
        self.broken |= !self.takes("]");
        name.strip_prefix("system.").map_or(name.clone(), str::to_owned)
    }

    /// After `(`, with its end.
    fn arguments(&mut self, item: &Text) -> Vec<Text> {
        let mut arguments = Vec::new();
        loop {
            self.blanks();
            let before = self.at;
            match self.peek() {
                None => {
                    self.broken = true;
                    return arguments;
                }
                Some(')') => {
                    self.at += 1;
                    return arguments;
                }
                Some(',' | '\n' | '+' | ';') => self.at += 1,
                Some('{') => {
                    self.at += 1;
                    self.script(Some('}'), item);
                }
                Some(_) => {
                    let word = self.word(item);
                    arguments.push(word.text);
                }
            }
            if self.at == before {
                self.next();
            }
        }
    }
}
