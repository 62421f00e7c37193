//! Reads JavaScript's expressions.

use std::rc::Rc;

use super::lexer::Stretch;
use super::parser::{Parser, plain};
use crate::code::decode::unescape;
use crate::code::literal::integer;
use crate::code::parser::{Kind, Lexer as _};
use crate::code::tree::{Argument, Call, Expr, Node, Operator, Target};

/// The name of the argument that a template is to the function before it.
pub(super) const TEMPLATE: &str = "`";

type Level = u8;
const LOOSEST: Level = 1;
const POWER: Level = 12;

/// What a name may not be.
pub(super) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "break"
            | "case"
            | "catch"
            | "const"
            | "continue"
            | "debugger"
            | "default"
            | "do"
            | "else"
            | "export"
            | "extends"
            | "finally"
            | "for"
            | "if"
            | "in"
            | "instanceof"
            | "return"
            | "switch"
            | "throw"
            | "try"
            | "var"
            | "while"
            | "with"
    )
}

enum Infix {
    Either,
    Binary(Operator),
}

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
        while let Some((level, infix)) = self.infix() {
            if level < least {
                break;
            }
            self.advance();
            let at = self.token.start;
            let next = self.unary();
            // `**` leans to the right, and each of them is a level deeper.
            let right = if level == POWER {
                self.nested(|parser| parser.operation(at, next, POWER)).unwrap_or_else(|| self.unread(at))
            } else {
                self.operation(at, next, level + 1)
            };
            // Chains lean to the left and may be long: as one list they are not deep.
            let expr = match (infix, left.expr) {
                (Infix::Either, Expr::Either(mut parts)) => {
                    parts.push(right);
                    Expr::Either(parts)
                }
                (Infix::Binary(Operator::Add), Expr::Add(mut parts)) => {
                    parts.push(right);
                    Expr::Add(parts)
                }
                (Infix::Binary(Operator::Other), Expr::Opaque(mut parts)) if !parts.is_empty() => {
                    parts.push(right);
                    Expr::Opaque(parts)
                }
                (infix, expr) => {
                    let left = Node { span: left.span, expr };
                    height += 1;
                    if !self.fits(height) {
                        return self.node(start, Expr::Opaque(vec![left, right]));
                    }
                    match infix {
                        Infix::Either => Expr::Either(vec![left, right]),
                        Infix::Binary(Operator::Add) => Expr::Add(vec![left, right]),
                        Infix::Binary(Operator::Other) => Expr::Opaque(vec![left, right]),
                        Infix::Binary(operator) => Expr::Binary(operator, Box::new(left), Box::new(right)),
                    }
                }
            };
            left = self.node(start, expr);
        }
        left
    }

    fn infix(&self) -> Option<(Level, Infix)> {
        let other = Infix::Binary(Operator::Other);
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
                self.advance();
                let inner = self.nested(Self::unary).unwrap_or_else(|| self.unread(start));
                self.node(start, Expr::Opaque(vec![inner]))
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
    fn primary(&mut self) -> Node {
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

    fn atom(&mut self) -> Node {
        let start = self.token.start;
        let expr = match self.token.kind {
            Kind::Name => return self.word_atom(),
            Kind::Number => {
                let number = integer(self.word());
                self.advance();
                number.map_or_else(|| Expr::Opaque(Vec::new()), Expr::Number)
            }
            Kind::Text => Expr::Text(self.string()),
            Kind::Mark => match self.word() {
                "(" => return self.parenthesised(),
                "[" => Expr::List(self.list()),
                "{" => self.object(),
                "`" => return self.template(),
                "/" | "/=" => {
                    if !self.lexer.regex(start) {
                        self.fail();
                        return self.unread(start);
                    }
                    self.token.end = self.lexer.at;
                    self.advance();
                    Expr::Opaque(Vec::new())
                }
                "<" => self.jsx(),
                "@" => {
                    // What decorates a class happens; the class is what counts.
                    self.advance();
                    let decorator = self.primary();
                    let decorated = self.primary();
                    Expr::Sequence(vec![decorator, decorated])
                }
                _ => {
                    self.fail();
                    Expr::Opaque(Vec::new())
                }
            },
            Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End | Kind::Bad | Kind::Stop => {
                self.fail();
                Expr::Opaque(Vec::new())
            }
        };
        self.node(start, expr)
    }

    fn word_atom(&mut self) -> Node {
        let start = self.token.start;
        let word = self.word();
        let expr = match word {
            "function" => Expr::Function(self.function()),
            "class" => Expr::Class(self.class()),
            "async" if self.next_is_word() => {
                self.advance();
                if self.is_keyword("function") {
                    Expr::Function(self.function())
                } else {
                    return self.word_atom();
                }
            }
            "true" | "false" | "null" | "undefined" => {
                self.advance();
                match word {
                    "true" => Expr::Flag(true),
                    "false" => Expr::Flag(false),
                    _ => Expr::Nothing,
                }
            }
            _ if is_reserved(word) => {
                self.fail();
                Expr::Opaque(Vec::new())
            }
            _ => {
                let name = plain(word);
                self.advance();
                let name = self.node(start, Expr::Name(name));
                if self.is_arrow() {
                    return self.arrow(start, vec![name]);
                }
                if word == "async" && self.is("(") && !self.lexer.broke {
                    return self.async_call(start, name);
                }
                return name;
            }
        };
        self.node(start, expr)
    }

    /// `async (x) => ...` looks like a call until its arrow.
    fn async_call(&mut self, start: usize, function: Node) -> Node {
        self.advance();
        let args = self.arguments();
        if !self.is_arrow() {
            return self.node(start, Expr::Call(Box::new(Call { function, args })));
        }
        let parameters = args.into_iter().map(|argument| match argument {
            Argument::Spread(node) => Node { span: node.span, expr: Expr::Spread(Box::new(node)) },
            Argument::Plain(node) | Argument::Named(_, node) | Argument::SpreadMap(node) => node,
        });
        let parameters = parameters.collect();
        self.arrow(start, parameters)
    }

    pub(super) fn is_arrow(&self) -> bool {
        self.is("=>") && !self.lexer.broke
    }

    /// `(x)`, `(x, y)`, and the parameters of an arrow function, which look the same until the arrow.
    fn parenthesised(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        let mut parts = Vec::new();
        while !self.is(")") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
            parts.push(self.spread_or_expression());
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")");
        if self.is_arrow() {
            return self.arrow(start, parts);
        }
        let expr = match parts.pop() {
            None => {
                self.fail();
                Expr::Nothing
            }
            Some(only) if parts.is_empty() => only.expr,
            Some(last) => {
                parts.push(last);
                Expr::Sequence(parts)
            }
        };
        self.node(start, expr)
    }

    fn spread_or_expression(&mut self) -> Node {
        let start = self.token.start;
        if self.accept("...") {
            let inner = self.expression();
            return self.node(start, Expr::Spread(Box::new(inner)));
        }
        self.expression()
    }

    fn list(&mut self) -> Vec<Node> {
        self.advance();
        let mut items = Vec::new();
        while !self.is("]") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
            if self.is(",") {
                // `[, x]`: nothing stands first.
                items.push(self.node(self.token.start, Expr::Nothing));
            } else {
                items.push(self.spread_or_expression());
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("]");
        items
    }

    pub(super) fn string(&mut self) -> Rc<str> {
        let word = self.word();
        let text = word.get(1..word.len().saturating_sub(1)).unwrap_or_default();
        let text = if text.contains('\\') { unescape(text).into() } else { text.into() };
        self.advance();
        text
    }

    /// A template: its texts and what is put between them.
    fn template(&mut self) -> Node {
        let start = self.token.start;
        let mut parts = Vec::new();
        loop {
            let from = self.lexer.at;
            let (end, stretch) = self.lexer.template();
            if from < end {
                let text = unescape(self.slice(from, end));
                parts.push(self.node(start, Expr::Text(text.into())));
            }
            match stretch {
                Stretch::Closed => {
                    self.token.end = self.lexer.at;
                    self.advance();
                    break;
                }
                Stretch::Code => {
                    self.token = self.lexer.next();
                    parts.push(self.sequence());
                    if !self.is("}") {
                        self.fail();
                        break;
                    }
                }
                Stretch::Never => {
                    self.fail();
                    break;
                }
            }
        }
        self.node(start, Expr::Join(parts))
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
