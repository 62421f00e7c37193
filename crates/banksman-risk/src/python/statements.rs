//! Reads Python's statements.

use std::rc::Rc;

use super::expressions::{ARITHMETIC, target};
use super::parser::{Block, Parser};
use crate::code::parser::{Kind, Lexer as _};
use crate::code::tree::{Argument, Call, Expr, Loop, Node, Operator, Statement};

impl<'s> Parser<'s> {
    /// One statement, or all that stand on one line.
    pub(super) fn statement(&mut self, out: &mut Vec<Statement>) {
        if self.is("@") {
            return self.decorated(out);
        }
        if self.token.kind != Kind::Name {
            return self.line(out);
        }
        match self.word() {
            "if" => self.choice(out),
            "for" => self.each(out),
            "while" => self.repetition(out),
            "try" => self.attempt(out),
            "with" => self.with(out),
            "def" => self.definition(Vec::new(), out),
            "class" => self.class(out),
            // `async def`, `async for`, `async with`.
            "async" => {
                self.advance();
                match self.word() {
                    "def" | "for" | "with" => self.statement(out),
                    _ => self.fail(),
                }
            }
            "match" if self.is_match() => self.matching(out),
            _ => self.line(out),
        }
    }

    /// Simple statements up to the end of the line.
    fn line(&mut self, out: &mut Vec<Statement>) {
        loop {
            self.simple(out);
            if !self.accept(";") || self.is_over() {
                break;
            }
        }
        match self.token.kind {
            Kind::Newline => self.advance(),
            Kind::End | Kind::Dedent | Kind::Stop => {}
            _ => self.fail(),
        }
    }

    fn simple(&mut self, out: &mut Vec<Statement>) {
        if self.token.kind != Kind::Name {
            return self.expression_statement(out);
        }
        match self.word() {
            "import" => self.import(out),
            "from" => self.import_from(out),
            "pass" | "continue" => self.advance(),
            "break" => {
                self.advance();
                self.leavings += 1;
            }
            "return" => {
                self.advance();
                self.leavings += 1;
                let value = self.starts_expression().then(|| self.expression_list());
                out.push(Statement::Return(value));
            }
            "global" | "nonlocal" => {
                self.advance();
                let mut names = Vec::new();
                loop {
                    names.push(self.identifier().into());
                    if !self.accept(",") {
                        break;
                    }
                }
                out.push(Statement::Outer(names));
            }
            "del" | "assert" | "raise" => {
                self.leavings += u32::from(self.word() == "raise");
                self.advance();
                while self.starts_expression() {
                    let value = self.expression();
                    out.push(Statement::Evaluate(value));
                    if !self.accept(",") && !self.accept_keyword("from") {
                        break;
                    }
                }
            }
            "print" | "exec" if self.is_old_call() => self.old_call(out),
            "type" if self.is_alias() => {
                self.advance();
                while !self.is_over() && !self.is("=") {
                    self.advance();
                }
                self.expect("=");
                self.expression();
            }
            _ => self.expression_statement(out),
        }
    }

    fn expression_statement(&mut self, out: &mut Vec<Statement>) {
        let first = self.expression_list();
        if self.accept(":") {
            self.annotation(out);
            if self.accept("=") {
                let value = self.expression_list();
                out.push(Statement::Assign { target: target(first), value, declares: true });
            }
            return;
        }
        if let Some(operator) = self.augmentation() {
            self.advance();
            let value = self.expression_list();
            out.push(Statement::Augment(target(first), operator, value));
            return;
        }
        if !self.is("=") {
            out.push(Statement::Evaluate(first));
            return;
        }
        let mut targets = vec![first];
        let mut value = None;
        while self.accept("=") {
            targets.extend(value.replace(self.expression_list()));
        }
        let Some(mut value) = value else { return };
        // `a = b = x` is assigned from the right; what was assigned last is what the next one gets.
        while let Some(left) = targets.pop() {
            let again = match &left.expr {
                Expr::Name(name) if !targets.is_empty() => {
                    Some(Node { span: left.span, expr: Expr::Name(Rc::clone(name)) })
                }
                _ => None,
            };
            let span = left.span;
            let target = target(left);
            value = match again {
                Some(again) => {
                    out.push(Statement::Assign { target, value, declares: true });
                    again
                }
                None if targets.is_empty() => {
                    out.push(Statement::Assign { target, value, declares: true });
                    return;
                }
                None => Node { span, expr: Expr::Assign(Box::new(target), Box::new(value)) },
            };
        }
    }

