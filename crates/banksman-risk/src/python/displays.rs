//! Reads what stands in brackets in Python: tuples, lists, dictionaries, comprehensions, keys.

use super::expressions::OR;
use super::parser::Parser;
use crate::code::tree::{Comprehension, Expr, Node};

impl Parser<'_> {
    /// `()`, `(x)`, `(x, y)`, `(x for y in z)`.
    pub(super) fn parenthesised(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        let expr = if self.is(")") {
            Expr::List(Vec::new())
        } else {
            let inner = self.expression_list();
            if self.starts_clause() { self.comprehension(inner) } else { inner.expr }
        };
        self.expect(")");
        self.node(start, expr)
    }

    pub(super) fn bracketed(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        let mut items = Vec::new();
        while self.starts_expression() {
            items.push(self.starred());
            if self.starts_clause()
                && let Some(element) = items.pop()
            {
                let expr = self.comprehension(element);
                self.expect("]");
                return self.node(start, expr);
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("]");
        self.node(start, Expr::List(items))
    }

    /// A dictionary or set, or a comprehension of one.
    pub(super) fn braced(&mut self) -> Node {
        let start = self.token.start;
        self.advance();
        let mut entries = Vec::new();
        let mut is_set = false;
        while self.starts_expression() {
            let at = self.token.start;
            if self.accept("**") {
                entries.push((None, self.expression()));
            } else {
                let first = self.starred();
                let entry = if self.accept(":") {
                    (Some(first), self.expression())
                } else {
                    is_set = true;
                    (None, first)
                };
                if self.starts_clause() {
                    let element = match entry {
                        (Some(key), value) => self.node(at, Expr::List(vec![key, value])),
                        (None, value) => value,
                    };
                    let expr = self.comprehension(element);
                    self.expect("}");
                    return self.node(start, expr);
                }
                entries.push(entry);
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}");
        let expr = if is_set {
            Expr::List(entries.into_iter().flat_map(|(key, value)| key.into_iter().chain([value])).collect())
        } else {
            Expr::Map(entries)
        };
        self.node(start, expr)
    }

    pub(super) fn starts_clause(&self) -> bool {
        self.is_keyword("for") || self.is_keyword("async")
    }

    /// The clauses of a comprehension whose element was read.
    pub(super) fn comprehension(&mut self, element: Node) -> Expr {
        let mut clauses = Vec::new();
        let mut conditions = Vec::new();
        loop {
            if self.starts_clause() {
                self.accept_keyword("async");
                if !self.accept_keyword("for") {
                    self.fail();
                    break;
                }
                let target = self.target_list();
                if !self.accept_keyword("in") {
                    self.fail();
                    break;
                }
                clauses.push((target, self.operation(OR)));
            } else if self.accept_keyword("if") {
                let start = self.token.start;
                let condition = self.operation(OR);
                let named = self.accept(":=").then(|| self.expression());
                conditions.push(condition);
                conditions.extend(named.map(|value| self.node(start, Expr::Opaque(vec![value]))));
            } else {
                break;
            }
        }
        Expr::Comprehension(Box::new(Comprehension { clauses, conditions, element }))
    }

    /// `object[key]` or `object[start:end:step]`, behind the opening bracket.
    pub(super) fn subscript(&mut self, object: Node) -> Expr {
        let start = self.token.start;
        let mut keys = Vec::new();
        let mut is_tuple = false;
        loop {
            let mut bounds = vec![None];
            while !self.is("]") && !self.is(",") && !self.is_over() {
                if self.accept(":") {
                    bounds.push(None);
                } else if self.accept(":=") {
                    // `x[a:=b]` is no slice, but the value of `b`.
                    bounds = vec![Some(self.expression())];
                } else if let Some(bound @ None) = bounds.last_mut() {
                    let value = self.starred();
                    *bound = Some(value);
                } else {
                    self.fail();
                }
            }
            keys.push(bounds);
            if !self.accept(",") {
                break;
            }
            is_tuple = true;
            if self.is("]") {
                break;
            }
        }
        self.expect("]");
        let object = Box::new(object);
        if !is_tuple && let Some(bounds) = keys.pop_if(|bounds| bounds.len() > 1) {
            return Expr::Slice(object, bounds);
        }
        let key = |parser: &Self, bounds: Vec<Option<Node>>| {
            let is_slice = bounds.len() > 1;
            let mut parts: Vec<Node> = bounds.into_iter().flatten().collect();
            match parts.pop() {
                Some(part) if !is_slice => part,
                last => parser.node(start, Expr::Opaque(parts.into_iter().chain(last).collect())),
            }
        };
        let mut keys: Vec<Node> = keys.into_iter().map(|bounds| key(self, bounds)).collect();
        let key = match keys.pop() {
            Some(key) if !is_tuple => key,
            last => self.node(start, Expr::List(keys.into_iter().chain(last).collect())),
        };
        Expr::Index(object, Box::new(key))
    }
}
