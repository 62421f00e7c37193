//! `when`: CEL expressions over the action and what is known of it.

use std::borrow::Cow;

use banksman_config::{LocalTime, Zone};
use banksman_core::{Action, Assessment};
use cel::{Context, Program, Value};
use serde::Serialize;

use crate::arguments::Answer;
use crate::facts::Facts;
use crate::free::free_names;

/// The names that an expression can use.
const VARIABLES: &[&str] = &["action", "args", "assessment", "agent", "facts", "now"];

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    text: String,
    program: Program,
}

/// Two expressions with the same words say the same.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// What is true around a proposal, as expressions see it.
#[derive(Serialize)]
struct FactsInView<'a> {
    mode: banksman_core::Mode,
    agent: &'a str,
    frozen: bool,
    grants: usize,
    windows: std::collections::BTreeMap<&'a str, f64>,
    local: LocalTime,
}

impl Expression {
    /// Compiles an expression; the error says what is wrong with it.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        let program = Program::compile(text).map_err(|error| format!("bad expression: {error}"))?;
        let names = free_names(program.expression());
        if let Some(unknown) = names.iter().find(|name| !VARIABLES.contains(name)) {
            return Err(format!("there is no {unknown:?}: an expression knows {}", VARIABLES.join(", ")));
        }
        if names.is_empty() {
            // It asks about nothing, so what it says now it will always say.
            match program.execute(&Context::default()) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Err("can never match: the expression is never true".into()),
                Ok(_) => return Err("the expression says neither true nor false".into()),
                Err(error) => return Err(format!("the expression always fails: {error}")),
            }
        }
        Ok(Self { text: text.trim().to_owned(), program })
    }

    /// Whether a name stands in it as a word.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').any(|word| word == name)
            || (name.contains('-') && self.text.contains(name))
    }

    /// Whether it holds. One that fails, or says something else than yes or no, is unclear.
    pub(crate) fn ask(&self, scene: &Scene<'_>) -> Answer {
        match self.program.execute(scene.context()) {
            Ok(Value::Bool(holds)) => Answer::of(holds),
            Ok(_) => Answer::Unclear("the expression says neither true nor false".into()),
            Err(error) => Answer::Unclear(error.to_string()),
        }
    }
}

/// An action without what only its gateway could know, if no gateway says so: an expression that asks for it is unclear.
fn believed(action: &Action) -> Cow<'_, Action> {
    if action.forwarded || (action.server.is_none() && action.annotations.is_none()) {
        Cow::Borrowed(action)
    } else {
        Cow::Owned(Action { server: None, annotations: None, ..action.clone() })
    }
}

/// What expressions see. Made at most once for an action, and only if a rule asks: turning arguments into CEL's
/// values costs more than all the rest of a judgement.
pub(crate) struct Scene<'a> {
    action: &'a Action,
    assessment: &'a Assessment,
    facts: &'a Facts<'a>,
    zone: &'a Zone,
    context: std::cell::OnceCell<Context<'static, 'static>>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        action: &'a Action,
        assessment: &'a Assessment,
        facts: &'a Facts<'a>,
        zone: &'a Zone,
    ) -> Self {
        Self { action, assessment, facts, zone, context: std::cell::OnceCell::new() }
    }

    fn context(&self) -> &Context<'static, 'static> {
        self.context.get_or_init(|| {
            let mut context = Context::default();
            // What cannot be turned into a value is not there, so that an expression which needs it is unclear.
            let args: Option<serde_json::Value> = serde_json::from_str(self.action.args.as_str()).ok();
            let _ = context.add_variable("args", args);
            let _ = context.add_variable("action", believed(self.action).as_ref());
            let _ = context.add_variable("assessment", self.assessment);
            let _ = context.add_variable("agent", self.facts.agent);
            let facts = FactsInView {
                mode: self.facts.mode,
                agent: self.facts.agent,
                frozen: self.facts.frozen,
                grants: self.facts.grants,
                windows: self.facts.windows.numbers(),
                local: LocalTime::of(self.facts.now, self.zone),
            };
            let _ = context.add_variable("facts", facts);
            let _ = context.add_variable("now", self.facts.now);
            context
        })
    }
}
