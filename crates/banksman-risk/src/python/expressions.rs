//! Reads Python's expressions.

use std::rc::Rc;

use super::parser::Parser;
use crate::code::literal::integer;
use crate::code::parser::{Infix, Kind};
use crate::code::tree::{Argument, Call, Expr, Function, Node, Operator, Target};

/// How tightly operators bind, from `or` to `*`.
type Level = u8;
pub(super) const OR: Level = 1;
const AND: Level = 2;
const NOT: Level = 3;
const COMPARISON: Level = 4;
/// The loosest that may stand before `in`: what a `for` assigns to.
pub(super) const ARITHMETIC: Level = 5;
const FACTOR: Level = 11;

/// What a name may not be. `print`, `exec`, `match`, `case` and `type` may be names.
fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "as"
            | "assert"
            | "async"
            | "break"
            | "class"
            | "continue"
            | "def"
            | "del"
            | "elif"
            | "else"
            | "except"
            | "finally"
            | "for"
            | "from"
            | "global"
            | "if"
            | "import"
            | "in"
            | "is"
            | "nonlocal"
            | "not"
            | "or"
            | "pass"
            | "raise"
            | "return"
            | "try"
            | "while"
            | "with"
    )
}

/// The last parts of calls that end the program.
fn leaves(function: &str) -> bool {
    matches!(function, "exit" | "quit" | "sys.exit" | "os._exit" | "next")
}

fn opaque() -> Expr {
    Expr::Opaque(Vec::new())
}

impl<'s> Parser<'s> {
    /// Expressions with commas between them: a tuple, if there is a comma.
    pub(super) fn expression_list(&mut self) -> Node {
        self.list_of(Self::starred)
    }

    /// What a `for` assigns to.
    pub(super) fn target_list(&mut self) -> Target {
        let list = self.list_of(|parser| {
            let start = parser.token.start;
            if parser.accept("*") {
                let inner = parser.operation(ARITHMETIC);
                return parser.node(start, Expr::Spread(Box::new(inner)));
            }
            parser.operation(ARITHMETIC)
        });
        target(list)
    }

    fn list_of(&mut self, element: impl Fn(&mut Self) -> Node) -> Node {
        let start = self.token.start;
        let first = element(self);
        if !self.is(",") {
            return first;
        }
        let mut items = vec![first];
        while self.accept(",") && self.starts_expression() {
            items.push(element(self));
        }
        self.node(start, Expr::List(items))
    }

    /// Whether an expression can begin here.
    pub(super) fn starts_expression(&self) -> bool {
        match self.token.kind {
            Kind::Number | Kind::Text => true,
            Kind::Name => !is_reserved(self.word()) || self.word() == "not",
            Kind::Mark => matches!(self.word(), "(" | "[" | "{" | "-" | "+" | "~" | "*" | "**" | "..."),
            Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End | Kind::Bad | Kind::Stop => false,
        }
    }

    /// An expression, `*expression`, `yield` or `name := expression`.
    pub(super) fn starred(&mut self) -> Node {
        let start = self.token.start;
        if self.accept("*") {
            let inner = self.expression();
            return self.node(start, Expr::Spread(Box::new(inner)));
        }
        self.named()
    }

    fn named(&mut self) -> Node {
        let start = self.token.start;
        let value = self.expression();
        if !self.accept(":=") {
            return value;
        }
        let given = self.expression();
        self.node(start, Expr::Assign(Box::new(target(value)), Box::new(given)))
    }

    /// An expression without commas.
    pub(super) fn expression(&mut self) -> Node {
        let start = self.token.start;
        self.nested(Self::expression_here).unwrap_or_else(|| self.unread(start))
    }

    fn expression_here(&mut self) -> Node {
        let start = self.token.start;
        if self.token.kind == Kind::Name {
            match self.word() {
                "lambda" => return self.lambda(),
                "yield" => return self.generated(),
                _ => {}
            }
        }
        let first = self.operation(OR);
        if !self.accept_keyword("if") {
            return first;
        }
        let condition = self.operation(OR);
        if !self.accept_keyword("else") {
            self.fail();
            return self.node(start, Expr::Opaque(vec![first, condition]));
        }
        let last = self.expression();
        let either = self.node(start, Expr::Either(vec![first, last]));
        self.node(start, Expr::Sequence(vec![condition, either]))
    }

