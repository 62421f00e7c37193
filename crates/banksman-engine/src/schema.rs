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

/// Refuses arguments that do not fit. On a thread of its own: the agent chooses how much work that is, within the bounds
/// of [`effort`], and all others would wait for it.
///
/// # Errors
/// If they do not fit, or that cannot be found out.
pub(crate) async fn admit_args(action: &Action) -> Result<(), EngineError> {
    if action.args_schema.is_none() {
        return Ok(());
    }
    let action = action.clone();
    let checked = tokio::task::spawn_blocking(move || check_args(&action)).await;
    match checked.map_err(|error| EngineError::Internal(error.to_string()))? {
        Some(problem) => Err(EngineError::InvalidArgs(problem)),
        None => Ok(()),
    }
}

/// What is wrong with the arguments: the first thing, and how much more.
pub(crate) fn check_args(action: &Action) -> Option<String> {
    let all = misfits(action.args_schema.as_ref()?, &action.args, Values::Shown);
    let ((place, problem), more) = (all.first()?, all.len() - 1);
    let place = if place.is_empty() { "the arguments" } else { place };
    let rest = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    Some(format!("{place}: {problem}{rest}"))
}

/// Whether a message may repeat the value that it is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Shown,
    Hidden,
}

/// Everything that is wrong, each with its place (RFC 6901).
fn misfits(schema: &CanonicalJson, args: &CanonicalJson, values: Values) -> Vec<(String, String)> {
    let whole = |problem: String| vec![(String::new(), problem)];
    let Ok(args) = serde_json::from_str::<Value>(args.as_str()) else {
        return whole("the arguments hold a number that cannot be checked".into());
    };
    let checker = match SHELF.checker(schema) {
        Ok(checker) => checker,
        Err(problem) => return whole(problem),
    };
    let Checker { plan, validator } = checker.as_ref();
    match plan.steps(&args) {
        Ok(steps) if steps <= TOLD_WITHIN => {}
        Ok(_) if validator.is_valid(&args) => return Vec::new(),
        Ok(_) => return whole("they do not follow the schema, and are too long to say where".into()),
        Err(TooMuch) => return whole("the schema makes it too much work to check them".into()),
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
    told.collect()
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
        Ok(match restore(args, &current.action.args, &current.verdict.redact) {
            Ok(args) => current
                .action
                .args_schema
                .as_ref()
                .map_or_else(Vec::new, |schema| misfits(schema, &args, Values::Hidden)),
            Err(error) => vec![(String::new(), error.to_string())],
        })
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
                    misfits(&schema(most), &json(&format!(r#"{{"n":{n}}}"#)), Values::Shown).is_empty()
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
