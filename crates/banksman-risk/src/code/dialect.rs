//! What sets one language apart from the other.

use std::rc::Rc;

use banksman_core::Span;

use super::effect::Entry;
use super::machine::Machine;
use super::tree::Statement;
use super::value::{Thing, Value};
use crate::fact::Language;
use crate::inspection::Inspection;
use crate::origin::Origin;

/// A call of something that is not a function of the text itself.
#[derive(Debug)]
pub(crate) struct CallSite {
    /// The full name of what is called; `_.name` for a method of something unknown.
    pub(crate) name: Rc<str>,
    /// What the method is called on.
    pub(crate) receiver: Option<Value>,
    pub(crate) args: Vec<Value>,
    pub(crate) keywords: Vec<(Rc<str>, Value)>,
    pub(crate) span: Span,
}

impl CallSite {
    /// The last part of the name.
    pub(crate) fn method(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// An argument by position.
    pub(crate) fn arg(&self, at: usize) -> Option<&Value> {
        self.args.get(at)
    }

    /// An argument by name.
    pub(crate) fn keyword(&self, name: &str) -> Option<&Value> {
        self.keywords.iter().find(|(given, _)| &**given == name).map(|(_, value)| value)
    }

    /// An argument by position or by name.
    pub(crate) fn either(&self, at: usize, name: &str) -> Option<&Value> {
        self.keyword(name).or_else(|| self.arg(at))
    }
}

/// A language: how it is parsed, and what its library does.
pub(crate) trait Dialect: Sync {
    fn language(&self) -> Language;

    /// Parses a text. What could not be parsed is signalled; what could be is returned.
    fn lower(&self, inspection: &mut Inspection<'_>, text: &str, origin: Origin) -> Vec<Statement>;

    /// The name that something is known by, if it has several.
    fn canonical(&self, name: &str) -> Option<String>;

    /// What a name stands for that the text does not define.
    fn global(&self, name: &str) -> Value;

    /// Whether a name is there in every text.
    fn is_builtin(&self, name: &str) -> bool;

    /// Whether `value["name"]` is the same as `value.name`.
    fn index_is_attribute(&self) -> bool;

    /// An attribute of something from a library, where it is more than a name.
    fn attribute(&self, thing: &Thing, name: &str) -> Option<Value>;

    /// An element of something from a library.
    fn element(&self, thing: &Thing, key: Option<&Value>) -> Option<Value>;

    /// What a function does.
    fn entry(&self, name: &str) -> Option<&'static Entry>;

    /// What a pure function or a method of a text or list gives, if that can be told.
    fn compute(&self, machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value>;

    /// Functions whose effects depend on more than one argument. What they give, if they are such.
    fn special(&self, machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value>;

    /// The method that makes an object ready.
    fn constructor(&self) -> &'static str;

    /// What methods call their own object, if that is no parameter.
    fn this(&self) -> Option<&'static str>;
}