    /// `yield`, `yield x`, `yield from x`.
    fn generated(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        self.leavings += 1;
        self.accept_keyword("from");
        if !self.starts_expression() {
            return self.node(start, Expr::Nothing);
        }
        let value = self.expression_list();
        self.node(start, Expr::Yield(Box::new(value)))
    }

    fn lambda(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        let leavings = self.leavings;
        let (parameters, _) = self.parameters(":");
        self.expect(":");
        let result = Some(self.expression());
        self.leavings = leavings;
        let span = self.span_from(start);
        let function = Function { parameters, body: Vec::new(), result, span };
        Node { span, expr: Expr::Function(Rc::new(function)) }
    }

    /// Operands and operators that bind at least so tightly.
    pub(super) fn operation(&mut self, least: Level) -> Node {
        let start = self.token.start;
        let mut left = self.unary();
        let mut height = 0;
        while let Some((level, infix)) = self.infix() {
            if level < least {
                break;
            }
            self.skip_infix();
            let right = self.operation(level + 1);
            left = match self.joined(infix, left, right, &mut height) {
                Ok(expr) => self.node(start, expr),
                Err(expr) => return self.node(start, expr),
            };
        }
        left
    }

    /// The operator that the token is, and how tightly it binds.
    fn infix(&self) -> Option<(Level, Infix)> {
        let found = match (self.token.kind, self.word()) {
            (Kind::Name, "or") => (OR, Infix::Either),
            (Kind::Name, "and") => (AND, Infix::Either),
            (Kind::Name, "in" | "is" | "not") => (COMPARISON, Infix::Opaque),
            (Kind::Mark, "<" | ">" | "<=" | ">=" | "==" | "!=" | "<>") => (COMPARISON, Infix::Opaque),
            (Kind::Mark, "|") => (ARITHMETIC, Infix::Opaque),
            (Kind::Mark, "^") => (6, Infix::Binary(Operator::Xor)),
            (Kind::Mark, "&") => (7, Infix::Opaque),
            (Kind::Mark, "<<" | ">>") => (8, Infix::Opaque),
            (Kind::Mark, "+") => (9, Infix::Binary(Operator::Add)),
            (Kind::Mark, "-") => (9, Infix::Binary(Operator::Subtract)),
            (Kind::Mark, "*") => (10, Infix::Binary(Operator::Multiply)),
            (Kind::Mark, "/") => (10, Infix::Binary(Operator::Divide)),
            (Kind::Mark, "%") => (10, Infix::Binary(Operator::Remainder)),
            (Kind::Mark, "//" | "@") => (10, Infix::Opaque),
            _ => return None,
        };
        Some(found)
    }

    /// Goes behind an operator; `not in` and `is not` are two words.
    fn skip_infix(&mut self) {
        if self.accept_keyword("is") {
            self.accept_keyword("not");
        } else if self.accept_keyword("not") {
            if !self.accept_keyword("in") {
                self.fail();
            }
        } else {
            self.advance();
        }
    }

    fn unary(&mut self) -> Node {
        let start = self.token.start;
        let level = match (self.token.kind, self.word()) {
            (Kind::Name, "not") => NOT,
            (Kind::Mark, "-" | "+" | "~") => FACTOR,
            (Kind::Name, "await") => {
                self.advance();
                self.leavings += 1;
                let inner = self.nested(Self::unary).map_or_else(opaque, |inner| inner.expr);
                return self.node(start, inner);
            }
            _ => return self.power(),
        };
        let is_minus = self.is("-");
        self.advance();
        let inner = self.nested(|parser| parser.operation(level)).unwrap_or_else(|| self.unread(start));
        let expr = match inner.expr {
            Expr::Number(number) if is_minus => Expr::Number(number.saturating_neg()),
            _ => Expr::Opaque(vec![inner]),
        };
        self.node(start, expr)
    }

