//! Whether arguments fit the schema that the action itself brings.

mod effort;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use banksman_core::json::CanonicalJson;
use banksman_core::redact::restore;
use banksman_core::{Action, ActionId, Principal};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::effort::{BACKTRACKING, Plan, TooMuch};
use crate::{Engine, EngineError};

/// How much of what is wrong is told.
const TOLD: usize = 20;

/// In how many steps it may be found: all that is wrong is collected, however little of it is told.
const TOLD_WITHIN: usize = 50_000;

/// Why arguments are not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// They do not follow the schema: the first thing that is wrong, and how much more. It may quote values.
    Misfit(String),
    /// Nobody can tell, because of the schema.
    Unclear(String),
}

/// Refuses arguments of an agent that do not fit.
///
/// # Errors
/// If they do not, or that cannot be found out.
pub(crate) async fn admit_args(action: &Action) -> Result<(), EngineError> {
    match objection(action).await? {
        Some(Objection::Misfit(problem) | Objection::Unclear(problem)) => {
            Err(EngineError::InvalidArgs(problem))
        }
        None => Ok(()),
    }
}

/// What speaks against the arguments of an action.
///
/// # Errors
/// If the server is about to end.
pub(crate) async fn objection(action: &Action) -> Result<Option<Objection>, EngineError> {
    let Some(schema) = action.args_schema.clone() else { return Ok(None) };
    match misfits_apart(schema, action.args.clone(), Values::Shown).await? {
        Ok(all) => Ok(told(&all).map(Objection::Misfit)),
        Err(problem) => Ok(Some(Objection::Unclear(problem))),
    }
}

fn told(all: &[(String, String)]) -> Option<String> {
    let ((place, problem), more) = (all.first()?, all.len() - 1);
    let place = if place.is_empty() { "the arguments" } else { place };
    let rest = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    Some(format!("{place}: {problem}{rest}"))
}

/// On a thread of its own: agents choose how much work a schema is, within the bounds of [`effort`], and all others would
/// wait for it.
async fn misfits_apart(
    schema: CanonicalJson,
    args: CanonicalJson,
    values: Values,
) -> Result<Result<Vec<(String, String)>, String>, EngineError> {
    let checking = tokio::task::spawn_blocking(move || misfits(&schema, &args, values));
    checking.await.map_err(|error| EngineError::Internal(error.to_string()))
}

/// Whether a message may repeat the value that it is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Shown,
    Hidden,
}

/// Everything that is wrong, each with its place (RFC 6901); or why that cannot be found out.
fn misfits(
    schema: &CanonicalJson,
    args: &CanonicalJson,
    values: Values,
) -> Result<Vec<(String, String)>, String> {
    let Ok(args) = serde_json::from_str::<Value>(args.as_str()) else {
        return Err("the arguments hold a number that cannot be checked".into());
    };
    let checker = SHELF.checker(schema)?;
    let Checker { plan, validator } = checker.as_ref();
    match plan.steps(&args) {
        Ok(steps) if steps <= TOLD_WITHIN => {}
        Ok(_) if validator.is_valid(&args) => return Ok(Vec::new()),
        Ok(_) => {
            return Ok(vec![(
                String::new(),
                "they do not follow the schema, and are too long to say where".into(),
            )]);
        }
        Err(TooMuch) => return Err("the schema makes it too much work to check the arguments".into()),
    }
    let told = validator.iter_errors(&args).take(TOLD).map(|error| {
        let mut place = error.instance_path().to_string();
        // What is missing is missed at its own place.
        if let ValidationErrorKind::Required { property } = error.kind()
            && let Some(name) = property.as_str()
        {
            place = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        }
        let problem = match values {
            Values::Shown => error.to_string(),
            Values::Hidden => error.masked().to_string(),
        };
        (place, problem)
    });
    Ok(told.collect())
}

/// A schema, ready for use.
struct Checker {
    plan: Plan,
    validator: Validator,
}

impl Checker {
    fn new(schema: &CanonicalJson) -> Result<Self, String> {
        let value: Value = serde_json::from_str(schema.as_str())
            .map_err(|_| "the schema holds a number that cannot be checked".to_owned())?;
        let invalid = |problem: String| format!("the schema itself is not valid: {problem}");
        // First, because compiling can be too much already.
        let plan = Plan::new(&value, schema.as_str()).map_err(invalid)?;
        let validator = jsonschema::options()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACKING))
            .build(&value)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self { plan, validator })
    }
}

/// Schemas that were compiled lately: agents bring the same few over and over, and compiling one costs far more than using it.
static SHELF: Shelf = Shelf(Mutex::new(VecDeque::new()));

struct Shelf(Mutex<VecDeque<(CanonicalJson, Arc<Checker>)>>);

/// So many are kept, and none that is longer than this: agents choose what they bring.
const KEPT: usize = 64;
const LONGEST_KEPT: usize = 16 * 1024;

impl Shelf {
    fn checker(&self, schema: &CanonicalJson) -> Result<Arc<Checker>, String> {
        let kept = |shelf: &VecDeque<(CanonicalJson, Arc<Checker>)>| {
            shelf.iter().find(|(known, _)| known == schema).map(|(_, checker)| Arc::clone(checker))
        };
        if let Some(checker) = kept(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(checker);
        }
        let checker = Arc::new(Checker::new(schema)?);
        if schema.as_str().len() <= LONGEST_KEPT {
            let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept(&shelf).is_none() {
                shelf.truncate(KEPT - 1);
                shelf.push_front((schema.clone(), Arc::clone(&checker)));
            }
        }
        Ok(checker)
    }
}

impl Engine {
    /// What is wrong with arguments that a reviewer made of an action, each with its place. Nothing of what they do not
    /// get to see is repeated.
    ///
    /// # Errors
    /// As [`Engine::action`].
    pub async fn misfits(
        &self,
        caller: &Principal,
        id: ActionId,
        args: &CanonicalJson,
    ) -> Result<Vec<(String, String)>, EngineError> {
        let case = self.action(caller, id).await?;
        let current = &case.submission;
        let whole = |problem: String| vec![(String::new(), problem)];
        let args = match restore(args, &current.action.args, &current.verdict.redact) {
            Ok(args) => args,
            Err(error) => return Ok(whole(error.to_string())),
        };
        let Some(schema) = current.action.args_schema.clone() else { return Ok(Vec::new()) };
        match misfits_apart(schema, args, Values::Hidden).await? {
            Ok(all) => Ok(all),
            Err(_) if current.action.forwarded => Ok(Vec::new()),
            Err(problem) => Ok(whole(problem)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> CanonicalJson {
        CanonicalJson::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_schema_that_is_kept_is_never_taken_for_another() {
        let schema = |most: usize| json(&format!(r#"{{"properties":{{"n":{{"maximum":{most}}}}}}}"#));
        for _ in 0..2 {
            for most in 0..KEPT * 2 {
                let fits = |n: usize| {
                    misfits(&schema(most), &json(&format!(r#"{{"n":{n}}}"#)), Values::Shown) == Ok(Vec::new())
                };
                assert!(fits(most) && !fits(most + 1), "{most}");
            }
        }
        assert!(SHELF.0.lock().unwrap().len() <= KEPT);
        let long = json(&format!(r#"{{"description":"{}"}}"#, "x".repeat(LONGEST_KEPT)));
        SHELF.checker(&long).unwrap();
        assert!(SHELF.0.lock().unwrap().iter().all(|(known, _)| *known != long), "too long to keep");
        assert!(SHELF.checker(&json(r#"{"type":7}"#)).err().unwrap().contains("schema itself"));
    }
}
