//! The part of the conformant server that answers later: tasks, as the extension of 2026-07-28 has them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, InputResponses};
use serde_json::{Value, json};

use crate::conformant::{asks, complete, of, text, wants};

/// What a task is about, and what was asked and answered.
struct Task {
    begun: Instant,
    takes: Duration,
    ends: Value,
    asked: BTreeMap<String, Value>,
    cancelled: bool,
}

static TASKS: LazyLock<Mutex<HashMap<String, Task>>> = LazyLock::new(Mutex::default);

pub(crate) const TOOLS: &[&str] = &[
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

fn seed(id: &str, status: &str) -> Value {
    let at = "2026-07-28T00:00:00Z";
    json!({"taskId": id, "status": status, "createdAt": at, "lastUpdatedAt": at, "ttlMs": 60_000, "pollIntervalMs": 100})
}

fn created(takes: Duration, ends: Value, asked: BTreeMap<String, Value>) -> CallToolResponse {
    let mut tasks = TASKS.lock().unwrap();
    let id = format!("task-{}", tasks.len());
    tasks.insert(id.clone(), Task { begun: Instant::now(), takes, ends, asked, cancelled: false });
    let mut result = seed(&id, "working");
    result["resultType"] = json!("task");
    CallToolResponse::Task(of(result))
}

fn undeclared() -> ErrorData {
    let required = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    ErrorData::missing_required_client_capability(of(required))
}

pub(crate) fn gate(can: Option<ClientCapabilities>) -> Result<(), ErrorData> {
    if can.is_some_and(|can| can.supports_tasks()) { Ok(()) } else { Err(undeclared()) }
}

/// The answer of a tool that may take its time; `None` if it is none of these.
pub(crate) async fn call(
    request: &CallToolRequestParams,
    can: Option<ClientCapabilities>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let argument = |key: &str| request.arguments.as_ref().and_then(|all| all.get(key)).cloned();
    let later = can.is_some_and(|can| can.supports_tasks());
    let done = |value: Value| Ok(CallToolResponse::Complete(complete(value)));
    let failed = json!({"content": [{"type": "text", "text": "it failed"}], "isError": true});
    Some(match request.name.as_ref() {
        "greet" => {
            done(text(format!("Hello, {}!", argument("name").unwrap_or_default().as_str().unwrap_or("?"))))
        }
        "slow_compute" => {
            let takes =
                Duration::from_secs_f64(argument("seconds").and_then(|value| value.as_f64()).unwrap_or(0.5));
            let ends = json!({"result": text("computed")});
            if later {
                Ok(created(takes, ends, BTreeMap::new()))
            } else {
                tokio::time::sleep(takes).await;
                done(text("computed"))
            }
        }
        "failing_job" if !later => Err(undeclared()),
        "failing_job" => Ok(created(Duration::ZERO, json!({"result": failed}), BTreeMap::new())),
        "protocol_error_job" => {
            let ends = json!({"error": {"code": -32603, "message": "it broke"}});
            Ok(created(Duration::ZERO, ends, BTreeMap::new()))
        }
        "confirm_delete" => {
            let asked = BTreeMap::from([("confirm".to_owned(), asks("consent", "confirm", "boolean"))]);
            Ok(created(Duration::ZERO, json!({"result": text("deleted")}), asked))
        }
        "multi_input" => {
            let asked = ["one", "two"].map(|key| (key.to_owned(), asks(key, "value", "string")));
            Ok(created(Duration::ZERO, json!({"result": text("both")}), asked.into()))
        }
        "test_tool_with_task" => {
            match request.input_responses.as_ref().and_then(|all| all.get("user_name")) {
                None => Ok(wants(json!({"user_name": asks("name", "name", "string")}), Some("with-task"))),
                Some(answer) => {
                    let ends = json!({"result": text(format!("Hello, {answer}"))});
                    Ok(created(Duration::ZERO, ends, BTreeMap::new()))
                }
            }
        }
        _ => return None,
    })
}

/// `tasks/get`.
pub(crate) fn get(id: &str) -> Result<Value, ErrorData> {
    let tasks = TASKS.lock().unwrap();
    let task = tasks.get(id).ok_or_else(|| ErrorData::invalid_params("no such task", None))?;
    let over = task.begun.elapsed() >= task.takes;
    let mut answer = match (task.cancelled, task.asked.is_empty(), over) {
        (true, _, _) => seed(id, "cancelled"),
        (false, false, _) => seed(id, "input_required"),
        (false, true, false) => seed(id, "working"),
        (false, true, true) if task.ends.get("error").is_some() => seed(id, "failed"),
        (false, true, true) => seed(id, "completed"),
    };
    match answer["status"].as_str().unwrap() {
        "input_required" => answer["inputRequests"] = json!(task.asked),
        "completed" => answer["result"] = task.ends["result"].clone(),
        "failed" => answer["error"] = task.ends["error"].clone(),
        _ => {}
    }
    answer["resultType"] = json!("complete");
    Ok(answer)
}

/// `tasks/update`.
pub(crate) fn update(id: &str, answers: &InputResponses) -> Result<(), ErrorData> {
    let mut tasks = TASKS.lock().unwrap();
    let task = tasks.get_mut(id).ok_or_else(|| ErrorData::invalid_params("no such task", None))?;
    task.asked.retain(|key, _| !answers.contains_key(key));
    Ok(())
}

/// `tasks/cancel`.
pub(crate) fn cancel(id: &str) -> Result<(), ErrorData> {
    let mut tasks = TASKS.lock().unwrap();
    let task = tasks.get_mut(id).ok_or_else(|| ErrorData::invalid_params("no such task", None))?;
    task.cancelled = task.cancelled || task.begun.elapsed() < task.takes;
    Ok(())
}
