//! Reads JavaScript straight into the tree that is followed.

use super::lexer::Lexer;
use crate::code::decode::unescape;
use crate::code::parser::{self, Kind, Lexer as _, Parsed};
use crate::code::tree::{Name, Statement};
use crate::origin::Origin;

pub(super) type Parser<'s> = parser::Parser<'s, Lexer<'s>>;

/// Reads a text.
pub(super) fn parse(text: &str, origin: Origin) -> Parsed {
    let mut parser = Parser::new(text, origin, Lexer::new(text));
    let mut statements = Vec::new();
    while parser.token.kind != Kind::End {
        parser.statement_or_recover(&mut statements);
    }
    parser.finish(statements)
}

impl<'s> Parser<'s> {
    /// One statement; behind an error, reading goes on.
    pub(super) fn statement_or_recover(&mut self, out: &mut Vec<Statement>) {
        let start = self.token.start;
        self.statement(out);
        self.recover(start);
    }

    /// Statements in braces.
    pub(super) fn block(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        self.expect("{");
        self.nested(|parser| {
            while !parser.is("}") && !matches!(parser.token.kind, Kind::End | Kind::Stop) {
                parser.statement_or_recover(&mut statements);
            }
        });
        self.expect("}");
        statements
    }

    /// The token behind this one.
    pub(super) fn next_is(&self, marks: &[&str]) -> bool {
        let next = self.lexer.clone().next();
        next.kind == Kind::Mark && marks.contains(&self.slice(next.start, next.end))
    }

    /// Whether another word follows on the same line.
    pub(super) fn next_is_word(&self) -> bool {
        let mut lexer = self.lexer;
        lexer.next().kind == Kind::Name && !lexer.broke
    }

    /// A name, as it is known after its escapes are undone.
    pub(super) fn identifier(&mut self) -> Name {
        if self.token.kind != Kind::Name {
            self.fail();
            return "".into();
        }
        let name = plain(self.word());
        self.advance();
        name
    }
}

/// A name without escapes and without the mark of a private one.
pub(super) fn plain(word: &str) -> Name {
    let word = word.trim_start_matches('#');
    if word.contains('\\') { unescape(word).into() } else { word.into() }
}
