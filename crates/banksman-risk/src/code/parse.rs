//! Parsing with tree-sitter, bounded.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};
use std::thread::LocalKey;

use banksman_core::Span;
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

use super::tree::{self, Expr};
use crate::origin::Origin;

/// Syntax inside each other that is lowered; beyond this nothing is known.
const NESTING: u16 = 100;

/// A parser that each thread makes once.
pub(crate) type Cached = LocalKey<RefCell<Option<Parser>>>;

/// Parses a text. `None`: it took too many steps.
///
/// Recovering from errors can take long in a text that is nothing but errors, so the parser is asked for its
/// progress, and stopped when it makes none.
pub(crate) fn parse(cached: &'static Cached, language: impl Into<Language>, text: &str) -> Option<Tree> {
    cached.with_borrow_mut(|slot| {
        if slot.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&language.into()).ok()?;
            *slot = Some(parser);
        }
        let parser = slot.as_mut()?;
        let bytes = text.as_bytes();
        let mut reports_left = 400 + bytes.len() / 8;
        let mut progress = |_: &_| {
            reports_left = reports_left.saturating_sub(1);
            if reports_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// What lowering needs to know: the text, where it stands, and how deep it is in it.
pub(crate) struct Source<'s> {
    pub(crate) text: &'s str,
    pub(crate) origin: Origin,
    nesting: u16,
    /// Where syntax was nested too deeply to be lowered.
    pub(crate) too_deep: Option<Span>,
}

impl<'s> Source<'s> {
    pub(crate) fn new(text: &'s str, origin: Origin) -> Self {
        Self { text, origin, nesting: 0, too_deep: None }
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> &'s str {
        self.text.get(range).unwrap_or_default()
    }

    pub(crate) fn text_of(&self, node: Node<'_>) -> &'s str {
        self.slice(node.byte_range())
    }

    pub(crate) fn span(&self, node: Node<'_>) -> Span {
        self.origin.span(node.byte_range())
    }

    pub(crate) fn node(&self, node: Node<'_>, expr: Expr) -> tree::Node {
        tree::Node { span: self.span(node), expr }
    }

    /// Lowers something inside of something else, unless that is too deep.
    pub(crate) fn nested<T>(&mut self, node: Node<'_>, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.nesting >= NESTING {
            self.too_deep.get_or_insert(self.origin.span(node.byte_range()));
            return None;
        }
        self.nesting += 1;
        let result = work(self);
        self.nesting -= 1;
        Some(result)
    }
}

/// The named children of a node without comments.
pub(crate) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// The children of a node in a field.
pub(crate) fn in_field<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).collect()
}

/// An integer in any of the usual notations.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let clean: String = text.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    let clean = clean.trim_end_matches(['n', 'l']);
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = clean.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok();
        }
    }
    clean.parse().ok()
}
