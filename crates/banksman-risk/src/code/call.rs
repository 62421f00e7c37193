//! Calls: which function it is, what it is given, and what it gives.

use std::borrow::Cow;
use std::rc::Rc;

use banksman_core::Span;

use super::callback::{AFTER_DELAY, FOR_EACH, LATER, WITH_LIST, later_arguments};
use super::dialect::CallSite;
use super::evaluate::MAPPED;
use super::machine::{CALLS, ENTERED, LIBRARY_CALL, Machine, REMEMBERED, Runs, Scope, ScopeId};
use super::tree::{Argument, Call, Expr, Function, Name, Takes};
use super::value::{Closure, Taint, Value, What};
use crate::fact::{self, Fact, Word};

type Named = Vec<(Rc<str>, Value)>;

impl Machine<'_, '_> {
    pub(super) fn call(&mut self, call: &Call, span: Span) -> Value {
        if let Expr::Member(object, name) = &call.function.expr {
            self.note_escape(object, name, &call.function);
            let object_value = self.evaluate(object);
            let (args, keywords) = self.arguments(&call.args);
            if let Expr::Name(variable) = &object.expr {
                self.mutate(variable, &object_value, name, &args, span);
            }
            return object_value.each(|receiver| {
                self.note_indirection(receiver, name, &args, &keywords, span).unwrap_or_else(|| {
                    let callee = self.attribute(receiver, name);
                    self.call_value(&callee, Some(receiver), args.clone(), keywords.clone(), span)
                })
            });
        }
        let callee = self.evaluate(&call.function);
        let (args, keywords) = self.arguments(&call.args);
        self.call_value(&callee, None, args, keywords, span)
    }

    /// Methods that change the list or map that a variable holds.
    fn mutate(&mut self, variable: &Name, object: &Value, method: &str, args: &[Value], span: Span) {
        let is_added =
            matches!(method, "append" | "push" | "add" | "insert" | "unshift" | "extend" | "update");
        if !is_added && !matches!(method, "reverse" | "set" | "setdefault") {
            return;
        }
        if self.is_endless() && is_added {
            self.inspection.signal("endless_growth", span);
        }
        let changed = match (&object.what, method) {
            // What grows too long is not followed any more.
            (What::List(items), _) if is_added && items.len() >= MAPPED => Value::UNKNOWN,
            (What::List(items), "append" | "push" | "add") => {
                Value::list(items.iter().chain(args).cloned().collect())
            }
            (What::List(items), "unshift") => Value::list(args.iter().chain(items.iter()).cloned().collect()),
            (What::List(items), "insert") => {
                let mut items = items.to_vec();
                let at = args.first().and_then(Value::as_number).and_then(|at| usize::try_from(at).ok());
                let at = at.unwrap_or(items.len()).min(items.len());
                items.splice(at..at, args.get(1).cloned());
                Value::list(items)
            }
            (What::List(items), "extend") => match args.first().and_then(Value::as_list) {
                Some(more) if items.len() + more.len() <= MAPPED => {
                    Value::list(items.iter().chain(more.iter()).cloned().collect())
                }
                _ => object.concat(&Value::UNKNOWN),
            },
            (What::List(items), "reverse") => Value::list(items.iter().rev().cloned().collect()),
            (What::Map(entries), "update") => match args.first().and_then(Value::as_map) {
                Some(more) if entries.len() + more.len() <= MAPPED => {
                    Value::map(entries.iter().chain(more.iter()).cloned().collect())
                }
                _ => return,
            },
            _ => return,
        };
        self.charge(&changed, span);
        let added = args.iter().fold(Taint::NONE, |taint, value| taint.and(value.taint));
        self.bind(variable, changed.with(object.taint).with(added), false);
    }

