//! Clients of one era, and servers of the other: we ask in a session of our own, and what is said there finds its client.

use std::time::Duration;

use banksman_core::Status;
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

/// A client with sessions before a program without, that can answer all that servers ask.
async fn askable(world: &World, path: &str) -> Client {
    let mut client = world.client(path);
    client.initialize("test", json!({"roots": {}, "elicitation": {}, "sampling": {}})).await;
    client
}

/// Answers the next question that a call has; what it was.
async fn answers(client: &Client, call: &mut Answer, result: Value) -> Value {
    let question = call.next().await.unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    assert_eq!(client.post(&answer).await.status, 202);
    question
}

fn without_sessions() -> String {
    format!(
        "version: 1\nupstreams:\n  two: {{command: ['{}'], env: {{PEER_ERA: two}}}}\n",
        programs::example("stateless_peer").display()
    )
}

#[tokio::test]
async fn what_a_server_without_sessions_asks_is_put_to_a_client_that_has_one() {
    let world = World::start(&without_sessions()).await;
    let client = askable(&world, "/mcp").await;
    let mut call = client.start(1, "ask_more", json!({})).await;
    assert_eq!(answers(&client, &mut call, json!({"roots": []})).await["method"], "roots/list");
    let who = answers(&client, &mut call, json!({"action": "accept", "content": {"name": "Ada"}})).await;
    assert_eq!((&who["method"], &who["params"]["message"]), (&json!("elicitation/create"), &json!("Who?")));
    let what = answers(&client, &mut call, json!({"model": "m"})).await;
    assert_eq!(what["params"], json!({"messages": [], "maxTokens": 1}));
    assert_eq!(
        text(&call.last().await),
        r#"{"where":{"roots":[]},"who":{"action":"accept","content":{"name":"Ada"}}} {"what":{"model":"m"}}"#
    );
    // Who has said that it cannot be asked is not, and the server knows it.
    let mut mute = world.client("/mcp");
    mute.initialize("test", json!({})).await;
    assert_eq!(text(&mute.call(1, "ask_roots", json!({})).await), "nobody to ask");
}

#[tokio::test]
async fn nobody_answers_a_question_that_another_was_asked() {
    let world = World::start(&without_sessions()).await;
    let (client, other) = (askable(&world, "/mcp").await, askable(&world, "/mcp").await);
    let mut call = client.start(1, "ask_roots", json!({})).await;
    let question = call.next().await.unwrap();
    let forged = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": ["forged"]}});
    assert_eq!(other.post(&forged).await.status, 400);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": ["own"]}});
    client.post(&answer).await;
    client.post(&forged).await;
    assert_eq!(text(&call.last().await), r#""peer-state" ["own"]"#);
}

#[tokio::test]
async fn a_held_call_asks_its_client_once_it_runs() {
    let peer = programs::program();
    let config = format!("{}  one: {{command: ['{}']}}\n", without_sessions(), peer.display());
    let world = World::start(&config).await;
    let client = askable(&world, "/mcp").await;
    let mut call = client.start(1, "two__send_ask", json!({})).await;
    let id = world.approve().await;
    let question = answers(&client, &mut call, json!({"roots": [1]})).await;
    assert_eq!(question["method"], "roots/list");
    assert_eq!(text(&call.last().await), r#""peer-state" [1]"#);
    world.becomes(id, Status::Succeeded).await;
}

#[tokio::test]
async fn a_client_that_refuses_or_leaves_ends_the_call() {
    let world = World::start(&without_sessions()).await;
    let client = askable(&world, "/mcp").await;
    let mut call = client.start(1, "ask_roots", json!({})).await;
    let question = call.next().await.unwrap();
    let refusal = json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}});
    client.post(&refusal).await;
    let refused = call.last().await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(text(&refused).contains("did not finish"), "{refused}");
    let mut call = client.start(2, "ask_roots", json!({"n": 2})).await;
    assert!(call.next().await.is_some());
    drop(call);
    for _ in 0..500 {
        if world.count(Status::Failed).await == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(world.count(Status::Failed).await, 2, "it waits for a client that is gone");
}

