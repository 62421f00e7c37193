//! All servers behind one endpoint: their lists put together, tools and prompts under `server__name`.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::mpsc;

use crate::body::{self, Body};
use crate::catalogue::Catalogue;
use crate::errand::QUEUE;
use crate::gateway::{Gateway, bad_request};
use crate::labels;
use crate::lists::is_reserved;
use crate::message::{self, ERA_ONE, ERA_TWO, Era, KNOWN_ONE, Shape};
use crate::raw::{End, Members, quoted, with_element};
use crate::relay::{new_session, sealed};
use crate::session::Session;
use crate::upstream::http::{SESSION, own_headers};
use crate::upstream::lane::{Stream, is_event_stream};
use crate::upstream::reply::Reply;
use crate::upstream::{Lane, Upstream};
use crate::visit::Visit;
use crate::{eras, relay, sse, tasks, wait_tool, words};

/// Pages of one server's list that are read.
const MAX_PAGES: usize = 100;

/// The answer, with several servers behind us.
pub(crate) async fn answer(mut visit: Box<Visit>) -> Response<Body> {
    let id = visit.message.id();
    match visit.message.shape() {
        Shape::Request("initialize") => initialize(&visit).await,
        Shape::Request("server/discover") => discover(&visit).await,
        Shape::Request("ping") => done(&visit, "{}"),
        Shape::Request("tools/list") => list(&visit, "tools", Names::Labelled).await,
        Shape::Request("prompts/list") => list(&visit, "prompts", Names::Labelled).await,
        Shape::Request("resources/list") => list(&visit, "resources", Names::Theirs).await,
        Shape::Request("resources/templates/list") => list(&visit, "resourceTemplates", Names::Theirs).await,
        Shape::Request("tools/call") | Shape::Notification("tools/call") => called(visit).await,
        Shape::Request("prompts/get") => match addressed(&mut visit) {
            Ok(upstream) => relay::request(&visit, &upstream).await,
            Err(instead) => *instead,
        },
        Shape::Request("tasks/get" | "tasks/update" | "tasks/cancel") if visit.task().is_some() => {
            tasks::answer(&visit).await
        }
        Shape::Request("logging/setLevel") => {
            everyone(&visit).await;
            done(&visit, "{}")
        }
        Shape::Request(_) => whoever_can(&visit).await,
        Shape::Notification(_) => {
            everyone(&visit).await;
            body::empty(StatusCode::ACCEPTED)
        }
        Shape::Answer => to_whom_it_answers(&visit).await,
        Shape::Other => bad_request(&id, -32600, "this is no message of JSON-RPC"),
    }
}

fn done(visit: &Visit, result: &str) -> Response<Body> {
    let result = words::for_era(result.to_owned(), visit.era);
    body::json(StatusCode::OK, message::result(&visit.message.id(), &result))
}

