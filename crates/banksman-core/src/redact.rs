//! Redaction: what people do not need to see in order to decide is not shown to them.
//!
//! What would run stays what it is, and so does its digest: only its picture is blackened. Where a reviewer edits a
//! picture, what was blackened in it keeps its value.

mod hidden;
mod trail;

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{CanonicalJson, Json, JsonError, Object};
use crate::wire::ActionView;
use crate::{Action, Assessment, Case, Principal, State, Submission};

use self::trail::{Paths, Trail};

pub use self::hidden::Hidden;

/// What is shown in place of a value.
pub const REDACTED: &str = "[redacted]";

/// Whether a path is one that redaction knows: members between dots, `*` for any one, `**` for any number of them.
#[must_use]
pub fn is_redaction_path(path: &str) -> bool {
    !path.is_empty() && path.split('.').all(|member| !member.is_empty())
}

/// The value with everything blackened that one of the paths leads to.
#[must_use]
pub fn redacted(value: &CanonicalJson, paths: &[String]) -> CanonicalJson {
    if paths.is_empty() {
        return value.clone();
    }
    let Ok(json) = value.to_json() else { return CanonicalJson::of(&Json::String(REDACTED.into())) };
    let paths = Paths::new(paths);
    let trail = paths.from(&json);
    CanonicalJson::of(&blacken(json, &trail, &mut Vec::new()))
}

/// Whether anything is black in this picture that one of the paths leads to.
#[must_use]
pub fn is_redacted(picture: &CanonicalJson, paths: &[String]) -> bool {
    !paths.is_empty() && picture.to_json().is_ok_and(|json| is_black(&json, &Paths::new(paths).from(&json)))
}

/// Why what is still black in an edited picture cannot be given its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Nothing was hidden there.
    #[error("{0} is [redacted], and no value was hidden there: write the value, or leave it out")]
    NothingThere(String),
    /// It would be a guess which item's value it was.
    #[error(
        "{0} holds something [redacted], in a list that is no longer as it was: write the value, or leave the \
         length of the list and what is shown of this item as they were"
    )]
    OtherItem(String),
    /// One of the two cannot be read.
    #[error("they cannot be read: {0}")]
    Unreadable(#[from] JsonError),
}

/// What a reviewer made of a redacted picture: where it is still black, the value is the one that was there.
///
/// # Errors
/// If it is black somewhere, and no one value was there for certain.
pub fn restore(
    edited: &CanonicalJson,
    original: &CanonicalJson,
    paths: &[String],
) -> Result<CanonicalJson, RestoreError> {
    if paths.is_empty() {
        return Ok(edited.clone());
    }
    let (picture, before) = (edited.to_json()?, original.to_json()?);
    let paths = Paths::new(paths);
    let trail = paths.from(&picture);
    Ok(CanonicalJson::of(&uncover(picture, Some(&before), &trail, "")?))
}

impl Action {
    /// The action as whoever does not run it gets to see it: people, and whoever is asked about it.
    #[must_use]
    pub fn redacted(&self, paths: &[String]) -> Self {
        if paths.is_empty() {
            return self.clone();
        }
        let hidden = Hidden::of_action(self, paths);
        let say = |text: &String| hidden.veiled(text);
        let show = |value: &CanonicalJson| hidden.veiled_json(&redacted(value, paths));
        Self {
            // As a reviewer edits them: what is black there has to lead back to its value.
            args: redacted(&self.args, paths),
            description: self.description.as_ref().map(say),
            rationale: self.rationale.as_ref().map(say),
            task: self.task.as_ref().map(say),
            affected_systems: self.affected_systems.iter().map(say).collect(),
            rollback_plan: self.rollback_plan.as_ref().map(say),
            evidence: self.evidence.as_ref().map(show),
            state_before: self.state_before.as_ref().map(show),
            preconditions: self.preconditions.as_ref().map(show),
            // The agent's own state, and where it is called, are for the agent.
            checkpoint: None,
            resume: None,
            ..self.clone()
        }
    }
}

impl Case {
    /// The same as people get to see it: a picture, by which nothing runs and nothing moves.
    #[must_use]
    pub fn redacted(&self) -> Cow<'_, Self> {
        let paths = &self.submission.verdict.redact;
        if paths.is_empty() {
            return Cow::Borrowed(self);
        }
        let action = self.submission.action.redacted(paths);
        let submission = Arc::new(Submission { action, ..Submission::clone(&self.submission) });
        Cow::Owned(Self { submission, state: self.redacted_state(paths), ..self.clone() })
    }

    /// Where it stands, without what is hidden in the words of whoever ran it, or withdrew it.
    fn redacted_state(&self, paths: &[String]) -> State {
        let mut state = self.state.clone();
        let say = |text: &mut Option<String>, hidden: &Hidden| {
            *text = text.take().map(|text| hidden.veiled(&text));
        };
        let show = |value: &mut Option<CanonicalJson>, hidden: &Hidden| {
            *value = value.take().map(|value| hidden.veiled_json(&redacted(&value, paths)));
        };
        match &mut state {
            State::Succeeded { result, .. } => show(result, &Hidden::of_case(self, result.as_ref())),
            State::Failed { error, result, .. } => {
                let hidden = Hidden::of_case(self, result.as_ref());
                say(error, &hidden);
                show(result, &hidden);
            }
            State::Cancelled { reason, .. } | State::Revoked { reason, .. } => {
                say(reason, &Hidden::of_case(self, None));
            }
            State::Blocked { .. }
            | State::Pending { .. }
            | State::Authorised { .. }
            | State::Denied { .. }
            | State::Expired { .. }
            | State::Executing { .. }
            | State::Unknown { .. }
            | State::Lapsed { .. } => {}
        }
        state
    }
}

