//! Bodies that two readers could read in two ways, or none at all.

use serde_json::json;

use super::{refused, still_alive};
use crate::client::Request;
use crate::server::{Server, id};

/// Texts that are not the JSON that we accept, wherever a body is read.
fn not_json() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("half an object", text(r#"{"tool":"#)),
        ("a trailing comma", text(r#"{"tool":"a","args":{},}"#)),
        ("a comment", text("{\"tool\":\"a\",\"args\":{}} // x")),
        ("single quotes", text("{'tool':'a','args':{}}")),
        ("two values", text(r#"{"tool":"a","args":{}}{"tool":"b","args":{}}"#)),
        ("a byte order mark", text("\u{feff}{\"tool\":\"a\",\"args\":{}}")),
        ("not a number", text(r#"{"tool":"a","args":{"n":NaN}}"#)),
        ("a leading zero", text(r#"{"tool":"a","args":{"n":007}}"#)),
        ("a number of 300 digits", text(&format!(r#"{{"tool":"a","args":{{"n":{}}}}}"#, "9".repeat(300)))),
        ("a huge exponent", text(r#"{"tool":"a","args":{"n":1e999999}}"#)),
        ("a tiny exponent", text(r#"{"tool":"a","args":{"n":1e-999999}}"#)),
        ("a duplicate key", text(r#"{"tool":"read_file","tool":"drop_database","args":{}}"#)),
        ("a duplicate key deep inside", text(r#"{"tool":"a","args":{"x":[{"k":1,"k":2}]}}"#)),
        ("a duplicate key in another spelling", text(r#"{"tool":"a","args":{"to":1,"\u0074o":2}}"#)),
        ("a key named twice by escapes", text(r#"{"tool":"read_file","\u0074ool":"pay","args":{}}"#)),
        ("an escaped NUL", text(r#"{"tool":"a\u0000b","args":{}}"#)),
        ("a raw NUL", text("{\"tool\":\"a\0b\",\"args\":{}}")),
        ("a NUL behind the value", text("{\"tool\":\"a\",\"args\":{}}\0")),
        ("a raw line break in a string", text("{\"tool\":\"a\nb\",\"args\":{}}")),
        ("half a surrogate pair", text(r#"{"tool":"a","args":{"x":"\ud83d"}}"#)),
        ("the other half", text(r#"{"tool":"a","args":{"x":"\ude00"}}"#)),
        ("the halves the wrong way round", text(r#"{"tool":"a","args":{"x":"\ude00\ud83d"}}"#)),
        ("not UTF-8", b"{\"tool\":\"a\",\"args\":{\"x\":\"\xff\xfe\"}}".to_vec()),
        ("an overlong encoding", b"{\"tool\":\"a\",\"args\":{\"x\":\"\xc0\xaf\"}}".to_vec()),
        ("UTF-16", "{\"tool\":\"a\",\"args\":{}}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("arrays 100 000 deep", text(&format!(r#"{{"tool":"a","args":{{"x":{}"#, "[".repeat(100_000)))),
        ("objects 100 000 deep", text(&"{\"a\":".repeat(100_000))),
        ("spaces only", text(" \n\t ")),
    ]
}

#[tokio::test]
async fn what_is_not_json_is_refused_wherever_a_body_is_read() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let places = [
        ("/v1/actions".to_owned(), &server.riley),
        ("/v1/batches".to_owned(), &server.riley),
        (format!("/v1/actions/{}/decision", id(&action)), &server.ann),
        (format!("/v1/actions/{}/cancel", id(&action)), &server.riley),
    ];
    for (what, body) in not_json() {
        for (path, token) in &places {
            let request = Request::post_bytes(path.clone(), body.clone()).by(token);
            refused(&server, what, request).await.problem(400, "invalid_json");
        }
    }
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
    still_alive(&server).await;
}

#[tokio::test]
async fn what_is_no_action_is_refused() {
    let server = Server::start().await;
    let long = "x".repeat(64 * 1024 + 1);
    for (what, body) in [
        ("null", json!(null)),
        ("an array", json!([])),
        ("a string", json!("send_email")),
        ("a number", json!(7)),
        ("nothing in it", json!({})),
        ("no arguments", json!({"tool": "a"})),
        ("no tool", json!({"args": {}})),
        ("a null tool", json!({"tool": null, "args": {}})),
        ("a tool that is a number", json!({"tool": 1, "args": {}})),
        ("a tool that is blank", json!({"tool": "  ", "args": {}})),
        ("a tool with a line break", json!({"tool": "a\nb", "args": {}})),
        ("a tool with an escape sequence", json!({"tool": "a\u{1b}[2J", "args": {}})),
        ("a tool of 257 characters", json!({"tool": "x".repeat(257), "args": {}})),
        ("arguments that are an array", json!({"tool": "a", "args": []})),
        ("arguments that are a string", json!({"tool": "a", "args": "{}"})),
        ("arguments that are null", json!({"tool": "a", "args": null})),
        ("an unknown member", json!({"tool": "a", "args": {}, "Tool": "b"})),
        ("an unknown member that is null", json!({"tool": "a", "args": {}, "x": null})),
        ("an unknown kind", json!({"tool": "a", "args": {}, "kind": "magic"})),
        ("a description that is too long", json!({"tool": "a", "args": {}, "description": long})),
        ("a description that is a number", json!({"tool": "a", "args": {}, "description": 1})),
        ("a session with a bell", json!({"tool": "a", "args": {}, "session": "\u{7}"})),
        ("a negative cost", json!({"tool": "a", "args": {}, "estimate": {"cost_usd": -1}})),
        ("an unknown estimate", json!({"tool": "a", "args": {}, "estimate": {"cost_eur": 1}})),
        ("half a millisecond", json!({"tool": "a", "args": {}, "estimate": {"duration_ms": 0.5}})),
        ("no patience at all", json!({"tool": "a", "args": {}, "timeout_seconds": 0})),
        ("patience of ages", json!({"tool": "a", "args": {}, "timeout_seconds": 1e18})),
        ("too many systems", json!({"tool": "a", "args": {}, "affected_systems": vec!["x"; 257]})),
        ("a severity of its own", json!({"tool": "a", "args": {}, "predicted_severity": "S9"})),
        ("a schema that is true", json!({"tool": "a", "args": {}, "args_schema": true})),
        ("preconditions that are a list", json!({"tool": "a", "args": {}, "preconditions": [1]})),
    ] {
        let request = Request::post("/v1/actions", &body).by(&server.riley);
        refused(&server, what, request).await.problem(422, "invalid_action");
    }
    still_alive(&server).await;
}

#[tokio::test]
async fn an_empty_body_is_no_action() {
    let server = Server::start().await;
    for path in ["/v1/actions", "/v1/batches"] {
        let request = Request::new("POST", path).by(&server.riley);
        refused(&server, path, request).await.problem(400, "invalid_json");
    }
}

#[tokio::test]
async fn a_body_beyond_a_mebibyte_is_refused() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let ten_megabytes = vec![b' '; 10_000_000];
    let just_over = vec![b' '; 1024 * 1024 + 1];
    for path in ["/v1/actions", "/v1/batches"] {
        for body in [&ten_megabytes, &just_over] {
            let request = Request::post_bytes(path, body.clone()).by(&server.riley);
            refused(&server, path, request).await.problem(413, "body_too_large");
        }
    }
    for path in ["/v1/freezes".to_owned(), format!("/v1/actions/{}/decision", id(&action))] {
        let request = Request::post_bytes(path.clone(), ten_megabytes.clone()).by(&server.ann);
        refused(&server, &path, request).await.problem(413, "body_too_large");
    }
    // What fits is taken.
    let fits = json!({"tool": "read_file", "args": {"text": "x".repeat(1024 * 1024 - 100)}});
    server.send(Request::post("/v1/actions", &fits).by(&server.riley)).await.ok(200);
    still_alive(&server).await;
}

/// Parts of a schema of which each refers to the one before.
fn chain(length: usize) -> serde_json::Value {
    let part = |n: usize| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n - 1)}));
    let parts = (1..=length).map(part);
    parts.chain([("d0".to_owned(), json!(true))]).collect::<serde_json::Map<_, _>>().into()
}

/// The same, where each does so twice.
fn each_twice(length: usize, keyword: &str, first: &serde_json::Value) -> serde_json::Value {
    let mut parts = chain(length);
    for n in 1..=length {
        let part = &mut parts[format!("d{n}")];
        *part = json!({keyword: [part.clone(), part.clone()]});
    }
    parts["d0"] = first.clone();
    json!({"$ref": format!("#/$defs/d{length}"), "$defs": parts})
}

#[tokio::test]
async fn a_schema_that_people_would_write_works() {
    let server = Server::start().await;
    let flat: serde_json::Map<_, _> =
        (0..1_000).map(|n| (format!("p{n}"), json!({"type": "string", "maxLength": 10}))).collect();
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/node"}}}}}});
    let shared = json!({"$defs": {"id": {"type": "integer"}}, "properties": {
        "from": {"$ref": "#/$defs/id"}, "to": {"$ref": "#/$defs/id"},
        "more": {"items": {"anyOf": [{"$ref": "#/$defs/id"}, {"type": "null"}]}}}});
    let branch =
        |leaf| (0..20).fold(leaf, |inner, _| json!({"name": "n", "children": [inner, {"name": "m"}]}));
    for (schema, fits, place, misfit) in [
        (json!({"properties": flat}), json!({"p7": "x"}), "/p999", json!({"p999": 7})),
        (tree, branch(json!({"name": "leaf"})), "/children/0/name", branch(json!({}))),
        (shared, json!({"from": 1, "more": [null, 2]}), "/to", json!({"to": "x"})),
    ] {
        let propose = |args| {
            let body = json!({"tool": "send_email", "args": args, "args_schema": schema});
            server.send(Request::post("/v1/actions", &body).by(&server.riley))
        };
        propose(fits).await.ok(202);
        let refused = propose(misfit).await;
        let detail = refused.problem(422, "invalid_args");
        assert!(detail["detail"].as_str().unwrap().contains(place), "{detail}");
    }
}

#[tokio::test]
async fn a_schema_that_would_keep_the_server_busy_does_not() {
    let server = Server::start().await;
    let started = std::time::Instant::now();
    for schema in [
        json!({"properties": {"x": {"pattern": "^(a+)+$"}}}),
        json!({"$ref": "#"}),
        json!({"$ref": "http://127.0.0.1:1/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"allOf": [{"$ref": "#/allOf/0"}]}),
        each_twice(40, "allOf", &json!(false)),
        each_twice(40, "allOf", &json!(true)),
        each_twice(40, "anyOf", &json!(false)),
        each_twice(40, "oneOf", &json!(true)),
        json!({"additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "type": ["object", "null"]}),
        json!({"additionalProperties": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}),
        (0..25).fold(json!({}), |inner, _| json!({"unevaluatedProperties": false, "anyOf": [inner]})),
        json!({"properties": {"y": {"unevaluatedItems": false, "$ref": "#/$defs/d5000"}}, "$defs": chain(5_000)}),
        json!({"$ref": "#/$defs/d5000", "$defs": chain(5_000)}),
        json!({"properties": {"x": {"pattern": "^(a|aa)+(?!x)c$"}}}),
    ] {
        let deep = (0..58).fold(json!(7), |inner, _| json!({"y": inner}));
        let args = json!({"x": format!("{}b", "a".repeat(60)), "deep": deep});
        let body = json!({"tool": "send_email", "args": args, "args_schema": schema});
        let answer = server.send(Request::post("/v1/actions", &body).by(&server.riley)).await;
        println!("{schema}: {} {}", answer.status, answer.text());
        if answer.status != 202 {
            answer.problem(422, "invalid_args");
        }
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    still_alive(&server).await;
}
