//! What is known while a text is followed.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use banksman_core::Span;

use super::dialect::Dialect;
use super::tree::{Function, Name};
use super::value::{Closure, Taint, Value, What};
use crate::inspection::{Code, Inspection, steps};
use crate::origin::Origin;

/// Expressions and statements inside each other, over all functions that are entered.
pub(super) const NESTING: u16 = 160;
/// Steps that an expression takes, those that a call of something from a library takes, and the bytes of a text that
/// are copied in one.
const STEPS: usize = 3;
pub(super) const LIBRARY_CALL: usize = 20;
const BYTES_COPIED: usize = 32;
/// Functions that are entered from each other.
pub(super) const CALLS: usize = 12;
/// Results of one function that are remembered, by its arguments.
pub(super) const REMEMBERED: usize = 8;
/// Times that one function is entered with arguments of its own; after that they count as unknown.
pub(super) const ENTERED: usize = 64;

/// A scope: a function that was entered, or the text itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScopeId(pub(super) usize);

/// A class of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassId(pub(super) usize);

#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) names: HashMap<Name, Value>,
    pub(super) parent: Option<ScopeId>,
    /// Names that belong to an outer scope.
    pub(super) outer: Vec<Name>,
    /// What `return` gave so far.
    pub(super) result: Option<Value>,
    /// What `yield` gave so far.
    pub(super) yielded: Vec<Value>,
}

/// A branch that may run or not: what names stood for before it.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) scope: ScopeId,
    pub(super) before: Vec<(Name, Option<Value>)>,
    pub(super) assigned: HashSet<Name>,
}

/// A class: its methods and, for all its objects together, their fields.
#[derive(Debug, Default)]
pub(super) struct ClassState {
    pub(super) members: HashMap<Name, Value>,
    pub(super) bases: Vec<Value>,
}

/// How often a function was entered, and what it gave.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub(super) count: usize,
    pub(super) results: Vec<(Vec<Value>, Value)>,
}

/// Follows one text.
pub(crate) struct Machine<'i, 'c> {
    pub(crate) inspection: &'i mut Inspection<'c>,
    pub(crate) dialect: &'static dyn Dialect,
    pub(super) scopes: Vec<Scope>,
    pub(super) scope: ScopeId,
    pub(super) classes: Vec<ClassState>,
    /// Functions in the order of their definition, entered at the end if nobody called them.
    pub(super) defined: Vec<Rc<Closure>>,
    pub(super) noted: HashSet<*const Function>,
    pub(super) runs: HashMap<*const Function, Runs>,
    pub(super) entered: Vec<*const Function>,
    /// The branches that are followed, innermost last.
    pub(super) branches: Vec<Branch>,
    /// Inside so many branches of an `if`, and how many there were around the innermost loop.
    pub(super) chosen: u32,
    pub(super) chosen_around: u32,
    /// Inside so many loops, and so many that never end.
    pub(super) loops: u32,
    pub(super) endless: u32,
    pub(super) nesting: u16,
    /// Inside so many texts that are run as code, and where the outermost of them stands.
    pub(super) inside_text: u32,
    pub(super) inside_span: Span,
    pub(super) exhausted: bool,
    /// Code in other languages; read at the end, when the stack is short again.
    pub(super) handed: Vec<(Code, String, Span)>,
    /// Which of it stands where, so that a loop does not hand over the same again and again.
    pub(super) handed_at: HashMap<(u32, u32), Vec<usize>>,
    /// Modules of which every name was imported.
    pub(super) spread_modules: Vec<Name>,
    /// Files that were written with what came over the network.
    pub(super) downloads: Vec<Rc<str>>,
    /// Where a change of directory has led.
    pub(crate) directory: Option<Rc<str>>,
}

