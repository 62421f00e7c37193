//! Reads URLs and hosts: what is talked to.

mod host;

use std::borrow::Cow;

use banksman_core::Span;
use banksman_core::json::{self, Json};
use serde::{Deserialize, Serialize};

use crate::fact::{Access, Direction, Fact, UrlUse, Word};
use crate::inspection::Inspection;
use crate::origin::Origin;
use crate::path;

/// Where a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// A cloud's metadata service, which hands out credentials.
    Metadata,
    /// The internet.
    Public,
    /// Not known before it runs.
    Unknown,
}

/// A URL or host, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) reach: Reach,
    /// Whether a password stands in the URL.
    pub(crate) password: bool,
    /// What is behind the host, as it is written.
    pub(crate) path: String,
}

/// What is behind the host as servers understand it: decoded, without detours and doubled slashes.
pub(crate) fn plain_path(path: &str) -> String {
    let end = path.find(['?', '#']).unwrap_or(path.len());
    // What is encoded twice is decoded once by a proxy, and again behind it.
    let decoded = decode_percent(&decode_percent(path.get(..end).unwrap_or_default()));
    let mut kept: Vec<&str> = Vec::new();
    for part in decoded.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(part),
        }
    }
    format!("/{}", kept.join("/")).to_lowercase()
}