    /// `f.call(this, x)`, `f.apply(this, [x])`, `f.bind(this, x)`.
    fn note_indirection(
        &mut self,
        function: &Value,
        name: &str,
        args: &[Value],
        keywords: &[(Rc<str>, Value)],
        span: Span,
    ) -> Option<Value> {
        // `Reflect.apply(f, this, [x])` calls another function than `Reflect`.
        let is_reflect = function.as_thing().is_some_and(|thing| &*thing.name == "Reflect");
        if !self.dialect.index_is_attribute() || !function.is_callable() || is_reflect {
            return None;
        }
        let rest = args.get(1..).unwrap_or_default().to_vec();
        match name {
            "call" => Some(self.call_value(function, None, rest, keywords.to_vec(), span)),
            "apply" => {
                let list = rest.first().and_then(Value::as_list).map(|list| list.to_vec());
                Some(self.call_value(function, None, list.unwrap_or_default(), keywords.to_vec(), span))
            }
            "bind" => Some(Value::partial(function.clone(), rest, Vec::new())),
            _ => None,
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) -> (Vec<Value>, Named) {
        let mut args = Vec::with_capacity(arguments.len());
        let mut keywords = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Plain(node) => args.push(self.evaluate(node)),
                Argument::Named(name, node) => keywords.push((Rc::clone(name), self.evaluate(node))),
                Argument::Spread(node) => {
                    let list = self.evaluate(node);
                    match list.as_list() {
                        Some(items) => args.extend(items.iter().cloned()),
                        None => args.push(Value::unknown(list.taint)),
                    }
                }
                Argument::SpreadMap(node) => {
                    let map = self.evaluate(node);
                    keywords.extend(map.as_map().map(|entries| entries.to_vec()).unwrap_or_default());
                }
            }
        }
        (args, keywords)
    }

    /// Calls a value.
    pub(crate) fn call_value(
        &mut self,
        callee: &Value,
        receiver: Option<&Value>,
        args: Vec<Value>,
        keywords: Named,
        span: Span,
    ) -> Value {
        // Arguments are copied for each function that it may be.
        if !self.charge_steps((args.len() + keywords.len()) * callee.alternatives().len(), span)
            || !self.descend(span)
        {
            return Value::UNKNOWN;
        }
        let result = callee.each(|one| self.call_one(one, receiver, args.clone(), keywords.clone(), span));
        self.ascend();
        result
    }

    fn call_one(
        &mut self,
        callee: &Value,
        receiver: Option<&Value>,
        args: Vec<Value>,
        keywords: Named,
        span: Span,
    ) -> Value {
        match &callee.what {
            What::Function(closure) => self.enter(closure, args, keywords, span),
            What::Class(id) => {
                let constructor = self.dialect.constructor();
                let base = self.foreign_base(*id);
                if let Some(method) = self.member_of(*id, constructor) {
                    self.call_value(&method, None, args, keywords, span);
                } else if let Some(base) = base {
                    self.call_value(&base, None, args, keywords, span);
                }
                What::Instance(*id).into()
            }
            What::Partial(partial) => {
                let args = partial.args.iter().cloned().chain(args).collect();
                let keywords = partial.keywords.iter().cloned().chain(keywords).collect();
                self.call_value(&partial.function, None, args, keywords, span)
            }
            What::Thing(thing) => {
                let name = Rc::clone(&thing.name);
                // A JavaScript options object is how arguments are named there.
                let mut keywords = keywords;
                if self.dialect.index_is_attribute()
                    && let Some(options) = args.iter().rev().find_map(Value::as_map)
                {
                    keywords.extend(options.iter().cloned());
                }
                let site = CallSite { name, receiver: receiver.cloned(), args, keywords, span };
                self.call_library(&site).with(callee.taint)
            }
            What::Instance(id) => match self.member_of(*id, "__call__") {
                Some(method) => self.call_value(&method, None, args, keywords, span),
                None => Value::UNKNOWN,
            },
            What::Unknown
            | What::Text(_)
            | What::Number(_)
            | What::Flag(_)
            | What::Nothing
            | What::List(_)
            | What::Map(_)
            | What::Either(_) => {
                let site = CallSite { name: "_".into(), receiver: receiver.cloned(), args, keywords, span };
                self.call_library(&site).with(callee.taint)
            }
        }
    }

    fn call_library(&mut self, site: &CallSite) -> Value {
        let mut taint = site.receiver.as_ref().map_or(Taint::NONE, |receiver| receiver.taint);
        // One variable of the environment is not all of it.
        if matches!(site.method(), "get" | "pop" | "setdefault" | "hasOwnProperty") {
            taint = taint.without(Taint::ENVIRONMENT);
        }
        for value in site.args.iter().chain(site.keywords.iter().map(|(_, value)| value)) {
            taint = taint.and(value.taint);
        }
        self.charge_steps(LIBRARY_CALL, site.span);
        for value in
            site.receiver.iter().chain(&site.args).chain(site.keywords.iter().map(|(_, value)| value))
        {
            self.charge(value, site.span);
        }
        self.state_call(site);
        if let Some(value) = self.call_for_each(site) {
            return value.with(taint);
        }
        let dialect = self.dialect;
        if let Some(value) = dialect.compute(self, site) {
            return value.with(taint);
        }
        taint = taint.and(self.apply_entry(site));
        let special = dialect.special(self, site);
        if let Some(value) = &special {
            taint = taint.and(value.taint);
        }
        self.call_later(site, taint);
        special.unwrap_or_else(|| Value::made(Rc::clone(&site.name), None)).with(taint)
    }

    /// Tells the catalogue, once for each alternative that the arguments have.
    fn state_call(&mut self, site: &CallSite) {
        let values = || site.args.iter().chain(site.keywords.iter().map(|(_, value)| value));
        let rounds = values().map(|value| value.alternatives().len()).max().unwrap_or(1);
        for round in 0..rounds {
            let word = |value| word(value, round, site.span);
            let call = fact::Call {
                language: self.dialect.language(),
                function: Cow::Borrowed(&site.name),
                args: site.args.iter().map(word).collect(),
                keywords: site
                    .keywords
                    .iter()
                    .map(|(name, value)| (Cow::Borrowed(&**name), word(value)))
                    .collect(),
                span: site.span,
            };
            self.inspection.state(&Fact::Call(call), site.span);
        }
        if site.name.contains(Word::HOLE) && super::sink::is_guarded(&site.name) {
            self.inspection.signal("computed_code", site.span);
        }
    }

    /// `map(f, list)`, `list.map(f)`, `promise.then(f)`: the function is called with what is in there.
    fn call_for_each(&mut self, site: &CallSite) -> Option<Value> {
        let method = site.method();
        if method == "then" && site.receiver.is_some() {
            let receiver = site.receiver.clone()?;
            let function = site.arg(0)?;
            return Some(self.call_value(function, None, vec![receiver], Vec::new(), site.span));
        }
        if !FOR_EACH.contains(&method) {
            return None;
        }
        let at = site.args.iter().position(Value::is_callable)?;
        let function = site.arg(at)?.clone();
        let source = match &site.receiver {
            Some(receiver) if self.dialect.index_is_attribute() && method != "from" => receiver.clone(),
            _ => site
                .args
                .iter()
                .enumerate()
                .find(|(other, _)| *other != at)
                .map(|(_, value)| value.clone())?,
        };
        let spreads = method == "starmap";
        let with = |item: Value| match item.as_list() {
            Some(items) if spreads => items.to_vec(),
            _ => vec![item],
        };
        self.loops += 1;
        let result = match source.as_list().map(Rc::clone) {
            Some(items) if items.len() <= MAPPED => {
                let mut results = Vec::with_capacity(items.len());
                for item in items.iter() {
                    results.push(self.call_value(&function, None, with(item.clone()), Vec::new(), site.span));
                }
                Value::list(results)
            }
            _ => {
                let element = self.element_of(&source);
                let one = self.call_value(&function, None, with(element), Vec::new(), site.span);
                Value::made("_", None).or(Value::list(vec![one]))
            }
        };
        self.loops -= 1;
        Some(result)
    }

    /// Functions that were given to another one: it will call them.
    fn call_later(&mut self, site: &CallSite, taint: Taint) {
        let calls_any = LATER.contains(&site.method());
        let is_meant = |value: &Value| match &value.what {
            What::Function(_) | What::Partial(_) => true,
            What::Thing(thing) => calls_any && !thing.made,
            _ => false,
        };
        for (at, value) in site.args.iter().enumerate() {
            for one in value.alternatives() {
                if is_meant(one) {
                    let mut args = arguments_behind(site, at);
                    if args.is_empty() || !calls_any {
                        args = later_arguments(one, taint);
                    }
                    self.call_value(one, None, args, Vec::new(), site.span);
                }
            }
        }
        for (_, value) in &site.keywords {
            for one in value.alternatives() {
                if is_meant(one) {
                    let given = site.keyword("args").and_then(Value::as_list).map(|list| list.to_vec());
                    let args = given.unwrap_or_else(|| later_arguments(one, taint));
                    let named = site.keyword("kwargs").and_then(Value::as_map).map(|map| map.to_vec());
                    self.call_value(one, None, args, named.unwrap_or_default(), site.span);
                }
            }
        }
    }

    /// Enters a function of the text with these arguments.
    pub(super) fn enter(
        &mut self,
        closure: &Rc<Closure>,
        args: Vec<Value>,
        keywords: Named,
        span: Span,
    ) -> Value {
        let function = Rc::as_ptr(&closure.function);
        if self.entered.contains(&function) || self.entered.len() >= CALLS {
            let taint = args.iter().fold(Taint::NONE, |taint, value| taint.and(value.taint));
            return Value::unknown(taint);
        }
        let mut args = args;
        if self.dialect.this().is_none()
            && let Some(this) = &closure.this
        {
            args.insert(0, this.clone());
        }
        let runs = self.runs.entry(function).or_default();
        if runs.count >= ENTERED {
            args.iter_mut().for_each(|value| *value = Value::unknown(value.taint));
        }
        let key: Vec<Value> = args.iter().chain(keywords.iter().map(|(_, value)| value)).cloned().collect();
        if let Some((_, result)) = runs.results.iter().find(|(known, _)| *known == key) {
            return result.clone();
        }
        runs.count += 1;
        if !self.descend(span) {
            return Value::UNKNOWN;
        }
        let result = self.enter_scope(closure, args, keywords);
        self.ascend();
        let runs: &mut Runs = self.runs.entry(function).or_default();
        if runs.results.len() < REMEMBERED || runs.count >= ENTERED {
            runs.results.push((key, result.clone()));
        }
        result
    }

    fn enter_scope(&mut self, closure: &Rc<Closure>, args: Vec<Value>, keywords: Named) -> Value {
        let function: &Function = &closure.function;
        let outer_scope = self.scope;
        self.scope = ScopeId(self.scopes.len());
        self.scopes.push(Scope { parent: Some(closure.scope), ..Scope::default() });
        self.entered.push(Rc::as_ptr(&closure.function));
        if let (Some(name), Some(this)) = (self.dialect.this(), &closure.this) {
            self.bind(&name.into(), this.clone(), true);
        }
        self.bind_parameters(function, args, keywords);
        self.execute(&function.body);
        let mut result = self.scope_mut(self.scope).and_then(|scope| {
            let yielded = std::mem::take(&mut scope.yielded);
            if yielded.is_empty() { scope.result.take() } else { Some(Value::list(yielded)) }
        });
        if let Some(node) = &function.result {
            result = Some(self.evaluate(node));
        }
        self.entered.pop();
        self.scope = outer_scope;
        result.unwrap_or(What::Nothing.into())
    }

    fn bind_parameters(&mut self, function: &Function, args: Vec<Value>, mut keywords: Named) {
        let mut args = args.into_iter();
        for parameter in &function.parameters {
            let value = match parameter.takes {
                Takes::RestOfList => Value::list(args.by_ref().collect()),
                Takes::RestOfNamed => Value::map(std::mem::take(&mut keywords)),
                Takes::One => {
                    let named = match &parameter.target {
                        super::tree::Target::Name(name) => keywords
                            .iter()
                            .position(|(given, _)| given == name)
                            .map(|at| keywords.remove(at).1),
                        _ => None,
                    };
                    match named.or_else(|| args.next()) {
                        // What nobody gave, or gave without our knowing, may be what it is by default.
                        Some(value) if value.what == What::Unknown => match &parameter.default {
                            Some(default) => self.evaluate(default).or(value),
                            None => value,
                        },
                        Some(value) => value,
                        None => parameter
                            .default
                            .as_ref()
                            .map_or(Value::UNKNOWN, |default| self.evaluate(default)),
                    }
                }
            };
            self.assign(&parameter.target, value, true);
        }
    }
}

