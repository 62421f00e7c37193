//! Compound commands: `if`, `for`, `case`, groups, functions, tests.

use std::rc::Rc;

use super::parser::{Parser, Stop, is_name};
use super::{Command, CommandKind, Item, Link, Part, Script, Word};

impl Parser<'_> {
    /// A compound command, if one starts here.
    pub(super) fn compound(&mut self) -> Option<CommandKind> {
        if self.peek() == Some(b'(') {
            return Some(self.parenthesis());
        }
        let keyword = self.keyword();
        match keyword {
            "{" => {
                self.at += 1;
                let body = self.script(Stop::words(&["}"]));
                self.take_keyword("}");
                Some(CommandKind::Group(body))
            }
            "if" => {
                self.at += 2;
                Some(self.condition())
            }
            "while" | "until" => {
                self.at += keyword.len();
                let condition = self.script(Stop::words(&["do"]));
                Some(CommandKind::Loop { condition, body: self.body_of_loop() })
            }
            "for" | "select" => {
                self.at += keyword.len();
                Some(self.for_loop())
            }
            "case" => {
                self.at += 4;
                Some(self.case())
            }
            "function" => {
                self.at += keyword.len();
                self.blanks();
                let name = self.word();
                self.blanks();
                if self.take("(") {
                    self.blanks();
                    self.take(")");
                }
                let name = name.plain().unwrap_or_default().to_owned();
                Some(self.function_body(name))
            }
            "[[" => {
                self.at += 2;
                Some(CommandKind::Test(self.test_words()))
            }
            _ => None,
        }
    }

    pub(super) fn function(&mut self, name: String, start: usize) -> Command {
        let kind = self.function_body(name);
        Command { kind, redirections: Vec::new(), range: self.range(start, self.at) }
    }

    fn function_body(&mut self, name: String) -> CommandKind {
        self.lines();
        match self.deeper(Self::command) {
            Some(body) => CommandKind::Function { name, body: Rc::new(body) },
            None => {
                self.trouble();
                CommandKind::Test(Vec::new())
            }
        }
    }

    fn parenthesis(&mut self) -> CommandKind {
        let mut both = None;
        let inside = self.text.as_bytes().get(self.at + 2..).unwrap_or_default();
        if self.peek_at(1) == Some(b'(')
            && !begins_like_a_command(inside)
            && self.closes_as_arithmetic(self.at + 2)
        {
            let start = self.at;
            self.at += 2;
            let parts = self.arithmetic_parts();
            let inside = self.slice(start + 2, self.at.saturating_sub(2));
            let range = self.range(start, self.at);
            let test = CommandKind::Test(vec![Word { parts, range: range.clone() }]);
            if inside.contains(['<', '>', '$', '`']) || !inside.contains(' ') {
                return test;
            }
            // Nothing in it has to be arithmetic, and a plain sh has none: there it is a subshell in a subshell.
            self.at = start;
            both = Some(Command { kind: test, redirections: Vec::new(), range });
        }
        self.at += 1;
        let mut body = self.script(Stop::paren());
        if !self.take(")") {
            self.trouble();
        }
        body.items.extend(both.map(|test| Item {
            link: Link::Always,
            commands: vec![test],
            background: false,
        }));
        CommandKind::Subshell(body)
    }

    fn condition(&mut self) -> CommandKind {
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.script(Stop::words(&["then", "fi"]));
            let has_then = self.take_keyword("then");
            let body =
                if has_then { self.script(Stop::words(&["elif", "else", "fi"])) } else { Script::default() };
            branches.push((condition, body));
            self.lines();
            match self.keyword() {
                "elif" => self.at += 4,
                "else" => {
                    self.at += 4;
                    otherwise = Some(self.script(Stop::words(&["fi"])));
                    break;
                }
                _ => break,
            }
        }
        self.take_keyword("fi");
        CommandKind::If { branches, otherwise }
    }

    fn body_of_loop(&mut self) -> Script {
        self.lines();
        if self.keyword() == "{" {
            self.at += 1;
            let body = self.script(Stop::words(&["}"]));
            self.take_keyword("}");
            return body;
        }
        if !self.take_keyword("do") {
            return Script::default();
        }
        let body = self.script(Stop::words(&["done"]));
        self.take_keyword("done");
        body
    }

    fn for_loop(&mut self) -> CommandKind {
        self.blanks();
        if self.peek() == Some(b'(') && self.peek_at(1) == Some(b'(') {
            let start = self.at;
            self.at += 2;
            let parts = self.arithmetic_parts();
            let header = Word { parts, range: self.range(start, self.at) };
            self.blanks();
            self.take(";");
            return CommandKind::Count { header, body: self.body_of_loop() };
        }
        let name = self.keyword();
        if !is_name(name) {
            self.trouble();
        }
        self.at += name.len();
        let name = name.to_owned();
        self.lines();
        let values = if self.keyword() == "in" {
            self.at += 2;
            let mut values = Vec::new();
            loop {
                self.blanks();
                if matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')')) {
                    break;
                }
                let before = self.at;
                values.push(self.word());
                if self.at == before {
                    self.trouble();
                    self.skip_char();
                }
            }
            Some(values)
        } else {
            None
        };
        self.blanks();
        self.take(";");
        CommandKind::For { name, values, body: self.body_of_loop() }
    }

    fn case(&mut self) -> CommandKind {
        self.blanks();
        let subject = self.word();
        self.take_keyword("in");
        let mut arms = Vec::new();
        loop {
            self.lines();
            if self.peek().is_none() || self.keyword() == "esac" {
                break;
            }
            let before = self.at;
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                let start = self.at;
                patterns.push(self.word());
                self.blanks();
                if !self.take("|") || self.at == start {
                    break;
                }
            }
            if !self.take(")") {
                self.trouble();
            }
            let body = self.script(Stop { paren: false, case_arm: true, words: &["esac"] });
            arms.push((patterns, body));
            let _ = self.take(";;&") || self.take(";;") || self.take(";&");
            if self.at == before {
                self.skip_char();
            }
        }
        self.take_keyword("esac");
        CommandKind::Case { subject, arms }
    }

    /// The words of `[[ ... ]]`, operators left out.
    fn test_words(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.lines();
            match self.peek() {
                None => {
                    self.trouble();
                    return words;
                }
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {}
                Some(b'(' | b')' | b'&' | b'|' | b'<' | b'>' | b';') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            if self.take("]]") {
                return words;
            }
            let before = self.at;
            words.push(self.word());
            if self.at == before {
                self.skip_char();
            }
        }
    }

    /// Whether `((` closes with `))`, and is not a subshell in a subshell.
    pub(super) fn closes_as_arithmetic(&self, start: usize) -> bool {
        let mut depth = 0_usize;
        let bytes = self.text.as_bytes();
        let mut at = start;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b')' => return bytes.get(at + 1) == Some(&b')'),
                // No arithmetic has these; a command does.
                b'\n' | b'\'' | b';' if depth == 0 => return false,
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// What stands in `((...))`, up to and with its end.
    pub(super) fn arithmetic_parts(&mut self) -> Vec<Part> {
        let parts = self.deeper(|parser| parser.double_parts(Some(super::word::Closing::Arithmetic)));
        if !self.take("))") {
            self.trouble();
            self.at = self.text.len().min(self.at + 1);
        }
        parts
    }
}

/// Whether what stands in `((` reads as a program and its first argument, which no arithmetic does: two names side by
/// side. bash would refuse it, but other shells take it for a subshell in a subshell and run it. `$((` is arithmetic
/// to all of them.
fn begins_like_a_command(inside: &[u8]) -> bool {
    let inside = inside.trim_ascii_start();
    let name = inside.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_./".contains(byte)).count();
    let (_, rest) = inside.split_at(name);
    let argument = rest.trim_ascii_start();
    if name == 0 || argument.len() == rest.len() {
        return false;
    }
    match argument {
        [b'-', letter, ..] => letter.is_ascii_alphabetic() || *letter == b'-',
        [first, ..] => first.is_ascii_alphanumeric() || b"/~.\"$".contains(first),
        [] => false,
    }
}