impl ActionView {
    /// The action as this caller gets to see it: agents whole, because they run it, and people redacted.
    #[must_use]
    pub fn seen_by(viewer: &Principal, case: &Case) -> Self {
        if viewer.kind.decides() { Self::for_people(case) } else { Self::from(case) }
    }

    /// The action as people get to see it.
    #[must_use]
    pub fn for_people(case: &Case) -> Self {
        Self::from(case.redacted().as_ref())
    }

    /// The same with the arguments that the agent proposed before reviewers changed them.
    #[must_use]
    pub fn with_proposed(self, viewer: &Principal, proposed: &Submission) -> Self {
        let args = &proposed.action.args;
        let proposed_args = if viewer.kind.decides() {
            // What one version hides, the other does not show.
            redacted(args, &[&*self.verdict.redact, &*proposed.verdict.redact].concat())
        } else {
            args.clone()
        };
        Self { proposed_args: Some(proposed_args), ..self }
    }
}

impl Assessment {
    /// The same without what reading found in values that people do not get to see: it is stored, shown and audited.
    ///
    /// `of_picture` is what reading the blackened action finds. What is in there too cannot come from a hidden value.
    /// Reasons, impact and advice are those of rules, which quote nothing.
    #[must_use]
    pub fn discreet(mut self, args: &CanonicalJson, paths: &[String], of_picture: &Self) -> Self {
        self.resources.retain(|resource| of_picture.resources.contains(resource));
        let known = Paths::new(paths);
        for finding in &mut self.findings {
            if let Some(black) = finding.argument.as_deref().and_then(|pointer| known.black_part(pointer)) {
                finding.argument = Some(black.to_owned());
                finding.span = None;
            }
        }
        if let Some(triage) = &mut self.triage
            && let Some(rationale) = &mut triage.rationale
            && Hidden::of(args, paths).is_told_by(rationale)
        {
            *rationale = REDACTED.into();
        }
        self
    }
}

fn blacken(value: Json, trail: &Trail<'_>, blackened: &mut Vec<String>) -> Json {
    if trail.ends() {
        hidden::collect(&value, blackened);
        return Json::String(REDACTED.into());
    }
    if trail.is_lost() {
        return value;
    }
    match value {
        Json::Object(members) => {
            let members = members.into_members().map(|(key, value)| {
                let value = blacken(value, &trail.after(&key), blackened);
                (key, value)
            });
            Json::Object(object(members.collect()))
        }
        Json::Array(items) => {
            let items = items.into_iter().enumerate();
            Json::Array(
                items.map(|(index, item)| blacken(item, &trail.after_item(index), blackened)).collect(),
            )
        }
        plain @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => plain,
    }
}

/// Whether anything is black at the end of a trail, or below it.
fn is_black(value: &Json, trail: &Trail<'_>) -> bool {
    match value {
        Json::String(text) => trail.ends() && text == REDACTED,
        Json::Object(members) => members.iter().any(|(key, value)| is_black(value, &trail.after(key))),
        Json::Array(items) => {
            items.iter().enumerate().any(|(index, item)| is_black(item, &trail.after_item(index)))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn uncover(
    picture: Json,
    before: Option<&Json>,
    trail: &Trail<'_>,
    place: &str,
) -> Result<Json, RestoreError> {
    if !is_black(&picture, trail) {
        return Ok(picture);
    }
    let at = |member: &str| if place.is_empty() { member.to_owned() } else { format!("{place}.{member}") };
    match picture {
        Json::Object(members) => {
            let members = members.into_members().map(|(key, value)| {
                let was = before.filter(|_| !trail.ends()).and_then(|before| before.get(&key));
                let value = uncover(value, was, &trail.after(&key), &at(&key))?;
                Ok((key, value))
            });
            Ok(Json::Object(object(members.collect::<Result<_, RestoreError>>()?)))
        }
        Json::Array(items) => {
            let were: &[Json] = match before {
                Some(Json::Array(were)) if !trail.ends() && were.len() == items.len() => were,
                _ => &[],
            };
            let items = items.into_iter().enumerate().map(|(index, item)| {
                let trail = trail.after_item(index);
                let looks = |item: &Json| blacken(item.clone(), &trail, &mut Vec::new());
                match were.get(index) {
                    Some(was) if looks(was) == looks(&item) => {
                        uncover(item, Some(was), &trail, &at(&index.to_string()))
                    }
                    Some(_) | None if is_black(&item, &trail) => {
                        Err(RestoreError::OtherItem(at(&index.to_string())))
                    }
                    Some(_) | None => Ok(item),
                }
            });
            Ok(Json::Array(items.collect::<Result<_, RestoreError>>()?))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            before.cloned().ok_or_else(|| RestoreError::NothingThere(place.to_owned()))
        }
    }
}

/// Members that were those of an object before, so that no two have the same name.
fn object(members: Vec<(String, Json)>) -> Object {
    Object::from_members(members).unwrap_or_default()
}

#[cfg(test)]
mod tests;