impl Target {
    /// Takes a URL or a bare host apart, with the spelling tricks undone (octal, decimal, IPv6-mapped, userinfo).
    pub(crate) fn of(text: &str) -> Self {
        let text = cleaned(text);
        let (scheme, rest) = split_scheme(&text);
        if matches!(scheme.as_str(), "file" | "data" | "javascript" | "mailto" | "about" | "blob") {
            return Self {
                scheme,
                host: String::new(),
                reach: Reach::Loopback,
                password: false,
                path: rest.to_owned(),
            };
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        // Everything before the last `@` is not the host: `http://example.com@169.254.169.254/`.
        let (user, place) =
            authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
        let password =
            user.is_some_and(|user| user.split_once(':').is_some_and(|(_, word)| !word.is_empty()));
        let (host, reach) = host::locate(without_port(place));
        Self { scheme, host, reach, password, path: path.to_owned() }
    }

    /// How it is shown: without passwords, and without the query, which may hold tokens.
    fn shown(&self) -> String {
        let path = self.path.split(['?', '#']).next().unwrap_or_default();
        let scheme = if self.scheme.is_empty() { "" } else { "://" };
        format!("{}{scheme}{}{path}", self.scheme, self.host).replace(Word::HOLE, "?")
    }
}

/// Without what clients drop: white space at the ends, line breaks and tabs anywhere, backslashes for slashes.
fn cleaned(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.contains(['\t', '\n', '\r', '\\']) {
        let kept = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
        return Cow::Owned(kept.map(|c| if c == '\\' { '/' } else { c }).collect());
    }
    Cow::Borrowed(text)
}

/// The scheme in lower case, and what follows it and its slashes.
fn split_scheme(text: &str) -> (String, &str) {
    let bare = |rest: &'_ str| -> usize { text.len() - rest.trim_start_matches('/').len() };
    let Some((scheme, rest)) = text.split_once(':') else {
        return (String::new(), text.get(bare(text)..).unwrap_or_default());
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    // `localhost:8080` and `host:path` have no scheme; `http:/host` and `data:...` have one.
    let has_one = is_scheme
        && (rest.starts_with('/')
            || matches!(
                scheme.to_ascii_lowercase().as_str(),
                "http"
                    | "https"
                    | "ws"
                    | "wss"
                    | "ftp"
                    | "file"
                    | "data"
                    | "javascript"
                    | "mailto"
                    | "about"
                    | "blob"
            ))
        && !(rest.starts_with('/') && !rest.starts_with("//") && scheme.contains('.'));
    if !has_one {
        return (String::new(), text.get(bare(text)..).unwrap_or_default());
    }
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" {
        return (scheme, rest);
    }
    let start = bare(rest);
    (scheme, text.get(start..).unwrap_or_default())
}

/// The host of `host:port`, `[::1]:80`, `host:path`.
fn without_port(place: &str) -> &str {
    if place.starts_with('[') {
        return place.find(']').map_or(place, |end| place.get(..=end).unwrap_or(place));
    }
    match place.split_once(':') {
        // More than one colon: an address without brackets.
        Some((_, rest)) if rest.contains(':') => place,
        Some((host, _)) => host,
        None => place,
    }
}

/// Undoes `%2e`; what does not decode to text stays as it is.
pub(crate) fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.first_chunk::<2>().filter(|_| *first == b'%').and_then(|[high, low]| {
            let (high, low) = (char::from(*high).to_digit(16)?, char::from(*low).to_digit(16)?);
            u8::try_from(high * 16 + low).ok()
        });
        bytes.push(digits.unwrap_or(*first));
        rest = if digits.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// States what an action of kind `http` would do, given as `METHOD URL`, as JSON with `method`, `url` and `body`, or
/// just as a URL.
pub(crate) fn inspect_text(inspection: &mut Inspection<'_>, text: &str) {
    let whole = Origin::whole(text).span(0..text.len());
    if text.trim_start().starts_with('{') {
        match json::parse(text.as_bytes()) {
            Ok(request) if inspect_request(inspection, &request, whole) => {}
            Ok(_) | Err(_) => inspection.signal("unreadable", whole),
        }
        return;
    }
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    let (method, url) = match trimmed.split_once(char::is_whitespace) {
        Some((method, url)) if method.bytes().all(|b| b.is_ascii_alphabetic()) => {
            (Some(method), url.trim_start())
        }
        _ => (None, trimmed),
    };
    // What comes behind the URL is the protocol version, or a body.
    let (url, more) = url.split_once(char::is_whitespace).unwrap_or((url, ""));
    if url.is_empty() {
        inspection.signal("unreadable", whole);
        return;
    }
    let at = start + trimmed.find(url).unwrap_or(0);
    let body = !more.trim().is_empty() && !more.trim().starts_with("HTTP/");
    state(inspection, method, body, Word::known(url, Origin::whole(text).span(at..at + url.len())));
}

/// States what a request would do. `false`: there is no URL in it.
pub(crate) fn inspect_request(inspection: &mut Inspection<'_>, request: &Json, at: Span) -> bool {
    let named = |names: &[&str]| names.iter().find_map(|name| request.get(name));
    let Some(url) = named(&["url", "uri", "endpoint", "href", "address"]).and_then(Json::as_str) else {
        return false;
    };
    let method = named(&["method", "verb"]).and_then(Json::as_str);
    let body = named(&["body", "data", "json", "form", "files", "content", "payload"])
        .is_some_and(|body| *body != Json::Null);
    state(inspection, method, body, Word::known(url, at));
    true
}

/// States that a URL is asked for something.
pub(crate) fn state(inspection: &mut Inspection<'_>, method: Option<&str>, body: bool, url: Word<'_>) {
    let method = method.map(str::to_ascii_uppercase);
    let direction = match method.as_deref() {
        None | Some("GET" | "HEAD" | "OPTIONS" | "TRACE") if !body => Direction::Fetch,
        Some("CONNECT") => Direction::Connect,
        None | Some(_) => Direction::Send,
    };
    let target = Target::of(&url.text);
    let span = url.span;
    if target.scheme == "file" {
        path::state(inspection, Access::Read, url.clone());
    } else {
        inspection.touch("url", &target.shown());
    }
    inspection.state(&Fact::Url(UrlUse { direction, method: method.map(Cow::Owned), url }, span), span);
}

#[cfg(test)]
mod tests {
    use super::Reach::*;
    use super::{Target, plain_path};

