//! Reads JavaScript: Node, Deno, Bun and the browser.

mod compute;
mod expressions;
mod library;
mod names;
mod special;
mod statements;

use std::cell::RefCell;

use tree_sitter::Parser;

use crate::code::dialect::{CallSite, Dialect};
use crate::code::effect::Entry;
use crate::code::machine::Machine;
use crate::code::parse::{self, Source};
use crate::code::tree::Statement;
use crate::code::value::{Thing, Value};
use crate::fact::Language;
use crate::inspection::Inspection;
use crate::origin::Origin;

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// States what a text would do.
pub(crate) fn inspect(inspection: &mut Inspection<'_>, text: &str, origin: Origin) {
    Machine::follow(inspection, &Javascript, text, origin);
}

struct Javascript;

impl Dialect for Javascript {
    fn language(&self) -> Language {
        Language::Javascript
    }

    fn lower(&self, inspection: &mut Inspection<'_>, text: &str, origin: Origin) -> Vec<Statement> {
        let whole = origin.span(0..text.len());
        let Some(tree) =
            PARSER.with_borrow_mut(|slot| parse::parse(slot, tree_sitter_javascript::LANGUAGE, text))
        else {
            inspection.signal("too_much_work", whole);
            return Vec::new();
        };
        if tree.root_node().has_error() {
            inspection.signal("javascript_syntax", whole);
        }
        let mut source = Source::new(text, origin);
        let statements = statements::block(&mut source, tree.root_node());
        if let Some(span) = source.too_deep {
            inspection.signal("too_deep", span);
        }
        statements
    }

    fn canonical(&self, name: &str) -> Option<String> {
        names::canonical(name)
    }

    fn global(&self, name: &str) -> Value {
        names::global(name)
    }

    fn is_builtin(&self, _name: &str) -> bool {
        false
    }

    fn index_is_attribute(&self) -> bool {
        true
    }

    fn attribute(&self, thing: &Thing, name: &str) -> Option<Value> {
        names::attribute(thing, name)
    }

    fn element(&self, thing: &Thing, key: Option<&Value>) -> Option<Value> {
        names::element(thing, key)
    }

    fn entry(&self, name: &str) -> Option<&'static Entry> {
        library::entry_of(name)
    }

    fn compute(&self, machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
        compute::compute(machine, site)
    }

    fn special(&self, machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
        special::special(machine, site)
    }

    fn constructor(&self) -> &'static str {
        "constructor"
    }

    fn this(&self) -> Option<&'static str> {
        Some("this")
    }
}
