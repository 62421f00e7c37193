//! Reads Python straight into the tree that is followed.
//!
//! By hand, because most of the time that a script takes is parsing it, and because nothing may be left out: behind
//! an error, reading goes on at the very token that was not expected, as if a new statement began there.

use banksman_core::Span;

use super::lexer::{Kind, Lexer, Token};
use crate::code::tree::{Expr, Node, Statement};
use crate::origin::Origin;

/// Syntax inside each other that is read; beyond this nothing is known.
const NESTING: u16 = 100;

/// What was read.
pub(super) struct Parsed {
    pub(super) statements: Vec<Statement>,
    pub(super) has_errors: bool,
    /// Where syntax was nested too deeply to be read.
    pub(super) too_deep: Option<Span>,
}

pub(super) struct Parser<'s> {
    pub(super) text: &'s str,
    origin: Origin,
    pub(super) lexer: Lexer<'s>,
    pub(super) token: Token,
    /// The end of the token before.
    pub(super) last_end: usize,
    nesting: u16,
    /// The token that was not expected. Until the next statement, no token is.
    failed: Option<Token>,
    has_errors: bool,
    too_deep: Option<Span>,
    /// Statements and calls that leave a loop, in the function that is read.
    pub(super) leavings: u32,
    pub(super) calls: u32,
}

/// Reads a text.
pub(super) fn parse(text: &str, origin: Origin) -> Parsed {
    let mut lexer = Lexer::new(text);
    let token = lexer.next();
    let mut parser = Parser {
        text,
        origin,
        lexer,
        token,
        last_end: 0,
        nesting: 0,
        failed: None,
        has_errors: false,
        too_deep: None,
        leavings: 0,
        calls: 0,
    };
    let statements = parser.statements(Block::Module);
    let has_errors = parser.has_errors || parser.lexer.uneven;
    Parsed { statements, has_errors, too_deep: parser.too_deep }
}

/// Where statements stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Module,
    Indented,
}

impl<'s> Parser<'s> {
    pub(super) fn slice(&self, start: usize, end: usize) -> &'s str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn word(&self) -> &'s str {
        self.slice(self.token.start, self.token.end)
    }

    /// Whether the token is this operator or bracket.
    pub(super) fn is(&self, mark: &str) -> bool {
        self.token.kind == Kind::Mark && self.word() == mark
    }

    pub(super) fn is_keyword(&self, word: &str) -> bool {
        self.token.kind == Kind::Name && self.word() == word
    }

    /// Whether nothing more belongs to the statement.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.token.kind, Kind::Newline | Kind::End | Kind::Dedent | Kind::Indent | Kind::Stop)
    }

    pub(super) fn advance(&mut self) {
        if self.token.kind != Kind::Stop {
            self.last_end = self.token.end;
            self.token = self.lexer.next();
        }
    }

    pub(super) fn accept(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn accept_keyword(&mut self, word: &str) -> bool {
        let found = self.is_keyword(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, mark: &str) {
        if !self.accept(mark) {
            self.fail();
        }
    }

    /// The token was not expected: whatever is being read ends here.
    pub(super) fn fail(&mut self) {
        if self.failed.is_none() {
            self.has_errors = true;
            self.failed = Some(self.token);
            self.token.kind = Kind::Stop;
        }
    }

    /// Goes on at the token that was not expected, or behind it, if what began with it cannot be read at all.
    pub(super) fn recover(&mut self, start: usize) {
        if let Some(token) = self.failed.take() {
            self.token = token;
            self.lexer.brackets = 0;
            if token.start == start {
                self.advance();
            }
        }
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        self.origin.span(start..self.last_end.max(start))
    }

    /// An expression that began here and ends at the last token.
    pub(super) fn node(&self, start: usize, expr: Expr) -> Node {
        Node { span: self.span_from(start), expr }
    }

    /// Reads something inside of something else, unless that is too deep.
    pub(super) fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if !self.fits(0) {
            return None;
        }
        self.nesting += 1;
        let result = work(self);
        self.nesting -= 1;
        Some(result)
    }

    /// Whether there may be so many more levels. If not, what is being read ends here.
    pub(super) fn fits(&mut self, more: u16) -> bool {
        let fits = self.nesting.saturating_add(more) < NESTING;
        if !fits {
            let span = self.origin.span(self.token.start..self.token.end);
            self.too_deep.get_or_insert(span);
            self.fail();
        }
        fits
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
    pub(super) fn expressions_inside(&mut self, range: std::ops::Range<usize>, out: &mut Vec<Node>) {
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
