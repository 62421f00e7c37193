//! What a client sent: read once, strictly, and kept as it was written.

use banksman_core::json::{self, CanonicalJson, Json, JsonError, Object};
use bytes::Bytes;
use http::HeaderMap;

use crate::names::misspelt;
use crate::raw::{Members, quoted};

/// The first revision without sessions.
pub(crate) const ERA_TWO: &str = "2026-07-28";

/// The newest revision with sessions.
pub(crate) const ERA_ONE: &str = "2025-11-25";

/// All revisions with sessions. Which of them a session is of, its server says.
pub(crate) const KNOWN_ONE: &[&str] = &["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", ERA_ONE];

/// The names of the protocol's own members of `_meta`.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The extension for calls that are answered later.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Which of the two shapes of the protocol a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Era {
    /// With `initialize` and sessions, up to 2025-11-25.
    One,
    /// Without, from 2026-07-28 on.
    Two,
}

/// A message from a client.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    json: Json,
    /// The bytes that it came in.
    pub(crate) bytes: Bytes,
}

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape<'a> {
    /// It wants an answer.
    Request(&'a str),
    /// It does not.
    Notification(&'a str),
    /// It is an answer to something that the server asked.
    Answer,
    /// None of these.
    Other,
}

/// Why something is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("{0:?} is a name of the protocol but for its case, and some servers would take it for that")]
    Misspelt(String),
}

impl Message {
    /// Reads it. What two readers could understand in two ways is no message: what is judged here is what the server
    /// behind us will see.
    ///
    /// # Errors
    /// If it is not strict JSON, or has a key that only some servers would read as one of the protocol's.
    pub(crate) fn read(bytes: Bytes) -> Result<Self, MessageError> {
        let json = json::parse(&bytes)?;
        let key = match &json {
            Json::Array(batch) => batch.iter().find_map(misspelt),
            one => misspelt(one),
        };
        match key {
            Some(key) => Err(MessageError::Misspelt(key.to_owned())),
            None => Ok(Self { json, bytes }),
        }
    }

    /// The messages of a batch, if it is one.
    pub(crate) fn batch(&self) -> Option<Vec<Self>> {
        let Json::Array(items) = &self.json else { return None };
        let read = |item: &Json| {
            let text = CanonicalJson::of(item);
            Self { json: item.clone(), bytes: Bytes::copy_from_slice(text.as_str().as_bytes()) }
        };
        Some(items.iter().map(read).collect())
    }

