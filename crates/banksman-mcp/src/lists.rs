//! What servers offer: passed on, with what we offer beside it.

use std::sync::Arc;

use banksman_core::json;
use http::Response;

use crate::body::Body;
use crate::catalogue::PageError;
use crate::message::{self, TASKS};
use crate::names::misspelt;
use crate::raw::{End, Members, with_element};
use crate::relay;
use crate::upstream::Upstream;
use crate::upstream::http::passed_back;
use crate::upstream::reply::{Final, Reply};
use crate::visit::Visit;
use crate::words::WAIT_TOOL_DEFINITION;

/// `tools/list`: the server's tools and, on the last page, the one to wait with. What we cannot read for sure, no client
/// reads.
pub(crate) async fn tools(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    let answer = match relay::whole(visit, upstream).await {
        Ok(answer) => answer,
        Err(instead) => return instead,
    };
    let learned = match page(&answer.message) {
        Ok(Some(page)) => visit.gateway.catalogue.learn(&upstream.name, page),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = learned {
        let text = format!("what the server `{}` says of its tools is not passed on: {error}", upstream.name);
        return relay::answered(&answer, message::error(&visit.message.id(), -32603, &text).into());
    }
    back(visit, answer, with_wait_tool)
}

/// The page of tools in an answer; `None` if the answer is an error.
fn page(answer: &[u8]) -> Result<Option<&str>, PageError> {
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

/// A page of tools with ours at its end, if it is the last one.
pub(crate) fn with_wait_tool(page: &str) -> Option<String> {
    let mut members = Members::read(page)?;
    if members.get("nextCursor").is_some_and(|cursor| cursor != "null") {
        return None;
    }
    let tools = with_element(members.get("tools")?, WAIT_TOOL_DEFINITION, End::Back)?;
    members.set("tools", tools);
    Some(members.write())
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
