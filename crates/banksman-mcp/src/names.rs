//! The protocol's own names, and keys that some servers would take for them.
//!
//! To us `Method` is not `method`. To a server that does not mind case (Go's `encoding/json`) it is, and the last of the
//! two counts: it would run something else than was judged.

use banksman_core::json::Json;

use crate::message::{META_CAPABILITIES, META_CLIENT, META_VERSION};

const OF_A_MESSAGE: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];

/// Those that are decided by, or that say what a call is.
const OF_PARAMS: &[&str] = &[
    "name",
    "arguments",
    "requestState",
    "inputResponses",
    "task",
    "taskId",
    "_meta",
    "protocolVersion",
    "clientInfo",
    "capabilities",
];

const OF_META: &[&str] = &["progressToken", META_VERSION, META_CLIENT, META_CAPABILITIES];

/// A key of a message that is one of these names but for the case of its letters.
pub(crate) fn misspelt(message: &Json) -> Option<&str> {
    let params = message.get("params");
    let meta = params.and_then(|params| params.get("_meta"));
    misspelt_in(Some(message), OF_A_MESSAGE)
        .or_else(|| misspelt_in(params, OF_PARAMS))
        .or_else(|| misspelt_in(meta, OF_META))
}

/// A key of one object that is one of these names but for case.
pub(crate) fn misspelt_in<'a>(object: Option<&'a Json>, names: &[&str]) -> Option<&'a str> {
    let keys = object?.as_object()?.iter().map(|(key, _)| key);
    keys.into_iter().find(|key| names.iter().any(|name| key != name && are_same_but_for_case(key, name)))
}

fn are_same_but_for_case(one: &str, other: &str) -> bool {
    one.chars().map(folded).eq(other.chars().map(folded))
}

/// A letter as readers see it that do not mind case. Not only ASCII has letters that are the same to them: ſ (U+017F) is
/// an s, K (U+212A) a k, and to some ı and İ are an i.
fn folded(letter: char) -> char {
    let upper = letter.to_uppercase().next().unwrap_or(letter);
    upper.to_lowercase().next().unwrap_or(upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        misspelt(&banksman_core::json::parse(text.as_bytes()).unwrap()).map(str::to_owned)
    }

    #[test]
    fn what_is_a_name_of_the_protocol_but_for_case_is_found() {
        for (text, key) in [
            (r#"{"id":1,"method":"ping","Method":"tools/call"}"#, "Method"),
            (r#"{"id":1,"METHOD":"tools/call"}"#, "METHOD"),
            (r#"{"id":1,"method":"ping","PaRams":{"name":"a"}}"#, "PaRams"),
            (r#"{"id":1,"method":"ping","param\u017f":{}}"#, "param\u{17f}"),
            (r#"{"method":"ping","I\u0044":1}"#, "ID"),
            (r#"{"method":"ping","\u0131d":1}"#, "\u{131}d"),
            (r#"{"method":"ping","\u0130d":1}"#, "\u{130}d"),
            (r#"{"id":1,"result":{},"Error":{}}"#, "Error"),
            (r#"{"method":"m","params":{"name":"echo","Name":"wipe"}}"#, "Name"),
            (r#"{"method":"m","params":{"name":"echo","argument\u017f":{}}}"#, "argument\u{17f}"),
            (r#"{"method":"m","params":{"tas\u212a":{}}}"#, "tas\u{212a}"),
            (r#"{"method":"m","params":{"requeststate":"x"}}"#, "requeststate"),
            (r#"{"method":"m","params":{"_Meta":{}}}"#, "_Meta"),
            (r#"{"method":"m","params":{"_meta":{"progresstoken":1}}}"#, "progresstoken"),
        ] {
            assert_eq!(found(text).as_deref(), Some(key), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_of_the_protocol_is_anyones() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"Name":1,"METHOD":2},"_meta":{"progressToken":1,"Name":"x"}}}"#,
            r#"{"method":"x","Name":"top","methods":1,"params":{"Method":"in params","names":[],"meta":{}}}"#,
            r#"{"id":1,"result":{"Name":"a","Method":"b","Result":{}}}"#,
            r#"{"method":"x","params":["Name"]}"#,
            r#"["Method"]"#,
            "7",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
