//! What the headers of a request say has to be what its body says: others on the way may have gone by them.

use base64::Engine as _;
use http::{HeaderMap, Response, StatusCode};

use crate::body::{self, Body};
use crate::gateway::bad_request;
use crate::message::{self, ERA_TWO, Era, KNOWN_ONE, Message, Shape};
use crate::raw::quoted;
use crate::upstream::reply::Reply;

/// The header that says which revision a request is of.
const VERSION: &str = "mcp-protocol-version";

/// Era two's code for headers that are missing, or are not what the body says.
pub(crate) const MISMATCH: i32 = -32020;

/// Era two's code for a revision that is not spoken here.
const UNSUPPORTED: i64 = -32022;

/// Era two's code for something that the client would have to be able to do.
const NEEDS_CAPABILITY: i64 = -32021;

const NO_SUCH_METHOD: i64 = -32601;

/// A header that is there twice, or that cannot be read: two readers could see two things in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// The answer to a message whose headers are not those of its body; `None` if they are.
pub(crate) fn problem(message: &Message, era: Era, headers: &HeaderMap) -> Option<Response<Body>> {
    let id = message.id();
    let mismatch = |problem: &str| Some(bad_request(&id, MISMATCH, problem));
    // Which revision it will be, `initialize` itself finds out.
    if message.method() == Some("initialize") {
        return None;
    }
    let Ok(version) = said(headers, VERSION) else {
        return mismatch("MCP-Protocol-Version cannot be read in one way only");
    };
    if era == Era::One {
        return version
            .filter(|version| !KNOWN_ONE.contains(version))
            .map(|version| unsupported(&id, version));
    }
    let is_request = matches!(message.shape(), Shape::Request(_));
    if is_request {
        let Some(version) = version else { return mismatch("MCP-Protocol-Version is missing") };
        let in_body = message.version();
        if in_body.is_some_and(|in_body| in_body.as_str() != Some(version)) {
            return mismatch("MCP-Protocol-Version is not the version in the body");
        }
        if version != ERA_TWO {
            return Some(unsupported(&id, version));
        }
    }
    match said(headers, "mcp-method") {
        Ok(None) if !is_request => {}
        Ok(None) => return mismatch("Mcp-Method is missing"),
        Ok(Some(method)) if Some(method) == message.method() => {}
        Ok(Some(_)) | Err(Unreadable) => return mismatch("Mcp-Method is not the method of the body"),
    }
    let (named, required) = name_of(message);
    let named = named?;
    match decoded(headers, "mcp-name") {
        Ok(None) if !required => None,
        Ok(None) => mismatch("Mcp-Name is missing"),
        Ok(Some(name)) if name == named => None,
        Ok(Some(_)) | Err(Unreadable) => mismatch("Mcp-Name is not the name in the body"),
    }
}

/// The HTTP status of an answer in era two, for a server that speaks no HTTP itself.
pub(crate) fn status_of(answer: &[u8]) -> StatusCode {
    let code = Reply::read(answer).and_then(|reply| reply.rpc_error()).map(|error| error.code);
    match code {
        Some(NO_SUCH_METHOD) => StatusCode::NOT_FOUND,
        Some(NEEDS_CAPABILITY | UNSUPPORTED) => StatusCode::BAD_REQUEST,
        Some(code) if code == i64::from(MISMATCH) => StatusCode::BAD_REQUEST,
        Some(_) | None => StatusCode::OK,
    }
}

/// The answer to a method that era two has left out.
pub(crate) fn no_such_method(id: &str) -> Response<Body> {
    let text = message::error(id, -32601, "there is no such method in this revision of MCP");
    body::json(StatusCode::NOT_FOUND, text)
}

/// What of the body `Mcp-Name` repeats, and whether it has to.
fn name_of(message: &Message) -> (Option<&str>, bool) {
    match message.shape() {
        Shape::Request("tools/call" | "prompts/get") => (message.text_param("name"), true),
        Shape::Request("resources/read") => (message.text_param("uri"), true),
        Shape::Request("tasks/get" | "tasks/update" | "tasks/cancel") => {
            (message.text_param("taskId"), false)
        }
        Shape::Request(_) | Shape::Notification(_) | Shape::Answer | Shape::Other => (None, false),
    }
}

/// The answer to a request without a body that says a revision which is not spoken here.
pub(crate) fn unknown_version(headers: &HeaderMap) -> Option<Response<Body>> {
    match said(headers, VERSION) {
        Ok(Some(version)) if version != ERA_TWO && !KNOWN_ONE.contains(&version) => {
            Some(unsupported("null", version))
        }
        Ok(_) => None,
        Err(Unreadable) => {
            Some(bad_request("null", MISMATCH, "MCP-Protocol-Version cannot be read in one way only"))
        }
    }
}

