//! The server that the official conformance suite wants to meet, on rmcp: an implementation by other hands.
//!
//! Results are written as JSON and read into rmcp's types, so that what the suite asks for can be seen at a glance.

// Long because it is what the suite asks for, in one place.

#![expect(deprecated, reason = "what era two has left out, era one still has")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::conformant_tasks;

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// What a tampered state does not have.
const STATE: &str = "conformant-state-1";

#[derive(Clone)]
pub(crate) struct Conformant;

/// Starts it, and answers with its address.
pub(crate) async fn start() -> SocketAddr {
    let mut config = StreamableHttpServerConfig::default();
    config.sse_keep_alive = Some(Duration::from_secs(15));
    config.allowed_origins = vec!["http://localhost:*".into(), "http://127.0.0.1:*".into()];
    let service =
        StreamableHttpService::new(|| Ok(Conformant), Arc::new(LocalSessionManager::default()), config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback_service(service);
    tokio::spawn(async move {
        let listener = axum::serve::ListenerExt::tap_io(listener, |socket| drop(socket.set_nodelay(true)));
        axum::serve(listener, app).await.unwrap();
    });
    address
}

pub(crate) fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error} in {value}"))
}

/// A result. rmcp leaves the type out for clients of era one.
pub(crate) fn complete<T: DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = json!("complete");
    of(value)
}

/// A result that may be kept for a while.
fn lasting<T: DeserializeOwned>(mut value: Value) -> T {
    value["ttlMs"] = json!(1000);
    value["cacheScope"] = json!("public");
    complete(value)
}

pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

pub(crate) fn asks(name: &str, property: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": format!("Your {name}?"), "requestedSchema": {
        "type": "object", "properties": {property: {"type": kind}}, "required": [property]}}})
}

