//! Statements: what names come to stand for, and which functions there are.

use std::collections::HashSet;
use std::rc::Rc;

use banksman_core::Span;

use super::machine::{Branch, ClassId, ClassState, Machine};
use super::tree::{Class, Function, Loop, Name, Node, Operator, Statement, Target};
use super::value::{Closure, Taint, Value, What};
use crate::fact::{Call, Fact, Word};
use crate::inspection::Code;

/// Elements of a known list that a loop is followed for, one by one.
const UNROLLED: usize = 64;

/// Steps that a statement takes beside its expressions.
const STATEMENT: usize = 2;

impl Machine<'_, '_> {
    /// Follows statements one after the other.
    pub(super) fn execute(&mut self, statements: &[Statement]) {
        // Functions can be called before the line that defines them, by others that stand above.
        for statement in statements {
            if let Statement::Define { name, function, .. } = statement {
                self.define(name, function);
            }
        }
        for statement in statements {
            if !self.charge_steps(STATEMENT, Span { start: 0, end: 0 }) {
                return;
            }
            self.execute_one(statement);
        }
    }

    /// Follows statements for the value of the last one, as `eval` does.
    pub(super) fn execute_for_value(&mut self, statements: &[Statement]) -> Value {
        match statements.split_last() {
            Some((Statement::Evaluate(last), before)) => {
                self.execute(before);
                self.evaluate(last)
            }
            _ => {
                self.execute(statements);
                Value::UNKNOWN
            }
        }
    }

    fn execute_one(&mut self, statement: &Statement) {
        match statement {
            Statement::Evaluate(node) => {
                self.evaluate(node);
            }
            Statement::Assign { target, value, declares } => {
                let value = self.evaluate(value);
                self.assign(target, value, *declares);
            }
            Statement::Augment(target, operator, value) => self.augment(target, *operator, value),
            Statement::Import(names) => {
                for (local, full) in names {
                    let full = self.dialect.canonical(full).map_or_else(|| Rc::clone(full), Rc::from);
                    if self.inside_text > 0 {
                        self.note_hidden_import(&full);
                    }
                    // Whatever it was before, from here on it is the module; a fallback import keeps both.
                    self.bind(local, Value::thing(full), true);
                }
            }
            Statement::ImportAll(module) => self.spread_modules.push(Rc::clone(module)),
            Statement::Within(object, body) => self.execute_within(object, body),
            Statement::Define { name, function, decorators } => {
                for decorator in decorators {
                    self.evaluate(decorator);
                }
                self.define(name, function);
            }
            Statement::Class(class) => {
                self.define_class(class);
            }
            Statement::Branches(branches) => {
                self.chosen += 1;
                self.execute_branches(branches);
                self.chosen -= 1;
            }
            Statement::Loop(repeated) => self.execute_loop(repeated),
            Statement::Return(node) => {
                let value = node.as_ref().map_or(What::Nothing.into(), |node| self.evaluate(node));
                let scope = self.scope;
                if let Some(scope) = self.scope_mut(scope) {
                    scope.result = Some(match scope.result.take() {
                        Some(other) => other.or(value),
                        None => value,
                    });
                }
            }
            Statement::Block(body) => self.execute_nested(body),
            Statement::Outer(names) => {
                let scope = self.scope;
                if let Some(scope) = self.scope_mut(scope) {
                    scope.outer.extend(names.iter().cloned());
                }
            }
            Statement::Shell(command, span) => self.hand(Code::Shell, command.to_string(), *span),
        }
    }

    fn execute_within(&mut self, object: &Node, body: &[Statement]) {
        let object = self.evaluate(object);
        let before = self.spread_modules.len();
        for one in object.alternatives() {
            if let Some(thing) = one.as_thing() {
                self.spread_modules.push(Rc::clone(&thing.name));
            }
            for (name, value) in one.as_map().into_iter().flat_map(|entries| entries.iter()) {
                self.bind(name, value.clone(), true);
            }
        }
        self.execute_nested(body);
        self.spread_modules.truncate(before);
    }

    fn execute_nested(&mut self, statements: &[Statement]) {
        let span = Span { start: 0, end: 0 };
        if self.descend(span) {
            self.execute(statements);
            self.ascend();
        }
    }

    /// An import inside of a text that is run is as hidden as `__import__`.
    fn note_hidden_import(&mut self, full: &str) {
        let module = full.split('.').next().unwrap_or(full);
        let span = self.inside_span;
        let call = Call {
            language: self.dialect.language(),
            function: "__import__".into(),
            args: vec![Word::known(module, span)],
            keywords: Vec::new(),
            span,
        };
        self.inspection.state(&Fact::Call(call), span);
    }

    fn define(&mut self, name: &Name, function: &Rc<Function>) {
        let value = self.close(function, None);
        self.bind(name, value, true);
    }

