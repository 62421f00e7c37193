//! Reads JavaScript's expressions.

use std::rc::Rc;

use super::parser::Parser;
use crate::code::parser::{Infix, Kind};
use crate::code::tree::{Argument, Call, Expr, Node, Operator, Target};

/// The name of the argument that a template is to the function before it.
pub(super) const TEMPLATE: &str = "`";

type Level = u8;
const LOOSEST: Level = 1;
const POWER: Level = 12;

impl Parser<'_> {
    /// Expressions with commas between them: all happen, the last one counts.
    pub(super) fn sequence(&mut self) -> Node {
        let start = self.token.start;
        let first = self.expression();
        self.sequence_from(start, first)
    }

    pub(super) fn sequence_from(&mut self, start: usize, first: Node) -> Node {
        if !self.is(",") {
            return first;
        }
        let mut parts = vec![first];
        while self.accept(",") {
            parts.push(self.expression());
        }
        self.node(start, Expr::Sequence(parts))
    }

    /// An expression without commas.
    pub(super) fn expression(&mut self) -> Node {
        let start = self.token.start;
        self.nested(Self::expression_here).unwrap_or_else(|| self.unread(start))
    }

    fn expression_here(&mut self) -> Node {
        let start = self.token.start;
        if self.is_keyword("yield") {
            return self.generated();
        }
        let left = self.unary();
        self.expression_from(start, left)
    }

    /// `yield`, `yield x`, `yield* x`.
    fn generated(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        self.accept("*");
        let is_over = self.lexer.broke
            || matches!(self.token.kind, Kind::End | Kind::Stop)
            || (self.token.kind == Kind::Mark && matches!(self.word(), ")" | "]" | "}" | "," | ";" | ":"));
        if is_over {
            return self.node(start, Expr::Nothing);
        }
        let value = self.expression();
        self.node(start, Expr::Yield(Box::new(value)))
    }

    /// The rest of an expression whose first operand was read.
    pub(super) fn expression_from(&mut self, start: usize, left: Node) -> Node {
        let first = self.operation(start, left, LOOSEST);
        if self.accept("?") {
            let consequence = self.expression();
            self.expect(":");
            let alternative = self.expression();
            let either = self.node(start, Expr::Either(vec![consequence, alternative]));
            return self.node(start, Expr::Sequence(vec![first, either]));
        }
        if self.token.kind != Kind::Mark {
            return first;
        }
        let operator = self.word();
        match operator {
            "=" => {
                self.advance();
                let value = self.expression();
                self.node(start, Expr::Assign(Box::new(target(first)), Box::new(value)))
            }
            "+=" | "-=" | "*=" | "/=" | "%=" | "**=" | "<<=" | ">>=" | ">>>=" | "&=" | "|=" | "^="
            | "&&=" | "||=" | "??=" => {
                self.advance();
                let added = self.expression();
                let old = again(&first);
                let value = match operator {
                    "+=" => Expr::Add(vec![old, added]),
                    "||=" | "&&=" | "??=" => Expr::Either(vec![old, added]),
                    _ => Expr::Opaque(vec![old, added]),
                };
                let value = self.node(start, value);
                self.node(start, Expr::Assign(Box::new(target(first)), Box::new(value)))
            }
            _ => first,
        }
    }

    /// Operators that bind at least so tightly, behind their first operand.
    fn operation(&mut self, start: usize, left: Node, least: Level) -> Node {
        let mut left = left;
        let mut height = 0;
        loop {
            if self.skip_assertion() {
                continue;
            }
            let Some((level, infix)) = self.infix().filter(|(level, _)| *level >= least) else { break };
            self.advance();
            let at = self.token.start;
            let next = self.unary();
            // `**` leans to the right, and each of them is a level deeper.
            let right = if level == POWER {
                self.nested(|parser| parser.operation(at, next, POWER)).unwrap_or_else(|| self.unread(at))
            } else {
                self.operation(at, next, level + 1)
            };
            left = match self.joined(infix, left, right, &mut height) {
                Ok(expr) => self.node(start, expr),
                Err(expr) => return self.node(start, expr),
            };
        }
        left
    }

    fn infix(&self) -> Option<(Level, Infix)> {
        let other = Infix::Opaque;
        Some(match (self.token.kind, self.word()) {
            (Kind::Mark, "??" | "||") => (1, Infix::Either),
            (Kind::Mark, "&&") => (2, Infix::Either),
            (Kind::Mark, "|") => (3, other),
            (Kind::Mark, "^") => (4, Infix::Binary(Operator::Xor)),
            (Kind::Mark, "&") => (5, other),
            (Kind::Mark, "==" | "!=" | "===" | "!==") => (6, other),
            (Kind::Mark, "<" | ">" | "<=" | ">=") | (Kind::Name, "in" | "instanceof") => (7, other),
            (Kind::Mark, "<<" | ">>" | ">>>") => (8, other),
            (Kind::Mark, "+") => (9, Infix::Binary(Operator::Add)),
            (Kind::Mark, "-") => (9, Infix::Binary(Operator::Subtract)),
            (Kind::Mark, "*") => (10, Infix::Binary(Operator::Multiply)),
            (Kind::Mark, "/" | "%") => (10, other),
            (Kind::Mark, "**") => (POWER, other),
            _ => return None,
        })
    }

    pub(super) fn unary(&mut self) -> Node {
        let start = self.token.start;
        match (self.token.kind, self.word()) {
            (Kind::Mark, "!" | "-" | "+" | "~" | "++" | "--")
            | (Kind::Name, "typeof" | "void" | "delete") => {
                let is_minus = self.is("-");
                self.advance();
                let inner = self.nested(Self::unary).unwrap_or_else(|| self.unread(start));
                let expr = match inner.expr {
                    Expr::Number(number) if is_minus => Expr::Number(number.saturating_neg()),
                    _ => Expr::Opaque(vec![inner]),
                };
                self.node(start, expr)
            }
            (Kind::Name, "await") if !self.next_is(&[")", ",", ";", ".", "=", "]", "=>"]) => {
                self.advance();
                self.leavings += 1;
                let inner = self.nested(Self::unary).unwrap_or_else(|| self.unread(start));
                self.node(start, inner.expr)
            }
            _ => {
                let value = self.primary();
                if !self.lexer.broke && (self.is("++") || self.is("--")) {
                    self.advance();
                    return self.node(start, Expr::Opaque(vec![value]));
                }
                value
            }
        }
    }

    /// An atom and what is done with it.
    pub(super) fn primary(&mut self) -> Node {
        let start = self.token.start;
        let atom = if self.is_keyword("new") { self.construction() } else { self.atom() };
        self.trailers(start, atom, Calls::Follow)
    }

    /// `new X(args)`, `new X`, `new a.b(args)`.
    fn construction(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        if self.accept(".") {
            self.identifier();
            return self.unread(start);
        }
        let at = self.token.start;
        let callee = self
            .nested(|parser| {
                let atom = if parser.is_keyword("new") { parser.construction() } else { parser.atom() };
                parser.trailers(at, atom, Calls::End)
            })
            .unwrap_or_else(|| self.unread(at));
        let args = if self.accept("(") { self.arguments() } else { Vec::new() };
        self.calls += 1;
        self.node(start, Expr::Call(Box::new(Call { function: callee, args })))
    }

    fn trailers(&mut self, start: usize, atom: Node, calls: Calls) -> Node {
        let mut node = atom;
        let mut height = 0;
        while self.token.kind == Kind::Mark {
            let mark = self.word();
            // TypeScript's `x!`: only the compiler is told something.
            if mark == "!" && !self.lexer.broke {
                self.advance();
                continue;
            }
            let is_call = mark == "(" || mark == "`";
            if !matches!(mark, "." | "?." | "[" | "(" | "`") || (calls == Calls::End && is_call) {
                break;
            }
            height += 1;
            if !self.fits(height) {
                break;
            }
            let expr = if mark == "`" {
                let text = self.template();
                let args = vec![Argument::Named(TEMPLATE.into(), text)];
                Expr::Call(Box::new(Call { function: node, args }))
            } else {
                self.advance();
                let is_optional = mark == "?.";
                if mark == "(" || (is_optional && self.accept("(")) {
                    self.calls += 1;
                    let args = self.arguments();
                    Expr::Call(Box::new(Call { function: node, args }))
                } else if mark == "[" || (is_optional && self.accept("[")) {
                    let key = self.sequence();
                    self.expect("]");
                    Expr::Index(Box::new(node), Box::new(key))
                } else {
                    Expr::Member(Box::new(node), self.identifier())
                }
            };
            node = self.node(start, expr);
        }
        node
    }

    /// Arguments behind the opening bracket, with the closing one.
    pub(super) fn arguments(&mut self) -> Vec<Argument> {
        let mut args = Vec::new();
        while !self.is(")") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
            args.push(if self.accept("...") {
                Argument::Spread(self.expression())
            } else {
                Argument::Plain(self.expression())
            });
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")");
        args
    }
}

