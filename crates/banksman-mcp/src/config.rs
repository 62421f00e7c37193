//! Which servers stand behind the gateway, and what is known of clients: one strict YAML file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use banksman_config::{ConfigError, Source};
use banksman_core::fits_wildcard;
use banksman_secrets::{Keyring, SecretText};
use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::span::Span;
use crate::upstream::Inherits;

/// The names that upstreams may have: they become part of paths and of tools' names.
const NAME_CHARS: usize = 32;

/// What the operator wrote.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: Spanned<u32>,
    upstreams: BTreeMap<String, Spanned<UpstreamFile>>,
    #[serde(default)]
    clients: Vec<ClientFile>,
    #[serde(default)]
    review_url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpstreamFile {
    #[serde(default)]
    command: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, SecretText>,
    #[serde(default)]
    directory: Option<PathBuf>,
    #[serde(default)]
    url: Option<Spanned<String>>,
    #[serde(default)]
    headers: BTreeMap<String, SecretText>,
    #[serde(default)]
    bearer: Option<SecretText>,
    #[serde(default)]
    idempotent: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientFile {
    name: String,
    window: Span,
    #[serde(default)]
    with_progress: Option<Span>,
}

/// Which servers stand behind the gateway, and how long clients wait.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub(crate) upstreams: BTreeMap<String, UpstreamConfig>,
    pub(crate) clients: ClientTable,
    /// Where people decide, as agents are told.
    pub(crate) review_url: Option<String>,
}

/// One server behind the gateway.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamConfig {
    pub(crate) target: Target,
    /// Tools that may be called again when nobody knows whether the first call arrived.
    pub(crate) idempotent: Vec<String>,
}

/// How a server is reached.
#[derive(Clone)]
pub(crate) enum Target {
    /// A program that speaks over its standard input and output.
    Command { words: Vec<String>, env: Vec<(String, String)>, inherits: Inherits, directory: Option<PathBuf> },
    /// Streamable HTTP.
    Http { uri: Uri, headers: Vec<(HeaderName, HeaderValue)> },
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command { words, .. } => f.debug_tuple("Command").field(words).finish(),
            Self::Http { uri, .. } => f.debug_tuple("Http").field(uri).finish(),
        }
    }
}

impl UpstreamConfig {
    /// A program, run as it is, by whoever runs us.
    pub(crate) fn command(words: Vec<String>) -> Self {
        let inherits = Inherits::AllButOurs;
        let target = Target::Command { words, env: Vec::new(), inherits, directory: None };
        Self { target, idempotent: Vec::new() }
    }

    pub(crate) fn is_idempotent(&self, tool: &str) -> bool {
        self.idempotent.iter().any(|pattern| fits_wildcard(pattern, tool))
    }
}

/// How long clients wait for an answer, by their names.
#[derive(Debug, Clone)]
pub(crate) struct ClientTable(Vec<Client>);

#[derive(Debug, Clone)]
struct Client {
    name: String,
    window: Duration,
    /// The same, if the client asked for progress: some wait for as long as they hear something.
    with_progress: Duration,
}

/// What is known of clients from their own code. The operator's lines come before these.
const KNOWN: &[(&str, u64, u64)] = &[
    ("claude-code*", 45, 3 * 3600),
    ("claude-ai*", 45, 45),
    ("Visual Studio Code*", 3 * 3600, 3 * 3600),
    ("codex*", 270, 270),
    // The Python client has no limit of its own, but ends after five minutes of silence.
    ("mcp", 270, 270),
];

const USUAL_WINDOW: Duration = Duration::from_secs(45);

impl Default for ClientTable {
    fn default() -> Self {
        let known = KNOWN.iter().map(|(name, window, with_progress)| Client {
            name: (*name).to_owned(),
            window: Duration::from_secs(*window),
            with_progress: Duration::from_secs(*with_progress),
        });
        Self(known.collect())
    }
}

