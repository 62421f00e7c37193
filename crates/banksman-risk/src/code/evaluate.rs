//! Expressions: what value they have.

use std::rc::Rc;

use super::machine::Machine;
use super::text;
use super::tree::{Comprehension, Expr, Node, Operator};
use super::value::{TEXT, Taint, Thing, Value, What};

/// Names longer than this are not followed.
const NAME: usize = 160;
/// Elements of a list that a comprehension or a callback is followed for, one by one.
pub(super) const MAPPED: usize = 2048;

impl Machine<'_, '_> {
    /// The value of an expression; what it does is stated on the way.
    pub(super) fn evaluate(&mut self, node: &Node) -> Value {
        if !self.descend(node.span) {
            return Value::UNKNOWN;
        }
        let value = self.evaluate_here(node);
        self.ascend();
        value
    }

    fn evaluate_here(&mut self, node: &Node) -> Value {
        match &node.expr {
            Expr::Text(text) => Value::text(Rc::clone(text)),
            Expr::Number(number) => What::Number(*number).into(),
            Expr::Flag(flag) => What::Flag(*flag).into(),
            Expr::Nothing => What::Nothing.into(),
            Expr::Name(name) => self.lookup(name),
            Expr::Member(object, name) => {
                self.note_escape(object, name, node);
                let object = self.evaluate(object);
                self.attribute(&object, name)
            }
            Expr::Index(object, key) => {
                let object = self.evaluate(object);
                let key = self.evaluate(key);
                key.each(|key| self.index(&object, key))
            }
            Expr::Slice(object, bounds) => self.slice(object, bounds),
            Expr::Call(call) => self.call(call, node.span),
            Expr::Join(parts) => {
                let mut whole = Value::text("");
                for part in parts {
                    let part = self.evaluate(part);
                    whole = whole.concat(&as_text(&part));
                    self.charge(&whole, node.span);
                    if self.exhausted {
                        break;
                    }
                }
                whole
            }
            Expr::Add(parts) => {
                let mut parts = parts.iter();
                let mut whole = parts.next().map_or(Value::UNKNOWN, |first| self.evaluate(first));
                for part in parts {
                    let part = self.evaluate(part);
                    whole = combine(Operator::Add, &whole, &part);
                    self.charge(&whole, node.span);
                    if self.exhausted {
                        break;
                    }
                }
                whole
            }
            Expr::Binary(operator, left, right) => {
                let left = self.evaluate(left);
                let right = self.evaluate(right);
                combine(*operator, &left, &right)
            }
            Expr::List(items) => self.list(items),
            Expr::Spread(inner) => self.evaluate(inner),
            Expr::Map(entries) => self.map(entries),
            Expr::Either(options) => {
                let values: Vec<Value> = options.iter().map(|option| self.evaluate(option)).collect();
                Value::any_of(values)
            }
            Expr::Sequence(parts) => parts.iter().fold(What::Nothing.into(), |_, part| self.evaluate(part)),
            Expr::Function(function) => {
                let this = self.dialect.this().and_then(|this| self.lookup_known(this));
                self.close(function, this)
            }
            Expr::Class(class) => self.define_class(class),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Assign(target, value) => {
                let value = self.evaluate(value);
                self.assign(target, value.clone(), false);
                value
            }
            Expr::Yield(inner) => {
                let value = self.evaluate(inner);
                let scope = self.scope;
                if let Some(scope) = self.scope_mut(scope)
                    && scope.yielded.len() < MAPPED
                {
                    scope.yielded.push(value);
                }
                Value::UNKNOWN
            }
            Expr::Opaque(parts) => {
                let taint =
                    parts.iter().fold(Taint::NONE, |taint, part| taint.and(self.evaluate(part).taint));
                Value::unknown(taint)
            }
        }
    }

