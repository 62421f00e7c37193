//! Goes behind TypeScript's types, which change nothing about what runs.

use super::parser::Parser;
use crate::code::parser::Kind;

/// Tokens in the brackets of one type; what is longer is none.
const TYPE: usize = 256;

impl Parser<'_> {
    /// Goes behind `as T`, `satisfies T`, behind an operand. Whether there was one.
    pub(super) fn skip_assertion(&mut self) -> bool {
        let is_one = !self.lexer.broke && (self.is_keyword("as") || self.is_keyword("satisfies"));
        if is_one {
            self.advance();
            self.skip_type();
        }
        is_one
    }

    fn skip_type(&mut self) {
        loop {
            while self.token.kind == Kind::Name
                && matches!(self.word(), "typeof" | "keyof" | "readonly" | "unique")
                && self.next_is_word()
            {
                self.advance();
            }
            let is_type = match (self.token.kind, self.word()) {
                (Kind::Name | Kind::Text | Kind::Number, _) => {
                    self.advance();
                    true
                }
                (Kind::Mark, "{" | "[" | "(") => self.skip_brackets(),
                _ => false,
            };
            if !is_type {
                return self.fail();
            }
            while !self.lexer.broke {
                if self.accept(".") {
                    self.identifier();
                } else if !(self.is("[") || self.is("<")) || !self.skip_brackets() {
                    break;
                }
            }
            if !(self.accept("|") || self.accept("&") || self.accept("=>")) {
                return;
            }
        }
    }

    /// Goes behind brackets and all in them, if it is nothing but types: what could run has to be read as code.
    fn skip_brackets(&mut self) -> bool {
        let before = (self.lexer, self.token, self.last_end);
        let is_type = self.try_brackets();
        if !is_type {
            (self.lexer, self.token, self.last_end) = before;
        }
        is_type
    }

    fn try_brackets(&mut self) -> bool {
        let mut open = 0usize;
        let mut behind_name = false;
        for _ in 0..TYPE {
            let word = self.word();
            match (self.token.kind, word) {
                (Kind::Mark, "(") if behind_name => return false,
                (Kind::Mark, "{" | "[" | "(" | "<") => open += 1,
                (Kind::Mark, "}" | "]" | ")" | ">") => open = open.saturating_sub(1),
                (Kind::Mark, ">>" | ">>>") => open = open.saturating_sub(word.len()),
                (Kind::Mark, "|" | "&" | "," | ";" | ":" | "?" | "." | "..." | "=>" | "-") => {}
                (Kind::Name | Kind::Text | Kind::Number, _) => {}
                _ => return false,
            }
            behind_name = self.token.kind == Kind::Name || matches!(word, ")" | "]" | "}" | ">");
            self.advance();
            if open == 0 {
                return true;
            }
        }
        false
    }
}