    /// A function as a value, and noted so that it is entered even if nobody calls it.
    pub(super) fn close(&mut self, function: &Rc<Function>, this: Option<Value>) -> Value {
        let closure = Rc::new(Closure { function: Rc::clone(function), scope: self.scope, this });
        if self.noted.insert(Rc::as_ptr(function)) {
            self.defined.push(Rc::clone(&closure));
        }
        What::Function(closure).into()
    }

    pub(super) fn define_class(&mut self, class: &Rc<Class>) -> Value {
        let bases: Vec<Value> = class.bases.iter().map(|base| self.evaluate(base)).collect();
        let id = ClassId(self.classes.len());
        self.classes.push(ClassState { bases, ..ClassState::default() });
        let value: Value = What::Class(id).into();
        self.bind(&class.name, value.clone(), true);
        let this: Value = What::Instance(id).into();
        for statement in &class.body {
            match statement {
                Statement::Define { name, function, decorators } => {
                    for decorator in decorators {
                        self.evaluate(decorator);
                    }
                    let is_static = decorators.iter().any(is_static_method);
                    let method = self.close(function, (!is_static).then(|| this.clone()));
                    self.set_member(id, name, method.clone());
                    if matches!(&**name, "__reduce__" | "__reduce_ex__") {
                        self.reduce(&method, function.span);
                    }
                }
                Statement::Assign { target: Target::Name(name), value, .. } => {
                    let value = self.evaluate(value);
                    self.set_member(id, name, value);
                }
                other => self.execute_one(other),
            }
        }
        value
    }

    /// An object says what is called when it is loaded: whoever loads it will call that.
    fn reduce(&mut self, method: &Value, span: Span) {
        let result = self.call_value(method, None, Vec::new(), Vec::new(), span);
        for one in result.alternatives() {
            let Some([function, args, ..]) = one.as_list().map(|list| list.as_slice()) else { continue };
            if function.as_thing().is_some_and(|thing| super::sink::is_guarded(&thing.name)) {
                self.inspection.signal("reduce_defined", span);
                let args = args.as_list().map(|list| list.to_vec()).unwrap_or_default();
                self.call_value(function, None, args, Vec::new(), span);
            }
        }
    }

    fn execute_loop(&mut self, repeated: &Loop) {
        if let Some(test) = &repeated.test {
            self.evaluate(test);
        }
        self.loops += 1;
        let chosen_around = std::mem::replace(&mut self.chosen_around, self.chosen);
        self.endless += u32::from(repeated.endless);
        match &repeated.each {
            Some((target, source)) => {
                let source_value = self.evaluate(source);
                match source_value.as_list().map(Rc::clone) {
                    Some(items) if items.len() <= UNROLLED && self.loops <= 3 => {
                        for item in items.iter() {
                            if self.exhausted {
                                break;
                            }
                            self.assign(target, item.clone(), true);
                            self.execute_nested(&repeated.body);
                        }
                    }
                    _ => {
                        let element = self.element_of(&source_value);
                        self.assign(target, element, true);
                        self.execute_maybe(&repeated.body);
                    }
                }
            }
            None => self.execute_maybe(&repeated.body),
        }
        self.endless -= u32::from(repeated.endless);
        self.chosen_around = chosen_around;
        self.loops -= 1;
    }

    /// Follows the body of a loop that may run any number of times: what one round leaves, the next one finds.
    fn execute_maybe(&mut self, body: &[Statement]) {
        let rounds = if self.loops == 1 { 2 } else { 1 };
        for _ in 0..rounds {
            let mut assigned = Vec::new();
            self.branch(body, &mut assigned);
            self.merge(assigned);
        }
    }

    /// Follows branches of which any may run: each finds what was there before, and afterwards all is possible.
    fn execute_branches(&mut self, branches: &[Vec<Statement>]) {
        let mut assigned = Vec::new();
        for branch in branches {
            self.branch(branch, &mut assigned);
        }
        self.merge(assigned);
    }

    fn branch(&mut self, body: &[Statement], assigned: &mut Vec<(Name, Value)>) {
        self.branches.push(Branch { scope: self.scope, before: Vec::new(), assigned: HashSet::new() });
        self.execute_nested(body);
        let Some(branch) = self.branches.pop() else { return };
        let Some(scope) = self.scope_mut(branch.scope) else { return };
        for (name, before) in branch.before {
            let after = match before {
                Some(before) => scope.names.insert(Rc::clone(&name), before),
                None => scope.names.remove(&name),
            };
            assigned.extend(after.map(|after| (name, after)));
        }
    }

    /// What branches assigned becomes possible.
    fn merge(&mut self, assigned: Vec<(Name, Value)>) {
        for (name, value) in assigned {
            let scope = self.scope;
            let old = self.scope_mut(scope).and_then(|scope| scope.names.get(&name).cloned());
            let value = old.map_or(value.clone(), |old| old.or(value));
            self.bind(&name, value, true);
        }
    }

