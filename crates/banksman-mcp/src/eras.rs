//! Between the eras: clients of one, servers of the other. Our own session with the server stands in between.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};

use crate::body::{self, Body};
use crate::message::{self, ERA_TWO, Era, META_CAPABILITIES, META_CLIENT, META_VERSION};
use crate::raw::{Members, quoted};
use crate::relay::{new_session, sealed, unreachable};
use crate::upstream::http::SESSION;
use crate::upstream::reply::{Final, Reply};
use crate::upstream::{Behalf, NO_CAPABILITIES, SendError, Upstream};
use crate::visit::{GONE_IN_ERA_TWO, Visit};
use crate::{changes, headers, words};

/// For how long an answer is of use to a client.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Lists whose results say in era two for how long they hold. Ours hold for no time: we do not hear of every change.
const LISTS: &[&str] = &[
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "resources/read",
    "server/discover",
];

/// Answers `initialize` for a server that knows no sessions.
pub(crate) async fn initialize(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    let id = visit.message.id();
    let said = match upstream.introduction().await {
        Ok((_, said)) => said,
        Err(error) => return unreachable(&id, upstream, &error),
    };
    let said = Members::read(&said).unwrap_or_default();
    let capabilities = said.get("capabilities").unwrap_or("{}");
    let result = format!(
        r#"{{"protocolVersion":{},"capabilities":{capabilities},"serverInfo":{}{}}}"#,
        quoted(visit.message.session_version()),
        server_info(&said, upstream),
        instructions(&said)
    );
    let mut response = body::json(StatusCode::OK, message::result(&id, &result));
    if let Some(handle) = new_session(visit).and_then(|session| sealed(visit, &session)) {
        response.headers_mut().insert(SESSION, handle);
    }
    response
}

