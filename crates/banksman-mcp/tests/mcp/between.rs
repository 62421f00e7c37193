//! Clients of one era, and servers of the other: we ask in a session of our own, and what is said there finds its client.

use serde_json::{Value, json};

use crate::calls::text;
use crate::client::{Answer, Client};
use crate::mood::{Mood, before};
use crate::programs;
use crate::world::World;

async fn called_two(client: &Client, tool: &str, token: &Value) -> Answer {
    let call = json!({"name": tool, "arguments": {}});
    client.ask_two_with(1, "tools/call", call, json!({}), json!({"progressToken": token})).await
}

async fn called_one(client: &Client, tool: &str, token: &Value) -> Answer {
    let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": token}});
    client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await
}

async fn all(mut answer: Answer) -> Vec<Value> {
    let mut heard = Vec::new();
    while let Some(message) = answer.next().await {
        heard.push(message);
    }
    heard
}

/// That it heard how far it is, by its own token, and the answer; and nothing else.
fn heard_progress(heard: &[Value], token: &Value, answer: &str) {
    let [progress, done] = heard else { panic!("{heard:?}") };
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(&progress["params"]["progressToken"], token);
    assert_eq!((&done["id"], text(done)), (&json!(1), answer));
}

#[tokio::test]
async fn programs_say_how_far_they_are_to_clients_of_the_other_era() {
    let config = format!(
        "version: 1\nupstreams:\n  one: {{command: ['{}']}}\n  two: {{command: ['{}'], env: {{PEER_ERA: two}}}}\n",
        programs::program().display(),
        programs::example("stateless_peer").display()
    );
    let world = World::start(&config).await;
    let token = json!("mine");
    let two = world.client("/mcp/one");
    heard_progress(&all(called_two(&two, "talk", &token).await).await, &token, "talked");
    let mut one = world.client("/mcp/two");
    one.initialize("test", json!({})).await;
    heard_progress(&all(called_one(&one, "talk", &token).await).await, &token, "talked");
    // Two who call theirs the same at the same time.
    let (first, second) = tokio::join!(called_two(&two, "talk", &token), called_two(&two, "talk", &token));
    for answer in [first, second] {
        heard_progress(&all(answer).await, &token, "talked");
    }
}

#[tokio::test]
async fn of_what_is_said_in_our_session_a_client_hears_what_is_about_its_call() {
    let server = Mood::start(|message, _| match message["method"].as_str().unwrap() {
        "initialize" => Mood::met(message),
        "tools/call" => {
            let token = &message["params"]["_meta"]["progressToken"];
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "ran"}]}});
            let said = [
                json!({"jsonrpc": "2.0", "id": 77, "method": "elicitation/create", "params": {"message": "Your name?"}}),
                json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"}),
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}),
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "anothers", "progress": 1}}),
                json!({"jsonrpc": "2.0", "id": "anothers", "result": {}}),
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}),
                answer,
            ];
            (200, said.map(|message| format!("data: {message}\n\n")).concat())
        }
        _ => Mood::refused(message),
    })
    .await;
    let world = before(&server).await;
    let client = world.client("/mcp");
    heard_progress(&all(called_two(&client, "talk", &json!(3)).await).await, &json!(3), "ran");
    // Who asks is told at once that nobody answers.
    server.is_told(|message| message["id"] == 77 && message["error"]["code"] == -32601).await;
    server.is_told(|message| message["id"] == "ping" && message["result"] == json!({})).await;
    // Without a token, the answer comes alone.
    let call = json!({"name": "talk", "arguments": {}});
    let answer = client.ask_two(2, "tools/call", call, json!({})).await;
    assert!(!answer.is_stream());
    assert_eq!(text(&answer.last().await), "ran");
}