    pub(crate) fn shape(&self) -> Shape<'_> {
        let has = |key| self.json.get(key).is_some();
        match (self.method(), has("id"), has("result") || has("error")) {
            (Some(method), true, false) => Shape::Request(method),
            (Some(method), false, false) => Shape::Notification(method),
            (None, true, true) if !has("method") => Shape::Answer,
            _ => Shape::Other,
        }
    }

    pub(crate) fn method(&self) -> Option<&str> {
        self.json.get("method")?.as_str()
    }

    /// Whether it claims to be JSON-RPC at all.
    pub(crate) fn is_json_rpc(&self) -> bool {
        self.json.get("jsonrpc").and_then(Json::as_str) == Some("2.0")
    }

    /// The id as JSON; `null` if there is none.
    pub(crate) fn id(&self) -> String {
        match self.json.get("id") {
            Some(id @ (Json::String(_) | Json::Number(_))) => CanonicalJson::of(id).as_str().to_owned(),
            Some(_) | None => "null".to_owned(),
        }
    }

    /// The same under an id of ours, for one that has none and gets an answer all the same.
    pub(crate) fn named(&self) -> Option<Self> {
        let mut key = [0u8; 8];
        getrandom::fill(&mut key).ok()?;
        let id = quoted(&format!("banksman-call-{:016x}", u64::from_be_bytes(key)));
        Self::read(with_id(&self.bytes, &id)?).ok()
    }

    /// Whether its id is one that JSON-RPC and MCP know.
    pub(crate) fn has_usable_id(&self) -> bool {
        matches!(self.json.get("id"), Some(Json::String(_) | Json::Number(_)))
    }

    pub(crate) fn param(&self, key: &str) -> Option<&Json> {
        self.json.get("params")?.get(key)
    }

    pub(crate) fn text_param(&self, key: &str) -> Option<&str> {
        self.param(key)?.as_str()
    }

    /// The revision of the session that the message asks for: its own if we speak that, or else the newest.
    pub(crate) fn session_version(&self) -> &str {
        let asked = self.text_param("protocolVersion").unwrap_or(ERA_ONE);
        if KNOWN_ONE.contains(&asked) { asked } else { ERA_ONE }
    }

    fn meta(&self) -> Option<&Object> {
        self.param("_meta")?.as_object()
    }

    /// The token that progress is to be reported with, as JSON.
    pub(crate) fn progress_token(&self) -> Option<String> {
        match self.meta()?.get("progressToken")? {
            token @ (Json::String(_) | Json::Number(_)) => Some(CanonicalJson::of(token).as_str().to_owned()),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The revision that it says it is of, in era two.
    pub(crate) fn version(&self) -> Option<&Json> {
        self.meta()?.get(META_VERSION)
    }

    /// Whether it says of itself what each request of era two has to.
    pub(crate) fn says_who_asks(&self) -> bool {
        let meta = self.meta();
        meta.is_some_and(|meta| {
            meta.get(META_VERSION).is_some()
                && meta.get(META_CAPABILITIES).is_some_and(|all| all.as_object().is_some())
        })
    }

    /// Which era this request is of: each says so itself.
    pub(crate) fn era(&self, headers: &HeaderMap) -> Era {
        if self.version().is_some() {
            return Era::Two;
        }
        if matches!(self.method(), Some("server/discover" | "subscriptions/listen")) {
            return Era::Two;
        }
        let version = headers.get("mcp-protocol-version");
        if version.is_some_and(|version| version == ERA_TWO) { Era::Two } else { Era::One }
    }

    /// What the client says of itself: in era two with each request, in era one when it initializes.
    pub(crate) fn client(&self) -> ClientSays {
        let says = |info: Option<&Json>, capabilities: Option<&Json>| {
            let can = |what: &str| capabilities.and_then(|all| all.get(what));
            let elicits =
                |how: &str| can("elicitation").is_some_and(|elicitation| elicitation.get(how).is_some());
            ClientSays {
                name: info.and_then(|info| info.get("name")).and_then(Json::as_str).map(str::to_owned),
                url_elicitation: elicits("url"),
                // Before there were two kinds, it meant this one.
                form_elicitation: can("elicitation").is_some() && (elicits("form") || !elicits("url")),
                sampling: can("sampling").is_some(),
                roots: can("roots").is_some(),
                tasks: can("extensions").is_some_and(|extensions| extensions.get(TASKS).is_some()),
            }
        };
        match self.meta() {
            Some(meta) if self.version().is_some() => {
                says(meta.get(META_CLIENT), meta.get(META_CAPABILITIES))
            }
            Some(_) | None => says(self.param("clientInfo"), self.param("capabilities")),
        }
    }

    /// The arguments of a call; an object without members if there are none.
    ///
    /// # Errors
    /// If they are no object.
    pub(crate) fn arguments(&self) -> Result<CanonicalJson, &'static str> {
        match self.param("arguments") {
            Some(arguments @ Json::Object(_)) => Ok(CanonicalJson::of(arguments)),
            None => Ok(CanonicalJson::of(&Json::Object(Object::default()))),
            Some(_) => Err("`arguments` is not an object"),
        }
    }
}

/// What a client says of itself that matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClientSays {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// It can show people a page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) url_elicitation: bool,
    /// It can ask people for what a form has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) form_elicitation: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) sampling: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) roots: bool,
    /// It can ask for a result later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tasks: bool,
}

impl ClientSays {
    /// Whether it can answer to this request of a server.
    pub(crate) fn answers(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => self.url_elicitation || self.form_elicitation,
            "sampling/createMessage" => self.sampling,
            "roots/list" => self.roots,
            _ => false,
        }
    }

    pub(crate) fn can_be_asked(&self) -> bool {
        ["elicitation/create", "sampling/createMessage", "roots/list"]
            .iter()
            .any(|method| self.answers(method))
    }

    /// What it can answer, as capabilities in JSON.
    pub(crate) fn capabilities(&self) -> String {
        let mut all = Members::default();
        let mut elicitation = Members::default();
        for (kind, can) in [("form", self.form_elicitation), ("url", self.url_elicitation)] {
            if can {
                elicitation.set(kind, "{}");
            }
        }
        if self.answers("elicitation/create") {
            all.set("elicitation", elicitation.write());
        }
        for (what, can) in [("sampling", self.sampling), ("roots", self.roots)] {
            if can {
                all.set(what, "{}");
            }
        }
        all.write()
    }
}