/// What all servers together can do.
async fn capabilities(gateway: &Gateway) -> String {
    let mut all = Members::default();
    for upstream in gateway.upstreams.values() {
        let Ok((_, said)) = upstream.introduction().await else { continue };
        let can = Members::read(&said).and_then(|said| said.get("capabilities").map(str::to_owned));
        let can = can.as_deref().and_then(Members::read).unwrap_or_default();
        for known in ["tools", "prompts", "resources", "logging", "completions"] {
            if can.get(known).is_some() && all.get(known).is_none() {
                let lists = matches!(known, "tools" | "prompts" | "resources");
                all.set(known, if lists { r#"{"listChanged":true}"# } else { "{}" });
            }
        }
    }
    all.write()
}

async fn initialize(visit: &Visit) -> Response<Body> {
    let asked = visit.message.text_param("protocolVersion").unwrap_or(ERA_ONE);
    let version = if KNOWN_ONE.contains(&asked) { asked } else { ERA_ONE };
    let result = format!(
        r#"{{"protocolVersion":{},"capabilities":{},"serverInfo":{{"name":"banksman","version":{}}}}}"#,
        quoted(version),
        capabilities(&visit.gateway).await,
        quoted(env!("CARGO_PKG_VERSION"))
    );
    let mut response = done(visit, &result);
    let params = Members::read_bytes(&visit.bytes()).and_then(|all| all.get("params").map(str::to_owned));
    let session = new_session(visit).map(|session| Session { initialize: params, ..session });
    if let Some(handle) = session.and_then(|session| sealed(visit, &session)) {
        response.headers_mut().insert(SESSION, handle);
    }
    response
}

async fn discover(visit: &Visit) -> Response<Body> {
    let said = format!(
        r#"{{"supportedVersions":[{}],"capabilities":{},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"banksman","version":{}}}}}}}"#,
        quoted(ERA_TWO),
        capabilities(&visit.gateway).await,
        quoted(env!("CARGO_PKG_VERSION"))
    );
    done(visit, &crate::lists::with_tasks(&said).unwrap_or(said))
}

/// Whether what is listed goes by names that have to be told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Labelled,
    Theirs,
}

/// A list of what all servers offer, whole: a server that does not answer is left out, and pages that its readers could
/// understand in two ways are.
async fn list(visit: &Visit, key: &str, names: Names) -> Response<Body> {
    let method = visit.message.method().unwrap_or_default();
    let mut items = "[]".to_owned();
    for upstream in visit.gateway.upstreams.values() {
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = cursor
                .as_ref()
                .map_or_else(|| "{}".to_owned(), |cursor| format!(r#"{{"cursor":{}}}"#, quoted(cursor)));
            let Ok(page) = upstream.ask(method, &params).await else { break };
            if key == "tools" && visit.gateway.catalogue.learn(&upstream.name, &page).is_err() {
                break;
            }
            let Some(members) = Members::read(&page) else { break };
            let listed: Vec<&serde_json::value::RawValue> =
                members.get(key).and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
            for item in listed {
                if key == "tools" && is_reserved(item) {
                    continue;
                }
                let item = match names {
                    Names::Labelled => labelled(&upstream.name, item.get()),
                    Names::Theirs => Some(item.get().to_owned()),
                };
                let longer = item.and_then(|item| with_element(&items, &item, End::Back));
                items = longer.unwrap_or(items);
            }
            cursor = members.text("nextCursor");
            if cursor.is_none() {
                break;
            }
        }
    }
    if key == "tools" {
        items = with_element(&items, words::WAIT_TOOL_DEFINITION, End::Back).unwrap_or(items);
    }
    let lifetime = if visit.era == Era::Two { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
    done(visit, &format!(r#"{{{}:{items}{lifetime}}}"#, quoted(key)))
}

fn labelled(server: &str, item: &str) -> Option<String> {
    let mut members = Members::read(item)?;
    let name = quoted(&labels::name(server, &members.text("name")?));
    members.set("name", name);
    Some(members.write())
}

/// The server that the message's `name` means; the message becomes what that server would get.
fn addressed(visit: &mut Visit) -> Result<Arc<Upstream>, Box<Response<Body>>> {
    let id = visit.message.id();
    let name = visit.message.text_param("name").unwrap_or_default().to_owned();
    let found = labels::parts(&name)
        .and_then(|(server, own)| Some((Arc::clone(visit.gateway.upstreams.get(server)?), own.to_owned())));
    let Some((upstream, own)) = found else {
        return Err(Box::new(bad_request(&id, -32602, "there is no server with such a name here")));
    };
    let renamed = {
        let rename = || {
            let mut members = Members::read_bytes(&visit.message.bytes)?;
            let mut params = Members::read(members.get("params")?)?;
            params.set("name", quoted(&own));
            let params = params.write();
            members.set("params", params);
            Some(Bytes::from(members.write()))
        };
        rename().and_then(|bytes| message::Message::read(bytes).ok())
    };
    let Some(renamed) = renamed else {
        return Err(Box::new(bad_request(&id, -32600, "the message cannot be read")));
    };
    visit.message = renamed;
    if visit.headers.contains_key("mcp-name") {
        visit.headers.insert("mcp-name", crate::upstream::header_text(&own));
    }
    Ok(upstream)
}

async fn called(mut visit: Box<Visit>) -> Response<Body> {
    if visit.message.text_param("name") == Some(words::WAIT_TOOL) {
        return match visit.message.arguments() {
            Ok(args) => wait_tool::answer(visit, &args).await,
            Err(problem) => bad_request(&visit.message.id(), -32602, problem),
        };
    }
    match addressed(&mut visit) {
        Ok(upstream) => visit.answer_of(&upstream).await,
        Err(instead) => *instead,
    }
}

/// Asks one server after the other until one knows: whose a resource is, only they can say.
async fn whoever_can(visit: &Visit) -> Response<Body> {
    let mut last = None;
    for upstream in visit.gateway.upstreams.values() {
        let Ok(answer) = eras::whole(visit, upstream).await else { continue };
        let knows = Reply::read(&answer.message).is_some_and(|reply| reply.result.is_some());
        if knows {
            return body::json(answer.status, answer.message);
        }
        last = Some(answer);
    }
    match last {
        Some(answer) => body::json(answer.status, answer.message),
        None => body::json(
            StatusCode::BAD_GATEWAY,
            message::error(&visit.message.id(), -32603, "no server behind the gateway answers"),
        ),
    }
}

/// Tells every server that this session has met.
async fn everyone(visit: &Visit) {
    let Some(session) = &visit.session else { return };
    if visit.message.method() == Some("notifications/initialized") {
        return;
    }
    for lane in visit.gateway.sessions.open_lanes(&session.key) {
        // One that does not listen is not the others' loss.
        drop(lane.tell(visit.bytes()).await);
    }
}

async fn to_whom_it_answers(visit: &Visit) -> Response<Body> {
    let found = labels::inward(&visit.bytes()).and_then(|(server, answer)| {
        let upstream = visit.gateway.upstreams.get(&server)?;
        Some((Arc::clone(upstream), answer))
    });
    let (Some((upstream, answer)), Some(session)) = (found, &visit.session) else {
        return bad_request("null", -32600, "nobody here has asked that");
    };
    let told = match visit.gateway.sessions.lane(&upstream, session).await {
        Ok(lane) => lane.tell(answer.into()).await,
        Err(error) => Err(error),
    };
    match told {
        Ok(_) => body::empty(StatusCode::ACCEPTED),
        Err(error) => relay::unreachable("null", &upstream, &error),
    }
}

/// What all servers say on their own account.
pub(crate) async fn listen(gateway: &Gateway, session: Option<Session>) -> Response<Body> {
    let Some(session) = session else { return body::empty(StatusCode::METHOD_NOT_ALLOWED) };
    let (messages, receiver) = mpsc::channel(QUEUE);
    for upstream in gateway.upstreams.values() {
        let Ok(lane) = gateway.sessions.lane(upstream, &session).await else { continue };
        let catalogue = Arc::clone(&gateway.catalogue);
        tokio::spawn(forward(catalogue, upstream.name.clone(), lane, messages.clone()));
    }
    body::events(crate::stream::as_events(receiver))
}

async fn forward(catalogue: Arc<Catalogue>, server: String, lane: Lane, to: mpsc::Sender<Bytes>) {
    let mut stream = match lane {
        Lane::Child(child) => Stream::of_child(child.listen()),
        Lane::Http { upstream, headers } => match upstream.send(Method::GET, headers, Bytes::new()).await {
            Ok(response) if is_event_stream(response.headers()) => {
                let (parts, body) = response.into_parts();
                Stream::over_http(body, parts.headers)
            }
            Ok(_) | Err(_) => return,
        },
    };
    while let Ok(Some(sse::Event { data, .. })) = stream.next().await {
        if data.is_empty() || !relay::may_pass(&catalogue, &server, "null", &data) {
            continue;
        }
        let message = labels::outward(&server, &data).map_or(data, Bytes::from);
        if to.send(message).await.is_err() {
            return;
        }
    }
}

/// Ends the sessions behind a session.
pub(crate) async fn end(lanes: Vec<Lane>) {
    for lane in lanes {
        if let Lane::Http { upstream, headers } = lane {
            let session = headers.get(SESSION).cloned();
            let mut headers: HeaderMap = own_headers();
            headers.extend(session.map(|session| (SESSION, session)));
            drop(upstream.send(Method::DELETE, headers, Bytes::new()).await);
        }
    }
}
