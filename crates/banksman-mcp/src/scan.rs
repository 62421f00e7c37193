//! Looking at a server's tools once, for a policy to start from.

use banksman_core::Annotations;
use banksman_core::json::{self, Json};

use crate::config::UpstreamConfig;
use crate::raw::{Members, quoted};
use crate::upstream::Upstream;

/// Pages of a list that never ends are left unread.
const MAX_PAGES: usize = 100;

/// A tool, as its server describes it.
#[derive(Debug, Clone)]
pub struct ScannedTool {
    /// Its name.
    pub name: String,
    /// What it is for, in the server's words.
    pub description: Option<String>,
    /// The server's hints.
    pub annotations: Annotations,
}

/// Starts a server's program and asks what tools it has. No tool is called.
///
/// # Errors
/// If it cannot be started, or does not answer.
pub async fn scan(command: Vec<String>) -> Result<Vec<ScannedTool>, String> {
    let upstream = Upstream::new("scanned", &UpstreamConfig::command(command));
    let mut tools = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor
            .as_ref()
            .map_or_else(|| "{}".to_owned(), |cursor| format!(r#"{{"cursor":{}}}"#, quoted(cursor)));
        let page = upstream.ask("tools/list", &params).await.map_err(|error| error.to_string())?;
        let read = json::parse(page.as_bytes()).map_err(|error| format!("its list of tools: {error}"))?;
        if let Some(Json::Array(listed)) = read.get("tools") {
            tools.extend(listed.iter().filter_map(described));
        }
        cursor = Members::read(&page).and_then(|page| page.text("nextCursor"));
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

fn described(tool: &Json) -> Option<ScannedTool> {
    let hint = |key: &str| match tool.get("annotations")?.get(key)? {
        Json::Bool(flag) => Some(*flag),
        _ => None,
    };
    let text = |key: &str| tool.get(key).and_then(Json::as_str).map(str::to_owned);
    Some(ScannedTool {
        name: text("name")?,
        description: text("description").or_else(|| text("title")),
        annotations: Annotations {
            read_only_hint: hint("readOnlyHint"),
            destructive_hint: hint("destructiveHint"),
            idempotent_hint: hint("idempotentHint"),
            open_world_hint: hint("openWorldHint"),
        },
    })
}
