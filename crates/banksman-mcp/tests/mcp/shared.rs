//! Several servers behind one endpoint, and what belongs to which of them.

use serde_json::{Value, json};

use crate::mood::Mood;
use crate::world::World;

/// A server that lists these, and claims to know everything.
async fn server(
    name: &'static str,
    lists: &'static [&'static str],
    templates: &'static [&'static str],
) -> Mood {
    Mood::start(move |message, _| match message["method"].as_str().unwrap() {
        "initialize" => Mood::met(message),
        "resources/list" => {
            let listed: Vec<Value> = lists.iter().map(|uri| json!({"uri": uri, "name": uri})).collect();
            Mood::said(message, &json!({"resources": listed}))
        }
        "resources/templates/list" => {
            let listed: Vec<Value> =
                templates.iter().map(|uri| json!({"uriTemplate": uri, "name": uri})).collect();
            Mood::said(message, &json!({"resourceTemplates": listed}))
        }
        "resources/read" => {
            Mood::said(message, &json!({"contents": [{"uri": message["params"]["uri"], "text": name}]}))
        }
        "completion/complete" => {
            let known =
                message["params"]["ref"]["name"] == "greet" || message["params"]["ref"]["uri"].is_string();
            if known {
                Mood::said(message, &json!({"completion": {"values": [name]}}))
            } else {
                Mood::refused(message)
            }
        }
        _ => Mood::refused(message),
    })
    .await
}

#[tokio::test]
async fn a_resource_is_read_where_it_was_listed_and_a_prompt_is_completed_where_it_is() {
    let greedy = server("greedy", &["file:///c"], &["{+anything}"]).await;
    let honest = server("honest", &["file:///a"], &["mail:///{id}"]).await;
    let world = World::start(&format!(
        "version: 1\nupstreams:\n{}{}",
        greedy.config("greedy"),
        honest.config("honest")
    ))
    .await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let ask = async |method: &str, params: Value| {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        client.post(&asked).await.last().await
    };
    let read = async |uri: &str| {
        let answer = ask("resources/read", json!({"uri": uri})).await;
        answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    // Nobody has listed anything yet.
    assert_eq!(read("file:///a").await, "greedy");
    ask("resources/list", json!({})).await;
    ask("resources/templates/list", json!({})).await;
    for (uri, whose) in [
        ("file:///a", "honest"),
        ("mail:///7", "honest"),
        ("file:///c", "greedy"),
        ("file:///other", "greedy"),
    ] {
        let before = greedy.asked("resources/read").len();
        assert_eq!(read(uri).await, whose, "{uri}");
        let heard = greedy.asked("resources/read").len() - before;
        assert_eq!(heard, usize::from(whose == "greedy"), "{uri}");
    }
    let complete = async |about: Value| {
        let argument = json!({"name": "who", "value": "a"});
        ask("completion/complete", json!({"ref": about, "argument": argument})).await
    };
    let done = complete(json!({"type": "ref/prompt", "name": "honest__greet"})).await;
    assert_eq!(done["result"]["completion"]["values"], json!(["honest"]), "{done}");
    assert_eq!(honest.asked("completion/complete")[0]["ref"]["name"], "greet");
    assert!(greedy.asked("completion/complete").is_empty());
    let done = complete(json!({"type": "ref/resource", "uri": "mail:///{id}"})).await;
    assert_eq!(done["result"]["completion"]["values"], json!(["honest"]), "{done}");
    let unknown = complete(json!({"type": "ref/prompt", "name": "nobody__greet"})).await;
    assert_eq!(unknown["error"]["code"], -32602);
}
