//! Reads JavaScript's functions, classes and objects, and the JSX that looks like none of them.

use std::rc::Rc;

use super::expressions::target;
use super::lexer::Stretch;
use super::parser::{Parser, plain};
use crate::code::parser::{Kind, Lexer as _};
use crate::code::tree::{Class, Expr, Function, Name, Node, Parameter, Statement, Takes, Target};

/// What stands before the colon or the brackets of a member.
pub(super) enum Key {
    Known(Name),
    Computed(Node),
}

impl Parser<'_> {
    /// `function name(parameters) { body }`, at its first word.
    pub(super) fn function(&mut self) -> Rc<Function> {
        self.named_function().1
    }

    pub(super) fn named_function(&mut self) -> (Name, Rc<Function>) {
        let start = self.token.start;
        self.advance();
        self.accept("*");
        let name = if self.token.kind == Kind::Name { self.identifier() } else { "".into() };
        (name, self.method(start))
    }

    /// The parameters and the body of a function.
    fn method(&mut self, start: usize) -> Rc<Function> {
        self.expect("(");
        let mut parameters = Vec::new();
        while !self.is(")") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
            let at = self.token.start;
            let node = if self.accept("...") {
                let inner = self.expression();
                self.node(at, Expr::Spread(Box::new(inner)))
            } else {
                self.expression()
            };
            parameters.push(parameter(node));
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")");
        let leavings = self.leavings;
        let body = self.block();
        self.leavings = leavings;
        Rc::new(Function { parameters, body, result: None, span: self.span_from(start) })
    }

    /// The rest of an arrow function whose parameters were read as expressions.
    pub(super) fn arrow(&mut self, start: usize, parameters: Vec<Node>) -> Node {
        self.advance();
        let leavings = self.leavings;
        let parameters = parameters.into_iter().map(parameter).collect();
        let (body, result) =
            if self.is("{") { (self.block(), None) } else { (Vec::new(), Some(self.expression())) };
        self.leavings = leavings;
        let function = Function { parameters, body, result, span: self.span_from(start) };
        self.node(start, Expr::Function(Rc::new(function)))
    }

    /// Goes behind `static`, `async`, `get`, `set` and `*`, where they are no names themselves.
    fn skip_modifiers(&mut self) {
        while self.token.kind == Kind::Name
            && matches!(self.word(), "static" | "async" | "get" | "set" | "accessor")
            && !self.next_is(&["(", "=", ";", "}", ",", ":"])
        {
            self.advance();
        }
        self.accept("*");
    }

    pub(super) fn key(&mut self) -> Key {
        match self.token.kind {
            Kind::Text => Key::Known(self.string()),
            Kind::Number | Kind::Name => {
                let key = plain(self.word());
                self.advance();
                Key::Known(key)
            }
            Kind::Mark if self.is("[") => {
                self.advance();
                let key = self.expression();
                self.expect("]");
                Key::Computed(key)
            }
            _ => {
                self.fail();
                Key::Known("".into())
            }
        }
    }

    /// `class Name extends Base { members }`, at its first word.
    pub(super) fn class(&mut self) -> Rc<Class> {
        self.advance();
        let is_named = self.token.kind == Kind::Name && !self.is_keyword("extends");
        let name = if is_named { self.identifier() } else { "".into() };
        let bases = if self.accept_keyword("extends") { vec![self.unary()] } else { Vec::new() };
        let mut body = Vec::new();
        self.expect("{");
        self.nested(|parser| {
            while !parser.is("}") && !matches!(parser.token.kind, Kind::End | Kind::Stop) {
                parser.class_member(&mut body);
            }
        });
        self.expect("}");
        Rc::new(Class { name, bases, body })
    }

    fn class_member(&mut self, out: &mut Vec<Statement>) {
        if self.accept(";") {
            return;
        }
        if self.accept("@") {
            let decorator = self.unary();
            out.push(Statement::Evaluate(decorator));
            return;
        }
        if self.is_keyword("static") && self.next_is(&["{"]) {
            self.advance();
            let block = self.block();
            out.extend(block);
            return;
        }
        self.skip_modifiers();
        let start = self.token.start;
        let name = match self.key() {
            Key::Known(name) => name,
            Key::Computed(node) => {
                let name = match &node.expr {
                    Expr::Text(name) => Rc::clone(name),
                    _ => self.slice(start, self.last_end).into(),
                };
                out.push(Statement::Evaluate(node));
                name
            }
        };
        if self.is("(") {
            let function = self.method(start);
            out.push(Statement::Define { name, function, decorators: Vec::new() });
            return;
        }
        if self.accept("=") {
            let value = self.expression();
            out.push(Statement::Assign { target: Target::Name(name), value, declares: true });
        }
        if !self.accept(";") && !self.is("}") && !self.lexer.broke {
            self.fail();
        }
    }

    pub(super) fn object(&mut self) -> Expr {
        self.advance();
        let mut entries = Vec::new();
        while !self.is("}") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
            if self.accept("...") {
                entries.push((None, self.expression()));
            } else {
                entries.push(self.entry());
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}");
        Expr::Map(entries)
    }

    fn entry(&mut self) -> (Option<Node>, Node) {
        self.skip_modifiers();
        let start = self.token.start;
        let is_name = self.token.kind == Kind::Name;
        let (key, name) = match self.key() {
            Key::Known(name) => (self.node(start, Expr::Text(Rc::clone(&name))), Some(name)),
            Key::Computed(node) => (node, None),
        };
        if self.is("(") {
            let function = self.method(start);
            return (Some(key), self.node(start, Expr::Function(function)));
        }
        if self.accept(":") {
            return (Some(key), self.expression());
        }
        let Some(name) = name.filter(|_| is_name) else {
            self.fail();
            return (Some(key), self.unread(start));
        };
        // `{name}`, and in patterns `{name = default}`.
        let value = self.node(start, Expr::Name(name));
        if !self.accept("=") {
            return (Some(key), value);
        }
        let default = self.expression();
        (Some(key), self.node(start, Expr::Assign(Box::new(target(value)), Box::new(default))))
    }

    /// `<tag a={x}>text {y}</tag>`: what is in braces happens.
    pub(super) fn jsx(&mut self) -> Expr {
        let mut parts = Vec::new();
        let mut open = 0_usize;
        loop {
            // At a `<`, or behind one that the text ended with.
            if !self.jsx_tag(&mut open, &mut parts) || open == 0 {
                break;
            }
            loop {
                match self.lexer.jsx_text() {
                    Stretch::Closed => {
                        self.token.start = self.lexer.at - 1;
                        self.token.end = self.lexer.at;
                        break;
                    }
                    Stretch::Code => {
                        self.token = self.lexer.next();
                        if !self.is("}") {
                            parts.push(self.spread_in_jsx());
                        }
                        if !self.is("}") {
                            self.fail();
                            return Expr::Opaque(parts);
                        }
                    }
                    Stretch::Never => {
                        self.fail();
                        return Expr::Opaque(parts);
                    }
                }
            }
        }
        if self.is(">") {
            self.advance();
        } else {
            self.fail();
        }
        Expr::Opaque(parts)
    }

    /// A tag from its `<` up to its `>`, which stays the token. `false`: there is none.
    fn jsx_tag(&mut self, open: &mut usize, parts: &mut Vec<Node>) -> bool {
        self.token = self.lexer.next();
        let is_closing = self.accept("/");
        while self.token.kind == Kind::Name || self.is(".") || self.is(":") || self.is("-") {
            self.advance();
            if self.accept("=") {
                if self.token.kind == Kind::Text {
                    self.advance();
                } else if self.accept("{") {
                    parts.push(self.sequence());
                    self.expect("}");
                } else {
                    self.fail();
                }
            } else if self.accept("{") {
                parts.push(self.spread_in_jsx());
                self.expect("}");
            }
        }
        let is_single = self.accept("/");
        match (is_closing, is_single) {
            (true, _) => *open = open.saturating_sub(1),
            (false, false) => *open += 1,
            (false, true) => {}
        }
        self.is(">")
    }

    fn spread_in_jsx(&mut self) -> Node {
        self.accept("...");
        self.sequence()
    }
}

fn parameter(node: Node) -> Parameter {
    match node.expr {
        Expr::Assign(inner, default) => {
            Parameter { target: *inner, default: Some(*default), takes: Takes::One }
        }
        Expr::Spread(inner) => Parameter { target: target(*inner), default: None, takes: Takes::RestOfList },
        expr => {
            let target = target(Node { span: node.span, expr });
            Parameter { target, default: None, takes: Takes::One }
        }
    }
}