fn samples(question: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": question}}], "maxTokens": 50}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

pub(crate) fn wants(requests: Value, state: Option<&str>) -> CallToolResponse {
    CallToolResponse::InputRequired(input_required(requests, state))
}

fn input_required(requests: Value, state: Option<&str>) -> InputRequiredResult {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    of(result)
}

fn tampered() -> ErrorData {
    ErrorData::invalid_params("requestState is not ours", None)
}

impl Conformant {
    fn tools() -> Value {
        let plain =
            |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
        let with = |name: &str, property: &str| {
            json!({"name": name, "description": name, "inputSchema": {
                "type": "object", "properties": {property: {"type": "string"}}, "required": [property]}})
        };
        let mut tools: Vec<Value> = [
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_tool_with_logging",
            "test_error_handling",
            "test_tool_with_progress",
            "test_elicitation_sep1034_defaults",
            "test_elicitation_sep1330_enums",
            "test_reconnection",
            "test_missing_capability",
            "test_streaming_elicitation",
            "test_logging_tool",
            "test_input_required_result_elicitation",
            "test_input_required_result_sampling",
            "test_input_required_result_list_roots",
            "test_input_required_result_request_state",
            "test_input_required_result_multiple_inputs",
            "test_input_required_result_multi_round",
            "test_input_required_result_tampered_state",
            "test_input_required_result_capabilities",
        ]
        .map(plain)
        .into();
        tools.extend(conformant_tasks::TOOLS.iter().map(|name| plain(name)));
        tools.push(json!({"name": "test_headers", "description": "an argument in a header", "inputSchema": {
            "type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}));
        tools.push(with("test_sampling", "prompt"));
        tools.push(with("test_elicitation", "message"));
        tools.push(json!({"name": "json_schema_2020_12_tool", "description": "keywords are kept", "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]}, "else": {"required": ["email"]},
            "additionalProperties": false}}));
        json!({"tools": tools})
    }

    /// Asks the client's user in era one.
    async fn elicit(cx: &RequestContext<RoleServer>, message: &str, schema: Value) -> Value {
        let params: ElicitRequestParams =
            of(json!({"mode": "form", "message": message, "requestedSchema": schema}));
        match cx.peer.create_elicitation(params).await {
            Ok(result) => text(format!("User response: {}", serde_json::to_string(&result).unwrap())),
            Err(error) => json!({"content": [{"type": "text", "text": error.to_string()}], "isError": true}),
        }
    }

    async fn run(
        request: &CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let argument = |key: &str| {
            let value = request.arguments.as_ref().and_then(|all| all.get(key));
            value.and_then(Value::as_str).unwrap_or("?").to_owned()
        };
        let embedded = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
        Ok(match request.name.as_ref() {
            "test_simple_text" => text("This is a simple text response for testing."),
            "test_image_content" => {
                json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]})
            }
            "test_audio_content" => {
                json!({"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]})
            }
            "test_embedded_resource" => {
                json!({"content": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]})
            }
            "test_multiple_content_types" => json!({"content": [
                {"type": "text", "text": "Multiple content types test:"},
                {"type": "image", "data": PNG, "mimeType": "image/png"},
                embedded("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}"),
            ]}),
            "test_tool_with_logging" => {
                for data in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    let note: LoggingMessageNotificationParam =
                        of(json!({"level": "info", "logger": "peer", "data": data}));
                    let _ = cx.peer.notify_logging_message(note).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                text("logged")
            }
            "test_error_handling" => {
                json!({"content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}], "isError": true})
            }
            "test_tool_with_progress" => {
                if let Some(token) = cx.meta.get_progress_token() {
                    for progress in [0.0, 50.0, 100.0] {
                        let note = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
                        let _ =
                            cx.peer.notify_progress(note.with_message(format!("{progress} of 100"))).await;
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
                text("done")
            }
            "test_sampling" => {
                let params: CreateMessageRequestParams = of(samples(&argument("prompt"))["params"].take());
                let sampled = cx.peer.create_message(params).await;
                match sampled {
                    Ok(result) => text(format!("LLM response: {}", serde_json::to_string(&result).unwrap())),
                    Err(error) => {
                        json!({"content": [{"type": "text", "text": error.to_string()}], "isError": true})
                    }
                }
            }
            "test_elicitation" => {
                let property = |about: &str| json!({"type": "string", "description": about});
                let schema = json!({"type": "object", "properties": {
                    "username": property("User's response"), "email": property("User's email address")}, "required": ["username", "email"]});
                Self::elicit(cx, &argument("message"), schema).await
            }
            "test_elicitation_sep1034_defaults" => {
                let schema = json!({"type": "object", "properties": {
                    "name": {"type": "string", "default": "John Doe"},
                    "age": {"type": "integer", "default": 30},
                    "score": {"type": "number", "default": 95.5},
                    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                    "verified": {"type": "boolean", "default": true},
                }});
                Self::elicit(cx, "All have defaults", schema).await
            }
            "test_elicitation_sep1330_enums" => {
                let titled = |word: &str| {
                    ["1", "2", "3"]
                        .map(|n| json!({"const": format!("value{n}"), "title": format!("{word} {n}")}))
                };
                let options = json!(["option1", "option2", "option3"]);
                let schema = json!({"type": "object", "properties": {
                    "untitledSingle": {"type": "string", "enum": options},
                    "titledSingle": {"type": "string", "oneOf": titled("Option")},
                    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
                    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                    "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
                }});
                Self::elicit(cx, "Choose", schema).await
            }
            "test_streaming_elicitation" | "test_logging_tool" | "test_headers" => text("nothing more"),
            "test_reconnection" => text("Reconnection test completed"),
            "json_schema_2020_12_tool" => text(format!("Hello, {}", argument("name"))),
            "test_missing_capability" => {
                if cx.meta.client_capabilities().is_none_or(|all| all.sampling.is_none()) {
                    return Err(ErrorData::missing_required_client_capability(of(json!({"sampling": {}}))));
                }
                text("it has it")
            }
            other => return Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None)),
        })
    }

    /// The tools that ask their client something, in the way of era two.
    fn round(
        request: &CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let name = request.name.strip_prefix("test_input_required_result_")?;
        let answers = request.input_responses.clone().unwrap_or_default();
        let answered = |key: &str| answers.get(key).is_some_and(Value::is_object);
        let state = request.request_state.as_deref();
        let done = |words: String| Ok(CallToolResponse::Complete(complete(text(words))));
        Some(match name {
            "elicitation" if answered("user_name") => {
                done(format!("Hello, {}!", answers["user_name"]["content"]["name"]))
            }
            "elicitation" => Ok(wants(json!({"user_name": asks("name", "name", "string")}), None)),
            "sampling" if answered("capital_question") => done(answers["capital_question"].to_string()),
            "sampling" => {
                Ok(wants(json!({"capital_question": samples("What is the capital of France?")}), None))
            }
            "list_roots" if answered("client_roots") => done(answers["client_roots"].to_string()),
            "list_roots" => Ok(wants(json!({"client_roots": roots()}), None)),
            "request_state" | "tampered_state" if state.is_some_and(|state| state != STATE) => {
                Err(tampered())
            }
            "request_state" | "tampered_state" if state == Some(STATE) && answered("confirm") => {
                done("state-ok".into())
            }
            "request_state" | "tampered_state" => {
                Ok(wants(json!({"confirm": asks("consent", "ok", "boolean")}), Some(STATE)))
            }
            "multiple_inputs"
                if ["user_name", "greeting", "client_roots"].iter().all(|key| answered(key)) =>
            {
                done("all".into())
            }
            "multiple_inputs" => {
                let all = json!({"user_name": asks("name", "name", "string"), "greeting": samples("Greet"), "client_roots": roots()});
                Ok(wants(all, Some(STATE)))
            }
            "multi_round" if answered("step2") => done("three rounds".into()),
            "multi_round" if answered("step1") => {
                Ok(wants(json!({"step2": asks("color", "color", "string")}), Some("round-2")))
            }
            "multi_round" => Ok(wants(json!({"step1": asks("name", "name", "string")}), Some("round-1"))),
            "capabilities" if !answers.is_empty() => done("capable".into()),
            "capabilities" => {
                let can = cx.meta.client_capabilities().unwrap_or_default();
                let mut requests = json!({});
                if can.sampling.is_some() {
                    requests["sampled"] = samples("Anything");
                }
                if can.elicitation.is_some() {
                    requests["elicited"] = asks("name", "name", "string");
                }
                Ok(wants(requests, None))
            }
            other => Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None)),
        })
    }
}

impl ServerHandler for Conformant {
    fn get_info(&self) -> ServerConfig {
        let capabilities: ServerCapabilities = of(json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": true}, "completions": {}, "logging": {},
            "resources": {"subscribe": true, "listChanged": true},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        }));
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(lasting(Self::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(answer) = conformant_tasks::call(&request, cx.meta.client_capabilities()).await {
            return answer;
        }
        match Self::round(&request, &cx) {
            Some(answer) => answer,
            None => Self::run(&request, &cx).await.map(|result| CallToolResponse::Complete(complete(result))),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |uri: &str, name: &str, kind: &str| json!({"uri": uri, "name": name, "description": name, "mimeType": kind});
        Ok(lasting(json!({"resources": [
            resource("test://static-text", "Static Text Resource", "text/plain"),
            resource("test://static-binary", "Static Binary Resource", "image/png"),
            resource("test://watched-resource", "Watched Resource", "text/plain"),
        ]})))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(lasting(json!({"resourceTemplates": [{
            "uriTemplate": "test://template/{id}/data", "name": "Dynamic Resource", "mimeType": "application/json",
        }]})))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri, id) {
            ("test://static-text" | "test://watched-resource", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
            }
            ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
            (_, Some(id)) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
            }
            (_, None) => {
                return Err(ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri}))));
            }
        };
        let result: ReadResourceResult = lasting(json!({"contents": [contents]}));
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        conformant_tasks::gate(cx.meta.client_capabilities())?;
        conformant_tasks::get(&request.task_id).map(of)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        conformant_tasks::gate(cx.meta.client_capabilities())?;
        conformant_tasks::update(&request.task_id, &request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        conformant_tasks::gate(cx.meta.client_capabilities())?;
        conformant_tasks::cancel(&request.task_id)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = Self::tools();
        let found = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name)?;
        Some(of(found.clone()))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(complete(
            json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}),
        ))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = |name: &str| json!({"name": name, "description": name, "required": true});
        let prompt = |name: &str, arguments: Vec<Value>| json!({"name": name, "description": name, "arguments": arguments});
        Ok(lasting(json!({"prompts": [
            prompt("test_simple_prompt", vec![]),
            prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
            prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
            prompt("test_prompt_with_image", vec![]),
            prompt("test_input_required_result_prompt", vec![]),
        ]})))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = |key: &str| {
            let value = request.arguments.as_ref().and_then(|all| all.get(key));
            value
                .map(|value| serde_json::to_value(value).unwrap())
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        let says = |content: Value| json!({"role": "user", "content": content});
        let words = |text: String| says(json!({"type": "text", "text": text}));
        let messages = match request.name.as_str() {
            "test_simple_prompt" => vec![words("This is a simple prompt for testing.".into())],
            "test_prompt_with_arguments" => {
                vec![words(format!(
                    "Prompt with arguments: arg1='{}', arg2='{}'",
                    given("arg1"),
                    given("arg2")
                ))]
            }
            "test_prompt_with_embedded_resource" => vec![
                says(
                    json!({"type": "resource", "resource": {"uri": given("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."}}),
                ),
                words("Please process the embedded resource above.".into()),
            ],
            "test_prompt_with_image" => vec![
                says(json!({"type": "image", "data": PNG, "mimeType": "image/png"})),
                words("Please analyze the image above.".into()),
            ],
            "test_input_required_result_prompt" => {
                let answers = request.input_responses.clone().unwrap_or_default();
                if !answers.contains_key("user_context") {
                    let requests = json!({"user_context": asks("context", "context", "string")});
                    return Ok(GetPromptResponse::InputRequired(input_required(requests, None)));
                }
                vec![words(answers["user_context"].to_string())]
            }
            other => return Err(ErrorData::invalid_params(format!("Unknown prompt: {other}"), None)),
        };
        let result: GetPromptResult = complete(json!({"messages": messages}));
        Ok(result.into())
    }
}
