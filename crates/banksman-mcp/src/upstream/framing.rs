//! Requests that we write ourselves, as their era wants them.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};

use super::Lane;
use super::house::{Behalf, who_we_are};
use super::rooms::Open;
use crate::message::{ERA_TWO, Era, META_CAPABILITIES, META_CLIENT, META_VERSION};
use crate::raw::{Members, quoted};

/// A request as its era wants it.
pub(super) fn framed(open: &Open, method: &str, params: &str, behalf: Behalf<'_>) -> (Lane, String) {
    let Lane::Http { upstream, headers } = &open.lane else {
        let params =
            if open.era == Era::Two { with_meta(params, behalf.capabilities) } else { params.to_owned() };
        return (open.lane.clone(), params);
    };
    let mut headers = headers.clone();
    headers.extend(behalf.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    if open.era == Era::One {
        return (Lane::Http { upstream: Arc::clone(upstream), headers }, params.to_owned());
    }
    let named = Members::read(params).and_then(|params| {
        params.text("name").or_else(|| params.text("uri")).or_else(|| params.text("taskId"))
    });
    let mut set = |name: &'static str, value: &str| {
        headers.insert(HeaderName::from_static(name), header_text(value));
    };
    set("mcp-protocol-version", ERA_TWO);
    set("mcp-method", method);
    if let Some(named) = named {
        set("mcp-name", &named);
    }
    (Lane::Http { upstream: Arc::clone(upstream), headers }, with_meta(params, behalf.capabilities))
}

/// Parameters with a token for progress.
pub(super) fn with_token(params: &str, token: &str) -> String {
    let mut params = Members::read(params).unwrap_or_default();
    let mut meta = params.get("_meta").and_then(Members::read).unwrap_or_default();
    meta.set("progressToken", token);
    let meta = meta.write();
    params.set("_meta", meta);
    params.write()
}

pub(crate) fn with_meta(params: &str, capabilities: &str) -> String {
    let mut params = Members::read(params).unwrap_or_default();
    let mut meta = params.get("_meta").and_then(Members::read).unwrap_or_default();
    meta.set(META_VERSION, quoted(ERA_TWO));
    meta.set(META_CLIENT, who_we_are());
    meta.set(META_CAPABILITIES, capabilities);
    let meta = meta.write();
    params.set("_meta", meta);
    params.write()
}

/// A text as the value of a header: what a header cannot carry is base64 in a wrapper, as the revision wants it.
pub(crate) fn header_text(text: &str) -> HeaderValue {
    use base64::Engine as _;
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain && let Ok(value) = HeaderValue::from_str(text) {
        return value;
    }
    let wrapped = format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text));
    HeaderValue::from_str(&wrapped).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_breaks_out_of_a_header() {
        assert_eq!(header_text("read_file"), "read_file");
        for name in ["a\r\nx: y", "löschen", " a", "a ", "=?base64?eA==?=", "\u{0}"] {
            let value = header_text(name);
            assert!(value.to_str().unwrap().starts_with("=?base64?"), "{name:?}");
            assert_ne!(value, name);
        }
    }

    #[test]
    fn era_two_says_who_asks_with_each_request() {
        let params = with_meta(r#"{"name":"x","_meta":{"a":1}}"#, r#"{"roots":{}}"#);
        let params: serde_json::Value = serde_json::from_str(&params).unwrap();
        assert_eq!(params["_meta"]["a"], 1);
        assert_eq!(params["_meta"][META_VERSION], ERA_TWO);
        assert_eq!(params["_meta"][META_CLIENT]["name"], "banksman");
        assert_eq!(params["_meta"][META_CAPABILITIES]["roots"], serde_json::json!({}));
        assert_eq!(params["name"], "x");
    }
}