    #[test]
    fn hosts_are_found_behind_every_spelling() {
        for (text, scheme, host, reach) in [
            ("https://example.com/x?y#z", "https", "example.com", Public),
            ("HTTPS://EXAMPLE.COM./", "https", "example.com", Public),
            ("http:/example.com", "http", "example.com", Public),
            ("http:\\\\example.com\\x", "http", "example.com", Public),
            ("//example.com/x", "", "example.com", Public),
            ("example.com:8080/x", "", "example.com", Public),
            ("user@example.com:path/x", "", "example.com", Public),
            ("ssh://git@example.com/x", "ssh", "example.com", Public),
            ("http://example.com@169.254.169.254/latest", "http", "169.254.169.254", Metadata),
            ("http://169.254.169.254#@example.com", "http", "169.254.169.254", Metadata),
            ("http://0xa9fea9fe/", "http", "169.254.169.254", Metadata),
            ("http://2852039166/", "http", "169.254.169.254", Metadata),
            ("http://0251.0376.0251.0376", "http", "169.254.169.254", Metadata),
            ("http://[::ffff:169.254.169.254]/", "http", "169.254.169.254", Metadata),
            ("http://[::ffff:a9fe:a9fe]/", "http", "169.254.169.254", Metadata),
            ("http://[fd00:ec2::254]/", "http", "fd00:ec2::254", Metadata),
            ("http://metadata.google.internal/x", "http", "metadata.google.internal", Metadata),
            ("http://100.100.100.200", "http", "100.100.100.200", Metadata),
            ("http://169.254.169.254.nip.io", "http", "169.254.169.254.nip.io", Metadata),
            ("http://127.1", "http", "127.0.0.1", Loopback),
            ("http://0x7f.1", "http", "127.0.0.1", Loopback),
            ("2130706433", "", "127.0.0.1", Loopback),
            ("localhost:3000", "", "localhost", Loopback),
            ("http://app.localhost", "http", "app.localhost", Loopback),
            ("http://[::1]:80", "http", "::1", Loopback),
            ("::1", "", "::1", Loopback),
            ("http://0/", "http", "0.0.0.0", Loopback),
            ("http://%31%32%37.0.0.1/", "http", "127.0.0.1", Loopback),
            ("http://１２７.0.0.1/", "http", "127.0.0.1", Loopback),
            ("http://10.1.2.3", "http", "10.1.2.3", Private),
            ("http://172.31.0.1", "http", "172.31.0.1", Private),
            ("http://172.32.0.1", "http", "172.32.0.1", Public),
            ("http://100.64.0.1", "http", "100.64.0.1", Private),
            ("http://[fe80::1%25eth0]/", "http", "fe80::1", Private),
            ("http://10-0-0-1.sslip.io", "http", "10-0-0-1.sslip.io", Private),
            ("http://db", "http", "db", Private),
            ("printer.local", "", "printer.local", Private),
            ("http://8.8.8.8", "http", "8.8.8.8", Public),
            ("http://\0/x", "http", "\0", Unknown),
            ("\0", "", "\0", Unknown),
            ("https://\0.s3.amazonaws.com/x", "https", "\0.s3.amazonaws.com", Public),
            ("https://api.\0/x", "https", "api.\0", Unknown),
            ("file:///etc/passwd", "file", "", Loopback),
            ("1.2.3.example.com", "", "1.2.3.example.com", Public),
            ("https://пример.рф/", "https", "xn--e1afmkfd.xn--p1ai", Public),
            ("", "", "", Unknown),
        ] {
            let target = Target::of(text);
            assert_eq!((&*target.scheme, &*target.host, target.reach), (scheme, host, reach), "{text:?}");
        }
    }

    #[test]
    fn paths_lose_their_detours_and_disguises() {
        for path in [
            "/v1/actions/a/decision",
            "/v1//actions/a/decision/",
            "/v1/actions/b/../a/./decision?x=1",
            "/v1/actions/a/%64ecision",
            "/v1/actions/a/%2564ecision#x",
            "/v1%2factions/a/Decision",
            "/../v1/actions/a/decision",
        ] {
            assert_eq!(plain_path(path), "/v1/actions/a/decision", "{path}");
        }
    }

    #[test]
    fn passwords_in_urls_are_seen_and_not_shown() {
        let target = Target::of("https://me:secret@example.com/x?token=1");
        assert!(target.password);
        assert_eq!(target.shown(), "https://example.com/x");
        assert!(!Target::of("https://me@example.com/").password);
        assert!(!Target::of("https://example.com/@a:b").password);
    }
}
