//! What agents are told: tool results in plain words, with what a program needs beside them.

use banksman_core::{Case, Decision, State, Timestamp};

use crate::message::Era;
use crate::raw::{End, Members, quoted, with_element};

/// The tool by which an agent asks for what it did not wait for.
pub(crate) const WAIT_TOOL: &str = "banksman_wait";

/// How it is listed.
pub(crate) const WAIT_TOOL_DEFINITION: &str = r#"{"name":"banksman_wait","title":"Wait for a held call","description":"Returns the result of a tool call that Banksman holds for a person's approval. Call it with the id that the held call was answered with. If nobody has decided yet, it says so: call it again, or go on with other work.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"The id of the held call, such as act_01J..."},"wait_s":{"type":"integer","minimum":0,"maximum":45,"description":"How many seconds to wait; 45 if left out"}},"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#;

/// A tool result that says that it did not work, in words.
pub(crate) fn tool_error(text: &str, about: Option<&Case>, era: Era) -> String {
    let mut result = String::with_capacity(text.len() + 160);
    result.push_str(r#"{"content":[{"type":"text","text":"#);
    result.push_str(&quoted(text));
    result.push_str(r#"}],"isError":true"#);
    if let Some(case) = about {
        let (id, status) = (case.id, case.status());
        result.push_str(&format!(r#","_meta":{{"banksman/action":"{id}","banksman/status":"{status}"}}"#));
    }
    if era == Era::Two {
        result.push_str(r#","resultType":"complete""#);
    }
    result.push('}');
    result
}

/// A result as its era wants it.
pub(crate) fn for_era(result: String, era: Era) -> String {
    match Members::read(&result) {
        Some(mut members) if era == Era::Two && members.get("resultType").is_none() => {
            members.set("resultType", r#""complete""#);
            members.write()
        }
        Some(_) | None => result,
    }
}

/// A result that says, before anything else, that other arguments ran than the agent had sent.
pub(crate) fn with_notice_of_change(result: &str, case: &Case) -> String {
    if case.version == 1 {
        return result.to_owned();
    }
    let said = case.reviews.last().and_then(|review| review.message.as_deref().or(review.reason.as_deref()));
    with_notice(result, case.submission.action.args.as_str(), said)
}

/// The same, for these arguments.
pub(crate) fn with_notice(result: &str, args: &str, said: Option<&str>) -> String {
    let words = said.map(|words| format!(" They said: {words}")).unwrap_or_default();
    let text = format!(
        "A reviewer changed the arguments before this ran; do not call it again with the original ones. \
         It ran with: {args}.{words}"
    );
    let element = format!(r#"{{"type":"text","text":{}}}"#, quoted(&text));
    let Some(mut members) = Members::read(result) else { return result.to_owned() };
    let content = members.get("content").unwrap_or("[]").to_owned();
    match with_element(&content, &element, End::Front) {
        Some(content) => {
            members.set("content", content);
            members.write()
        }
        None => result.to_owned(),
    }
}

/// That a call is held, and how to come by its result.
pub(crate) fn pending(case: &Case, review_url: &str) -> String {
    let id = case.id;
    let until = match &case.state {
        State::Pending { deadline, .. } => format!(" The request expires at {}.", rfc3339(*deadline)),
        _ => String::new(),
    };
    format!(
        "PENDING, NOT EXECUTED: this call waits for a person's approval ({id}). Review: {review_url}.{until} \
         Call the tool `{WAIT_TOOL}` with {{\"id\": \"{id}\"}} to get its result; calling the same tool with the same \
         arguments again joins this request and does not ask twice."
    )
}

/// What is shown while a client waits.
pub(crate) fn waiting(case: &Case, review_url: &str) -> String {
    format!("waiting for a person's approval: {} ({review_url})", case.id)
}

/// Why an action did not run, or that nobody knows whether it did.
pub(crate) fn not_run(case: &Case) -> String {
    let id = case.id;
    match &case.state {
        State::Blocked { reason, .. } => format!("BLOCKED, NOT EXECUTED: {reason} ({id}). Do not try again."),
        State::Denied { by, .. } => {
            let review = case.reviews.last();
            let reason = review.and_then(|review| review.reason.as_deref());
            let message = review.and_then(|review| review.message.as_deref());
            let mut text = match review.map(|review| review.decision) {
                Some(Decision::Respond) => format!("NOT EXECUTED ({id}). {by} answers instead:"),
                _ => format!("DENIED, NOT EXECUTED ({id}) by {by}."),
            };
            for said in [message, reason].into_iter().flatten() {
                text.push(' ');
                text.push_str(said);
            }
            text
        }
        State::Expired { .. } => format!("EXPIRED, NOT EXECUTED: nobody decided in time ({id})."),
        State::Cancelled { by, reason, .. } => {
            let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("CANCELLED, NOT EXECUTED ({id}) by {by}{why}.")
        }
        State::Revoked { by, reason, .. } => {
            let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("REVOKED, NOT EXECUTED ({id}): the approval was taken back by {by}{why}.")
        }
        State::Lapsed { .. } => {
            format!("LAPSED, NOT EXECUTED ({id}): it was approved, but could not be run in time.")
        }
        State::Unknown { .. } => format!(
            "UNKNOWN: this call was passed on and no answer came back ({id}). It may have run. Find out before you try again."
        ),
        State::Failed { error, .. } => {
            let error = error.as_deref().unwrap_or("the server said no more");
            format!("FAILED ({id}): {error}")
        }
        State::Succeeded { .. } => {
            format!("EXECUTED ({id}); its result was not kept. Do not call it again only to see the result.")
        }
        State::Executing { .. } => {
            format!("RUNNING ({id}): it was approved and runs now. Ask again for its result.")
        }
        State::Pending { .. } | State::Authorised { .. } => format!("PENDING, NOT EXECUTED ({id})."),
    }
}

/// A time as the wire writes it.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    at.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_json_and_the_words_cannot_break_out() {
        let definition: serde_json::Value = serde_json::from_str(WAIT_TOOL_DEFINITION).unwrap();
        assert_eq!(definition["name"], WAIT_TOOL);
        let result = tool_error("a\"}],\"isError\":false\n", None, Era::Two);
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["isError"], true);
        assert_eq!(result["resultType"], "complete");
    }

    #[test]
    fn era_two_results_say_that_they_are_complete() {
        assert_eq!(for_era("{}".into(), Era::One), "{}");
        assert_eq!(for_era("{}".into(), Era::Two), r#"{"resultType":"complete"}"#);
        assert_eq!(for_era(r#"{"resultType":"task"}"#.into(), Era::Two), r#"{"resultType":"task"}"#);
    }
}