    /// Puts a value where it is assigned to.
    pub(super) fn assign(&mut self, target: &Target, value: Value, declares: bool) {
        match target {
            Target::Name(name) => self.bind(name, value, declares),
            Target::Member(object, name) => {
                let object_value = self.evaluate(object);
                self.set_attribute(&object_value, name, value, object.span);
            }
            Target::Index(object, key) => {
                let key = self.evaluate(key);
                self.set_element(object, &key, value);
            }
            Target::List(targets) => self.assign_list(targets, &value, declares),
            Target::Map(targets) => {
                for (name, target) in targets {
                    let part = self.attribute(&value, name);
                    self.assign(target, part, declares);
                }
            }
            Target::Rest(target) => self.assign(target, value, declares),
            Target::Default(target, default) => {
                let default = self.evaluate(default);
                let value = match value.what {
                    What::Unknown | What::Nothing => default.with(value.taint),
                    _ => value,
                };
                self.assign(target, value, declares);
            }
            Target::Nowhere => {}
        }
    }

    fn assign_list(&mut self, targets: &[Target], value: &Value, declares: bool) {
        let items = value.as_list().map(Rc::clone);
        for (at, target) in targets.iter().enumerate() {
            let item = match (&items, target) {
                (Some(items), Target::Rest(_)) => Value::list(items.iter().skip(at).cloned().collect()),
                (Some(items), _) => items.get(at).cloned().unwrap_or(Value::unknown(value.taint)),
                (None, _) => self.element_of(value),
            };
            self.assign(target, item, declares);
        }
    }

    fn augment(&mut self, target: &Target, operator: Operator, node: &super::tree::Node) {
        let added = self.evaluate(node);
        let old = match target {
            Target::Name(name) => self.lookup_known(name).unwrap_or(Value::UNKNOWN),
            Target::Member(object, name) => {
                let object = self.evaluate(object);
                self.attribute(&object, name)
            }
            _ => Value::UNKNOWN,
        };
        if self.is_endless() && operator == Operator::Add && matches!(old.what, What::List(_)) {
            self.inspection.signal("endless_growth", node.span);
        }
        let value = super::evaluate::combine(operator, &old, &added);
        self.charge(&value, node.span);
        self.assign(target, value, false);
    }

    fn set_attribute(&mut self, object: &Value, name: &Name, value: Value, span: Span) {
        for one in object.alternatives() {
            match &one.what {
                What::Instance(class) | What::Class(class) => self.set_member(*class, name, value.clone()),
                What::Thing(thing) => {
                    if &*thing.name == "Object.prototype" || thing.name.ends_with(".__proto__") {
                        self.inspection.signal("prototype_changed", span);
                    } else if !thing.made
                        && super::sink::is_guarded(&thing.name)
                        && &*thing.name != "globalThis"
                    {
                        self.inspection.signal("library_changed", span);
                    }
                    self.dialect_assigned(thing, name, &value, span);
                    // `socket.onmessage = f`: it will be called with what comes in.
                    if matches!(value.what, What::Function(_)) {
                        self.call_value(&value, None, vec![Value::unknown(one.taint)], Vec::new(), span);
                    }
                }
                _ => {}
            }
        }
    }

    /// Some assignments act: `location.href = url`, `request.data = body`.
    fn dialect_assigned(&mut self, thing: &Rc<super::value::Thing>, name: &str, value: &Value, span: Span) {
        let site = super::dialect::CallSite {
            name: format!("{}.{name}=", thing.name).into(),
            receiver: None,
            args: vec![value.clone()],
            keywords: Vec::new(),
            span,
        };
        self.apply_entry(&site);
    }

    fn set_element(&mut self, object: &super::tree::Node, key: &Value, value: Value) {
        let container = self.evaluate(object);
        let super::tree::Expr::Name(name) = &object.expr else {
            if let What::Thing(thing) = &container.what
                && let Some(key) = key.known_text()
            {
                self.dialect_assigned(thing, &key, &value, object.span);
            }
            return;
        };
        if let (Some(entries), Some(key)) = (container.as_map(), key.known_text()) {
            const KEPT: usize = 256;
            let mut entries: Vec<_> = entries.iter().filter(|(known, _)| *known != key).cloned().collect();
            if entries.len() < KEPT {
                entries.push((key, value));
            }
            let changed = Value::map(entries).with(container.taint);
            self.bind(name, changed, false);
        } else if value.taint != Taint::NONE {
            self.bind(name, container.with(value.taint), false);
        }
    }
}

fn is_static_method(decorator: &super::tree::Node) -> bool {
    matches!(&decorator.expr, super::tree::Expr::Name(name) if &**name == "staticmethod")
}
