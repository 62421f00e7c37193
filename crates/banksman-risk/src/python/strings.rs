//! Reads Python's texts: with their prefix, joined to each other, and with code in them.

use std::borrow::Cow;
use std::ops::Range;

use super::parser::Parser;
use crate::code::decode::unescape;
use crate::code::parser::Kind;
use crate::code::tree::{Expr, Node};

impl<'s> Parser<'s> {
    /// Texts that stand after each other are one.
    pub(super) fn strings(&mut self) -> Node {
        let start = self.token.start;
        let mut all = Vec::new();
        while self.token.kind == Kind::Text {
            all.push(self.string());
        }
        match all.pop() {
            Some(only) if all.is_empty() => only,
            last => {
                all.extend(last);
                self.node(start, Expr::Join(all))
            }
        }
    }

    fn string(&mut self) -> Node {
        let token = self.token;
        let prefix = self.word().bytes().take_while(u8::is_ascii_alphabetic).count();
        let quoting = self.lexer.quoting(token.start..token.start + prefix);
        self.advance();
        let content = token.start + prefix + quoting.width()..token.end - quoting.width();
        let text = |range: Range<usize>| -> Cow<'s, str> {
            let text = self.slice(range.start, range.end);
            if quoting.raw || !text.contains('\\') { Cow::Borrowed(text) } else { Cow::Owned(unescape(text)) }
        };
        if !quoting.format {
            let text = text(content);
            return self.node(token.start, Expr::Text(text.into()));
        }
        let literal = |range: Range<usize>| {
            // `{{` in an f-string is a brace; in any other string it is two.
            let text = text(range);
            if text.contains(['{', '}']) {
                Cow::Owned(text.replace("{{", "{").replace("}}", "}"))
            } else {
                text
            }
        };
        let (mut parts, mut fields) = (Vec::new(), Vec::new());
        let (mut at, mut from) = (content.start, content.start);
        while at < content.end {
            match self.text.as_bytes().get(at..at + 2) {
                Some([b'\\', _]) => at = self.lexer.behind_escape(at, quoting),
                Some(b"{{") => at += 2,
                Some([b'{', _]) => {
                    let Ok(field) = self.lexer.field(at + 1, 0) else { break };
                    if from < at {
                        parts.push(Part::Text(literal(from..at)));
                    }
                    (at, from) = (field.end, field.end);
                    parts.push(Part::Field(fields.len()));
                    fields.push(field);
                }
                _ => at += 1,
            }
        }
        if from < content.end {
            parts.push(Part::Text(literal(from..content.end)));
        }
        let mut nodes = Vec::with_capacity(parts.len());
        for part in parts {
            let node = match part {
                Part::Text(text) => self.node(token.start, Expr::Text(text.into())),
                Part::Field(at) => {
                    let mut values = Vec::new();
                    if let Some(field) = fields.get(at) {
                        self.spec(field.spec.clone(), &mut values);
                        self.expressions_inside(self.shown(field.value.clone()), &mut values);
                    }
                    match values.pop() {
                        Some(value) if values.is_empty() => value,
                        last => {
                            values.extend(last);
                            self.node(token.start, Expr::Sequence(values))
                        }
                    }
                }
            };
            nodes.push(node);
        }
        let expr = match nodes.pop() {
            None => Expr::Text("".into()),
            Some(Node { expr: Expr::Text(text), .. }) if nodes.is_empty() => Expr::Text(text),
            last => {
                nodes.extend(last);
                Expr::Join(nodes)
            }
        };
        self.node(token.start, expr)
    }

    /// `{x=}` shows the name as well; the sign is no part of the value.
    fn shown(&self, value: Range<usize>) -> Range<usize> {
        let text = self.slice(value.start, value.end).trim_end();
        match text.strip_suffix('=') {
            Some(inner) if !inner.ends_with(['=', '!', '<', '>']) => value.start..value.start + inner.len(),
            _ => value,
        }
    }

    /// The fields in a format: they happen, too.
    fn spec(&mut self, range: Range<usize>, out: &mut Vec<Node>) {
        let mut at = range.start;
        while let Some(open) = self.slice(at, range.end).find('{') {
            let Ok(field) = self.lexer.field(at + open + 1, 0) else { return };
            at = field.end;
            if self.nested(|parser| parser.spec(field.spec.clone(), out)).is_none() {
                return;
            }
            self.expressions_inside(field.value, out);
        }
    }
}

enum Part<'s> {
    Text(Cow<'s, str>),
    Field(usize),
}
