//! Reads JavaScript: Node, Deno, Bun and the browser.

mod atoms;
mod compute;
mod expressions;
mod lexer;
mod library;
mod members;
mod names;
mod parser;
mod source;
mod special;
mod statements;
mod types;

use crate::code::dialect::{CallSite, Dialect};
use crate::code::effect::Entry;
use crate::code::machine::Machine;
use crate::code::tree::Statement;
use crate::code::value::{Thing, Value};
use crate::fact::Language;
use crate::inspection::Inspection;
use crate::origin::Origin;

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
        let parsed = parser::parse(text, origin);
        if parsed.has_errors {
            inspection.signal("javascript_syntax", origin.span(0..text.len()));
        }
        parsed.state(inspection)
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
