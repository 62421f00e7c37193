//! Reads JavaScript's statements.

use std::rc::Rc;

use super::expressions::target;
use super::parser::Parser;
use crate::code::parser::Kind;
use crate::code::tree::{Expr, Loop, Name, Node, Statement, Target};

impl Parser<'_> {
    pub(super) fn statement(&mut self, out: &mut Vec<Statement>) {
        if self.nested(|parser| parser.statement_here(out)).is_none() {
            self.fail();
        }
    }

    fn statement_here(&mut self, out: &mut Vec<Statement>) {
        if self.token.kind == Kind::Mark {
            match self.word() {
                "{" => {
                    let body = self.block();
                    out.push(Statement::Block(body));
                    return;
                }
                ";" => return self.advance(),
                _ => {}
            }
        }
        if self.token.kind != Kind::Name {
            return self.expression_statement(out);
        }
        match self.word() {
            "var" | "const" => self.declaration(out),
            "let" | "using" if self.starts_declaration() => self.declaration(out),
            "function" => self.definition(out),
            "async" if self.next_is_word() && self.is_async_function() => {
                self.advance();
                self.definition(out);
            }
            "class" => {
                let class = self.class();
                out.push(Statement::Class(class));
            }
            "if" => self.choice(out),
            "for" => self.repetition(out),
            "while" => {
                self.advance();
                let test = self.condition();
                self.conditional_loop(Some(test), None, out);
            }
            "do" => self.do_while(out),
            "try" => self.attempt(out),
            "switch" => self.switch(out),
            "with" => {
                self.advance();
                let object = self.condition();
                let body = self.body();
                out.push(Statement::Within(object, body));
            }
            "return" => {
                self.advance();
                self.leavings += 1;
                let value = (!self.is_over()).then(|| self.sequence());
                out.push(Statement::Return(value));
                self.end();
            }
            "throw" => {
                self.advance();
                self.leavings += 1;
                let value = self.sequence();
                out.push(Statement::Evaluate(value));
                self.end();
            }
            "break" | "continue" | "debugger" => {
                self.leavings += u32::from(self.word() == "break");
                self.advance();
                if self.token.kind == Kind::Name && !self.lexer.broke {
                    self.advance();
                }
                self.end();
            }
            "import" if !self.next_is(&["(", "."]) => self.import(out),
            "export" => self.export(out),
            _ if self.next_is(&[":"]) => {
                // A label.
                self.advance();
                self.advance();
                self.statement(out);
            }
            _ => self.expression_statement(out),
        }
    }

    /// Whether a statement ends before this token.
    fn is_over(&self) -> bool {
        self.lexer.broke || matches!(self.token.kind, Kind::End | Kind::Stop) || self.is(";") || self.is("}")
    }

    fn end(&mut self) {
        if !self.accept(";") && !self.is_over() {
            self.fail();
        }
    }

    fn expression_statement(&mut self, out: &mut Vec<Statement>) {
        let value = self.sequence();
        out.push(Statement::Evaluate(value));
        self.end();
    }

    /// `let x`, `let [x]`, `let {x}`; otherwise it is a name.
    fn starts_declaration(&self) -> bool {
        self.next_is_word() || (self.is_keyword("let") && self.next_is(&["[", "{"]))
    }

    fn is_async_function(&self) -> bool {
        let mut rest = self.lexer;
        let next = crate::code::parser::Lexer::next(&mut rest);
        self.slice(next.start, next.end) == "function"
    }

    fn definition(&mut self, out: &mut Vec<Statement>) {
        let (name, function) = self.named_function();
        out.push(Statement::Define { name, function, decorators: Vec::new() });
    }

    fn declaration(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        self.declarators(out);
        self.end();
    }

    fn declarators(&mut self, out: &mut Vec<Statement>) {
        loop {
            let start = self.token.start;
            let pattern = self.pattern();
            let value = if self.accept("=") { self.expression() } else { self.node(start, Expr::Nothing) };
            out.push(Statement::Assign { target: pattern, value, declares: true });
            if !self.accept(",") {
                break;
            }
        }
    }

    /// A name or what a value is taken apart by.
    fn pattern(&mut self) -> Target {
        let pattern = self.unary();
        target(pattern)
    }

    /// `(test)`.
    fn condition(&mut self) -> Node {
        self.expect("(");
        let test = self.sequence();
        self.expect(")");
        test
    }

    /// One statement or a block.
    fn body(&mut self) -> Vec<Statement> {
        if self.is("{") {
            return self.block();
        }
        let mut body = Vec::new();
        if self.token.kind == Kind::End {
            self.fail()
        } else {
            self.statement(&mut body)
        }
        body
    }

    fn choice(&mut self, out: &mut Vec<Statement>) {
        let mut branches = Vec::new();
        // `else if` leans to the right, and may be long.
        while self.accept_keyword("if") {
            let test = self.condition();
            out.push(Statement::Evaluate(test));
            branches.push(self.body());
            if !self.accept_keyword("else") {
                break;
            }
            if !self.is_keyword("if") {
                branches.push(self.body());
                break;
            }
        }
        out.push(Statement::Branches(branches));
    }

    fn repetition(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        self.accept_keyword("await");
        self.expect("(");
        if self.is(";") {
            return self.counted(out);
        }
        let is_declared = match self.word() {
            "var" | "const" => true,
            "let" | "using" => self.starts_declaration(),
            _ => false,
        };
        if is_declared {
            self.advance();
            let start = self.token.start;
            let pattern = self.pattern();
            if self.is_keyword("of") || self.is_keyword("in") {
                return self.each(pattern, out);
            }
            let value = if self.accept("=") { self.expression() } else { self.node(start, Expr::Nothing) };
            out.push(Statement::Assign { target: pattern, value, declares: true });
            if self.accept(",") {
                self.declarators(out);
            }
        } else {
            let start = self.token.start;
            let first = self.unary();
            if self.is_keyword("of") || self.is_keyword("in") {
                return self.each(target(first), out);
            }
            let first = self.expression_from(start, first);
            let first = self.sequence_from(start, first);
            out.push(Statement::Evaluate(first));
        }
        self.counted(out);
    }

    /// `for (x of list) body`, behind the `x`.
    fn each(&mut self, target: Target, out: &mut Vec<Statement>) {
        self.advance();
        let source = self.sequence();
        self.expect(")");
        let body = self.body();
        let each = Some((target, source));
        out.push(Statement::Loop(Box::new(Loop { each, test: None, endless: false, body })));
    }

    /// `for (start; test; step) body`, behind the start.
    fn counted(&mut self, out: &mut Vec<Statement>) {
        self.expect(";");
        let test = (!self.is(";")).then(|| self.sequence());
        self.expect(";");
        let step = (!self.is(")")).then(|| self.sequence());
        self.expect(")");
        self.conditional_loop(test, step, out);
    }

    fn conditional_loop(&mut self, test: Option<Node>, step: Option<Node>, out: &mut Vec<Statement>) {
        let leavings = self.leavings;
        let mut body = self.body();
        body.extend(step.map(Statement::Evaluate));
        let endless = test.as_ref().is_none_or(is_always) && self.leavings == leavings;
        out.push(Statement::Loop(Box::new(Loop { each: None, test, endless, body })));
    }

    fn do_while(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let leavings = self.leavings;
        let body = self.body();
        if !self.accept_keyword("while") {
            self.fail();
        }
        let test = self.condition();
        self.accept(";");
        let endless = is_always(&test) && self.leavings == leavings;
        out.push(Statement::Loop(Box::new(Loop { each: None, test: Some(test), endless, body })));
    }

    fn attempt(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let body = self.block();
        out.push(Statement::Block(body));
        if self.accept_keyword("catch") {
            if self.accept("(") {
                self.pattern();
                self.expect(")");
            }
            let body = self.block();
            out.push(Statement::Branches(vec![body]));
        }
        if self.accept_keyword("finally") {
            let body = self.block();
            out.push(Statement::Branches(vec![body]));
        }
    }

    fn switch(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let value = self.condition();
        out.push(Statement::Evaluate(value));
        self.expect("{");
        let mut branches = Vec::new();
        while self.is_keyword("case") || self.is_keyword("default") {
            let mut branch = Vec::new();
            if self.accept_keyword("case") {
                let value = self.sequence();
                branch.push(Statement::Evaluate(value));
            } else {
                self.advance();
            }
            self.expect(":");
            while !self.is("}")
                && !self.is_keyword("case")
                && !self.is_keyword("default")
                && !matches!(self.token.kind, Kind::End | Kind::Stop)
            {
                self.statement_or_recover(&mut branch);
            }
            branches.push(branch);
        }
        self.expect("}");
        out.push(Statement::Branches(branches));
    }

    /// `import a, {b as c} from 'm'`, `import * as d from 'm'`, `import 'm'`.
    fn import(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        // The local name, and what it is called in the module; the module itself has no other name.
        let mut names: Vec<(Name, Option<Name>)> = Vec::new();
        while self.token.kind != Kind::Text && !matches!(self.token.kind, Kind::End | Kind::Stop) {
            if self.accept("*") {
                if !self.accept_keyword("as") {
                    self.fail();
                }
                names.push((self.identifier(), None));
            } else if self.accept("{") {
                while !self.is("}") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
                    let inner = if self.token.kind == Kind::Text { self.string() } else { self.identifier() };
                    let local = if self.accept_keyword("as") { self.identifier() } else { Rc::clone(&inner) };
                    names.push((local, Some(inner)));
                    if !self.accept(",") {
                        break;
                    }
                }
                self.expect("}");
            } else if !self.accept(",") && !self.accept_keyword("from") {
                names.push((self.identifier(), None));
            }
        }
        if self.token.kind != Kind::Text {
            return self.fail();
        }
        let module = self.string();
        self.skip_attributes();
        let full = |inner: Option<Name>| match inner {
            Some(inner) => format!("{module}.{inner}").into(),
            None => Rc::clone(&module),
        };
        out.push(Statement::Import(names.into_iter().map(|(local, inner)| (local, full(inner))).collect()));
        self.end();
    }

    /// `with {type: 'json'}` behind the name of a module.
    fn skip_attributes(&mut self) {
        if self.accept_keyword("with") || (!self.lexer.broke && self.accept_keyword("assert")) {
            self.expression();
        }
    }

    fn export(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        if self.accept_keyword("default") {
            if self.is_keyword("function") || self.is_keyword("class") || self.is_keyword("async") {
                return self.statement(out);
            }
            let value = self.expression();
            out.push(Statement::Evaluate(value));
            return self.end();
        }
        if self.accept("*") {
            if self.accept_keyword("as") {
                self.key();
            }
        } else if self.is("{") {
            self.advance();
            while !self.is("}") && !matches!(self.token.kind, Kind::End | Kind::Stop) {
                self.key();
                if self.accept_keyword("as") {
                    self.key();
                }
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("}");
        } else {
            return self.statement(out);
        }
        if self.accept_keyword("from") {
            self.key();
            self.skip_attributes();
        }
        self.end();
    }
}

fn is_always(test: &Node) -> bool {
    match test.expr {
        Expr::Flag(flag) => flag,
        Expr::Number(number) => number != 0,
        _ => false,
    }
}