impl<'i, 'c> Machine<'i, 'c> {
    /// Follows a text and states what it does.
    pub(crate) fn follow(
        inspection: &'i mut Inspection<'c>,
        dialect: &'static dyn Dialect,
        text: &str,
        origin: Origin,
    ) {
        let program = dialect.lower(inspection, text, origin);
        let mut machine = Self {
            inspection,
            dialect,
            scopes: vec![Scope::default()],
            scope: ScopeId(0),
            classes: Vec::new(),
            defined: Vec::new(),
            noted: HashSet::new(),
            runs: HashMap::new(),
            entered: Vec::new(),
            branches: Vec::new(),
            chosen: 0,
            chosen_around: 0,
            loops: 0,
            endless: 0,
            nesting: 0,
            inside_text: 0,
            inside_span: Span { start: 0, end: 0 },
            exhausted: false,
            handed: Vec::new(),
            handed_at: HashMap::new(),
            spread_modules: Vec::new(),
            downloads: Vec::new(),
            directory: None,
        };
        machine.execute(&program);
        machine.enter_the_rest();
        let handed = std::mem::take(&mut machine.handed);
        for (code, text, span) in handed {
            if !machine.inspection.has_work_left() {
                break;
            }
            machine.inspection.read(code, &text, Origin::of_span(span));
        }
    }

    /// Enters functions that nobody called: someone else may. What they define in turn is found as well.
    fn enter_the_rest(&mut self) {
        let mut at = 0;
        while let Some(closure) = self.defined.get(at).cloned() {
            at += 1;
            if self.exhausted {
                return;
            }
            if !self.runs.contains_key(&Rc::as_ptr(&closure.function)) {
                let unknown = vec![Value::UNKNOWN; closure.function.parameters.len()];
                let span = closure.function.span;
                self.enter(&closure, unknown, Vec::new(), span);
            }
        }
    }

    /// Counts a step. `false`: there is no more to spend, or it is too deep.
    pub(super) fn step(&mut self, span: Span) -> bool {
        if self.exhausted {
            return false;
        }
        self.charge_steps(STEPS, span)
    }

    /// Counts so much work. `false`: there is no more to spend.
    pub(super) fn charge_steps(&mut self, count: usize, span: Span) -> bool {
        if !self.exhausted && count > 0 && !self.inspection.spend(steps(count), span) {
            self.exhausted = true;
        }
        !self.exhausted
    }

    /// Counts the work of putting a text together, which is more than a step if it is long.
    pub(super) fn charge(&mut self, value: &Value, span: Span) {
        let length = value.weight();
        self.charge_steps(length / BYTES_COPIED, span);
    }

    /// Goes one deeper, if that is not too deep.
    pub(super) fn descend(&mut self, span: Span) -> bool {
        if !self.step(span) {
            return false;
        }
        if self.nesting >= NESTING {
            self.inspection.signal("too_deep", span);
            return false;
        }
        self.nesting += 1;
        true
    }

    pub(super) fn ascend(&mut self) {
        self.nesting -= 1;
    }

    /// Hands code in another language over, to be read when this text is done.
    pub(crate) fn hand(&mut self, code: Code, text: String, span: Span) {
        let here = self.handed_at.entry((span.start, span.end)).or_default();
        let is_same = |at: &usize| {
            self.handed.get(*at).is_some_and(|(known, other, _)| *known == code && *other == text)
        };
        if !here.iter().any(is_same) {
            here.push(self.handed.len());
            self.handed.push((code, text, span));
        }
    }

    /// Runs code of the same language in the current scope.
    pub(crate) fn run(&mut self, text: &str, span: Span) -> Value {
        if !self.inspection.enter(text, Origin::of_span(span)) {
            return Value::UNKNOWN;
        }
        let program = self.dialect.lower(self.inspection, text, Origin::of_span(span));
        let mut result = Value::UNKNOWN;
        if self.descend(span) {
            self.inside_text += 1;
            self.inside_span = span;
            result = self.execute_for_value(&program);
            self.inside_text -= 1;
            self.ascend();
        }
        self.inspection.leave();
        result
    }

    pub(super) fn scope_mut(&mut self, id: ScopeId) -> Option<&mut Scope> {
        self.scopes.get_mut(id.0)
    }

    /// The value of a name.
    pub(crate) fn lookup(&self, name: &str) -> Value {
        if let Some(value) = self.lookup_known(name) {
            return value;
        }
        if self.spread_modules.is_empty() || self.dialect.is_builtin(name) {
            return self.dialect.global(name);
        }
        let candidates = self.spread_modules.iter().map(|module| {
            let full = format!("{module}.{name}");
            Value::thing(self.dialect.canonical(&full).unwrap_or(full))
        });
        // In JavaScript, what an object does not have is still looked for outside.
        let outside = self.dialect.index_is_attribute().then(|| self.dialect.global(name));
        Value::any_of(candidates.chain(outside))
    }

