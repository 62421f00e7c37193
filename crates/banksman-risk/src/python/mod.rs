//! Reads Python.
//!
//! Also what is pasted from elsewhere: an indented snippet, a session of the interpreter, a notebook cell with
//! shell commands in it, Python 2.

mod compute;
mod definitions;
mod displays;
mod expressions;
mod lexer;
mod library;
mod names;
mod parser;
mod prepare;
mod special;
mod statements;
mod strings;

use crate::code::dialect::{CallSite, Dialect};
use crate::code::effect::Entry;
use crate::code::machine::Machine;
use crate::code::tree::Statement;
use crate::code::value::{Thing, Value};
use crate::fact::Language;
use crate::inspection::{Inspection, parsing};
use crate::origin::Origin;

/// States what a text would do.
pub(crate) fn inspect(inspection: &mut Inspection<'_>, text: &str, origin: Origin) {
    Machine::follow(inspection, &Python, text, origin);
}

/// Whether a function is one that does something.
fn is_known(name: &str) -> bool {
    library::entry_of(name).is_some()
        || matches!(name, "subprocess.run" | "subprocess.call" | "subprocess.Popen")
}

struct Python;

impl Dialect for Python {
    fn language(&self) -> Language {
        Language::Python
    }

    fn lower(&self, inspection: &mut Inspection<'_>, text: &str, origin: Origin) -> Vec<Statement> {
        if let Some(folded) = prepare::fold(text) {
            return self.lower(inspection, &folded, origin.derived(0..text.len()));
        }
        let parsed = parser::parse(text, origin);
        if !parsed.has_errors {
            return parsed.state(inspection);
        }
        // Not Python as it stands: a notebook, a session, an indented snippet. If it is none of these either,
        // what can be recovered counts.
        let mut all = Vec::new();
        if let Some(prepared) = prepare::prepare(text, origin) {
            let whole = origin.span(0..text.len());
            if !inspection.spend(parsing(&prepared.text), whole) {
                return Vec::new();
            }
            let parsed = parser::parse(&prepared.text, prepared.origin);
            let is_right = !parsed.has_errors;
            all = parsed.state(inspection);
            all.extend(prepared.shell);
            if is_right {
                return all;
            }
        }
        inspection.signal("python_syntax", origin.span(0..text.len()));
        all.extend(parsed.state(inspection));
        all
    }

    fn canonical(&self, name: &str) -> Option<String> {
        names::canonical(name)
    }

    fn global(&self, name: &str) -> Value {
        names::global(name)
    }

    fn is_builtin(&self, name: &str) -> bool {
        names::is_builtin(name)
    }

    fn index_is_attribute(&self) -> bool {
        false
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
        "__init__"
    }

    fn this(&self) -> Option<&'static str> {
        None
    }
}