    fn list(&mut self, items: &[Node]) -> Value {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let value = self.evaluate(item);
            match (&item.expr, value.as_list()) {
                (Expr::Spread(_), Some(inner)) => values.extend(inner.iter().cloned()),
                _ => values.push(value),
            }
        }
        Value::list(values)
    }

    fn map(&mut self, entries: &[(Option<Node>, Node)]) -> Value {
        let mut values: Vec<(Rc<str>, Value)> = Vec::with_capacity(entries.len());
        let mut taint = Taint::NONE;
        for (key, value) in entries {
            let value = self.evaluate(value);
            taint = taint.and(value.taint);
            match key {
                Some(key) => values.push((self.evaluate(key).to_text(), value)),
                None => values.extend(value.as_map().map(|inner| inner.to_vec()).unwrap_or_default()),
            }
        }
        Value::map(values).with(taint)
    }

    fn comprehension(&mut self, comprehension: &Comprehension) -> Value {
        let [(target, source)] = comprehension.clauses.as_slice() else {
            for (target, source) in &comprehension.clauses {
                let source = self.evaluate(source);
                let element = self.element_of(&source);
                self.assign(target, element, true);
            }
            return self.comprehension_element(comprehension);
        };
        let source = self.evaluate(source);
        match source.as_list().map(Rc::clone) {
            Some(items) if items.len() <= MAPPED && comprehension.conditions.is_empty() => {
                let mut values = Vec::with_capacity(items.len());
                for item in items.iter() {
                    if self.exhausted {
                        break;
                    }
                    self.assign(target, item.clone(), true);
                    values.push(self.evaluate(&comprehension.element));
                }
                Value::list(values)
            }
            _ => {
                let element = self.element_of(&source);
                self.assign(target, element, true);
                self.comprehension_element(comprehension)
            }
        }
    }

    fn comprehension_element(&mut self, comprehension: &Comprehension) -> Value {
        for condition in &comprehension.conditions {
            self.evaluate(condition);
        }
        let element = self.evaluate(&comprehension.element);
        // How many there are is not known: as a list of one it still tells what each of them is.
        Value::made("_", None).with(element.taint).or(Value::list(vec![element]))
    }

    fn slice(&mut self, node: &Node, bounds: &[Option<Node>]) -> Value {
        let object = self.evaluate(node);
        let bounds: Vec<Option<Value>> =
            bounds.iter().map(|bound| bound.as_ref().map(|node| self.evaluate(node))).collect();
        let numbers: Option<Vec<Option<i64>>> = bounds
            .iter()
            .map(|bound| match bound {
                None => Some(None),
                Some(value) => value.as_number().map(Some),
            })
            .collect();
        let Some(numbers) = numbers else { return Value::unknown(object.taint) };
        self.charge(&object, node.span);
        object.each(|value| text::slice(value, &numbers))
    }

    /// `object.name`.
    pub(crate) fn attribute(&mut self, object: &Value, name: &str) -> Value {
        object.each(|value| self.attribute_of_one(value, name))
    }

    fn attribute_of_one(&mut self, object: &Value, name: &str) -> Value {
        let found = match &object.what {
            What::Thing(thing) => self.attribute_of_thing(thing, name),
            What::Instance(class) | What::Class(class) => match self.member_of(*class, name) {
                Some(value) => value,
                None => match self.foreign_base(*class) {
                    Some(base) => self.attribute(&base, name),
                    None => unknown_member(name),
                },
            },
            What::Map(_) => object.get(name).cloned().unwrap_or_else(|| unknown_member(name)),
            // `f.call(...)`, `f.bind(...)`, `f.__globals__`.
            What::Function(_) | What::Partial(_) => match name {
                "call" | "apply" | "bind" | "__call__" => object.clone(),
                _ => unknown_member(name),
            },
            What::Unknown
            | What::Text(_)
            | What::Number(_)
            | What::Flag(_)
            | What::Nothing
            | What::List(_)
            | What::Either(_) => unknown_member(name),
        };
        // One variable of the environment is not all of it.
        found.with(object.taint.without(Taint::ENVIRONMENT))
    }

    fn attribute_of_thing(&mut self, thing: &Rc<Thing>, name: &str) -> Value {
        if let Some(value) = self.dialect.attribute(thing, name) {
            return value;
        }
        if thing.name.len() + name.len() > NAME {
            return unknown_member(name);
        }
        let full = format!("{}.{name}", thing.name);
        let full = self.dialect.canonical(&full).unwrap_or(full);
        if thing.made { Value::made(full, None) } else { Value::thing(full) }
    }

    /// `object[key]`.
    fn index(&mut self, object: &Value, key: &Value) -> Value {
        object.each(|value| self.index_of_one(value, key))
    }

    fn index_of_one(&mut self, object: &Value, key: &Value) -> Value {
        let found = match (&object.what, &key.what) {
            (What::List(items), What::Number(at)) => {
                let at = if *at < 0 { at.saturating_add_unsigned(items.len() as u64) } else { *at };
                usize::try_from(at).ok().and_then(|at| items.get(at)).cloned()
            }
            (What::List(items), What::Unknown) => Some(Value::any_of(items.iter().cloned())),
            (What::Map(_), What::Text(key)) => object.get(key).cloned(),
            (What::Map(entries), _) => Some(Value::any_of(entries.iter().map(|(_, value)| value.clone()))),
            (What::Text(text), What::Number(at)) => text::character(text, *at),
            (What::Thing(thing), _) => match self.dialect.element(thing, Some(key)) {
                Some(value) => Some(value),
                None => self.index_of_thing(object, thing, key),
            },
            (What::Instance(_) | What::Class(_), What::Text(name)) if self.dialect.index_is_attribute() => {
                Some(self.attribute(object, name))
            }
            _ => None,
        };
        let taint = object.taint.without(Taint::ENVIRONMENT);
        found.map_or(Value::unknown(taint), |value| value.with(taint))
    }

    fn index_of_thing(&mut self, object: &Value, thing: &Rc<Thing>, key: &Value) -> Option<Value> {
        let is_namespace = thing.name.ends_with("__dict__") || thing.name.ends_with("__globals__");
        match &key.what {
            // What these hold is found by name, as if it were a variable.
            What::Text(name) if matches!(&*thing.name, "globals" | "locals" | "vars") || is_namespace => {
                let module = thing.name.strip_suffix(".__dict__").filter(|module| !module.starts_with('_'));
                match module {
                    Some(module) => Some(self.attribute(&Value::thing(module), name)),
                    // Someone else's names: most likely those of the module that is reached for.
                    None if is_namespace => {
                        Some(self.lookup(name).or(self.attribute(&Value::thing("os"), name)))
                    }
                    None => Some(self.lookup(name)),
                }
            }
            What::Text(name) if self.dialect.index_is_attribute() => Some(self.attribute(object, name)),
            // Which function it is, is only known when it runs.
            What::Unknown if !thing.made => Some(self.attribute(object, "\0")),
            _ => None,
        }
    }

    /// One of what a value holds.
    pub(crate) fn element_of(&mut self, value: &Value) -> Value {
        value.each(|one| {
            let found = match &one.what {
                What::List(items) => Value::any_of(items.iter().cloned()),
                What::Map(entries) => {
                    Value::any_of(entries.iter().map(|(key, _)| Value::text(Rc::clone(key))))
                }
                What::Thing(thing) => self.dialect.element(thing, None).unwrap_or(Value::UNKNOWN),
                _ => Value::UNKNOWN,
            };
            found.with(one.taint)
        })
    }

    /// Python's own insides lead from any object to every other: nobody needs them in a script.
    pub(super) fn note_escape(&mut self, object: &Node, name: &str, node: &Node) {
        let is_escape = match name {
            "__globals__" | "__builtins__" => true,
            "__subclasses__" => climbs(object),
            _ => false,
        };
        if is_escape {
            self.inspection.signal("inner_objects", node.span);
        } else if name == "__proto__" {
            self.inspection.signal("prototype_changed", node.span);
        }
    }
}

