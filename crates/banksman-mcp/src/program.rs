//! The program behind `banksman mcp`: what it says of its tools is remembered like that of any other server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use banksman_core::json::CanonicalJson;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::catalogue::{Catalogue, ListError, Lists};
use crate::definition::Tool;
use crate::message::{self, Era};
use crate::raw::{Members, quoted};
use crate::upstream::reply::Reply;
use crate::upstream::{Child, NO_CAPABILITIES, Route, with_meta};

/// What our own requests to the program are called. A client's own may not be, or it would get our answers.
pub(crate) const OURS: &str = "\"banksman-";

/// A program that does not list its tools for so long does not list them.
const LISTED_WITHIN: Duration = Duration::from_secs(30);

/// What people are told that a call is about, if its tool may be another one than they know.
const DOUBTED: &str = "mcp: the tool may not be what it was when it was first seen";

/// The program, while a client speaks to it.
pub(crate) struct Program {
    pub(crate) child: Arc<Child>,
    /// What its tools are remembered by.
    known_as: String,
    to_client: mpsc::Sender<String>,
    /// Whether its client speaks to it as era two wants it.
    speaks_two: AtomicBool,
    next_id: AtomicU64,
}

impl Program {
    pub(crate) fn new(child: Arc<Child>, known_as: &str, to_client: mpsc::Sender<String>) -> Self {
        Self {
            child,
            known_as: known_as.to_owned(),
            to_client,
            speaks_two: AtomicBool::new(false),
            next_id: AtomicU64::new(0),
        }
    }

    /// Its client has spoken like this; so do we.
    pub(crate) fn hears(&self, era: Era) {
        self.speaks_two.store(era == Era::Two, Ordering::Relaxed);
    }

    /// An id for a request of our own.
    pub(crate) fn own_id(&self) -> String {
        format!("{OURS}{}\"", self.next_id.fetch_add(1, Ordering::Relaxed))
    }
}

#[async_trait::async_trait]
impl Lists for Program {
    fn name(&self) -> &str {
        &self.known_as
    }

    async fn page(&self, params: &str) -> Result<String, String> {
        let id = self.own_id();
        let params = if self.speaks_two.load(Ordering::Relaxed) {
            with_meta(params, NO_CAPABILITIES)
        } else {
            params.to_owned()
        };
        let request = message::request(&id, "tools/list", &params);
        let route = Route { id: id.clone(), progress: None };
        let mut answers = self.child.ask(request.into(), route).await.map_err(|error| error.to_string())?;
        let listed = async {
            while let Some(answer) = answers.recv().await {
                if !is_answer(&answer) {
                    // What it says or asks meanwhile is for its client.
                    let _ = self.to_client.send(line(&answer)).await;
                    continue;
                }
                let reply = Reply::to(&answer, &id).ok_or("its answer cannot be read")?;
                return match (reply.result, reply.rpc_error()) {
                    (Some(result), None) => Ok(result.get().to_owned()),
                    (_, Some(error)) => Err(format!("it refuses: {}", error.message)),
                    (None, None) => Err("its answer cannot be read".to_owned()),
                };
            }
            Err("it ended without an answer".to_owned())
        };
        tokio::time::timeout(LISTED_WITHIN, listed)
            .await
            .unwrap_or_else(|_| Err("it does not answer".to_owned()))
    }
}

/// Whether a message is an answer, also if it is one that cannot be read for sure.
pub(crate) fn is_answer(message: &[u8]) -> bool {
    Members::read_bytes(message).is_none_or(|message| message.get("method").is_none())
}

pub(crate) fn line(message: &Bytes) -> String {
    String::from_utf8_lossy(message).replace(['\n', '\r'], " ")
}

/// What is to be said of a tool beside its name when a call of it is proposed.
pub(crate) struct Described {
    tool: Option<Arc<Tool>>,
    /// Why a person has to look at the call, whatever policy says.
    pub(crate) doubts: Vec<String>,
}

impl Described {
    /// Finds out about a tool. Who cannot say what it is cannot say either that it is what it was.
    pub(crate) async fn find(catalogue: &Arc<Catalogue>, program: &Arc<Program>, name: &str) -> Self {
        let tool = catalogue.tool(program, name).await;
        let doubts = match &tool {
            Some(tool) => tool.changes.clone(),
            None => catalogue.failure(&program.known_as).iter().map(ListError::to_string).collect(),
        };
        Self { tool, doubts }
    }

    /// The members of a proposal that say so. An agent's word can only make policy stricter: at this severity a person
    /// is asked in every mode.
    pub(crate) fn members(&self) -> String {
        let mut members = String::new();
        let annotations = self.tool.as_ref().and_then(|tool| tool.annotations);
        if let Some(text) = annotations.and_then(|annotations| serde_json::to_string(&annotations).ok()) {
            members.push_str(&format!(r#","annotations":{text}"#));
        }
        if !self.doubts.is_empty() {
            let doubts: Vec<String> = self.doubts.iter().map(|doubt| quoted(doubt)).collect();
            members.push_str(&format!(
                r#","predicted_severity":"S3","description":{},"evidence":[{}]"#,
                quoted(DOUBTED),
                doubts.join(",")
            ));
        }
        members
    }
}

/// The body of a proposal.
pub(crate) fn proposal(server: &str, tool: &str, args: &CanonicalJson, described: &Described) -> String {
    format!(
        r#"{{"tool":{},"server":{},"args":{}{}}}"#,
        quoted(tool),
        quoted(server),
        args.as_str(),
        described.members()
    )
}
