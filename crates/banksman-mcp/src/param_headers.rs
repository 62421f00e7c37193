//! Arguments that era two also wants in headers (`x-mcp-header` in a tool's schema): compared when a client wrote them,
//! and written when the call is ours to write.

use banksman_core::json::{CanonicalJson, Json};
use http::{HeaderMap, HeaderName};

use crate::headers::decoded;
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
        if let (Some(header), Some(text)) = (header_of(property), text_of(value)) {
            headers.insert(header, header_text(&text));
        }
        collect(property, value, headers);
    }
}

fn header_of(property: &Json) -> Option<HeaderName> {
    let marked = property.get("x-mcp-header").and_then(Json::as_str)?;
    format!("{PREFIX}{marked}").parse().ok()
}

fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(_) | Json::Number(_) => Some(CanonicalJson::of(value).as_str().to_owned()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// What is wrong with the headers that a client sent beside these arguments, if anything is.
pub(crate) fn mismatch(
    schema: Option<&CanonicalJson>,
    args: &CanonicalJson,
    headers: &HeaderMap,
) -> Option<String> {
    differing(&schema?.to_json().ok()?, Some(&args.to_json().ok()?), headers)
}

fn differing(schema: &Json, args: Option<&Json>, headers: &HeaderMap) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, property)| {
        let value = args.and_then(|args| args.get(name));
        match header_of(property) {
            Some(header) if !says(headers, &header, value) => {
                Some(format!("{header} is not the argument {name:?} of the body"))
            }
            Some(_) | None => differing(property, value, headers),
        }
    })
}

/// Whether a header says what an argument is, and nothing if there is none. Whole numbers are compared as such: clients
/// write them in more than one way.
fn says(headers: &HeaderMap, header: &HeaderName, value: Option<&Json>) -> bool {
    let Ok(said) = decoded(headers, header.as_str()) else { return false };
    let number = |text: &String| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match (said, value.and_then(text_of)) {
        (None, None) => true,
        (Some(said), Some(text)) if said == text => true,
        (Some(said), Some(text)) => {
            matches!(value, Some(Json::Number(_)))
                && number(&said).is_some()
                && number(&said) == number(&text)
        }
        (Some(_), None) | (None, Some(_)) => false,
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

    #[test]
    fn what_a_header_says_is_what_the_argument_is() {
        let schema = CanonicalJson::parse(
            br#"{"properties":{"region":{"x-mcp-header":"Region"},"deep":{"properties":{"n":{"x-mcp-header":"N"}}}}}"#,
        )
        .unwrap();
        let is_wrong = |args: &str, written: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in written {
                headers.append(*name, value.parse().unwrap());
            }
            mismatch(Some(&schema), &CanonicalJson::parse(args.as_bytes()).unwrap(), &headers).is_some()
        };
        let (region, number) = ("mcp-param-region", "mcp-param-n");
        let both = r#"{"region":"Hello","deep":{"n":42}}"#;
        for (args, written) in [
            ("{}", &[][..]),
            (r#"{"region":null}"#, &[]),
            (both, &[(region, "Hello"), (number, "42")]),
            (both, &[(region, "=?base64?SGVsbG8=?="), (number, "42.0")]),
            (both, &[(region, "Hello"), (number, "42"), ("mcp-param-other", "x")]),
        ] {
            assert!(!is_wrong(args, written), "{args} {written:?}");
        }
        for (args, written) in [
            (both, &[(region, "Hello")][..]),
            (both, &[(number, "42")]),
            (both, &[(region, "hello"), (number, "42")]),
            (both, &[(region, "Hello"), (number, "43")]),
            (both, &[(region, "Hello"), (region, "Hello"), (number, "42")]),
            (both, &[(region, "=?base64?SGVsbG8?="), (number, "42")]),
            ("{}", &[(region, "Hello")]),
            (r#"{"region":"NaN"}"#, &[(region, "nan")]),
        ] {
            assert!(is_wrong(args, written), "{args} {written:?}");
        }
    }
}