fn server_info(said: &Members<'_>, upstream: &Upstream) -> String {
    let in_meta = || {
        let meta = Members::read(said.get("_meta")?)?;
        meta.get("io.modelcontextprotocol/serverInfo").map(str::to_owned)
    };
    said.get("serverInfo")
        .map(str::to_owned)
        .or_else(in_meta)
        .unwrap_or_else(|| format!(r#"{{"name":{},"version":"0"}}"#, quoted(&upstream.name)))
}

/// What a server wants its clients to know, as the member that says so.
fn instructions(said: &Members<'_>) -> String {
    said.get("instructions").map(|text| format!(r#","instructions":{text}"#)).unwrap_or_default()
}

/// Answers a request by asking on our own account.
pub(crate) async fn request(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    match visit.message.method() {
        Some("subscriptions/listen") if visit.era == Era::Two => {
            return changes::subscribe(visit, vec![Arc::clone(upstream)]);
        }
        Some(method) if visit.era == Era::Two && GONE_IN_ERA_TWO.contains(&method) => {
            return headers::no_such_method(&visit.message.id());
        }
        Some(_) | None => {}
    }
    match whole(visit, upstream).await {
        Ok(answer) => body::json(answer.status, answer.message),
        Err(instead) => instead,
    }
}

/// The same, with the answer to look into.
pub(crate) async fn whole(visit: &Visit, upstream: &Arc<Upstream>) -> Result<Final, Response<Body>> {
    let id = visit.message.id();
    let method = visit.message.method().unwrap_or_default();
    let answered = match (visit.era, method) {
        (Era::Two, "server/discover") => introduce(upstream).await.map(Ok),
        (Era::One, "ping") => Ok(Ok("{}".to_owned())),
        (Era::One, "resources/subscribe" | "resources/unsubscribe") => {
            Ok(subscribe(visit, upstream, method).await)
        }
        _ => ask(visit, upstream, method).await,
    };
    let text = match answered {
        Ok(Ok(result)) => {
            let result = words::for_era(result, visit.era);
            message::result(&id, &with_lifetime(result, method, visit.era))
        }
        Ok(Err(error)) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        Err(error) => return Err(unreachable(&id, upstream, &error)),
    };
    let status = match visit.era {
        Era::One => StatusCode::OK,
        Era::Two => headers::status_of(text.as_bytes()),
    };
    Ok(Final::alone(status, HeaderMap::new(), text))
}

/// What a server without sessions says of resources, we tell a session that wants to hear it.
async fn subscribe(visit: &Visit, upstream: &Arc<Upstream>, method: &str) -> Result<String, String> {
    let refused = |problem: &str| format!(r#"{{"code":-32602,"message":{}}}"#, quoted(problem));
    let Some(session) = &visit.session else {
        return Err(refused("only a session can be told when a resource changes"));
    };
    let Some(uri) = visit.message.text_param("uri") else { return Err(refused("there is no `uri`")) };
    let changes = &visit.gateway.changes;
    if method == "resources/subscribe" {
        changes.wish(upstream, session, uri).await.map_err(refused)?;
        if visit.gateway.sessions.has_ended(&session.key) {
            changes.forget(&session.key);
            return Err(refused("the session has ended"));
        }
    } else {
        changes.unwish(upstream, session, uri);
    }
    Ok("{}".to_owned())
}

/// The result, or the error, both as JSON.
async fn ask(
    visit: &Visit,
    upstream: &Arc<Upstream>,
    method: &str,
) -> Result<Result<String, String>, SendError> {
    let bytes = visit.bytes();
    let params = Members::read_bytes(&bytes).and_then(|all| all.get("params").map(str::to_owned));
    let params = without_meta(&params.unwrap_or_else(|| "{}".to_owned()));
    let (agent, headers) = (Some(visit.caller.name.as_str()), &HeaderMap::new());
    let capabilities = match visit.era {
        Era::One => NO_CAPABILITIES.to_owned(),
        Era::Two => visit.client.capabilities(),
    };
    let behalf =
        Behalf { agent, headers, patience: PATIENCE, capabilities: &capabilities, hears_questions: false };
    let answer = upstream.ask_as(behalf, method, &params).await?;
    match Reply::read(&answer.message) {
        Some(Reply { result: Some(result), .. }) => Ok(Ok(result.get().to_owned())),
        Some(Reply { error: Some(error), .. }) => Ok(Err(error.get().to_owned())),
        Some(_) | None => Err(SendError::Lost("its answer cannot be read".to_owned())),
    }
}

/// What a server of era one says of itself, as era two wants to hear it.
async fn introduce(upstream: &Arc<Upstream>) -> Result<String, SendError> {
    let (era, said) = upstream.introduction().await?;
    if era == Era::Two {
        return Ok(said.to_string());
    }
    let said = Members::read(&said).unwrap_or_default();
    let capabilities = said.get("capabilities").unwrap_or("{}");
    let info = server_info(&said, upstream);
    let instructions = instructions(&said);
    Ok(format!(
        r#"{{"supportedVersions":[{}],"capabilities":{capabilities}{instructions},"_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}}}"#,
        quoted(ERA_TWO)
    ))
}

/// What a client says of itself in era two is not for a server of era one.
fn without_meta(params: &str) -> String {
    let Some(mut members) = Members::read(params) else { return "{}".to_owned() };
    let Some(meta) = members.get("_meta").map(str::to_owned) else { return params.to_owned() };
    let mut meta = Members::read(&meta).unwrap_or_default();
    for ours in [META_VERSION, META_CLIENT, META_CAPABILITIES, "progressToken"] {
        meta.remove(ours);
    }
    let meta = meta.write();
    members.set("_meta", meta);
    members.write()
}

fn with_lifetime(result: String, method: &str, era: Era) -> String {
    if era == Era::One || !LISTS.contains(&method) {
        return result;
    }
    match Members::read(&result) {
        Some(mut members) if members.get("ttlMs").is_none() => {
            members.set("ttlMs", "0");
            members.set("cacheScope", r#""private""#);
            members.write()
        }
        Some(_) | None => result,
    }
}