/// Whether a bracket behind an expression calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Follow,
    /// They belong to the `new` before it.
    End,
}

/// What is read and assigned to at once, as far as it is nothing but names.
fn again(node: &Node) -> Node {
    let expr = match &node.expr {
        Expr::Name(name) => Expr::Name(Rc::clone(name)),
        Expr::Member(object, name) => Expr::Member(Box::new(again(object)), Rc::clone(name)),
        _ => Expr::Opaque(Vec::new()),
    };
    Node { span: node.span, expr }
}

/// An expression as what is assigned to.
pub(super) fn target(node: Node) -> Target {
    match node.expr {
        Expr::Name(name) => Target::Name(name),
        Expr::Member(object, name) => Target::Member(*object, name),
        Expr::Index(object, key) => Target::Index(*object, *key),
        Expr::List(items) => Target::List(items.into_iter().map(target).collect()),
        Expr::Map(entries) => Target::Map(
            entries
                .into_iter()
                .filter_map(|(key, value)| match key?.expr {
                    Expr::Text(name) => Some((name, target(value))),
                    _ => None,
                })
                .collect(),
        ),
        Expr::Spread(inner) => Target::Rest(Box::new(target(*inner))),
        Expr::Assign(inner, default) => Target::Default(inner, *default),
        _ => Target::Nowhere,
    }
}
