//! Reads Python straight into the tree that is followed.

use std::ops::Range;

use super::lexer::Lexer;
use crate::code::parser::{self, Kind, Lexer as _, Parsed};
use crate::code::tree::{Node, Statement};
use crate::origin::Origin;

pub(super) type Parser<'s> = parser::Parser<'s, Lexer<'s>>;

/// Reads a text.
pub(super) fn parse(text: &str, origin: Origin) -> Parsed {
    let mut parser = Parser::new(text, origin, Lexer::new(text));
    let statements = parser.statements(Block::Module);
    parser.has_errors |= parser.lexer.uneven;
    parser.finish(statements)
}

/// Where statements stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Module,
    Indented,
}

impl Parser<'_> {
    /// Whether nothing more belongs to the statement.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.token.kind, Kind::Newline | Kind::End | Kind::Dedent | Kind::Indent | Kind::Stop)
    }

    /// Statements, up to the end of their block.
    pub(super) fn statements(&mut self, block: Block) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            match self.token.kind {
                Kind::End | Kind::Stop => break,
                Kind::Dedent if block == Block::Indented => {
                    self.advance();
                    break;
                }
                Kind::Dedent | Kind::Newline => self.advance(),
                Kind::Indent => {
                    self.has_errors = true;
                    self.advance();
                }
                Kind::Name | Kind::Number | Kind::Text | Kind::Mark | Kind::Bad => {
                    let start = self.token.start;
                    self.statement(&mut statements);
                    self.recover(start);
                }
            }
        }
        statements
    }

    /// Reads a stretch of the text as expressions of their own.
    pub(super) fn expressions_inside(&mut self, range: Range<usize>, out: &mut Vec<Node>) {
        let lexer = self.lexer.inside(range);
        let outer = (std::mem::replace(&mut self.lexer, lexer), self.token, self.last_end);
        self.token = self.lexer.next();
        while self.token.kind != Kind::End {
            let start = self.token.start;
            out.push(self.expression_list());
            if self.token.kind != Kind::End {
                self.fail();
            }
            self.recover(start);
            self.lexer.brackets = 1;
        }
        (self.lexer, self.token, self.last_end) = outer;
    }
}
