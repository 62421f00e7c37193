//! Reads what JavaScript's expressions are made of: names, texts, templates, lists, and arrow functions, which look like
//! something in brackets until their arrow.

use std::rc::Rc;

use super::lexer::Stretch;
use super::parser::{Parser, plain};
use crate::code::decode::unescape;
use crate::code::literal::integer;
use crate::code::parser::{Kind, Lexer as _};
use crate::code::tree::{Argument, Call, Expr, Node};

/// What a name may not be.
fn is_reserved(word: &str) -> bool {
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

impl Parser<'_> {
    pub(super) fn atom(&mut self) -> Node {
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
    pub(super) fn template(&mut self) -> Node {
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