impl ClientTable {
    /// How long a call of this client may stay open.
    pub(crate) fn window(&self, client: Option<&str>, progress: bool) -> Duration {
        let name = client.unwrap_or_default();
        let known = self.0.iter().find(|known| fits_wildcard(&known.name, name));
        known.map_or(USUAL_WINDOW, |known| if progress { known.with_progress } else { known.window })
    }
}

impl Config {
    /// Reads a configuration, and the secrets that it names.
    ///
    /// # Errors
    /// If it is not one, with the place.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let source = Source::new(name, text);
        let file: File = source.read_as()?;
        if file.version.value != 1 {
            return Err(source.error(file.version.referenced, "this program knows version 1"));
        }
        let keys = Keyring::beside(name);
        let mut upstreams = BTreeMap::new();
        for (name, written) in file.upstreams {
            let place = written.referenced;
            if !is_name(&name) {
                let problem =
                    "an upstream's name has 1 to 32 of a-z, 0-9 and -, without -- and not at its ends";
                return Err(source.error(place, format!("{name:?}: {problem}")));
            }
            let upstream = written
                .value
                .check(&keys)
                .map_err(|(at, problem)| source.error(at.unwrap_or(place), problem))?;
            upstreams.insert(name, upstream);
        }
        let mut clients: Vec<Client> = file.clients.into_iter().map(Client::from).collect();
        clients.extend(ClientTable::default().0);
        Ok(Self { upstreams, clients: ClientTable(clients), review_url: file.review_url })
    }

    /// A gateway to one program.
    #[must_use]
    pub fn for_command(name: &str, words: Vec<String>) -> Self {
        let upstreams = BTreeMap::from([(name.to_owned(), UpstreamConfig::command(words))]);
        Self { upstreams, ..Self::default() }
    }

    /// Where people decide, if the operator has not said.
    #[must_use]
    pub fn reviewed_at(mut self, url: &str) -> Self {
        self.review_url.get_or_insert_with(|| url.to_owned());
        self
    }
}

impl From<ClientFile> for Client {
    fn from(written: ClientFile) -> Self {
        let with_progress = written.with_progress.unwrap_or(written.window);
        Self { name: written.name, window: written.window.0, with_progress: with_progress.0 }
    }
}

/// Without `--` and without `_`: `name__tool` can be taken apart in one way only.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= NAME_CHARS
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

type Misplaced = (Option<serde_saphyr::Location>, String);

impl UpstreamFile {
    fn check(self, keys: &Keyring<'_>) -> Result<UpstreamConfig, Misplaced> {
        let here = |problem: &str| (None, problem.to_owned());
        let target = match (self.command, self.url) {
            (Some(words), None) => {
                if words.is_empty() {
                    return Err(here("`command` is empty"));
                }
                if !self.headers.is_empty() || self.bearer.is_some() {
                    return Err(here("`headers` and `bearer` are for servers with a `url`"));
                }
                let mut env = Vec::with_capacity(self.env.len());
                for (name, value) in self.env {
                    let value =
                        keys.read_text(&value).map_err(|problem| (None, format!("env {name}: {problem}")))?;
                    env.push((name, value));
                }
                // It stands beside others: what was given to us is not meant for all of them.
                Target::Command { words, env, inherits: Inherits::Necessary, directory: self.directory }
            }
            (None, Some(url)) => {
                if !self.env.is_empty() || self.directory.is_some() {
                    return Err(here("`env` and `directory` are for servers with a `command`"));
                }
                let uri: Uri = url
                    .value
                    .parse()
                    .ok()
                    .filter(|uri: &Uri| {
                        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
                    })
                    .ok_or((Some(url.referenced), "expected an http or https URL".to_owned()))?;
                Target::Http { uri, headers: credentials(self.headers, self.bearer.as_ref(), keys)? }
            }
            (Some(_), Some(_)) => return Err(here("an upstream has a `command` or a `url`, not both")),
            (None, None) => return Err(here("an upstream needs a `command` or a `url`")),
        };
        Ok(UpstreamConfig { target, idempotent: self.idempotent })
    }
}