/// What is heard while a tool is called again and again: who listens has to be there first.
pub(crate) async fn heard_while(heard: &mut Answer, changing: impl AsyncFn()) -> Value {
    let again = async {
        loop {
            changing().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let next = tokio::time::timeout(Duration::from_secs(20), heard.next());
    tokio::select! {
        next = next => next.expect("nothing is heard").unwrap(),
        () = again => unreachable!(),
    }
}

async fn subscribed(client: &Client, wishes: Value) -> Answer {
    let mut heard =
        client.ask_two(9, "subscriptions/listen", json!({"notifications": wishes}), json!({})).await;
    let acknowledged = heard.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        acknowledged["params"],
        json!({"notifications": wishes, "_meta": {"io.modelcontextprotocol/subscriptionId": 9}})
    );
    heard
}

fn both_kinds() -> String {
    format!("{}  one: {{command: ['{}']}}\n", without_sessions(), programs::program().display())
}

#[tokio::test]
async fn who_subscribes_hears_of_changes_of_every_server_behind_one_endpoint() {
    let world = World::start(&both_kinds()).await;
    let client = world.client("/mcp");
    let wishes = json!({"toolsListChanged": true});
    for tool in ["one__change", "two__change"] {
        let mut heard = subscribed(&client, wishes.clone()).await;
        let change = async || drop(called_two(&client, tool, &Value::Null).await.last().await);
        let changed = heard_while(&mut heard, change).await;
        assert_eq!(changed["method"], "notifications/tools/list_changed", "{tool}");
        assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    }
    // By its own path, a server of the other era.
    let alone = world.client("/mcp/one");
    let mut heard = subscribed(&alone, wishes).await;
    let change = async || drop(called_two(&alone, "change", &Value::Null).await.last().await);
    assert_eq!(heard_while(&mut heard, change).await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn nobody_hears_of_what_it_did_not_wish_to_hear() {
    let world = World::start(&both_kinds()).await;
    let client = world.client("/mcp");
    let mut deaf = subscribed(&client, json!({"promptsListChanged": true})).await;
    let mut heard = subscribed(&client, json!({"toolsListChanged": true})).await;
    let change = async || drop(called_two(&client, "two__change", &Value::Null).await.last().await);
    heard_while(&mut heard, change).await;
    let silence = tokio::time::timeout(Duration::from_millis(200), deaf.next()).await;
    assert!(silence.is_err(), "{silence:?}");
}

#[tokio::test]
async fn a_standing_stream_brings_the_changes_of_a_server_without_sessions() {
    for (config, path, tool) in
        [(without_sessions(), "/mcp", "change"), (both_kinds(), "/mcp", "two__change")]
    {
        let world = World::start(&config).await;
        let client = askable(&world, path).await;
        let mut heard = client.send(http::Method::GET, String::new()).await;
        assert!(heard.is_stream());
        let change = async || drop(client.call(1, tool, json!({})).await);
        let changed = heard_while(&mut heard, change).await;
        assert_eq!(changed, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    }
}

/// A call by a client without sessions that can say where its roots are.
async fn with_roots(client: &Client, id: u64, params: Value) -> Value {
    client.ask_two(id, "tools/call", params, json!({"roots": {}})).await.last().await
}

/// The next round of a call, with an answer.
fn next_round(tool: &str, asked: &Value, roots: Value) -> Value {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = &asked["result"]["inputRequests"];
    let (name, request) = requests.as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "roots/list");
    json!({"name": tool, "arguments": {}, "requestState": asked["result"]["requestState"],
        "inputResponses": {name: {"roots": roots}}})
}

#[tokio::test]
async fn what_a_server_with_sessions_asks_is_put_to_a_client_without_one() {
    let world = World::start(&programs::config()).await;
    let client = world.client("/mcp");
    for (id, tool) in [(1, "ask"), (3, "send_ask")] {
        let approving = async {
            if tool == "send_ask" {
                world.approve().await;
            }
        };
        let call = json!({"name": tool, "arguments": {}});
        let (asked, ()) = tokio::join!(with_roots(&client, id, call), approving);
        let next = next_round(tool, &asked, json!([id]));
        let done = with_roots(&client, id + 1, next.clone()).await;
        assert_eq!((&done["id"], text(&done)), (&json!(id + 1), format!("roots: [{id}]").as_str()));
        // The same answer does not go on a second time.
        let again = with_roots(&client, id + 1, next).await;
        // What it is told depends on whether it has been written down how the call ended.
        let is_told_how = |again: &Value| ["roots:", "EXECUTED"].iter().any(|how| text(again).contains(how));
        assert!(again["error"]["code"] == -32602 || is_told_how(&again), "{again}");
    }
    // Who cannot be asked is not; and its server hears so.
    let call = json!({"name": "ask", "arguments": {"n": 2}});
    let mute = client.ask_two(9, "tools/call", call, json!({})).await.last().await;
    assert_eq!(text(&mute), "roots: null");
}

#[tokio::test]
async fn nobody_goes_on_with_a_state_that_was_made_up() {
    let world = World::start(&programs::config()).await;
    let client = world.client("/mcp");
    let call = |n: u64| json!({"name": "ask", "arguments": {"n": n}});
    let first = with_roots(&client, 1, call(1)).await;
    let forged =
        json!({"name": "ask", "arguments": {"n": 1}, "requestState": "parked-00", "inputResponses": {}});
    assert_eq!(with_roots(&client, 2, forged).await["error"]["code"], -32602);
    let mut next = next_round("ask", &first, json!(["a"]));
    next["arguments"] = json!({"n": 1});
    assert_eq!(text(&with_roots(&client, 3, next).await), r#"roots: ["a"]"#);
}

#[tokio::test]
async fn after_a_restart_nobody_goes_on_with_what_was_asked_before() {
    let world = World::start(&programs::config()).await;
    let call = json!({"name": "ask", "arguments": {}});
    let asked = with_roots(&world.client("/mcp"), 1, call).await;
    let world = world.restart().await;
    let lost = with_roots(&world.client("/mcp"), 2, next_round("ask", &asked, json!([]))).await;
    assert!(text(&lost).starts_with("UNKNOWN"), "{lost}");
}

#[tokio::test]
async fn a_server_may_ask_ten_times_and_what_it_does_then_is_heard() {
    let world = World::start(&without_sessions()).await;
    let client = askable(&world, "/mcp").await;
    for (rounds, says) in [(10, "enough"), (11, "did not finish")] {
        let mut call = client.start(1, "ask_on", json!({"rounds": rounds})).await;
        let last = loop {
            let message = call.next().await.unwrap();
            if message["method"].is_null() {
                break message;
            }
            client.post(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}})).await;
        };
        assert!(text(&last).contains(says), "{last}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_here_waits_for_is_refused() {
    let world = World::start(&without_sessions()).await;
    let (client, neighbour) = (askable(&world, "/mcp").await, world.neighbour().await);
    let mut call = client.start(1, "ask_roots", json!({})).await;
    let question = call.next().await.unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    let mut elsewhere = neighbour.client("/mcp");
    elsewhere.session = client.session.clone();
    assert_eq!(elsewhere.post(&answer).await.status, 400);
    assert_eq!(client.post(&answer).await.status, 202);
    assert_eq!(text(&call.last().await), r#""peer-state" []"#);
    assert_eq!(client.post(&answer).await.status, 400, "it was answered");
}

#[tokio::test]
async fn a_call_in_a_batch_is_not_asked_anything() {
    let world = World::start(&without_sessions()).await;
    let client = askable(&world, "/mcp").await;
    let batch = json!([
        crate::client::call(1, "ask_roots", json!({})),
        crate::client::call(2, "echo", json!({"n": 2}))
    ]);
    let answers = client.post(&batch).await.last().await;
    assert_eq!(text(&answers[0]), "nobody to ask", "{answers}");
    assert_eq!(text(&answers[1]), r#"{"n":2}"#);
}

#[tokio::test]
async fn what_a_server_calls_a_request_in_its_only_answer_makes_no_difference() {
    let server = Mood::start(|message, _| match message["method"].as_str().unwrap() {
        "initialize" => Mood::met(message),
        "tools/call" => {
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "no"}});
            (400, error.to_string())
        }
        _ => Mood::refused(message),
    })
    .await;
    let world = before(&server).await;
    let client = world.client("/mcp");
    let answer = called_two(&client, "echo", &Value::Null).await;
    assert_eq!(answer.status, 200, "of what its server said over HTTP, the client knows nothing");
    let refused = answer.last().await;
    assert!(
        refused["id"] == 1 && (refused["error"]["code"] == -32602 || refused["result"]["isError"] == true),
        "{refused}"
    );
}

#[tokio::test]
async fn a_call_without_an_id_runs_once_and_is_answered() {
    for config in [without_sessions(), programs::config()] {
        let world = World::start(&config).await;
        let call = json!({"method": "tools/call", "params": {"name": "echo", "arguments": {"n": 1}}});
        let answer = world.client("/mcp").plain().post(&call).await;
        assert_eq!(text(&answer.last().await), r#"{"n":1}"#);
    }
}

#[tokio::test]
async fn who_goes_on_with_a_parked_call_as_another_kind_of_client_does_not_begin_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let config = format!(
        "version: 1\nupstreams:\n  prog: {{command: ['{}'], env: {{STDIO_PEER_LOG: '{}'}}}}\n",
        programs::program().display(),
        log.display()
    );
    let world = World::start(&config).await;
    let client = world.client("/mcp");
    let asked = with_roots(&client, 1, json!({"name": "ask", "arguments": {}})).await;
    let next = next_round("ask", &asked, json!(["a"]));
    let as_one =
        client.post(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": next})).await;
    assert_eq!(as_one.last().await["error"]["code"], -32602);
    // Who says now that it can answer nothing has answered all the same.
    let done = client.ask_two(3, "tools/call", next, json!({})).await.last().await;
    assert_eq!(text(&done), r#"roots: ["a"]"#);
    let heard = std::fs::read_to_string(&log).unwrap();
    assert_eq!(heard.matches(r#""method":"tools/call""#).count(), 1, "{heard}");
}

#[tokio::test]
async fn what_a_program_asks_while_its_newest_call_is_parked_is_for_one_that_listens() {
    let world = World::start(&both_kinds()).await;
    let client = world.client("/mcp");
    let call = |n: u64| json!({"name": "one__ask_when_listed", "arguments": {"n": n}});
    let (older, newer) = (
        tokio::spawn({
            let client = client.clone();
            async move { with_roots(&client, 1, call(1)).await }
        }),
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            with_roots(&client, 2, json!({"name": "one__ask", "arguments": {"n": 2}})).await
        },
    );
    let newer = newer.await;
    // The newer one is parked; now the older one is asked.
    let list = client.ask_two_with(3, "tools/list", json!({}), json!({"roots": {}}), json!({})).await;
    assert_eq!(list.status, 200);
    let alone = world.client("/mcp/one");
    assert_eq!(alone.ask_two(4, "tools/list", json!({}), json!({"roots": {}})).await.status, 200);
    let older = older.await.unwrap();
    let next = next_round("one__ask_when_listed", &older, json!(["older"]));
    let next = json!({"name": next["name"], "arguments": {"n": 1}, "requestState": next["requestState"], "inputResponses": next["inputResponses"]});
    assert_eq!(text(&with_roots(&client, 5, next).await), r#"roots: ["older"]"#);
    assert_eq!(newer["result"]["resultType"], "input_required");
}

#[tokio::test]
async fn a_question_passes_two_gateways() {
    let inner = World::start(&without_sessions()).await;
    let config = format!(
        "version: 1\nupstreams:\n  banksman-in: {{url: 'http://{}/mcp', bearer: {}}}\n",
        inner.address, inner.agent
    );
    let two = format!("{config}  one: {{command: ['{}']}}\n", programs::program().display());
    for (config, tool) in [(config, "ask_roots"), (two, "banksman-in__ask_roots")] {
        let outer = World::start(&config).await;
        let client = askable(&outer, "/mcp").await;
        let mut call = client.start(1, tool, json!({})).await;
        answers(&client, &mut call, json!({"roots": [2]})).await;
        assert_eq!(text(&call.last().await), r#""peer-state" [2]"#);
    }
}

#[tokio::test]
async fn a_question_to_one_who_waits_is_no_end_for_others_who_wait_for_the_same() {
    let world = World::start(&programs::config()).await;
    let call = json!({"name": "send_ask", "arguments": {}});
    let asked = {
        let (client, call) = (world.client("/mcp"), call.clone());
        tokio::spawn(async move { with_roots(&client, 1, call).await })
    };
    world.pending().await;
    let mut other = world.client("/mcp");
    other.initialize("test", json!({})).await;
    let waiting = other.start(1, "send_ask", json!({})).await;
    let id = world.approve().await;
    let asked = asked.await.unwrap();
    let told = waiting.last().await;
    assert!(text(&told).starts_with("RUNNING"), "{told}");
    let done = with_roots(&world.client("/mcp"), 2, next_round("send_ask", &asked, json!([1]))).await;
    assert_eq!(text(&done), "roots: [1]");
    world.becomes(id, Status::Succeeded).await;
    let result = other.call(2, "banksman_wait", json!({"id": id.to_string(), "wait_s": 5})).await;
    assert_eq!(text(&result), "roots: [1]");
}