    fn power(&mut self) -> Node {
        let start = self.token.start;
        let base = self.primary();
        if !self.accept("**") {
            return base;
        }
        let exponent = self.nested(Self::unary).unwrap_or_else(|| self.unread(start));
        self.node(start, Expr::Binary(Operator::Other, Box::new(base), Box::new(exponent)))
    }

    /// An atom and what is done with it: `.name`, `(arguments)`, `[key]`.
    fn primary(&mut self) -> Node {
        let start = self.token.start;
        let mut node = self.atom();
        let mut height = 0;
        while self.token.kind == Kind::Mark {
            let mark = self.word();
            if !matches!(mark, "." | "(" | "[") {
                break;
            }
            height += 1;
            if !self.fits(height) {
                break;
            }
            let function_end = self.last_end;
            self.advance();
            let expr = match mark {
                "." => {
                    let name = self.identifier();
                    Expr::Member(Box::new(node), name.into())
                }
                "(" => {
                    if leaves(self.slice(start, function_end)) {
                        self.leavings += 1;
                    }
                    self.calls += 1;
                    let args = self.arguments(function_end);
                    Expr::Call(Box::new(Call { function: node, args }))
                }
                _ => self.subscript(node),
            };
            node = self.node(start, expr);
        }
        node
    }

    /// A name; after a dot, keywords of newer versions are names as well.
    pub(super) fn identifier(&mut self) -> &'s str {
        if self.token.kind != Kind::Name {
            self.fail();
            return "";
        }
        let name = self.word();
        self.advance();
        name
    }

    fn atom(&mut self) -> Node {
        let start = self.token.start;
        let expr = match self.token.kind {
            Kind::Name => {
                let word = self.word();
                let expr = match word {
                    "lambda" | "yield" => return self.expression(),
                    "True" => Expr::Flag(true),
                    "False" => Expr::Flag(false),
                    "None" => Expr::Nothing,
                    _ if is_reserved(word) => {
                        self.fail();
                        return self.unread(start);
                    }
                    _ => Expr::Name(word.into()),
                };
                self.advance();
                expr
            }
            Kind::Number => {
                let number = integer(self.word());
                self.advance();
                number.map_or_else(opaque, Expr::Number)
            }
            Kind::Text => return self.strings(),
            Kind::Mark => match self.word() {
                "(" => return self.parenthesised(),
                "[" => return self.bracketed(),
                "{" => return self.braced(),
                "..." => {
                    self.advance();
                    opaque()
                }
                _ => {
                    self.fail();
                    opaque()
                }
            },
            Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End | Kind::Bad | Kind::Stop => {
                self.fail();
                opaque()
            }
        };
        self.node(start, expr)
    }

    /// The arguments of a call or the bases of a class, behind the opening bracket, with the closing one.
    pub(super) fn arguments(&mut self, open: usize) -> Vec<Argument> {
        let mut args = Vec::new();
        while self.starts_expression() {
            if self.accept("**") {
                args.push(Argument::SpreadMap(self.expression()));
            } else if self.accept("*") {
                args.push(Argument::Spread(self.expression()));
            } else {
                let value = self.named();
                args.push(match value.expr {
                    Expr::Name(name) if self.accept("=") => Argument::Named(name, self.expression()),
                    expr => {
                        let value = Node { span: value.span, expr };
                        if self.starts_clause() {
                            let expr = self.comprehension(value);
                            Argument::Plain(self.node(open, expr))
                        } else {
                            Argument::Plain(value)
                        }
                    }
                });
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")");
        args
    }
}

/// An expression as what is assigned to.
pub(super) fn target(node: Node) -> Target {
    match node.expr {
        Expr::Name(name) => Target::Name(name),
        Expr::Member(object, name) => Target::Member(*object, name),
        Expr::Index(object, key) => Target::Index(*object, *key),
        Expr::Slice(object, bounds) => {
            let parts = bounds.into_iter().flatten().collect();
            Target::Index(*object, Node { span: node.span, expr: Expr::Opaque(parts) })
        }
        Expr::List(items) => Target::List(items.into_iter().map(target).collect()),
        Expr::Spread(inner) => Target::Rest(Box::new(target(*inner))),
        _ => Target::Nowhere,
    }
}