/// Whether an object is reached by way of its class: `x.__class__.__bases__[0]`.
fn climbs(object: &Node) -> bool {
    let mut at = object;
    loop {
        at = match &at.expr {
            Expr::Member(_, name)
                if matches!(&**name, "__class__" | "__base__" | "__bases__" | "__mro__") =>
            {
                return true;
            }
            Expr::Member(inner, _) | Expr::Index(inner, _) => inner,
            Expr::Call(call) => &call.function,
            _ => return false,
        };
    }
}

/// A member of something of which only the member's name is known.
fn unknown_member(name: &str) -> Value {
    Value::made(format!("_.{name}"), None)
}

/// A value as a text inside a text.
fn as_text(value: &Value) -> Value {
    value.each(|one| match &one.what {
        What::Text(_) | What::Number(_) | What::Thing(_) => Value::text(one.to_text()).with(one.taint),
        _ => Value::text("\0").with(one.taint),
    })
}

/// What an operator makes of two values.
pub(super) fn combine(operator: Operator, left: &Value, right: &Value) -> Value {
    let taint = left.taint.and(right.taint);
    let number = match (&left.what, &right.what) {
        (What::Number(a), What::Number(b)) => match operator {
            Operator::Add => a.checked_add(*b),
            Operator::Subtract => a.checked_sub(*b),
            Operator::Multiply => a.checked_mul(*b),
            Operator::Remainder => a.checked_rem_euclid(*b),
            Operator::Xor => Some(a ^ b),
            Operator::Divide | Operator::Other => None,
        },
        _ => None,
    };
    if let Some(number) = number {
        return Value::from(What::Number(number)).with(taint);
    }
    match operator {
        Operator::Add => left.concat(right),
        Operator::Multiply => {
            repeat(left, right).or_else(|| repeat(right, left)).unwrap_or(Value::unknown(taint))
        }
        Operator::Remainder => left.each(|format| text::percent(format, right)).with(taint),
        Operator::Divide => join_path(left, right).unwrap_or(Value::unknown(taint)),
        Operator::Subtract | Operator::Xor | Operator::Other => Value::unknown(taint),
    }
}

fn repeat(value: &Value, times: &Value) -> Option<Value> {
    let times = usize::try_from(times.as_number()?).unwrap_or(0);
    match &value.what {
        What::Text(text) if text.len().checked_mul(times)? <= TEXT => {
            Some(Value::text(text.repeat(times)).with(value.taint))
        }
        What::List(items) if items.len().checked_mul(times)? <= MAPPED => {
            Some(Value::list(items.iter().cycle().take(items.len() * times).cloned().collect()))
        }
        _ => None,
    }
}

/// `Path("a") / "b"`.
fn join_path(left: &Value, right: &Value) -> Option<Value> {
    let is_path = |value: &Value| value.as_thing().is_some_and(|thing| thing.made && thing.text.is_some());
    if !left.alternatives().iter().any(is_path) && !right.alternatives().iter().any(is_path) {
        return None;
    }
    let taint = left.taint.and(right.taint);
    Some(
        left.each(|left| {
            right.each(|right| {
                Value::made("pathlib.Path", Some(text::join_paths(&left.to_text(), &right.to_text()).into()))
            })
        })
        .with(taint),
    )
}
