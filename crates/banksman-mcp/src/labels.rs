//! Names when several servers share one endpoint: of tools and prompts, and of what servers ask.

use crate::raw::{Members, quoted};

/// Stands between a server's name and a tool's. No server's name has it.
pub(crate) const BETWEEN: &str = "__";

/// Under which ids a client hears what a server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// The server's own.
    Theirs,
    /// Such that say whose they are: others ask the same client.
    Labelled,
}

impl Ids {
    /// Those at an endpoint that leads to several servers, or to one.
    pub(crate) fn at(shared: bool) -> Self {
        if shared { Self::Labelled } else { Self::Theirs }
    }

    /// The message as the client hears it, if it is not as the server said it.
    pub(crate) fn outward(self, server: &str, message: &[u8]) -> Option<String> {
        match self {
            Self::Theirs => None,
            Self::Labelled => outward(server, message),
        }
    }
}

/// A tool's name at an endpoint of several servers.
pub(crate) fn name(server: &str, tool: &str) -> String {
    format!("{server}{BETWEEN}{tool}")
}

/// The server and the tool that such a name means.
pub(crate) fn parts(name: &str) -> Option<(&str, &str)> {
    name.split_once(BETWEEN).filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// A request of a server, under an id that says whose it is; `None` if it is no request.
pub(crate) fn outward(server: &str, message: &[u8]) -> Option<String> {
    let mut members = Members::read_bytes(message)?;
    members.get("method")?;
    let id = quoted(&name(server, members.get("id")?));
    members.set("id", id);
    Some(members.write())
}

/// A client's answer to such a request: whose it is, and the answer under the server's own id.
pub(crate) fn inward(message: &[u8]) -> Option<(String, String)> {
    let mut members = Members::read_bytes(message)?;
    let labelled = members.text("id")?;
    let (server, id) = parts(&labelled)?;
    let (server, id) = (server.to_owned(), id.to_owned());
    // Only what we have labelled ourselves has JSON behind the label.
    serde_json::from_str::<serde::de::IgnoredAny>(&id).ok()?;
    members.set("id", id);
    Some((server, members.write()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_taken_apart_in_one_way_only() {
        assert_eq!(parts(&name("files", "read__all")), Some(("files", "read__all")));
        for other in ["read", "__read", "files__", ""] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn what_two_servers_ask_under_one_id_is_told_apart() {
        for id in ["0", "\"a\"", "9007199254740993"] {
            let asked = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
            let outside = outward("files", asked.as_bytes()).unwrap();
            let outside: serde_json::Value = serde_json::from_str(&outside).unwrap();
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, outside["id"]);
            let (server, inside) = inward(answer.as_bytes()).unwrap();
            assert_eq!(server, "files");
            assert_eq!(inside, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        }
        assert!(outward("files", br#"{"method":"notifications/message"}"#).is_none());
        assert!(inward(br#"{"id":"files__not json","result":{}}"#).is_none());
        assert!(inward(br#"{"id":7,"result":{}}"#).is_none());
    }
}
