//! Holds answers against the OpenAPI document: the status, the media type and the shape of the body.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::Value;

use crate::client::Response;

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&banksman_http::document()).unwrap());

static VALIDATORS: LazyLock<Mutex<HashMap<String, Validator>>> = LazyLock::new(Mutex::default);

/// What the server says about any request before it looks for the route.
const BEFORE_ROUTING: &[u16] = &[421, 403];

/// Fails if the document does not promise this answer.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, response: &Response) {
    let Some(template) = template(path) else {
        assert!(response.status == 404 || BEFORE_ROUTING.contains(&response.status), "{path}: {response:?}");
        return;
    };
    let Some(operation) = DOCUMENT["paths"][template].get(method.to_ascii_lowercase()) else {
        assert!(response.status == 405 || BEFORE_ROUTING.contains(&response.status), "{path}: {response:?}");
        return;
    };
    let status = response.status.to_string();
    let promised = operation["responses"].get(&status);
    let promised = promised.unwrap_or_else(|| {
        panic!("{method} {template} does not promise {status}: {}", String::from_utf8_lossy(&response.body))
    });
    let Some(content) = promised.get("content").and_then(Value::as_object) else {
        assert!(response.body.is_empty(), "{method} {template} promises nothing in a {status}: {response:?}");
        return;
    };
    if response.status == 303 {
        return;
    }
    let media = response.header("content-type").unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default();
    // A browser is shown a problem as a page.
    let drawn = media == "text/html" && response.status >= 400 && !template.starts_with("/v1");
    if drawn && content.contains_key("application/problem+json") {
        return;
    }
    let described = content.get(media).unwrap_or_else(|| {
        panic!("{method} {template} answers {media} with {status}, which the document does not say")
    });
    if let Some(schema) = described.get("schema").filter(|_| media != "text/event-stream") {
        follows(&response.json(), schema);
    }
}

/// The path of the document that a path of a request means.
fn template(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap_or_default();
    let known = DOCUMENT["paths"].as_object().unwrap().keys();
    known.map(String::as_str).find(|template| {
        let (mut parts, mut known) = (path.split('/'), template.split('/'));
        loop {
            match (parts.next(), known.next()) {
                (None, None) => return true,
                (Some(part), Some(known)) if part == known => {}
                (Some(part), Some(known)) if known.starts_with('{') && !part.is_empty() => {}
                _ => return false,
            }
        }
    })
}

/// Fails if a value does not follow a schema of the document.
#[track_caller]
pub(crate) fn follows(value: &Value, schema: &Value) {
    let mut validators = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
        let mut whole = schema.clone();
        whole["components"] = DOCUMENT["components"].clone();
        jsonschema::draft202012::new(&whole).unwrap()
    });
    if let Some(error) = validator.iter_errors(value).next() {
        panic!("{error} at {}, in {value}", error.instance_path());
    }
}
