//! Names of requests: many clients ask one program, and each may call its request `1`. On the way there a request goes by a
//! name of ours, and what is said of it on the way back by its client's.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::lane::Route;
use crate::message;
use crate::raw::Members;

/// Which subscription a message belongs to: the id of the request that asked for it.
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// How much of the server's log a request wants to hear. Without it, nothing.
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

const PROGRESS_TOKEN: &str = "progressToken";

/// What a client calls a request that the program knows by a name of ours.
pub(super) struct Alias {
    theirs: Route,
    pub(super) wants_log: bool,
}

/// Of which request a message speaks that is no answer.
pub(super) enum About {
    /// Of the one with this name, as JSON.
    Request(String),
    /// Of none in particular: it is a line of the log.
    Log,
    Nothing,
}

/// A request as the program gets it, and what its client calls it; `None` if it cannot be read.
pub(super) fn renamed(request: &[u8], ours: &str, theirs: Route) -> Option<(Bytes, Alias)> {
    let mut wants_log = false;
    let with_token = message::with_params(request, |params| {
        let meta = params.get("_meta")?.to_owned();
        let mut meta = Members::read(&meta)?;
        wants_log = meta.get(META_LOG_LEVEL).is_some();
        meta.get(PROGRESS_TOKEN)?;
        meta.set(PROGRESS_TOKEN, ours.to_owned());
        let meta = meta.write();
        params.set("_meta", meta);
        Some(())
    });
    let renamed = message::with_id(with_token.as_deref().unwrap_or(request), ours)?;
    Some((renamed, Alias { theirs, wants_log }))
}

impl Alias {
    /// Of a request that we write ourselves.
    pub(super) fn of(theirs: Route) -> Self {
        Self { theirs, wants_log: false }
    }

    /// The program's answer, as its client knows it.
    pub(super) fn of_answer(&self, answer: &[u8]) -> Option<Bytes> {
        let mut members = Members::read_bytes(answer)?;
        let result = members.get("result").and_then(|result| self.with_subscription(result));
        if let Some(result) = result {
            members.set("result", result);
        }
        members.set("id", self.theirs.id.as_str());
        Some(members.write().into())
    }

    /// What the program says of the request, as its client knows it.
    pub(super) fn of_notification(&self, said: &[u8]) -> Option<Bytes> {
        let mut members = Members::read_bytes(said)?;
        let params = members.get("params")?.to_owned();
        let params = self.with_subscription(&params).unwrap_or(params);
        let mut params = Members::read(&params)?;
        if params.get(PROGRESS_TOKEN).is_some() {
            params.set(PROGRESS_TOKEN, self.theirs.progress.as_deref()?);
        }
        let params = params.write();
        members.set("params", params);
        Some(members.write().into())
    }

    fn with_subscription(&self, object: &str) -> Option<String> {
        let mut object = Members::read(object)?;
        let meta = object.get("_meta")?.to_owned();
        let mut meta = Members::read(&meta)?;
        meta.get(META_SUBSCRIPTION)?;
        meta.set(META_SUBSCRIPTION, self.theirs.id.as_str());
        let meta = meta.write();
        object.set("_meta", meta);
        Some(object.write())
    }
}

/// What a notification of the program is about.
pub(super) fn about(method: &str, params: Option<&RawValue>) -> About {
    let params = params.and_then(|params| Members::read(params.get())).unwrap_or_default();
    let meta = params.get("_meta").and_then(Members::read).unwrap_or_default();
    let is_progress = method == "notifications/progress";
    let token = params.get(PROGRESS_TOKEN).filter(|_| is_progress);
    match meta.get(META_SUBSCRIPTION).or(token) {
        Some(request) => About::Request(request.to_owned()),
        None if method == "notifications/message" => About::Log,
        None => About::Nothing,
    }
}

/// What a program is told of a request whose client has gone.
pub(super) fn cancelled(ours: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{ours}}}}}"#)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = r#""banksman-7""#;

    fn theirs(progress: Option<&str>) -> Route {
        Route { id: "1".to_owned(), progress: progress.map(str::to_owned) }
    }

    #[test]
    fn a_request_goes_by_our_name_and_comes_back_under_its_own() {
        let asked = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":10000000000000000001},"_meta":{"progressToken":"t","io.modelcontextprotocol/logLevel":"info"}}}"#;
        let (sent, alias) = renamed(asked, OURS, theirs(Some(r#""t""#))).unwrap();
        assert_eq!(
            sent,
            r#"{"jsonrpc":"2.0","id":"banksman-7","method":"tools/call","params":{"name":"x","arguments":{"n":10000000000000000001},"_meta":{"progressToken":"banksman-7","io.modelcontextprotocol/logLevel":"info"}}}"#
        );
        assert!(alias.wants_log);
        let answer = alias.of_answer(br#"{"jsonrpc":"2.0","id":"banksman-7","result":{"a":[1.0]}}"#).unwrap();
        assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1.0]}}"#);
        let progress =
            br#"{"method":"notifications/progress","params":{"progressToken":"banksman-7","progress":0.50}}"#;
        assert_eq!(
            alias.of_notification(progress).unwrap(),
            r#"{"method":"notifications/progress","params":{"progressToken":"t","progress":0.50}}"#
        );
    }

    #[test]
    fn what_a_subscription_brings_goes_by_its_clients_name() {
        let asked = br#"{"id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#;
        let (sent, alias) = renamed(asked, OURS, theirs(None)).unwrap();
        assert_eq!(
            sent,
            r#"{"id":"banksman-7","method":"subscriptions/listen","params":{"notifications":{}}}"#
        );
        assert!(!alias.wants_log);
        let meta = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"banksman-7","x":1}}"#;
        let theirs = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1,"x":1}}"#;
        let said = format!(r#"{{"method":"notifications/tools/list_changed","params":{meta}}}"#);
        assert_eq!(alias.of_notification(said.as_bytes()).unwrap(), said.replace(meta, theirs));
        let answer = format!(r#"{{"id":"banksman-7","result":{meta}}}"#);
        assert_eq!(
            alias.of_answer(answer.as_bytes()).unwrap(),
            answer.replace(meta, theirs).replace(OURS, "1")
        );
    }

    #[test]
    fn progress_that_nobody_asked_for_is_for_nobody() {
        let (_, alias) = renamed(br#"{"id":1,"method":"x"}"#, OURS, theirs(None)).unwrap();
        let progress = br#"{"method":"notifications/progress","params":{"progressToken":"banksman-7"}}"#;
        assert!(alias.of_notification(progress).is_none());
    }

    #[test]
    fn what_a_message_is_about_is_in_the_message() {
        let of = |method: &str, params: &str| {
            let params: Box<RawValue> = serde_json::from_str(params).unwrap();
            match about(method, Some(&params)) {
                About::Request(request) => request,
                About::Log => "the log".to_owned(),
                About::Nothing => "nothing".to_owned(),
            }
        };
        let listed = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"},"progressToken":"b"}"#;
        assert_eq!(of("notifications/tools/list_changed", listed), r#""a""#);
        assert_eq!(of("notifications/progress", r#"{"progressToken":3}"#), "3");
        assert_eq!(of("notifications/message", r#"{"level":"info"}"#), "the log");
        assert_eq!(of("notifications/tools/list_changed", r#"{"progressToken":3}"#), "nothing");
        assert_eq!(of("notifications/progress", "[1]"), "nothing");
    }
}