fn unsupported(id: &str, version: &str) -> Response<Body> {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{UNSUPPORTED},"message":{},"data":{{"supported":[{}],"requested":{}}}}}}}"#,
        quoted(&format!(
            "this revision of MCP is not spoken here; sessions may be of {}",
            KNOWN_ONE.join(", ")
        )),
        quoted(ERA_TWO),
        quoted(version)
    );
    body::json(StatusCode::BAD_REQUEST, text)
}

/// What a header says, as it is written.
fn said<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Unreadable> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(|text| Some(text.trim())).map_err(|_| Unreadable),
        (Some(_), Some(_)) => Err(Unreadable),
    }
}

/// The same, for a value that may be wrapped because a header cannot carry it.
pub(crate) fn decoded(headers: &HeaderMap, name: &str) -> Result<Option<String>, Unreadable> {
    let Some(text) = said(headers, name)? else { return Ok(None) };
    let wrapped = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let Some(wrapped) = wrapped else { return Ok(Some(text.to_owned())) };
    let bytes = base64::engine::general_purpose::STANDARD.decode(wrapped).map_err(|_| Unreadable)?;
    String::from_utf8(bytes).map(Some).map_err(|_| Unreadable)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderName, HeaderValue};

    use super::*;

    const TWO: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

    fn refused(body: &str, written: &[(&str, &str)]) -> bool {
        let message = Message::read(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in written {
            headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let era = message.era(&headers);
        problem(&message, era, &headers).is_some_and(|answer| answer.status() == StatusCode::BAD_REQUEST)
    }

    #[test]
    fn an_answer_of_a_program_has_the_status_that_its_revision_wants() {
        for (code, status) in [(-32601, 404), (-32020, 400), (-32021, 400), (-32022, 400), (-32602, 200)] {
            let answer = message::error("1", code, "no");
            assert_eq!(status_of(answer.as_bytes()), status, "{code}");
        }
        assert_eq!(status_of(message::result("1", "{}").as_bytes()), 200);
    }

    #[test]
    fn a_call_of_era_two_has_the_headers_of_its_body() {
        let call = format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"löschen",{TWO}}}}}"#);
        let version = ("mcp-protocol-version", ERA_TWO);
        let method = ("mcp-method", "tools/call");
        let name = ("mcp-name", "=?base64?bMO2c2NoZW4=?=");
        assert!(!refused(&call, &[version, method, name]));
        for written in [
            &[method, name][..],
            &[version, name],
            &[version, method],
            &[("mcp-protocol-version", "2025-11-25"), method, name],
            &[version, ("mcp-method", "ping"), name],
            &[version, ("mcp-method", "TOOLS/CALL"), name],
            &[version, method, ("mcp-name", "echo")],
            // Not padded, and so not one text to all readers.
            &[version, method, ("mcp-name", "=?base64?bMO2c2NoZW4?=")],
            &[version, version, method, name],
            &[version, method, method, name],
            &[version, method, name, ("mcp-name", "echo")],
        ] {
            assert!(refused(&call, written), "{written:?}");
        }
    }

    #[test]
    fn what_has_no_name_needs_none_and_a_resource_goes_by_its_address() {
        let (version, list) = (("mcp-protocol-version", ERA_TWO), ("mcp-method", "tools/list"));
        let body =
            |method: &str, more: &str| format!(r#"{{"id":1,"method":"{method}","params":{{{more}{TWO}}}}}"#);
        assert!(!refused(&body("tools/list", ""), &[version, list]));
        let read = ("mcp-method", "resources/read");
        let resource = body("resources/read", r#""uri":"file:///a","#);
        assert!(!refused(&resource, &[version, read, ("mcp-name", "file:///a")]));
        assert!(refused(&resource, &[version, read, ("mcp-name", "file:///b")]));
        assert!(refused(&resource, &[version, read]));
        // What says nothing of its headers in the revision needs none.
        assert!(!refused(r#"{"method":"notifications/cancelled"}"#, &[version]));
    }

    #[test]
    fn only_revisions_that_are_known_are_spoken() {
        let list = r#"{"id":1,"method":"tools/list"}"#;
        for known in KNOWN_ONE {
            assert!(!refused(list, &[("mcp-protocol-version", known)]), "{known}");
        }
        assert!(!refused(list, &[]));
        for unknown in ["1999-01-01", "nonsense", "2027-01-01", ""] {
            assert!(refused(list, &[("mcp-protocol-version", unknown)]), "{unknown}");
            assert!(!refused(r#"{"id":1,"method":"initialize"}"#, &[("mcp-protocol-version", unknown)]));
        }
        let newer = list.replace('}', &format!(r#","params":{{{TWO}}}}}"#)).replace(ERA_TWO, "2027-01-01");
        let written = [("mcp-protocol-version", "2027-01-01"), ("mcp-method", "tools/list")];
        assert!(refused(&newer, &written));
    }
}