    pub(super) fn lookup_known(&self, name: &str) -> Option<Value> {
        let mut at = Some(self.scope);
        while let Some(scope) = at.and_then(|id| self.scopes.get(id.0)) {
            if let Some(value) = scope.names.get(name) {
                return Some(value.clone());
            }
            at = scope.parent;
        }
        None
    }

    /// The scope in which an assignment to a name ends up.
    fn scope_of(&self, name: &str, declares: bool) -> ScopeId {
        let is_outer =
            self.scopes.get(self.scope.0).is_some_and(|scope| scope.outer.iter().any(|n| &**n == name));
        if declares && !is_outer {
            return self.scope;
        }
        let mut at = self.scopes.get(self.scope.0).and_then(|scope| scope.parent.filter(|_| is_outer));
        at = at.or((!is_outer).then_some(self.scope));
        while let Some((id, scope)) = at.and_then(|id| Some((id, self.scopes.get(id.0)?))) {
            if scope.names.contains_key(name) {
                return id;
            }
            at = scope.parent;
        }
        ScopeId(0)
    }

    /// Gives a name a value. In another function's scope, where the order is not known, the old value stays possible.
    pub(crate) fn bind(&mut self, name: &Name, value: Value, declares: bool) {
        let id = self.scope_of(name, declares);
        let weak = id != self.scope;
        let Self { scopes, branches, .. } = self;
        let Some(scope) = scopes.get_mut(id.0) else { return };
        if let Some(branch) = branches.last_mut()
            && branch.scope == id
            && branch.assigned.insert(Rc::clone(name))
        {
            branch.before.push((Rc::clone(name), scope.names.get(name).cloned()));
        }
        match scope.names.get_mut(name) {
            Some(old) if weak => *old = std::mem::replace(old, Value::UNKNOWN).or(value),
            Some(old) => *old = value,
            None => {
                scope.names.insert(Rc::clone(name), value);
            }
        }
    }

    /// A member of a class or of what it inherits from.
    pub(super) fn member_of(&self, class: ClassId, name: &str) -> Option<Value> {
        let mut classes = vec![class];
        let mut at = 0;
        while let Some(id) = classes.get(at).copied() {
            at += 1;
            let state = self.classes.get(id.0)?;
            if let Some(value) = state.members.get(name) {
                return Some(value.clone());
            }
            for base in &state.bases {
                if let What::Class(base) = base.what
                    && !classes.contains(&base)
                {
                    classes.push(base);
                }
            }
        }
        None
    }

    /// What a class of the text inherits from outside of it.
    pub(super) fn foreign_base(&self, class: ClassId) -> Option<Value> {
        self.classes.get(class.0)?.bases.iter().find(|base| base.as_thing().is_some()).cloned()
    }

    /// Sets a field of all objects of a class; what it was stays possible.
    pub(super) fn set_member(&mut self, class: ClassId, name: &Name, value: Value) {
        let Some(state) = self.classes.get_mut(class.0) else { return };
        match state.members.get_mut(name) {
            // `self.x = None` only says that there will be an x.
            Some(old) if old.what != What::Nothing => *old = std::mem::replace(old, Value::UNKNOWN).or(value),
            Some(old) => *old = value,
            None => {
                state.members.insert(Rc::clone(name), value);
            }
        }
    }

    /// Whether this runs once for each file of a folder, or without end.
    pub(crate) fn is_repeated(&self) -> bool {
        self.loops > 0
    }

    /// Whether a loop does this for everything that it goes through, without choosing.
    pub(super) fn is_for_all(&self) -> bool {
        self.loops > 0 && self.chosen == self.chosen_around
    }

    pub(crate) fn is_endless(&self) -> bool {
        self.endless > 0
    }

    /// Notes that a file holds what came over the network.
    pub(crate) fn note_written(&mut self, path: &Rc<str>, taint: Taint) {
        const KEPT: usize = 16;
        if taint.has(Taint::NETWORK)
            && path.len() > 1
            && self.downloads.len() < KEPT
            && !self.downloads.contains(path)
        {
            self.downloads.push(Rc::clone(path));
        }
    }
}
