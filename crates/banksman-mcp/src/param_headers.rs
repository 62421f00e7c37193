//! Arguments that era two also wants in headers (`x-mcp-header` in a tool's schema), when the call is ours to write.

use banksman_core::json::{CanonicalJson, Json};
use http::{HeaderMap, HeaderName};

use crate::upstream::header_text;

const PREFIX: &str = "mcp-param-";

/// The headers that a call with these arguments has, by the tool's schema.
pub(crate) fn of(schema: Option<&CanonicalJson>, args: &CanonicalJson) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let (Some(Ok(schema)), Ok(args)) = (schema.map(CanonicalJson::to_json), args.to_json()) {
        collect(&schema, &args, &mut headers);
    }
    headers
}

fn collect(schema: &Json, args: &Json, headers: &mut HeaderMap) {
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
    for (name, property) in properties.iter() {
        let Some(value) = args.get(name) else { continue };
        let header = property.get("x-mcp-header").and_then(Json::as_str);
        let header = header.and_then(|header| format!("{PREFIX}{header}").parse::<HeaderName>().ok());
        let text = match value {
            Json::String(text) => Some(text.clone()),
            Json::Bool(_) | Json::Number(_) => Some(CanonicalJson::of(value).as_str().to_owned()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        };
        if let (Some(header), Some(text)) = (header, text) {
            headers.insert(header, header_text(&text));
        }
        collect(property, value, headers);
    }
}

/// Takes out what a client had sent for other arguments.
pub(crate) fn remove(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_schema_marks_is_sent_and_nothing_breaks_out() {
        let schema = CanonicalJson::parse(
            br#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"x-mcp-header":"N"},
                "bad":{"x-mcp-header":"a b"},"deep":{"properties":{"x":{"x-mcp-header":"Deep"}}},"other":{}}}"#,
        )
        .unwrap();
        let args = CanonicalJson::parse(
            br#"{"region":"a\r\nx: y","n":9007199254740993,"bad":"1","deep":{"x":true},"other":"o"}"#,
        )
        .unwrap();
        let headers = of(Some(&schema), &args);
        assert_eq!(headers.len(), 3, "{headers:?}");
        assert!(headers["mcp-param-region"].to_str().unwrap().starts_with("=?base64?"));
        assert_eq!(headers["mcp-param-n"], "9007199254740993");
        assert_eq!(headers["mcp-param-deep"], "true");
    }
}
