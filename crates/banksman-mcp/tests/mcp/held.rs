//! Held calls, as clients of every kind see them, and what survives what.

use std::time::Duration;

use banksman_core::{Decision, Status};
use http::Method;
use serde_json::{Value, json};

use crate::calls::text;
use crate::peer::Peer;
use crate::world::{Said, World};

/// Clients that give up after a second.
fn impatient(peer: &Peer) -> String {
    format!("{}clients: [{{name: '*', window: 1s}}]\n", peer.config())
}

fn held_id(answer: &Value) -> String {
    assert!(text(answer).starts_with("PENDING, NOT EXECUTED"), "{answer}");
    assert_eq!(answer["result"]["isError"], true);
    answer["result"]["_meta"]["banksman/action"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_client_that_cannot_wait_fetches_the_result_with_the_wait_tool() {
    let peer = Peer::start().await;
    let world = World::start(&impatient(&peer)).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let list = client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await.last().await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().last().unwrap()["name"], "banksman_wait");
    let id = held_id(&client.call(2, "send", json!({"to": "ada"})).await);
    let wait = |seconds: u64| json!({"id": id, "wait_s": seconds});
    held_id(&client.call(3, "banksman_wait", wait(0)).await);
    assert!(peer.calls().is_empty());
    let waiting = client.start(4, "banksman_wait", wait(30));
    let (answer, _) = tokio::join!(waiting, world.approve());
    assert_eq!(text(&answer.last().await), r#"ran with {"to":"ada"}"#);
    // As often as it likes; it ran once.
    assert_eq!(text(&client.call(5, "banksman_wait", wait(1)).await), r#"ran with {"to":"ada"}"#);
    assert_eq!(peer.calls().len(), 1);
    // It is nobody else's.
    let mut other = world.other_client("/mcp");
    other.initialize("test", json!({})).await;
    assert!(text(&other.call(6, "banksman_wait", wait(1)).await).contains("no held call with this id"));
    assert!(text(&other.call(7, "banksman_wait", json!({"id": "x"})).await).contains("not the id"));
}

#[tokio::test]
async fn the_same_call_joins_and_after_it_ran_gets_the_stored_result_once() {
    let peer = Peer::start().await;
    let world = World::start(&impatient(&peer)).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let args = json!({"to": "ada"});
    let first = held_id(&client.call(1, "send", args.clone()).await);
    assert_eq!(held_id(&client.call(2, "send", args.clone()).await), first);
    let id = world.approve().await;
    world.becomes(id, Status::Succeeded).await;
    let stored = client.call(3, "send", args.clone()).await;
    assert!(text(&stored).contains("did not run again"), "{stored}");
    assert_eq!(stored["result"]["content"][1]["text"], r#"ran with {"to":"ada"}"#);
    assert_eq!(peer.calls().len(), 1);
    // Fetched is fetched: from now on it is another call.
    assert_ne!(held_id(&client.call(4, "send", args).await), first);
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn a_client_that_goes_away_loses_nothing() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    drop(client.start(1, "send", json!({"to": "ada"})).await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let id = world.approve().await;
    let case = world.becomes(id, Status::Succeeded).await;
    assert_eq!(peer.calls().len(), 1);
    drop(case);
    let stored = client.call(2, "send", json!({"to": "ada"})).await;
    assert_eq!(stored["result"]["content"][1]["text"], r#"ran with {"to":"ada"}"#, "{stored}");
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn a_restart_while_calls_are_held_loses_nothing_and_runs_nothing_twice() {
    let peer = Peer::start().await;
    let world = World::start(&impatient(&peer)).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let id = held_id(&client.call(1, "send", json!({"to": "ada"})).await);
    // Approved before it runs: the approval is there, the one who would have run it is not.
    let world = world.restart().await;
    let action = world.approve().await;
    world.becomes(action, Status::Succeeded).await;
    // The session from before, and the same call.
    assert_eq!(text(&client.call(2, "banksman_wait", json!({"id": id})).await), r#"ran with {"to":"ada"}"#);
    assert_eq!(peer.calls().len(), 1);
    let world = world.restart().await;
    assert_eq!(text(&client.call(3, "banksman_wait", json!({"id": id})).await), r#"ran with {"to":"ada"}"#);
    assert_eq!(peer.calls().len(), 1);
    assert_eq!(world.count(Status::Succeeded).await, 1);
}

#[tokio::test]
async fn what_was_approved_while_nobody_ran_is_run_after_the_start() {
    let peer = Peer::start().await;
    let world = World::start(&impatient(&peer)).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    held_id(&client.call(1, "send", json!({"to": "ada"})).await);
    let mut world = world;
    // The gateway is gone; the engine is still here to decide with.
    world.end();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let id = world.approve().await;
    assert!(peer.calls().is_empty());
    let world = world.restart().await;
    world.becomes(id, Status::Succeeded).await;
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn era_two_clients_send_the_call_again_with_the_state_they_were_given() {
    let peer = Peer::start().await;
    let world = World::start(&impatient(&peer)).await;
    let client = world.client("/mcp");
    let ask = async |id, params| client.ask_two(id, "tools/call", params, json!({})).await.last().await;
    let call = json!({"name": "send", "arguments": {"to": "ada"}});
    let answer = ask(1, call.clone()).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert!(answer["result"].get("inputRequests").is_none());
    let state = answer["result"]["requestState"].clone();
    let with =
        |state: &Value, to: &str| json!({"name": "send", "arguments": {"to": to}, "requestState": state});
    // Of another call, altered, or somebody else's, it leads nowhere.
    assert_eq!(ask(2, with(&state, "eve")).await["error"]["code"], -32602);
    assert_eq!(ask(3, with(&json!("forged"), "ada")).await["error"]["code"], -32602);
    let other = world.other_client("/mcp");
    let stolen = other.ask_two(4, "tools/call", with(&state, "ada"), json!({})).await.last().await;
    assert_eq!(stolen["error"]["code"], -32602);
    let second = ask(5, with(&state, "ada")).await;
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
    // A client that has lost that answer asks once more, and waits for the same people.
    assert_eq!(ask(6, with(&state, "ada")).await["result"]["resultType"], "input_required");
    assert_eq!(world.count(Status::Pending).await, 1);
    world.approve().await;
    let third = ask(7, with(&second["result"]["requestState"], "ada")).await;
    assert_eq!(text(&third), r#"ran with {"to":"ada"}"#);
    assert_eq!(third["result"]["resultType"], "complete");
    assert_eq!(peer.calls().len(), 1);
    assert!(!peer.calls()[0].contains("requestState"), "{:?}", peer.calls());
}

#[tokio::test]
async fn a_client_that_knows_tasks_gets_one() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let client = world.client("/mcp");
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let discovered = client.ask_two(1, "server/discover", json!({}), json!({})).await.last().await;
    let extensions = &discovered["result"]["capabilities"]["extensions"];
    assert!(extensions["io.modelcontextprotocol/tasks"].is_object(), "{discovered}");
    let call = json!({"name": "send", "arguments": {"to": "ada"}});
    let created = client.ask_two(2, "tools/call", call, tasks.clone()).await.last().await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    assert_eq!(created["result"]["status"], "working");
    assert_eq!(created["result"]["pollIntervalMs"], 5000);
    let task = created["result"]["taskId"].clone();
    let get = async |client: &crate::client::Client, id| {
        client.ask_two(id, "tasks/get", json!({"taskId": task}), tasks.clone()).await.last().await
    };
    assert_eq!(get(&client, 3).await["result"]["status"], "working");
    // Who has not declared the extension does not get to use it.
    let undeclared = client.ask_two(10, "tasks/get", json!({"taskId": task}), json!({})).await.last().await;
    assert_eq!(undeclared["error"]["code"], -32021);
    assert_eq!(get(&world.other_client("/mcp"), 4).await["error"]["code"], -32602);
    let id = world.approve().await;
    world.becomes(id, Status::Succeeded).await;
    let done = get(&client, 5).await;
    assert_eq!(done["result"]["status"], "completed", "{done}");
    assert_eq!(done["result"]["result"]["content"][0]["text"], r#"ran with {"to":"ada"}"#);
    // A call that nobody has to be asked about is no task.
    let free = json!({"name": "echo", "arguments": {}});
    let free = client.ask_two(6, "tools/call", free, tasks.clone()).await.last().await;
    assert_eq!(text(&free), "ran with {}");
    // Cancelled is withdrawn.
    let call = json!({"name": "send", "arguments": {"to": "bob"}});
    let created = client.ask_two(7, "tools/call", call, tasks.clone()).await.last().await;
    let task = created["result"]["taskId"].clone();
    let cancel = client.ask_two(8, "tasks/cancel", json!({"taskId": task}), tasks.clone()).await.last().await;
    assert_eq!(cancel["result"]["resultType"], "complete");
    let gone = client.ask_two(9, "tasks/get", json!({"taskId": task}), tasks.clone()).await.last().await;
    assert_eq!(gone["result"]["status"], "cancelled");
    assert_eq!(peer.calls().len(), 2);
}

/// Makes a call that becomes a task, has it decided, and tells what the task is once that is `status`.
async fn task_that_becomes(world: &World, tool: &str, said: Option<&str>, status: Status) -> Value {
    let client = world.client("/mcp");
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let call = json!({"name": tool, "arguments": {"to": "everyone"}});
    let created = client.ask_two(1, "tools/call", call, tasks.clone()).await.last().await;
    let case = world.pending().await;
    match said {
        Some(args) => {
            world.decide(&case, Decision::Modify, Said { args: Some(args), ..Said::default() }).await
        }
        None => world.decide(&case, Decision::Approve, Said::default()).await,
    }
    world.becomes(case.id, status).await;
    let task = json!({"taskId": created["result"]["taskId"]});
    client.ask_two(2, "tasks/get", task, tasks).await.last().await["result"].clone()
}

#[tokio::test]
async fn a_task_that_its_server_answers_with_an_error_has_failed_with_that_error() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let task = task_that_becomes(&world, "send_refused", None, Status::Failed).await;
    assert_eq!(task["status"], "failed", "{task}");
    assert_eq!(task["error"]["code"], -32050);
    assert_eq!(task["error"]["data"], json!({"left": 0}));
    assert!(task.get("result").is_none(), "{task}");
    // Who asks with the tool gets a tool's answer.
    let wait = json!({"id": task["taskId"], "wait_s": 1});
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let told = client.call(3, "banksman_wait", wait).await;
    assert!(text(&told).contains("the mailbox is full (error -32050)"), "{told}");
    assert_eq!(told["result"]["isError"], true);
}

#[tokio::test]
async fn that_people_changed_a_task_is_told_once() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let task = task_that_becomes(&world, "send", Some(r#"{"to":"ada"}"#), Status::Succeeded).await;
    let content = task["result"]["content"].as_array().unwrap();
    assert!(content[0]["text"].as_str().unwrap().contains(r#"It ran with: {"to":"ada"}"#), "{task}");
    assert_eq!((content.len(), &content[1]["text"]), (2, &json!(r#"ran with {"to":"ada"}"#)), "{task}");
}

#[tokio::test]
async fn a_client_with_url_elicitation_is_shown_the_page_and_its_answer_decides_nothing() {
    let peer = Peer::start().await;
    let world = World::start(&impatient(&peer)).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({"elicitation": {"url": {}}})).await;
    let mut answer = client.start(1, "send", json!({"to": "ada"})).await;
    let pointer = answer.next().await.unwrap();
    assert_eq!(pointer["method"], "elicitation/create");
    assert_eq!(pointer["params"]["mode"], "url");
    assert!(pointer["params"]["url"].as_str().unwrap().starts_with("http://127.0.0.1"));
    let accepted = json!({"jsonrpc": "2.0", "id": pointer["id"], "result": {"action": "accept"}});
    assert_eq!(client.post(&accepted).await.status, 202);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(world.count(Status::Pending).await, 1);
    world.approve().await;
    assert_eq!(text(&answer.last().await), r#"ran with {"to":"ada"}"#);
    let reached: Vec<String> = peer.seen.bodies.lock().unwrap().clone();
    assert!(!reached.iter().any(|body| body.contains("banksman-review")), "{reached:?}");
}

#[tokio::test]
async fn progress_of_a_held_call_reaches_its_client_while_it_runs() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "send_progress", "arguments": {}, "_meta": {"progressToken": "p"}}});
    let mut answer = client.post(&message).await;
    world.approve().await;
    let note = answer.next().await.unwrap();
    assert_eq!(note["params"]["progressToken"], "p");
    assert_eq!(text(&answer.last().await), "done");
}

#[tokio::test]
async fn a_server_that_asks_something_is_answered_under_the_same_approval() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let client = world.client("/mcp");
    let ask = async |id, params| client.ask_two(id, "tools/call", params, json!({})).await;
    let asked = ask(1, json!({"name": "send_ask", "arguments": {}})).await;
    let id = world.approve().await;
    let asked = asked.last().await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].clone();
    assert_ne!(state, "peer-state", "the server's own state is not shown");
    assert!(asked["result"]["inputRequests"]["q"].is_object());
    let next = json!({"name": "send_ask", "arguments": {}, "requestState": state, "inputResponses": {"q": {"roots": []}}});
    let done = ask(2, next.clone()).await.last().await;
    assert_eq!(text(&done), "asked");
    world.becomes(id, Status::Succeeded).await;
    assert_eq!(text(&ask(3, next).await.last().await), "asked", "what is stored, and nothing runs again");
    assert_eq!(peer.calls().len(), 2);
    assert_eq!(world.count(Status::Pending).await, 0, "nobody is asked twice");
}

#[tokio::test]
async fn a_call_that_was_under_way_when_the_program_ended_is_not_run_again_unless_that_does_no_harm() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    for tool in ["send_stuck", "send_twice"] {
        drop(client.start(1, tool, json!({})).await);
        let before = peer.calls().len();
        world.approve().await;
        for _ in 0..200 {
            if peer.calls().len() > before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let stuck = |calls: &[String], tool: &str| calls.iter().filter(|call| call.contains(tool)).count();
    assert_eq!(stuck(&peer.calls(), "send_stuck"), 1);
    assert_eq!(stuck(&peer.calls(), "send_twice"), 1);
    let world = world.restart().await;
    // Another node begins at the same time, and finds the same.
    let neighbour = world.neighbour().await;
    for _ in 0..200 {
        if stuck(&peer.calls(), "send_twice") > 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(neighbour);
    assert_eq!(stuck(&peer.calls(), "send_twice"), 2);
    assert_eq!(stuck(&peer.calls(), "send_stuck"), 1);
    // The one is still claimed, and becomes unknown when its lease ends.
    assert!(world.count(Status::Executing).await >= 1);
}

#[tokio::test]
async fn a_plain_client_gets_202_and_asks_by_id() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let client = world.client("/mcp").plain();
    // As harombe's own document sends it: no id, no version.
    let body = json!({"method": "tools/call", "params": {"name": "send", "arguments": {"to": "ada"}}});
    let answer = client.post(&body).await;
    assert_eq!(answer.status, 202);
    let answer = answer.last().await;
    assert_eq!(answer["status"], "pending");
    let id = answer["approval_id"].as_str().unwrap().to_owned();
    let agent = |path: &str| world.client(path);
    let reviewer =
        |path: &str| crate::client::Client::new(format!("http://{}{path}", world.address), &world.reviewer);
    let get = async |client: crate::client::Client| {
        let answer = client.send(Method::GET, "").await;
        (answer.status.as_u16(), answer.last().await)
    };
    assert_eq!(get(agent(&format!("/hitl/pending/{id}"))).await.1["status"], "pending");
    assert_eq!(get(agent(&format!("/hitl/result/{id}"))).await.0, 202);
    assert_eq!(get(reviewer("/hitl/pending")).await.1["count"], 1);
    // An agent decides nothing.
    let decide = json!({"decision": "approve", "reason": "looks good"});
    assert_eq!(agent(&format!("/hitl/decide/{id}")).post(&decide).await.status, 403);
    let decided = reviewer(&format!("/hitl/decide/{id}")).post(&decide).await.last().await;
    assert_eq!(decided["status"], "approved");
    assert_eq!(decided["approved_by"], "ann");
    world.becomes(id.parse().unwrap(), Status::Succeeded).await;
    let (status, result) = get(agent(&format!("/hitl/result/{id}"))).await;
    assert_eq!((status, text(&result)), (200, r#"ran with {"to":"ada"}"#));
    // A no is a 403, with the reason.
    let answer =
        client.post(&json!({"method": "tools/call", "params": {"name": "send", "arguments": {}}})).await;
    let id = answer.last().await["approval_id"].as_str().unwrap().to_owned();
    let deny = json!({"decision": "deny", "reason": "no"});
    assert_eq!(reviewer(&format!("/hitl/decide/{id}")).post(&deny).await.last().await["status"], "denied");
    let (status, result) = get(agent(&format!("/hitl/result/{id}"))).await;
    assert_eq!(status, 403);
    assert!(result["error"]["message"].as_str().unwrap().contains("by ann. no"), "{result}");
    assert_eq!(peer.calls().len(), 1);
}
