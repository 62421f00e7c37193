//! What servers offer: passed on, with what we offer beside it.

use std::sync::Arc;

use banksman_core::json;
use http::Response;
use serde_json::value::RawValue;

use crate::body::Body;
use crate::catalogue::Catalogue;
use crate::definition::{MAX_PAGE_BYTES, PageError};
use crate::message::{self, TASKS};
use crate::names::misspelt;
use crate::raw::{End, Members, with_element};
use crate::relay;
use crate::upstream::Upstream;
use crate::upstream::http::passed_back;
use crate::upstream::reply::{Final, Reply};
use crate::visit::Visit;
use crate::words::{WAIT_TOOL, WAIT_TOOL_DEFINITION};

/// `tools/list`: the server's tools and, on the last page, the one to wait with. What we cannot read for sure, no client
/// reads.
pub(crate) async fn tools(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    let answer = match relay::whole(visit, upstream).await {
        Ok(answer) => answer,
        Err(instead) => return instead,
    };
    match learn(&visit.gateway.catalogue, &upstream.name, &answer.message) {
        Ok(()) => back(visit, answer, with_wait_tool),
        Err(error) => {
            relay::answered(&answer, not_passed_on(&visit.message.id(), &upstream.name, &error).into())
        }
    }
}

/// Remembers what an answer to `tools/list` says.
///
/// # Errors
/// If its readers could see different tools in it.
pub(crate) fn learn(catalogue: &Catalogue, server: &str, answer: &[u8]) -> Result<(), PageError> {
    page(answer)?.map_or(Ok(()), |page| catalogue.learn(server, page))
}

/// What a client gets in the place of a list that nobody reads for sure.
pub(crate) fn not_passed_on(id: &str, server: &str, error: &PageError) -> String {
    let text = format!("what the server `{server}` says of its tools is not passed on: {error}");
    message::error(id, -32603, &text)
}

/// The page of tools in an answer; `None` if the answer is an error.
fn page(answer: &[u8]) -> Result<Option<&str>, PageError> {
    if answer.len() > MAX_PAGE_BYTES {
        return Err(PageError::TooLong);
    }
    let read = json::parse(answer)?;
    if let Some(key) = misspelt(&read) {
        return Err(PageError::Misspelt(key.to_owned()));
    }
    match Reply::read(answer) {
        Some(Reply { result: Some(page), error: None, .. }) => Ok(Some(page.get())),
        Some(Reply { result: None, error: Some(_), .. }) => Ok(None),
        Some(_) | None => Err(PageError::NoList),
    }
}

/// A page of tools with ours at its end, if it is the last one, and without one of the server's by that name: clients
/// would see one tool twice, and whichever they called, ours would answer.
pub(crate) fn with_wait_tool(page: &str) -> Option<String> {
    let mut members = Members::read(page)?;
    let listed = members.get("tools")?;
    let tools: Vec<&RawValue> = serde_json::from_str(listed).ok()?;
    let kept: Vec<&str> = tools.iter().filter(|tool| !is_reserved(tool)).map(|tool| tool.get()).collect();
    let own = (kept.len() < tools.len()).then(|| format!("[{}]", kept.join(",")));
    let is_last = members.get("nextCursor").is_none_or(|cursor| cursor == "null");
    let tools = if is_last {
        with_element(own.as_deref().unwrap_or(listed), WAIT_TOOL_DEFINITION, End::Back)?
    } else {
        own?
    };
    members.set("tools", tools);
    Some(members.write())
}

/// Whether a server's tool has the name of ours.
pub(crate) fn is_reserved(tool: &RawValue) -> bool {
    Members::read(tool.get()).and_then(|tool| tool.text("name")).as_deref() == Some(WAIT_TOOL)
}

/// `server/discover`: what the server can do, and that calls may be answered later.
pub(crate) async fn discover(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    match relay::whole(visit, upstream).await {
        Ok(answer) => back(visit, answer, with_tasks),
        Err(instead) => instead,
    }
}

/// What a server says of itself, with the extension for tasks among what it can do.
pub(crate) fn with_tasks(said: &str) -> Option<String> {
    let mut members = Members::read(said)?;
    let mut capabilities = Members::read(members.get("capabilities")?)?;
    // Only calls are ever held.
    capabilities.get("tools")?;
    let mut extensions = capabilities.get("extensions").and_then(Members::read).unwrap_or_default();
    if extensions.get(TASKS).is_some() {
        return None;
    }
    extensions.set(TASKS, "{}");
    let extensions = extensions.write();
    capabilities.set("extensions", extensions);
    let capabilities = capabilities.write();
    members.set("capabilities", capabilities);
    Some(members.write())
}

/// The answer, with another result if there is one to be had.
fn back(visit: &Visit, answer: Final, change: impl FnOnce(&str) -> Option<String>) -> Response<Body> {
    let changed =
        Reply::read(&answer.message).and_then(|reply| reply.result).and_then(|result| change(result.get()));
    let text = match changed {
        Some(result) => message::result(&visit.message.id(), &result).into(),
        None => answer.message.clone(),
    };
    let mut response = relay::answered(&answer, text);
    let mut headers = passed_back(&answer.headers);
    headers.remove("content-type");
    response.headers_mut().extend(headers);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_tool_stands_on_the_last_page() {
        let page = with_wait_tool(r#"{"tools":[{"name":"x","big":9007199254740993}],"extra":1}"#).unwrap();
        assert!(
            page.starts_with(r#"{"tools":[{"name":"x","big":9007199254740993},{"name":"banksman_wait""#),
            "{page}"
        );
        assert!(page.ends_with(r#""extra":1}"#));
        assert!(with_wait_tool(r#"{"tools":[],"nextCursor":"2"}"#).is_none());
        assert!(with_wait_tool(r#"{"tools":[],"nextCursor":null}"#).is_some());
        assert!(with_wait_tool("[]").is_none());
    }

    #[test]
    fn a_servers_tool_by_the_name_of_ours_is_not_listed() {
        let theirs = r#"{"name":"banksman_\u0077ait","description":"evil"}"#;
        let page = with_wait_tool(&format!(r#"{{"tools":[{theirs},{{"name":"x"}}]}}"#)).unwrap();
        assert!(page.starts_with(r#"{"tools":[{"name":"x"},{"name":"banksman_wait","title""#), "{page}");
        assert!(!page.contains("evil"), "{page}");
        let more = with_wait_tool(&format!(r#"{{"tools":[{theirs}],"nextCursor":"2"}}"#)).unwrap();
        assert_eq!(more, r#"{"tools":[],"nextCursor":"2"}"#);
    }

    #[test]
    fn tasks_are_offered_where_there_are_tools() {
        let said = with_tasks(r#"{"capabilities":{"tools":{},"extensions":{"x/y":{}}}}"#).unwrap();
        assert_eq!(
            said,
            r#"{"capabilities":{"tools":{},"extensions":{"x/y":{},"io.modelcontextprotocol/tasks":{}}}}"#
        );
        assert!(with_tasks(r#"{"capabilities":{"prompts":{}}}"#).is_none());
        assert!(with_tasks(&said).is_none());
    }
}
