//! Reads what gives names in Python: imports, functions, classes.

use std::rc::Rc;

use super::parser::Parser;
use crate::code::parser::Kind;
use crate::code::tree::{Argument, Class, Function, Name, Node, Parameter, Statement, Takes, Target};

impl Parser<'_> {
    fn dotted_name(&mut self) -> (usize, usize) {
        let start = self.token.start;
        while self.accept(".") || self.accept("...") {}
        if self.token.kind == Kind::Name && !self.is_keyword("import") {
            self.advance();
            while self.accept(".") {
                self.identifier();
            }
        }
        (start, self.last_end)
    }

    /// `import a.b`, `import a.b as c`.
    pub(super) fn import(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let mut names: Vec<(Name, Name)> = Vec::new();
        loop {
            if self.token.kind != Kind::Name {
                self.fail();
                break;
            }
            let (start, end) = self.dotted_name();
            let full = self.slice(start, end);
            names.push(if self.accept_keyword("as") {
                (self.identifier().into(), full.into())
            } else {
                // `import os.path` makes `os` known.
                let first = full.split('.').next().unwrap_or(full);
                (first.into(), first.into())
            });
            if !self.accept(",") {
                break;
            }
        }
        out.push(Statement::Import(names));
    }

    pub(super) fn import_from(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let (start, end) = self.dotted_name();
        let module = self.slice(start, end);
        if !self.accept_keyword("import") {
            return self.fail();
        }
        if self.accept("*") {
            out.push(Statement::ImportAll(module.into()));
            return;
        }
        let in_brackets = self.accept("(");
        let mut names: Vec<(Name, Name)> = Vec::new();
        while self.token.kind == Kind::Name {
            let inner = self.identifier();
            let local = if self.accept_keyword("as") { self.identifier() } else { inner };
            names.push((local.into(), format!("{module}.{inner}").into()));
            if !self.accept(",") {
                break;
            }
        }
        if names.is_empty() {
            self.fail();
        }
        if in_brackets {
            self.expect(")");
        }
        out.push(Statement::Import(names));
    }

    pub(super) fn decorated(&mut self, out: &mut Vec<Statement>) {
        let mut decorators = Vec::new();
        while self.accept("@") {
            decorators.push(self.expression_list());
            if self.token.kind != Kind::Newline {
                break;
            }
            self.advance();
        }
        self.accept_keyword("async");
        if self.is_keyword("def") {
            return self.definition(decorators, out);
        }
        out.extend(decorators.into_iter().map(Statement::Evaluate));
        if self.is_keyword("class") { self.class(out) } else { self.fail() }
    }

    pub(super) fn definition(&mut self, mut decorators: Vec<Node>, out: &mut Vec<Statement>) {
        let start = self.token.start;
        self.advance();
        let name = self.identifier();
        self.skip_type_parameters();
        self.expect("(");
        let (parameters, annotations) = self.parameters(")");
        self.expect(")");
        let mut happens = Vec::new();
        if self.accept("->") {
            self.annotation(&mut happens);
        }
        let annotations = annotations.into_iter().chain(happens);
        decorators.extend(annotations.filter_map(|statement| match statement {
            Statement::Evaluate(node) => Some(node),
            _ => None,
        }));
        let leavings = self.leavings;
        let body = self.block();
        self.leavings = leavings;
        let function = Function { parameters, body, result: None, span: self.span_from(start) };
        out.push(Statement::Define { name: name.into(), function: Rc::new(function), decorators });
    }

    /// `[T, U: int]` behind the name of a function or class.
    fn skip_type_parameters(&mut self) {
        if self.accept("[") {
            while !self.is("]") && !self.is_over() && self.token.kind != Kind::Bad {
                self.advance();
            }
            self.expect("]");
        }
    }

    /// The parameters of a function or lambda up to its closing mark, and the types that do something.
    pub(super) fn parameters(&mut self, closing: &str) -> (Vec<Parameter>, Vec<Statement>) {
        let mut parameters = Vec::new();
        let mut annotations = Vec::new();
        while !self.is(closing) && !self.is_over() {
            let takes = if self.accept("**") {
                Takes::RestOfNamed
            } else if self.accept("*") {
                Takes::RestOfList
            } else {
                Takes::One
            };
            if self.token.kind == Kind::Name {
                let target = Target::Name(self.identifier().into());
                if closing == ")" && self.accept(":") {
                    self.accept("*");
                    self.annotation(&mut annotations);
                }
                let default = self.accept("=").then(|| self.expression());
                parameters.push(Parameter { target, default, takes });
            } else if takes == Takes::One && self.is("(") {
                // Python 2: `def f((a, b))`.
                let target = self.target_list();
                parameters.push(Parameter { target, default: None, takes });
            } else if takes == Takes::One && !self.accept("/") {
                self.fail();
            }
            if !self.accept(",") {
                break;
            }
        }
        (parameters, annotations)
    }

    pub(super) fn class(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let name = self.identifier();
        self.skip_type_parameters();
        let open = self.token.start;
        let arguments = if self.accept("(") { self.arguments(open) } else { Vec::new() };
        let mut bases = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Plain(node) | Argument::Spread(node) => bases.push(node),
                Argument::Named(_, node) | Argument::SpreadMap(node) => out.push(Statement::Evaluate(node)),
            }
        }
        let body = self.block();
        out.push(Statement::Class(Rc::new(Class { name: name.into(), bases, body })));
    }
}
