//! Whether arguments fit the schema that the action itself brings.

use banksman_core::json::CanonicalJson;
use banksman_core::redact::restored;
use banksman_core::{Action, ActionId, Principal};
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::{Engine, EngineError};

/// How much of what is wrong is told.
const TOLD: usize = 20;

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
    let (Ok(schema), Ok(args)) =
        (serde_json::from_str::<Value>(schema.as_str()), serde_json::from_str::<Value>(args.as_str()))
    else {
        return whole("the schema or the arguments hold a number that cannot be checked".into());
    };
    let validator = match jsonschema::validator_for(&schema) {
        Ok(validator) => validator,
        Err(error) => return whole(format!("the schema itself is not valid: {error}")),
    };
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
        let Some(schema) = current.action.args_schema.as_ref() else { return Ok(Vec::new()) };
        let args = restored(args, &current.action.args, &current.verdict.redact);
        Ok(misfits(schema, &args, Values::Hidden))
    }
}
