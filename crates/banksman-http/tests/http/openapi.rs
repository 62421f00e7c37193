//! `/openapi.json`: the document says what the server does, and nothing else.

use std::collections::BTreeSet;

use banksman_http::{Access, CODES, route_table};
use serde_json::{Value, json};

use crate::client::Request;
use crate::contract::{DOCUMENT, follows};
use crate::server::Server;

/// Every operation with its method and path.
fn operations() -> Vec<(String, String, &'static Value)> {
    let mut found = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            found.push((method.to_ascii_uppercase(), path.clone(), operation));
        }
    }
    found
}

#[test]
fn the_document_is_as_it_was_reviewed() {
    insta::assert_json_snapshot!(*DOCUMENT);
}

#[tokio::test]
async fn the_served_document_is_the_one_that_the_code_makes() {
    let server = Server::start().await;
    let served = server.send(Request::get("/openapi.json")).await;
    assert_eq!(served.header("content-type"), Some("application/json"));
    assert_eq!(served.text(), banksman_http::document());
    assert!(served.json()["openapi"].as_str().unwrap().starts_with("3.1"));
}

#[test]
fn every_route_is_described_and_every_description_is_a_route() {
    let described: BTreeSet<_> = operations().into_iter().map(|(method, path, _)| (method, path)).collect();
    let routes: BTreeSet<_> =
        route_table().into_iter().map(|route| (route.method.to_string(), route.path.to_owned())).collect();
    assert_eq!(described, routes);
}

#[test]
fn every_operation_has_its_own_name() {
    let names: Vec<_> = operations()
        .into_iter()
        .map(|(_, _, operation)| operation["operationId"].as_str().unwrap())
        .collect();
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[test]
fn every_reference_leads_somewhere() {
    fn visit(value: &Value, count: &mut usize) {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref") {
                    let pointer = reference.as_str().and_then(|text| text.strip_prefix('#')).unwrap();
                    assert!(DOCUMENT.pointer(pointer).is_some(), "{pointer} leads nowhere");
                    *count += 1;
                }
                members.values().for_each(|member| visit(member, count));
            }
            Value::Array(items) => items.iter().for_each(|item| visit(item, count)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut count = 0;
    visit(&DOCUMENT, &mut count);
    assert!(count > 50, "{count}");
}

#[test]
fn every_parameter_of_a_path_is_described() {
    for (method, path, operation) in operations() {
        let described: BTreeSet<_> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let in_path: BTreeSet<_> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(described, in_path, "{method} {path}");
    }
}

#[tokio::test]
async fn the_ids_that_the_server_gives_are_those_that_the_document_describes() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let batch = json!({"items": [{"tool": "read_file", "args": {}}]});
    let batch = server.send(Request::post("/v1/batches", &batch).by(&server.riley)).await.ok(200);
    let freeze = Request::post("/v1/freezes", &json!({"agent": "sam"})).by(&server.ann);
    let freeze = server.send(freeze).await.ok(201);
    let grant = json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 60});
    let grant = server.send(Request::post("/v1/grants", &grant).by(&server.ann)).await.ok(201);
    for (path, method, thing) in [
        ("/v1/actions/{id}", "get", action),
        ("/v1/actions/{id}/claim", "post", batch["items"][0].clone()),
        ("/v1/batches/{id}", "get", batch),
        ("/v1/freezes/{id}", "delete", freeze),
        ("/v1/grants/{id}", "delete", grant),
    ] {
        let parameters = &DOCUMENT["paths"][path][method]["parameters"];
        let id = parameters.as_array().unwrap().iter().find(|parameter| parameter["name"] == "id").unwrap();
        follows(&thing["id"], &id["schema"]);
    }
}

#[test]
fn what_needs_a_credential_says_so() {
    let schemes = DOCUMENT["components"]["securitySchemes"].as_object().unwrap();
    for route in route_table() {
        let operation = &DOCUMENT["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
        let needed: Vec<_> = operation["security"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|requirement| requirement.as_object().unwrap().keys())
            .collect();
        let expected = match route.access {
            Access::Public => Vec::new(),
            Access::Session => vec!["session"],
            Access::Agent | Access::Person | Access::Admin | Access::Anyone => vec!["token"],
        };
        assert_eq!(needed, expected, "{route:?}");
        assert!(needed.iter().all(|scheme| schemes.contains_key(*scheme)), "{route:?}");
    }
}

#[test]
fn failures_are_named_by_codes_that_exist_and_fit_their_status() {
    for (method, path, operation) in operations() {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let Some(content) = response.get("content").filter(|_| status.as_str() >= "400") else {
                continue;
            };
            // Pages, MCP servers and harombe's clients have words of their own.
            let has = |media: &str| content.get(media).is_some();
            let in_its_own_words = !path.starts_with("/v1/") && (has("text/html") || has("application/json"));
            assert!(has("application/problem+json") || in_its_own_words, "{method} {path}");
            let named = response["description"].as_str().unwrap();
            for code in named.split(", ").filter_map(|code| code.strip_prefix('`')?.strip_suffix('`')) {
                let known = CODES.iter().find(|known| known.as_str() == code);
                let known = known.unwrap_or_else(|| panic!("{method} {path}: {code} is no code"));
                assert_eq!(known.status().as_str(), status, "{method} {path}: {code}");
            }
        }
    }
}

#[test]
fn the_document_asks_for_nothing_that_the_server_refuses() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let action = &schemas["Action"];
    assert!(action["properties"].get("forwarded").is_none(), "{action}");
    assert_eq!(action["properties"]["timeout_seconds"]["minimum"], 1);
    assert_eq!(schemas["BatchBody"]["additionalProperties"], false);
    let words = &schemas["HitlDecision"]["properties"]["decision"]["enum"];
    assert_eq!(words, &json!(["approve", "deny"]));
}

#[test]
fn answers_that_say_when_to_ask_again_are_described_so() {
    let responses = &DOCUMENT["paths"]["/v1/actions"]["post"]["responses"];
    for (status, headers) in [("202", vec!["Location", "Retry-After"]), ("429", vec!["Retry-After"])] {
        let described: Vec<_> = responses[status]["headers"].as_object().unwrap().keys().collect();
        assert_eq!(described, headers, "{status}");
    }
}