/// What a function that is called later is given: what stands behind it, in the way of the one that calls it.
fn arguments_behind(site: &CallSite, at: usize) -> Vec<Value> {
    let method = site.method();
    let skip = usize::from(AFTER_DELAY.contains(&method));
    let behind = site.args.get(at + 1 + skip..).unwrap_or_default();
    let list = behind.iter().find_map(Value::as_list).or_else(|| site.keyword("args")?.as_list());
    match list {
        Some(list) if WITH_LIST.contains(&method) => list.to_vec(),
        _ => behind.to_vec(),
    }
}

/// One alternative of an argument as a word.
fn word(value: &Value, round: usize, span: Span) -> Word<'_> {
    let all = value.alternatives();
    let text = all.get(round).or(all.last()).map_or(Cow::Borrowed("\0"), describe);
    Word { text, span, glob: false }
}

/// A value as rules see it.
fn describe(value: &Value) -> Cow<'_, str> {
    match &value.what {
        What::Text(text) => Cow::Borrowed(text),
        What::Map(entries) if entries.is_empty() => Cow::Borrowed("{}"),
        What::List(items) if items.is_empty() => Cow::Borrowed("[]"),
        What::Nothing => Cow::Borrowed("null"),
        // Something from a library is known by its name: `yaml.SafeLoader`.
        What::Thing(thing) if !thing.made && thing.text.is_none() && thing.name.contains('.') => {
            Cow::Borrowed(&thing.name)
        }
        _ => Cow::Owned(value.to_text().to_string()),
    }
}