/// A message with other params; nothing if it has none, or `change` gives up. What is not changed keeps its bytes.
pub(crate) fn with_params(
    message: &[u8],
    change: impl FnOnce(&mut Members<'_>) -> Option<()>,
) -> Option<Bytes> {
    let mut members = Members::read_bytes(message)?;
    let mut params = Members::read(members.get("params")?)?;
    change(&mut params)?;
    let params = params.write();
    members.set("params", params);
    Some(members.write().into())
}

/// The answer to what a server asks while nobody is there to answer.
pub(crate) fn for_nobody(method: &str, id: &str) -> String {
    match method {
        "ping" => result(id, "{}"),
        _ => error(id, -32601, "nobody is there to answer"),
    }
}

/// A message under another id.
pub(crate) fn with_id(message: &[u8], id: &str) -> Option<Bytes> {
    let mut members = Members::read_bytes(message)?;
    members.set("id", id.to_owned());
    Some(members.write().into())
}

/// The ids of the requests in what is not strict JSON, as far as they can be made out: for answers that refuse them, and
/// for nothing else.
pub(crate) fn ids_of_unreadable(text: &[u8]) -> Vec<String> {
    let id_of = |members: Members<'_>| {
        // What answers something is not answered.
        members.get("method")?;
        let id = serde_json::from_str(members.get("id")?).ok()?;
        matches!(id, serde_json::Value::String(_) | serde_json::Value::Number(_)).then(|| id.to_string())
    };
    match serde_json::from_slice::<Vec<Members<'_>>>(text) {
        Ok(batch) => batch.into_iter().filter_map(id_of).collect(),
        Err(_) => Members::read_bytes(text).and_then(id_of).into_iter().collect(),
    }
}

/// A request of our own.
pub(crate) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, quoted(method))
}

/// An answer with a result that is JSON already.
pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// An answer with an error.
pub(crate) fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}}}}}"#, quoted(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message {
        Message::read(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}"#,
            r#"{"id":1,"method":"ping"} {"id":2,"method":"tools/call"}"#,
            "{\"id\":1,\"method\":\"to\u{0}ols/call\"}",
            r#"{"id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}"#,
            r#"[{"id":1,"method":"ping"},{"id":2,"method":"ping","Method":"tools/call"}]"#,
        ] {
            assert!(Message::read(Bytes::copy_from_slice(text.as_bytes())).is_err(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_strictly_can_still_be_answered() {
        for (text, ids) in [
            (r#"{"id":7,"method":"tools/call","params":{"arguments":{"a":"\ud800"}}}"#, vec!["7"]),
            (r#"{"id":"a\u0062","method":"ping","method":"ping"}"#, vec![r#""ab""#]),
            (r#"[{"id":1,"method":"x","p":"\udc00"},{"id":2,"method":"y"},{"method":"z"}]"#, vec!["1", "2"]),
            (r#"{"id":"\ud800","method":"ping"}"#, vec![]),
            (r#"{"id":{"x":1},"method":"ping"}"#, vec![]),
            (r#"{"id":1,"result":"\ud800"}"#, vec![]),
            ("{", vec![]),
        ] {
            assert!(
                Message::read(Bytes::copy_from_slice(text.as_bytes())).is_err() || ids.is_empty(),
                "{text}"
            );
            assert_eq!(ids_of_unreadable(text.as_bytes()), ids, "{text}");
        }
    }

    #[test]
    fn shapes() {
        for (text, shape) in [
            (r#"{"id":1,"method":"ping"}"#, Shape::Request("ping")),
            (r#"{"method":"notifications/initialized"}"#, Shape::Notification("notifications/initialized")),
            (r#"{"id":1,"result":{}}"#, Shape::Answer),
            (r#"{"id":"1","error":{}}"#, Shape::Answer),
            (r#"{"id":1,"method":"ping","result":{}}"#, Shape::Other),
            (r#"{"id":1,"method":5,"result":{}}"#, Shape::Other),
            (r#"{"id":1}"#, Shape::Other),
            ("[]", Shape::Other),
            ("7", Shape::Other),
        ] {
            assert_eq!(read(text).shape(), shape, "{text}");
        }
    }

    #[test]
    fn the_era_is_said_by_the_request() {
        let two = r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let one = r#"{"id":1,"method":"tools/list"}"#;
        let mut headers = HeaderMap::new();
        assert_eq!(read(two).era(&headers), Era::Two);
        assert_eq!(read(one).era(&headers), Era::One);
        headers.insert("mcp-protocol-version", "2025-11-25".parse().unwrap());
        assert_eq!(read(one).era(&headers), Era::One);
        headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
        assert_eq!(read(one).era(&headers), Era::Two);
        headers.insert("mcp-protocol-version", "nonsense".parse().unwrap());
        assert_eq!(read(one).era(&headers), Era::One);
    }

    #[test]
    fn ids_keep_their_value() {
        for (text, id) in [
            (r#"{"id":9007199254740993}"#, "9007199254740993"),
            (r#"{"id":"a\"b"}"#, r#""a\"b""#),
            (r#"{"id":{"x":1}}"#, "null"),
            ("{}", "null"),
        ] {
            assert_eq!(read(text).id(), id);
        }
    }
}