    /// A type. It is code as well, but hardly ever does anything.
    pub(super) fn annotation(&mut self, out: &mut Vec<Statement>) {
        let calls = self.calls;
        let annotation = self.expression();
        if self.calls > calls {
            out.push(Statement::Evaluate(annotation));
        }
    }

    fn augmentation(&self) -> Option<Operator> {
        if self.token.kind != Kind::Mark {
            return None;
        }
        match self.word() {
            "+=" => Some(Operator::Add),
            "*=" => Some(Operator::Multiply),
            "/=" => Some(Operator::Divide),
            "%=" => Some(Operator::Remainder),
            "-=" | "//=" | "@=" | "&=" | "|=" | "^=" | ">>=" | "<<=" | "**=" => Some(Operator::Other),
            _ => None,
        }
    }

    /// Python 2: `print x` and `exec code`.
    fn is_old_call(&self) -> bool {
        let next = self.lexer.clone().next();
        match next.kind {
            Kind::Number | Kind::Text => true,
            Kind::Name => {
                !matches!(self.slice(next.start, next.end), "in" | "is" | "if" | "and" | "or" | "not")
            }
            Kind::Mark => self.is_keyword("print") && self.slice(next.start, next.end) == ">>",
            _ => false,
        }
    }

    fn old_call(&mut self, out: &mut Vec<Statement>) {
        let start = self.token.start;
        let name = self.word();
        self.advance();
        let function = self.node(start, Expr::Name(name.into()));
        self.accept(">>");
        let mut args = Vec::new();
        while self.starts_expression() {
            let arg = if name == "exec" { self.operation(ARITHMETIC) } else { self.expression() };
            args.push(Argument::Plain(arg));
            if !self.accept(",") && !self.accept_keyword("in") {
                break;
            }
        }
        self.calls += 1;
        let call = self.node(start, Expr::Call(Box::new(Call { function, args })));
        out.push(Statement::Evaluate(call));
    }

    /// `type X = ...`, but neither `type(x)` nor `type = x`.
    fn is_alias(&self) -> bool {
        let next = self.lexer.clone().next();
        next.kind == Kind::Name
            && !matches!(self.slice(next.start, next.end), "in" | "is" | "if" | "and" | "or" | "not")
    }

    /// What belongs to a statement: behind the colon, or further in on the lines below it.
    pub(super) fn block(&mut self) -> Vec<Statement> {
        let mut body = Vec::new();
        self.expect(":");
        match self.token.kind {
            Kind::Stop => {}
            Kind::Newline => {
                self.advance();
                if self.token.kind == Kind::Indent {
                    self.advance();
                    body = self.nested(|parser| parser.statements(Block::Indented)).unwrap_or_default();
                }
            }
            _ => self.line(&mut body),
        }
        body
    }

    fn choice(&mut self, out: &mut Vec<Statement>) {
        let mut branches = Vec::new();
        while self.accept_keyword("if") || self.accept_keyword("elif") {
            let condition = self.expression_list();
            out.push(Statement::Evaluate(condition));
            branches.push(self.block());
            if self.is_keyword("if") {
                break;
            }
        }
        if self.accept_keyword("else") {
            branches.push(self.block());
        }
        out.push(Statement::Branches(branches));
    }

    fn otherwise(&mut self, out: &mut Vec<Statement>) {
        if self.accept_keyword("else") {
            let body = self.block();
            out.push(Statement::Branches(vec![body]));
        }
    }

