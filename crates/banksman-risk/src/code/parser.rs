//! What parsers have in common: one token of foresight, a depth that cannot be exceeded, and going on behind errors.
//!
//! Parsers are written by hand, because most of the time that a script takes is parsing it, and because nothing may
//! be left out: behind an error, reading goes on at the very token that was not expected, as if a new statement began
//! there.

use banksman_core::Span;

use super::tree::{Expr, Node, Operator, Statement};
use crate::inspection::Inspection;
use crate::origin::Origin;

/// Syntax inside each other that is read; beyond this nothing is known.
const NESTING: u16 = 100;

/// Errors behind which reading goes on; what has more of them is no code.
const ERRORS: u32 = 400;

/// What a token is. Keywords are names, operators and brackets are marks: their text tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    Number,
    Text,
    Mark,
    Newline,
    Indent,
    Dedent,
    End,
    /// Nothing that the language knows, or a text that does not end.
    Bad,
    /// Where parsing stopped because of an error; no text has it.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What an operator makes of its operands.
pub(crate) enum Infix {
    /// One of them.
    Either,
    /// Something of which nothing is known.
    Opaque,
    Binary(Operator),
}

/// Takes a text apart, one token after the other.
pub(crate) trait Lexer {
    fn next(&mut self) -> Token;

    /// Behind an error, no bracket counts as open.
    fn forget_brackets(&mut self) {}
}

/// What was read.
pub(crate) struct Parsed {
    pub(crate) statements: Vec<Statement>,
    pub(crate) has_errors: bool,
    /// Where syntax was nested too deeply to be read.
    pub(crate) too_deep: Option<Span>,
    /// Where there were so many errors that the rest was not read.
    pub(crate) given_up: Option<Span>,
}

impl Parsed {
    /// Notes what was not read. The statements that were.
    pub(crate) fn state(self, inspection: &mut Inspection<'_>) -> Vec<Statement> {
        for (name, span) in [("too_deep", self.too_deep), ("too_much_work", self.given_up)] {
            if let Some(span) = span {
                inspection.signal(name, span);
            }
        }
        self.statements
    }
}

pub(crate) struct Parser<'s, L> {
    pub(crate) text: &'s str,
    origin: Origin,
    pub(crate) lexer: L,
    pub(crate) token: Token,
    /// The end of the token before.
    pub(crate) last_end: usize,
    nesting: u16,
    /// The token that was not expected. Until the next statement, no token is.
    failed: Option<Token>,
    pub(crate) has_errors: bool,
    errors: u32,
    too_deep: Option<Span>,
    given_up: Option<Span>,
    /// Statements and calls that leave a loop, in the function that is read.
    pub(crate) leavings: u32,
    /// Calls that were read.
    pub(crate) calls: u32,
}

impl<'s, L: Lexer> Parser<'s, L> {
    pub(crate) fn new(text: &'s str, origin: Origin, mut lexer: L) -> Self {
        let token = lexer.next();
        Self {
            text,
            origin,
            lexer,
            token,
            last_end: 0,
            nesting: 0,
            failed: None,
            has_errors: false,
            errors: 0,
            too_deep: None,
            given_up: None,
            leavings: 0,
            calls: 0,
        }
    }

    pub(crate) fn finish(self, statements: Vec<Statement>) -> Parsed {
        Parsed { statements, has_errors: self.has_errors, too_deep: self.too_deep, given_up: self.given_up }
    }

    pub(crate) fn slice(&self, start: usize, end: usize) -> &'s str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(crate) fn word(&self) -> &'s str {
        self.slice(self.token.start, self.token.end)
    }

    /// Whether the token is this operator or bracket.
    pub(crate) fn is(&self, mark: &str) -> bool {
        self.token.kind == Kind::Mark && self.word() == mark
    }

    pub(crate) fn is_keyword(&self, word: &str) -> bool {
        self.token.kind == Kind::Name && self.word() == word
    }

    pub(crate) fn advance(&mut self) {
        if self.token.kind != Kind::Stop {
            self.last_end = self.token.end;
            self.token = self.lexer.next();
            if self.given_up.is_some() {
                self.token.kind = Kind::End;
            }
        }
    }

    pub(crate) fn accept(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn accept_keyword(&mut self, word: &str) -> bool {
        let found = self.is_keyword(word);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn expect(&mut self, mark: &str) {
        if !self.accept(mark) {
            self.fail();
        }
    }

    /// The token was not expected: whatever is being read ends here.
    pub(crate) fn fail(&mut self) {
        if self.failed.is_none() {
            self.has_errors = true;
            self.errors += 1;
            self.failed = Some(self.token);
            self.token.kind = Kind::Stop;
        }
    }

    /// Goes on at the token that was not expected, or behind it, if what began with it cannot be read at all.
    pub(crate) fn recover(&mut self, start: usize) {
        if let Some(token) = self.failed.take() {
            self.token = token;
            self.lexer.forget_brackets();
            if self.errors > ERRORS {
                self.given_up.get_or_insert(self.origin.span(token.start..self.text.len()));
                self.token.kind = Kind::End;
            } else if token.start == start {
                self.advance();
            }
        }
    }

    pub(crate) fn span_from(&self, start: usize) -> Span {
        self.origin.span(start..self.last_end.max(start))
    }

    /// An expression that began here and ends at the last token.
    pub(crate) fn node(&self, start: usize, expr: Expr) -> Node {
        Node { span: self.span_from(start), expr }
    }

    /// Something of which nothing is known but where it stands.
    pub(crate) fn unread(&self, start: usize) -> Node {
        self.node(start, Expr::Opaque(Vec::new()))
    }

    /// Reads something inside of something else, unless that is too deep.
    pub(crate) fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if !self.fits(0) {
            return None;
        }
        self.nesting += 1;
        let result = work(self);
        self.nesting -= 1;
        Some(result)
    }

    /// Whether there may be so many more levels. If not, what is being read ends here.
    pub(crate) fn fits(&mut self, more: u16) -> bool {
        let fits = self.nesting.saturating_add(more) < NESTING;
        if !fits {
            let span = self.origin.span(self.token.start..self.token.end);
            self.too_deep.get_or_insert(span);
            self.fail();
        }
        fits
    }

    /// Two operands as one. Chains lean to the left and may be long: those that can be are one list, which is not deep.
    /// An error: they are too many; what was read of them still happens.
    pub(crate) fn joined(
        &mut self,
        infix: Infix,
        left: Node,
        right: Node,
        height: &mut u16,
    ) -> Result<Expr, Expr> {
        Ok(match (infix, left.expr) {
            (Infix::Either, Expr::Either(mut parts)) => {
                parts.push(right);
                Expr::Either(parts)
            }
            (Infix::Binary(Operator::Add), Expr::Add(mut parts)) => {
                parts.push(right);
                Expr::Add(parts)
            }
            (Infix::Opaque, Expr::Opaque(mut parts)) if !parts.is_empty() => {
                parts.push(right);
                Expr::Opaque(parts)
            }
            (infix, expr) => {
                let left = Node { span: left.span, expr };
                *height += 1;
                if !self.fits(*height) {
                    return Err(Expr::Opaque(vec![left, right]));
                }
                match infix {
                    Infix::Either => Expr::Either(vec![left, right]),
                    Infix::Opaque => Expr::Opaque(vec![left, right]),
                    Infix::Binary(Operator::Add) => Expr::Add(vec![left, right]),
                    Infix::Binary(operator) => Expr::Binary(operator, Box::new(left), Box::new(right)),
                }
            }
        })
    }
}
