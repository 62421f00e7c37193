//! All servers behind one endpoint: their lists put together, tools and prompts under `server__name`.

mod listening;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::json::Json;
use http::{Response, StatusCode};
pub(crate) use listening::{end, listen};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::body::{self, Body};
use crate::gateway::{Gateway, bad_request};
use crate::labels;
use crate::lists::is_reserved;
use crate::message::{self, ERA_TWO, Era, Message, Shape};
use crate::owners::Listed;
use crate::raw::{Elements, Members, quoted};
use crate::relay::{new_session, sealed};
use crate::session::Session;
use crate::upstream::http::SESSION;
use crate::upstream::reply::Reply;
use crate::upstream::{HouseError, Route, Upstream};
use crate::visit::Visit;
use crate::{changes, eras, headers, relay, tasks, wait_tool, words};

/// So much of one server's list is read.
const MAX_PAGES: usize = 100;
const MAX_ITEMS: usize = 10_000;
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// A server that does not take in for so long what its client says is not waited for.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// The answer, with several servers behind us.
pub(crate) async fn answer(mut visit: Box<Visit>) -> Response<Body> {
    let id = visit.message.id();
    match visit.message.shape() {
        Shape::Request("initialize") if visit.era == Era::One => initialize(&visit).await,
        Shape::Request("initialize") => headers::no_such_method(&id),
        Shape::Request("server/discover") => discover(&visit).await,
        Shape::Request("ping") => done(&visit, "{}"),
        Shape::Request("tools/list") => list(&visit, "tools", Names::Labelled).await,
        Shape::Request("prompts/list") => list(&visit, "prompts", Names::Labelled).await,
        Shape::Request("resources/list") => list(&visit, "resources", Names::Theirs).await,
        Shape::Request("resources/templates/list") => list(&visit, "resourceTemplates", Names::Theirs).await,
        Shape::Request("resources/subscribe" | "resources/unsubscribe") if visit.era == Era::Two => {
            headers::no_such_method(&id)
        }
        Shape::Request("resources/read" | "resources/subscribe") => resource(&visit).await,
        Shape::Request("resources/unsubscribe") => unsubscribe(&visit).await,
        Shape::Request("completion/complete") => completion(visit).await,
        Shape::Request("tools/call") | Shape::Notification("tools/call") => called(visit).await,
        Shape::Request("prompts/get") => match addressed(&mut visit) {
            Ok(upstream) => relay::request(&visit, &upstream).await,
            Err(instead) => *instead,
        },
        Shape::Request("tasks/get" | "tasks/update" | "tasks/cancel") if visit.task().is_some() => {
            tasks::answer(&visit).await
        }
        Shape::Request("logging/setLevel") => {
            if let (Some(session), Some(level)) = (&visit.session, visit.message.text_param("level")) {
                visit.gateway.sessions.set_level(&session.key, level);
            }
            everyone(&visit).await;
            done(&visit, "{}")
        }
        Shape::Request("subscriptions/listen") if visit.era == Era::Two => {
            changes::subscribe(&visit, visit.gateway.upstreams.values().cloned().collect())
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

/// What comes of asking all servers at once, in the order of their names. Those that do not answer in time are left out.
async fn of_all<T, W>(
    gateway: &Arc<Gateway>,
    work: impl Fn(Arc<Gateway>, Arc<Upstream>) -> W,
) -> Vec<(Arc<Upstream>, T)>
where
    T: Send + 'static,
    W: Future<Output = Result<T, HouseError>> + Send + 'static,
{
    let mut asked = JoinSet::new();
    for (position, upstream) in gateway.upstreams.values().enumerate() {
        let (upstream, work) = (Arc::clone(upstream), work(Arc::clone(gateway), Arc::clone(upstream)));
        asked.spawn(async move {
            let done = upstream.in_time(work).await.ok()?;
            Some((position, upstream, done))
        });
    }
    let mut answered: Vec<_> = asked.join_all().await.into_iter().flatten().collect();
    answered.sort_unstable_by_key(|(position, ..)| *position);
    answered.into_iter().map(|(_, upstream, done)| (upstream, done)).collect()
}

/// What all servers together can do.
async fn capabilities(gateway: &Arc<Gateway>) -> String {
    let mut all = Members::default();
    let introduce = |_, upstream: Arc<Upstream>| async move { Ok(upstream.introduction().await?) };
    for (_, (_, said)) in of_all(gateway, introduce).await {
        let can = Members::read(&said).and_then(|said| said.get("capabilities").map(str::to_owned));
        let can = can.as_deref().and_then(Members::read).unwrap_or_default();
        for known in ["tools", "prompts", "resources", "logging", "completions"] {
            let Some(said) = can.get(known) else { continue };
            let tells_of_single_ones =
                || Members::read(said).is_some_and(|said| said.get("subscribe") == Some("true"));
            match known {
                "resources" if tells_of_single_ones() => {
                    all.set(known, r#"{"subscribe":true,"listChanged":true}"#)
                }
                _ if all.get(known).is_some() => {}
                "tools" | "prompts" | "resources" => all.set(known, r#"{"listChanged":true}"#),
                _ => all.set(known, "{}"),
            }
        }
    }
    all.write()
}

async fn initialize(visit: &Visit) -> Response<Body> {
    let result = format!(
        r#"{{"protocolVersion":{},"capabilities":{},"serverInfo":{{"name":"banksman","version":{}}}}}"#,
        quoted(visit.message.session_version()),
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
async fn list(visit: &Visit, key: &'static str, names: Names) -> Response<Body> {
    let method: Arc<str> = visit.message.method().unwrap_or_default().into();
    let gateway = &visit.gateway;
    let offers = of_all(gateway, |gateway, upstream| {
        let method = Arc::clone(&method);
        async move { offered(&gateway, &upstream, &method, key, names).await }
    });
    let mut items = Vec::new();
    for (upstream, offer) in offers.await {
        let listed = match key {
            "resources" => Some((Listed::Uris, "uri")),
            "resourceTemplates" => Some((Listed::Templates, "uriTemplate")),
            _ => None,
        };
        if let Some((kind, address)) = listed {
            let addresses = offer.iter().filter_map(|item| Members::read(item)?.text(address));
            gateway.owners.learn(&upstream.name, kind, addresses);
        }
        items.extend(offer);
    }
    if key == "tools" {
        items.push(words::WAIT_TOOL_DEFINITION.to_owned());
    }
    let lifetime = if visit.era == Era::Two { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
    done(visit, &format!(r#"{{{}:[{}]{lifetime}}}"#, quoted(key), items.join(",")))
}

/// What one server offers: so much of it as anybody would read.
async fn offered(
    gateway: &Gateway,
    upstream: &Upstream,
    method: &str,
    key: &str,
    names: Names,
) -> Result<Vec<String>, HouseError> {
    let mut items = Vec::new();
    let mut bytes = 0;
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor
            .as_ref()
            .map_or_else(|| "{}".to_owned(), |cursor| format!(r#"{{"cursor":{}}}"#, quoted(cursor)));
        let page = match upstream.ask(method, &params).await {
            Ok(page) => page,
            // One that offers nothing of the kind says so, and stands as well as any.
            Err(HouseError::Refused(_) | HouseError::Unreadable) => break,
            Err(error) => return Err(error),
        };
        if key == "tools" && gateway.catalogue.learn(&upstream.name, &page).is_err() {
            break;
        }
        let Some(members) = Members::read(&page) else { break };
        let most = MAX_ITEMS - items.len();
        let Some(listed) = members.get(key).and_then(|list| Elements::read(list, most)) else { break };
        for item in listed.first {
            // What is no object is nothing that could be called, read or got.
            if !item.get().starts_with('{') || (key == "tools" && is_reserved(item)) {
                continue;
            }
            let item = match names {
                Names::Labelled => labelled(&upstream.name, item.get()),
                Names::Theirs => Some(item.get().to_owned()),
            };
            bytes += item.as_ref().map_or(0, String::len);
            if bytes > MAX_LIST_BYTES {
                break;
            }
            items.extend(item);
        }
        cursor = members.text("nextCursor");
        if listed.more || bytes > MAX_LIST_BYTES {
            tracing::warn!(
                upstream = upstream.name,
                key,
                "a server lists more than anybody reads; the rest is left out"
            );
            break;
        }
        if cursor.is_none() {
            break;
        }
    }
    Ok(items)
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
    let renamed = with_params(&visit.message, |params| {
        params.set("name", quoted(&own));
        Some(())
    });
    let Some(renamed) = renamed else {
        return Err(Box::new(bad_request(&id, -32600, "the message cannot be read")));
    };
    visit.message = renamed;
    if visit.headers.contains_key("mcp-name") {
        visit.headers.insert("mcp-name", crate::upstream::header_text(&own));
    }
    Ok(upstream)
}

/// The message with other parameters.
fn with_params(message: &Message, change: impl FnOnce(&mut Members<'_>) -> Option<()>) -> Option<Message> {
    let mut members = Members::read_bytes(&message.bytes)?;
    let params = members.get("params")?.to_owned();
    let mut params = Members::read(&params)?;
    change(&mut params)?;
    let params = params.write();
    members.set("params", params);
    Message::read(members.write().into()).ok()
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

/// What is asked about a resource goes to the server that has listed it, and to no other.
async fn resource(visit: &Visit) -> Response<Body> {
    if let Some(upstream) = visit.message.text_param("uri").and_then(|uri| owner(&visit.gateway, uri)) {
        return relay::request(visit, &upstream).await;
    }
    match visit.message.method() {
        Some("resources/read") => whoever_can(visit).await,
        // In the client's own session, where it hears what becomes of it.
        Some(_) | None => the_first_who_can(visit, In::TheClientsSession).await,
    }
}

fn owner(gateway: &Gateway, address: &str) -> Option<Arc<Upstream>> {
    gateway.upstreams.get(&*gateway.owners.of(address)?).map(Arc::clone)
}

/// What could be written on goes to the server that has the prompt, or the resource.
async fn completion(mut visit: Box<Visit>) -> Response<Body> {
    let Some(Json::Object(about)) = visit.message.param("ref") else { return whoever_can(&visit).await };
    let text = |key: &str| about.get(key).and_then(Json::as_str);
    if let Some(uri) = text("uri") {
        return match owner(&visit.gateway, uri) {
            Some(upstream) => relay::request(&visit, &upstream).await,
            None => whoever_can(&visit).await,
        };
    }
    let found = text("name").and_then(labels::parts).and_then(|(server, own)| {
        let upstream = Arc::clone(visit.gateway.upstreams.get(server)?);
        let renamed = with_params(&visit.message, |params| {
            let about = params.get("ref")?.to_owned();
            let mut about = Members::read(&about)?;
            about.set("name", quoted(own));
            let about = about.write();
            params.set("ref", about);
            Some(())
        })?;
        Some((upstream, renamed))
    });
    let Some((upstream, renamed)) = found else {
        return bad_request(&visit.message.id(), -32602, "there is no server with such a name here");
    };
    visit.message = renamed;
    relay::request(&visit, &upstream).await
}

/// Asks one server after the other until one knows: whose a resource is, only they can say.
async fn whoever_can(visit: &Visit) -> Response<Body> {
    the_first_who_can(visit, In::OurSession).await
}

/// Where a server is asked.
#[derive(Clone, Copy)]
enum In {
    OurSession,
    TheClientsSession,
}

async fn the_first_who_can(visit: &Visit, place: In) -> Response<Body> {
    let mut last = None;
    for upstream in visit.gateway.upstreams.values() {
        let asked = async {
            match place {
                In::OurSession => eras::whole(visit, upstream).await,
                In::TheClientsSession => relay::whole(visit, upstream).await,
            }
        };
        let Some(Ok(answer)) = upstream.asked_around(asked).await else { continue };
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

/// Who was asked to tell of the resource may not be who would be asked now.
async fn unsubscribe(visit: &Visit) -> Response<Body> {
    if let (Some(session), Some(uri)) = (&visit.session, visit.message.text_param("uri")) {
        for upstream in visit.gateway.upstreams.values() {
            visit.gateway.changes.unwish(upstream, session, uri);
        }
        let mut told = JoinSet::new();
        for lane in visit.gateway.sessions.open_lanes(&session.key) {
            let route = Route { id: visit.message.id(), progress: None };
            let request = visit.bytes();
            told.spawn(async move { drop(timeout(TOLD_WITHIN, lane.answer(request, route)).await) });
        }
        told.join_all().await;
    }
    done(visit, "{}")
}

/// Tells every server that this session has met.
async fn everyone(visit: &Visit) {
    let Some(session) = &visit.session else { return };
    if visit.message.method() == Some("notifications/initialized") {
        return;
    }
    let mut told = JoinSet::new();
    for lane in visit.gateway.sessions.open_lanes(&session.key) {
        let message = visit.bytes();
        // One that does not listen is not the others' loss.
        told.spawn(async move { drop(timeout(TOLD_WITHIN, lane.tell(message)).await) });
    }
    told.join_all().await;
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
