//! Clients of 2026-07-28 and a program of that revision: all requests of an agent go to one process.

use std::time::Duration;

use banksman_core::Status;
use serde_json::{Value, json};

use crate::calls::text;
use crate::client::{Answer, Client};
use crate::programs;
use crate::world::World;

fn config(era: &str) -> String {
    let program = programs::example("stateless_peer");
    format!(
        "version: 1\nupstreams: {{prog: {{command: ['{}'], env: {{PEER_ERA: {era}}}}}}}\n",
        program.display()
    )
}

async fn started(client: &Client, id: u64, tool: &str, args: Value, meta: Value) -> Answer {
    let call = json!({"name": tool, "arguments": args});
    client.ask_two_with(id, "tools/call", call, json!({}), meta).await
}

async fn called(client: &Client, id: u64, tool: &str, args: Value) -> Value {
    started(client, id, tool, args, json!({})).await.last().await
}

#[tokio::test]
async fn requests_of_one_name_are_told_apart() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp/prog");
    let wait =
        async |n: u64| started(&client, 1, "wait", json!({"n": n}), json!({"progressToken": "t"})).await;
    let mut first = wait(1).await;
    let mut second = wait(2).await;
    for (position, waiting) in [&mut first, &mut second].into_iter().enumerate() {
        let progress = waiting.next().await.unwrap();
        assert_eq!(progress["params"], json!({"progressToken": "t", "progress": position}), "{progress}");
    }
    assert_eq!(text(&called(&client, 1, "go", json!({})).await), "gone");
    for (n, waiting) in [(1, first), (2, second)] {
        let done = waiting.last().await;
        assert_eq!(text(&done), format!(r#"{{"n":{n}}}"#));
        assert_eq!(done["id"], 1, "{done}");
    }
}

#[tokio::test]
async fn each_agent_has_a_process_of_its_own() {
    let world = World::start(&config("two")).await;
    let (riley, sam) = (world.client("/mcp/prog"), world.other_client("/mcp/prog"));
    let pid = async |client: &Client| text(&called(client, 1, "pid", json!({})).await).to_owned();
    let rileys = pid(&riley).await;
    assert_eq!(pid(&world.client("/mcp")).await, rileys);
    assert_ne!(pid(&sam).await, rileys);
    // One that dies is started again.
    let died = called(&riley, 2, "die", json!({})).await;
    assert!(text(&died).starts_with("UNKNOWN"), "{died}");
    assert_ne!(pid(&riley).await, rileys);
}

#[tokio::test]
async fn only_who_wants_the_log_hears_it() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp");
    let heard = async |meta: Value| {
        let mut answer = started(&client, 1, "talk", json!({}), meta).await;
        let mut heard = Vec::new();
        while let Some(message) = answer.next().await {
            heard.push(message["method"].as_str().unwrap_or("the answer").to_owned());
        }
        heard
    };
    let level = "io.modelcontextprotocol/logLevel";
    assert_eq!(heard(json!({})).await, ["the answer"]);
    assert_eq!(heard(json!({"progressToken": 7})).await, ["notifications/progress", "the answer"]);
    assert_eq!(heard(json!({level: "info"})).await, ["notifications/message", "the answer"]);
}

#[tokio::test]
async fn a_question_is_answered_in_another_round_also_of_a_held_call() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp");
    for tool in ["ask", "send_ask"] {
        let approving = async {
            match tool {
                "send_ask" => Some(world.approve().await),
                _ => None,
            }
        };
        let (asked, approved) = tokio::join!(called(&client, 1, tool, json!({})), approving);
        assert_eq!(asked["result"]["inputRequests"], json!({"q": {"method": "roots/list"}}), "{asked}");
        let state = &asked["result"]["requestState"];
        assert_ne!(state, "peer-state");
        let next = json!({"name": tool, "arguments": {}, "requestState": state, "inputResponses": {"q": {"roots": []}}});
        let done = client.ask_two(2, "tools/call", next, json!({})).await.last().await;
        assert_eq!(text(&done), r#""peer-state" []"#);
        if let Some(id) = approved {
            world.becomes(id, Status::Succeeded).await;
        }
    }
}

#[tokio::test]
async fn a_held_call_tells_its_client_how_far_it_is() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp");
    let (mut answer, _) = tokio::join!(
        started(&client, 1, "send_talk", json!({}), json!({"progressToken": "mine"})),
        world.approve()
    );
    let mut tokens = Vec::new();
    let mut last = Value::Null;
    while let Some(message) = answer.next().await {
        // While it is held, we say that it is; what has fractions is the program's.
        if message["params"]["progress"] == 0.5 {
            tokens.push(message["params"]["progressToken"].clone());
        }
        last = message;
    }
    assert_eq!(tokens, ["mine"]);
    assert_eq!(text(&last), "talked");
}

#[tokio::test]
async fn a_subscription_is_its_clients_and_ends_with_it() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp");
    let listen = async |id: u64| {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let mut heard = client.ask_two(id, "subscriptions/listen", params, json!({})).await;
        let acknowledged = heard.next().await.unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        heard
    };
    let (mut one, mut two) = (listen(5).await, listen(6).await);
    assert_eq!(text(&called(&client, 5, "change", json!({})).await), "2");
    for (id, heard) in [(5, &mut one), (6, &mut two)] {
        let changed = heard.next().await.unwrap();
        assert_eq!(changed["method"], "notifications/tools/list_changed");
        assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    drop(two);
    let left = async || text(&called(&client, 6, "change", json!({})).await).to_owned();
    for _ in 0..500 {
        if left().await == "1" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(left().await, "1", "the program was not told that a client has gone");
    assert!(one.next().await.is_some());
}

#[tokio::test]
async fn nobody_ends_what_another_has_asked() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp");
    let mut waiting = started(&client, 1, "wait", json!({}), json!({"progressToken": 1})).await;
    assert!(waiting.next().await.is_some());
    for id in 1..20 {
        for id in [json!(id), json!(format!("banksman-{id}"))] {
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            assert_eq!(client.tell_two(&cancel).await.status, 202);
        }
    }
    assert_eq!(text(&called(&client, 2, "cancelled", json!({})).await), "[]");
    called(&client, 3, "go", json!({})).await;
    assert_eq!(text(&waiting.last().await), "{}");
}

#[tokio::test]
async fn a_program_may_ask_nobody() {
    let world = World::start(&config("two")).await;
    let client = world.client("/mcp");
    let refused = called(&client, 1, "demand", json!({})).await;
    assert_eq!(text(&refused), r#""nobody is there to answer""#);
}

#[tokio::test]
async fn a_program_of_both_eras_speaks_to_each_client_in_its_own() {
    let world = World::start(&config("both")).await;
    let mut one = world.client("/mcp");
    one.initialize("test", json!({})).await;
    assert_eq!(text(&one.call(1, "era", json!({})).await), "in a session");
    let two = world.client("/mcp");
    assert_eq!(text(&called(&two, 1, "era", json!({})).await), "without one");
    assert_eq!(text(&one.call(2, "era", json!({})).await), "in a session");
}

#[tokio::test]
async fn a_program_that_ends_when_it_is_asked_too_early_is_spoken_to_in_a_session() {
    let config = format!(
        "version: 1\nupstreams: {{prog: {{command: ['{}'], env: {{PEER_ERA: strict}}}}}}\n",
        programs::program().display()
    );
    let world = World::start(&config).await;
    let client = world.client("/mcp");
    for id in 1..4 {
        assert_eq!(text(&called(&client, id, "echo", json!({"n": id})).await), format!(r#"{{"n":{id}}}"#));
    }
}
