//! What agents are told: tool results in plain words, with what a program needs beside them.

use banksman_core::json::CanonicalJson;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Decision, Status, Timestamp};

use crate::message::Era;
use crate::raw::{End, Members, quoted, with_element};

/// The tool by which an agent asks for what it did not wait for.
pub(crate) const WAIT_TOOL: &str = "banksman_wait";

/// How it is listed.
pub(crate) const WAIT_TOOL_DEFINITION: &str = r#"{"name":"banksman_wait","title":"Wait for a held call","description":"Returns the result of a tool call that Banksman holds for a person's approval. Call it with the id that the held call was answered with. If nobody has decided yet, it says so: call it again, or go on with other work.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"The id of the held call, such as act_01J..."},"wait_s":{"type":"integer","minimum":0,"maximum":45,"description":"How many seconds to wait; 45 if left out"}},"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#;

/// A tool result that says that it did not work, in words.
pub(crate) fn tool_error(text: &str, about: Option<(ActionId, Status)>, era: Era) -> String {
    let mut result = String::with_capacity(text.len() + 160);
    result.push_str(r#"{"content":[{"type":"text","text":"#);
    result.push_str(&quoted(text));
    result.push_str(r#"}],"isError":true"#);
    if let Some((id, status)) = about {
        result.push_str(&format!(r#","_meta":{{"banksman/action":"{id}","banksman/status":"{status}"}}"#));
    }
    if era == Era::Two {
        result.push_str(r#","resultType":"complete""#);
    }
    result.push('}');
    result
}

/// The same, about an action that did not run, or of which nobody knows.
pub(crate) fn standing_error(view: &ActionView, era: Era) -> String {
    tool_error(&standing(view), Some((view.id, view.status)), era)
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

/// A result as its agent is told: if a reviewer changed the arguments, that comes before anything else. `args` are those that
/// ran.
pub(crate) fn with_notice_of_change(result: &str, view: &ActionView, args: &CanonicalJson) -> String {
    let Some(resolution) = view.resolution.as_ref().filter(|resolution| resolution.modified) else {
        return result.to_owned();
    };
    let said = resolution.message.as_deref().or(resolution.reason.as_deref());
    let words = said.map(|words| format!(" They said: {words}")).unwrap_or_default();
    let text = format!(
        "A reviewer changed the arguments before this ran; do not call it again with the original ones. \
         It ran with: {}.{words}",
        args.as_str()
    );
    with_first_words(result, &text).unwrap_or_else(|| result.to_owned())
}

fn with_first_words(result: &str, text: &str) -> Option<String> {
    let element = format!(r#"{{"type":"text","text":{}}}"#, quoted(text));
    let mut members = Members::read(result)?;
    let content = with_element(members.get("content").unwrap_or("[]"), &element, End::Front)?;
    members.set("content", content);
    Some(members.write())
}

fn not_run_again(id: ActionId, ran_at: Timestamp) -> String {
    format!(
        "This call did not run again: it is the same as one that was held, ran at {ran_at} ({id}), and had not been \
         answered. This is the result of that run; the same call, sent once more, is a new one."
    )
}

/// A stored result, for whoever sends the same call again: that it ran before stands in `_meta` for programs, and comes
/// first for models. Where there is `structuredContent`, programs read the texts as the same in JSON, so they stay alone.
pub(crate) fn with_notice_of_replay(result: &str, id: ActionId, ran_at: Timestamp) -> String {
    let Some(mut members) = Members::read(result) else { return result.to_owned() };
    let mut meta = members.get("_meta").and_then(Members::read).unwrap_or_default();
    meta.set("banksman/action", format!("\"{id}\""));
    meta.set("banksman/ranAt", format!("\"{ran_at}\""));
    meta.set("banksman/notRunAgain", "true");
    let meta = meta.write();
    members.set("_meta", meta);
    let is_structured = members.get("structuredContent").is_some();
    let result = members.write();
    let told = (!is_structured).then(|| with_first_words(&result, &not_run_again(id, ran_at))).flatten();
    told.unwrap_or(result)
}

/// The same for an error that a server answered with.
pub(crate) fn error_with_notice_of_replay(error: &str, id: ActionId, ran_at: Timestamp) -> String {
    let Some(mut members) = Members::read(error) else { return error.to_owned() };
    let said = members.text("message").unwrap_or_default();
    members.set("message", quoted(&format!("{said} ({})", not_run_again(id, ran_at))));
    members.write()
}

/// That a call is held, and how to come by its result; or where it stands, if it no longer waits for people.
pub(crate) fn not_yet(view: &ActionView, review_url: &str) -> String {
    if view.status != Status::Pending {
        return standing(view);
    }
    let id = view.id;
    let until = view.expires_at.map(|at| format!(" The request expires at {at}.")).unwrap_or_default();
    format!(
        "PENDING, NOT EXECUTED: this call waits for a person's approval ({id}). Review: {review_url}.{until} \
         Call the tool `{WAIT_TOOL}` with {{\"id\": \"{id}\"}} to get its result; calling the same tool with the same \
         arguments again joins this request and does not ask twice."
    )
}

/// What is shown while a client waits.
pub(crate) fn waiting(id: ActionId, review_url: &str) -> String {
    format!("waiting for a person's approval: {id} ({review_url})")
}

/// What is shown while it waits for the server.
pub(crate) fn running(id: ActionId) -> String {
    format!("approved, and being run now: {id}")
}

/// That nobody can look where a call stands.
pub(crate) fn out_of_sight(id: ActionId) -> String {
    format!(
        "HELD ({id}): where this call stands cannot be looked up now; it may be running. Do not do the same in another way. \
         Call the tool `{WAIT_TOOL}` with {{\"id\": \"{id}\"}} to find out."
    )
}

/// Where an action stands, and what its agent is to make of that: for whoever has no result to show, the one place that
/// says it.
pub(crate) fn standing(view: &ActionView) -> String {
    let id = view.id;
    let resolution = view.resolution.as_ref();
    let by = resolution.map(|resolution| format!(" by {}", resolution.by)).unwrap_or_default();
    let reason = resolution.and_then(|resolution| resolution.reason.as_deref());
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    match view.status {
        Status::Blocked => format!("BLOCKED, NOT EXECUTED{why} ({id}). Do not try again."),
        Status::Pending => format!("PENDING, NOT EXECUTED ({id}): it waits for a person's approval."),
        Status::Authorised | Status::Executing => {
            let runs =
                if view.status == Status::Executing { "is being run now" } else { "is about to be run" };
            format!(
                "RUNNING ({id}): this call was approved and {runs}. Do not call it again, and do not do the same in \
                 another way: call the tool `{WAIT_TOOL}` with {{\"id\": \"{id}\"}} to get its result."
            )
        }
        Status::Denied => {
            let answers = view.votes.last().is_some_and(|vote| vote.decision == Decision::Respond);
            let mut text = if answers {
                format!("NOT EXECUTED ({id}). Answered instead{by}:")
            } else {
                format!("DENIED, NOT EXECUTED ({id}){by}.")
            };
            let message = resolution.and_then(|resolution| resolution.message.as_deref());
            for said in [message, reason].into_iter().flatten() {
                text.push(' ');
                text.push_str(said);
            }
            text
        }
        Status::Expired => format!("EXPIRED, NOT EXECUTED: nobody decided in time ({id})."),
        Status::Cancelled => format!("CANCELLED, NOT EXECUTED ({id}){by}{why}."),
        Status::Revoked => format!("REVOKED, NOT EXECUTED ({id}): the approval was taken back{by}{why}."),
        Status::Lapsed => {
            format!("LAPSED, NOT EXECUTED ({id}): it was approved, but could not be run in time.")
        }
        Status::Unknown => format!(
            "UNKNOWN: this call was passed on and no answer came back ({id}). It may have run. Find out before you try again."
        ),
        Status::Succeeded => {
            format!("EXECUTED ({id}); its result was not kept. Do not call it again only to see the result.")
        }
        Status::Failed => {
            let error = view.outcome.as_ref().and_then(|outcome| outcome.error.as_deref());
            format!("FAILED ({id}): {}", error.unwrap_or("the server said no more"))
        }
    }
}

/// That nobody has looked at a call of a tool that is no longer what it was.
pub(crate) fn unseen(id: ActionId, accept: &str) -> String {
    format!(
        "NOT EXECUTED ({id}): the server has changed this tool since it was first seen, and no person has looked at this \
         call. If the change is right, whoever looks after this machine says so with `{accept}`."
    )
}

/// That the same call waits to run somewhere else.
pub(crate) fn elsewhere(view: &ActionView) -> String {
    let id = view.id;
    let place =
        view.context.server.as_deref().map_or_else(|| "elsewhere".into(), |name| format!("at {name:?}"));
    format!(
        "NOT EXECUTED: the same call of yours already waits to run {place} ({id}), and an approval is for one place. Try \
         again once that is decided, or cancel it."
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use banksman_core::{
        Action, Assessment, Authority, Case, ChainProgress, Claim, Kind, Review, Risk, State, Submission,
        Tier, Verdict,
    };

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

    /// An action in this state, as the API shows it.
    fn shown(state: State, decision: Option<Decision>) -> ActionView {
        let args = CanonicalJson::parse(b"{}").unwrap();
        let action = Action::bare("send", Kind::Tool, args);
        let verdict = Verdict::new(Tier::Approve, Risk::High, "send");
        let said = decision.map(|decision| Review {
            by: "ann".into(),
            roles: Vec::new(),
            acting: Vec::new(),
            brought_by: None,
            solo_operator: false,
            decision,
            version: 1,
            at: Timestamp::from_micros(0),
            reason: Some("not today".into()),
            message: Some("Ask again on Monday.".into()),
        });
        let case = Case {
            id: ActionId::from_parts(0, 1),
            agent: "riley".into(),
            owner: None,
            batch: None,
            created_at: Timestamp::from_micros(0),
            revision: 1,
            version: 1,
            submission: Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict)),
            reviews: said.into_iter().collect(),
            state,
        };
        (&case).into()
    }

    /// Every status once, and what is said of it differently by more than that.
    fn all() -> Vec<ActionView> {
        let at = Timestamp::from_micros(0);
        let claim = Claim { at, lease_expires_at: at };
        let authority = Authority::Reviewers;
        let (by, because) = ("ann".to_owned(), Some("a mistake".to_owned()));
        let result = CanonicalJson::parse(b"{}").ok();
        let failed = |error: Option<&str>| State::Failed {
            authority: Authority::Reviewers,
            claim: Claim { at, lease_expires_at: at },
            at,
            error: error.map(str::to_owned),
            result: None,
        };
        let states = [
            (State::Blocked { at, reason: "policy forbids it".into() }, None),
            (State::Pending { deadline: at, chain: ChainProgress::default() }, None),
            (State::Authorised { authority: authority.clone(), at, lapses_at: at }, Some(Decision::Approve)),
            (State::Denied { at, by: by.clone() }, Some(Decision::Deny)),
            (State::Denied { at, by: by.clone() }, Some(Decision::Respond)),
            (State::Expired { at }, None),
            (State::Cancelled { at, by: by.clone(), reason: because.clone() }, None),
            (State::Cancelled { at, by: by.clone(), reason: None }, None),
            (State::Executing { authority: authority.clone(), claim: claim.clone() }, None),
            (State::Succeeded { authority: authority.clone(), claim: claim.clone(), at, result }, None),
            (failed(Some("no such file")), None),
            (failed(None), None),
            (State::Unknown { authority, claim, at }, None),
            (State::Lapsed { at }, None),
            (State::Revoked { at, by, reason: because }, None),
        ];
        states.into_iter().map(|(state, decision)| shown(state, decision)).collect()
    }

    #[test]
    fn what_agents_are_told_of_every_status() {
        let id = ActionId::from_parts(0, 1).to_string();
        let lines: Vec<String> = all()
            .iter()
            .map(|view| format!("{}: {}", view.status, standing(view).replace(&id, "ID")))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        blocked: BLOCKED, NOT EXECUTED: policy forbids it (ID). Do not try again.
        pending: PENDING, NOT EXECUTED (ID): it waits for a person's approval.
        authorised: RUNNING (ID): this call was approved and is about to be run. Do not call it again, and do not do the same in another way: call the tool `banksman_wait` with {"id": "ID"} to get its result.
        denied: DENIED, NOT EXECUTED (ID) by ann. Ask again on Monday. not today
        denied: NOT EXECUTED (ID). Answered instead by ann: Ask again on Monday. not today
        expired: EXPIRED, NOT EXECUTED: nobody decided in time (ID).
        cancelled: CANCELLED, NOT EXECUTED (ID) by ann: a mistake.
        cancelled: CANCELLED, NOT EXECUTED (ID) by ann.
        executing: RUNNING (ID): this call was approved and is being run now. Do not call it again, and do not do the same in another way: call the tool `banksman_wait` with {"id": "ID"} to get its result.
        succeeded: EXECUTED (ID); its result was not kept. Do not call it again only to see the result.
        failed: FAILED (ID): no such file
        failed: FAILED (ID): the server said no more
        unknown: UNKNOWN: this call was passed on and no answer came back (ID). It may have run. Find out before you try again.
        lapsed: LAPSED, NOT EXECUTED (ID): it was approved, but could not be run in time.
        revoked: REVOKED, NOT EXECUTED (ID): the approval was taken back by ann: a mistake.
        "#);
    }

    #[test]
    fn only_what_waits_for_people_is_called_pending_and_only_what_surely_did_not_run_not_executed() {
        for view in all() {
            let (text, status) = (not_yet(&view, "http://banksman.example/x"), view.status);
            assert_eq!(text.starts_with("PENDING"), status == Status::Pending, "{text}");
            let did_not = status == Status::Pending || status.never_ran();
            assert_eq!(text.contains("NOT EXECUTED"), did_not, "{text}");
        }
    }

    #[test]
    fn a_result_that_is_shown_again_says_so_where_programs_do_not_read_it() {
        let (id, at) = (ActionId::from_parts(0, 1), Timestamp::from_micros(0));
        let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let text = r#"{"content":[{"type":"text","text":"42"}],"_meta":{"own":1}}"#;
        let told = read(with_notice_of_replay(text, id, at));
        assert!(told["content"][0]["text"].as_str().unwrap().contains("did not run again"), "{told}");
        assert_eq!(told["content"][1]["text"], "42");
        assert_eq!(told["_meta"]["own"], 1);
        assert_eq!(told["_meta"]["banksman/ranAt"], at.to_string());
        let structured = r#"{"content":[{"type":"text","text":"{\"n\":42}"}],"structuredContent":{"n":42}}"#;
        let told = read(with_notice_of_replay(structured, id, at));
        assert_eq!(told["content"].as_array().unwrap().len(), 1, "{told}");
        assert_eq!(told["structuredContent"]["n"], 42);
        assert_eq!(told["_meta"]["banksman/notRunAgain"], true);
        let error = read(error_with_notice_of_replay(r#"{"code":-5,"message":"full","data":1}"#, id, at));
        assert!(
            error["message"].as_str().unwrap().starts_with("full (This call did not run again"),
            "{error}"
        );
        assert_eq!((&error["code"], &error["data"]), (&(-5).into(), &1.into()));
    }

    #[test]
    fn era_two_results_say_that_they_are_complete() {
        assert_eq!(for_era("{}".into(), Era::One), "{}");
        assert_eq!(for_era("{}".into(), Era::Two), r#"{"resultType":"complete"}"#);
        assert_eq!(for_era(r#"{"resultType":"task"}"#.into(), Era::Two), r#"{"resultType":"task"}"#);
    }
}