/// What is sent along to the server and never to anyone else.
fn credentials(
    headers: BTreeMap<String, SecretText>,
    bearer: Option<&SecretText>,
    keys: &Keyring<'_>,
) -> Result<Vec<(HeaderName, HeaderValue)>, Misplaced> {
    let mut checked = Vec::with_capacity(headers.len() + 1);
    let mut add = |name: &str, value: String| {
        let wrong = |problem: &str| (None, format!("header {name}: {problem}"));
        let key: HeaderName = name.parse().map_err(|_| wrong("not a name of a header"))?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong("not a value of a header"))?;
        value.set_sensitive(true);
        checked.push((key, value));
        Ok::<_, Misplaced>(())
    };
    for (name, value) in headers {
        let value = keys.read_text(&value).map_err(|problem| (None, format!("header {name}: {problem}")))?;
        add(&name, value)?;
    }
    if let Some(bearer) = bearer {
        let token = keys.read_text(bearer).map_err(|problem| (None, format!("bearer: {problem}")))?;
        add("authorization", format!("Bearer {token}"))?;
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, expected) in [
            ("version: 2\nupstreams: {}\n", "mcp.yaml:1:10: this program knows version 1"),
            (
                "version: 1\nupstreams: {a__b: {command: [x]}}\n",
                "mcp.yaml:2:19: \"a__b\": an upstream's name has",
            ),
            ("version: 1\nupstreams:\n  a: {}\n", "mcp.yaml:3:6: an upstream needs"),
            ("version: 1\nupstreams:\n  a: {url: 'ftp://x'}\n", "mcp.yaml:3:12: expected an http or https"),
            (
                "version: 1\nupstreams:\n  a: {command: [x], url: 'http://x'}\n",
                "mcp.yaml:3:6: an upstream has a",
            ),
            (
                "version: 1\nupstreams:\n  a: {command: [x], bearer: y}\n",
                "mcp.yaml:3:6: `headers` and `bearer`",
            ),
            ("version: 1\nupstreams:\n  a: {cmd: [x]}\n", "mcp.yaml:3:"),
            (
                "version: 1\nupstreams:\n  a: {url: 'http://x', bearer: {env: NO_SUCH_VARIABLE_HERE}}\n",
                "mcp.yaml:3:6: bearer: the environment variable",
            ),
        ] {
            let error = Config::parse("mcp.yaml", text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn secrets_are_found_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "hidden\n").unwrap();
        let text = "version: 1\nupstreams:\n  a: {url: 'http://x', bearer: {file: token}}\n";
        let config = Config::parse(&folder.path().join("mcp.yaml").display().to_string(), text).unwrap();
        let Target::Http { headers, .. } = &config.upstreams["a"].target else { panic!("{config:?}") };
        assert_eq!(headers[0].1, "Bearer hidden");
        let error = Config::parse("elsewhere/mcp.yaml", text).unwrap_err().to_string();
        assert!(error.contains("cannot read elsewhere/token"), "{error}");
    }

    #[test]
    fn secrets_are_not_printed() {
        let text = "version: 1\nupstreams:\n  a: {url: 'http://x', bearer: hidden-token}\n  b: {command: [y], env: {K: hidden-key}}\n";
        let config = Config::parse("mcp.yaml", text).unwrap();
        assert!(!format!("{config:?}").contains("hidden"), "{config:?}");
    }

    #[test]
    fn windows_are_found_by_name_and_the_operator_comes_first() {
        let text = "version: 1\nupstreams: {}\nclients: [{name: 'codex*', window: 10s}]\n";
        let table = Config::parse("mcp.yaml", text).unwrap().clients;
        assert_eq!(table.window(Some("codex-mcp-client"), true), Duration::from_secs(10));
        assert_eq!(table.window(Some("claude-code"), false), Duration::from_secs(45));
        assert_eq!(table.window(Some("claude-code"), true), Duration::from_secs(3 * 3600));
        assert_eq!(table.window(None, true), USUAL_WINDOW);
    }
}