    fn each(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let target = self.target_list();
        if !self.accept_keyword("in") {
            return self.fail();
        }
        let source = self.expression_list();
        let body = self.block();
        let each = Some((target, source));
        out.push(Statement::Loop(Box::new(Loop { each, test: None, endless: false, body })));
        self.otherwise(out);
    }

    fn repetition(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let test = self.expression_list();
        let always = match test.expr {
            Expr::Flag(flag) => flag,
            Expr::Number(number) => number != 0,
            _ => false,
        };
        let leavings = self.leavings;
        let body = self.block();
        let endless = always && self.leavings == leavings;
        out.push(Statement::Loop(Box::new(Loop { each: None, test: Some(test), endless, body })));
        self.otherwise(out);
    }

    fn attempt(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let body = self.block();
        out.push(Statement::Block(body));
        loop {
            let mut branch = Vec::new();
            if self.accept_keyword("except") {
                self.accept("*");
                if self.starts_expression() {
                    // `except A, e` was how Python 2 named it.
                    let caught = self.expression_list();
                    branch.push(Statement::Evaluate(caught));
                    if self.accept_keyword("as") {
                        self.identifier();
                    }
                }
            } else if !self.accept_keyword("else") && !self.accept_keyword("finally") {
                break;
            }
            branch.extend(self.block());
            out.push(Statement::Branches(vec![branch]));
        }
    }

    fn with(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let in_brackets = self.is("(") && self.has_items_in_brackets();
        if in_brackets {
            self.advance();
        }
        while self.starts_expression() {
            let value = self.expression();
            if self.accept_keyword("as") {
                let name = self.operation(ARITHMETIC);
                out.push(Statement::Assign { target: target(name), value, declares: true });
            } else {
                out.push(Statement::Evaluate(value));
            }
            if !self.accept(",") {
                break;
            }
        }
        if in_brackets {
            self.expect(")");
        }
        let body = self.block();
        out.extend(body);
    }

    /// `with (a as b, c as d):`, but not `with (a) as b:`.
    fn has_items_in_brackets(&self) -> bool {
        let mut lexer = self.lexer.clone();
        let outer = lexer.brackets - 1;
        let mut has_items = false;
        loop {
            let token = lexer.next();
            has_items |= token.kind == Kind::Name
                && lexer.brackets == outer + 1
                && self.slice(token.start, token.end) == "as";
            if token.kind == Kind::End || lexer.brackets <= outer {
                return has_items;
            }
        }
    }

    /// `match x:`, but not `match(x)`, `match = x` or `match.group()`.
    fn is_match(&self) -> bool {
        let mut lexer = self.lexer.clone();
        let mut last = lexer.next();
        let starts = match last.kind {
            Kind::Name | Kind::Number | Kind::Text => true,
            Kind::Mark => matches!(self.slice(last.start, last.end), "(" | "[" | "{" | "-" | "*" | "~"),
            _ => false,
        };
        if !starts {
            return false;
        }
        loop {
            let token = lexer.next();
            match token.kind {
                Kind::Newline => return self.slice(last.start, last.end) == ":",
                Kind::End | Kind::Bad => return false,
                _ => last = token,
            }
        }
    }

    fn matching(&mut self, out: &mut Vec<Statement>) {
        self.advance();
        let subject = self.expression_list();
        out.push(Statement::Evaluate(subject));
        self.expect(":");
        self.advance();
        let mut branches = Vec::new();
        if self.token.kind == Kind::Indent {
            self.advance();
            while self.accept_keyword("case") {
                let mut branch = Vec::new();
                let outer = self.lexer.brackets;
                while !self.is_over()
                    && !(self.lexer.brackets == outer && (self.is(":") || self.is_keyword("if")))
                {
                    self.advance();
                }
                if self.accept_keyword("if") {
                    let guard = self.expression_list();
                    branch.push(Statement::Evaluate(guard));
                }
                branch.extend(self.nested(Self::block).unwrap_or_default());
                branches.push(branch);
            }
            match self.token.kind {
                Kind::Dedent => self.advance(),
                Kind::End => {}
                _ => self.fail(),
            }
        }
        out.push(Statement::Branches(branches));
    }
}
