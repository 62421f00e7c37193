//! Reads Python.
//!
//! Also what is pasted from elsewhere: an indented snippet, a session of the interpreter, a notebook cell with
//! shell commands in it, Python 2.

mod compute;
mod expressions;
mod library;
mod names;
mod prepare;
mod special;
mod statements;

use std::cell::RefCell;

use banksman_core::Span;
use tree_sitter::{Parser, Tree};

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
    Machine::follow(inspection, &Python, text, origin);
}

/// Parses a text, and says whether all of it was understood. `None`: that takes too long.
fn parse_text(inspection: &mut Inspection<'_>, text: &str, whole: Span) -> Option<(Tree, bool)> {
    let tree = PARSER.with_borrow_mut(|slot| parse::parse(slot, tree_sitter_python::LANGUAGE, text));
    if tree.is_none() {
        inspection.signal("too_much_work", whole);
    }
    tree.map(|tree| {
        let has_errors = tree.root_node().has_error();
        (tree, has_errors)
    })
}

fn lower_tree(
    inspection: &mut Inspection<'_>,
    text: &str,
    origin: Origin,
    tree: &Tree,
    out: &mut Vec<Statement>,
) {
    let mut source = Source::new(text, origin);
    out.extend(statements::block(&mut source, tree.root_node()));
    if let Some(span) = source.too_deep {
        inspection.signal("too_deep", span);
    }
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
        let whole = origin.span(0..text.len());
        let Some((tree, has_errors)) = parse_text(inspection, text, whole) else { return Vec::new() };
        let mut statements = Vec::new();
        if has_errors {
            // Not Python as it stands: a notebook, a session, an indented snippet. If it is none of these either,
            // what can be recovered counts.
            let prepared = prepare::prepare(text, origin);
            let still_wrong = match &prepared {
                None => true,
                Some(prepared) => match parse_text(inspection, &prepared.text, whole) {
                    None => true,
                    Some((tree, has_errors)) => {
                        lower_tree(inspection, &prepared.text, prepared.origin, &tree, &mut statements);
                        has_errors
                    }
                },
            };
            statements.extend(prepared.map(|prepared| prepared.shell).unwrap_or_default());
            if !still_wrong {
                return statements;
            }
            inspection.signal("python_syntax", whole);
        }
        lower_tree(inspection, text, origin, &tree, &mut statements);
        statements
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
