//! Where a request comes from, and where it may be sent.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Once;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{HOST, USER_AGENT};
use axum::http::request::Parts;
use banksman_identity::Site;

use super::limits::TooOften;
use super::session;
use crate::App;
use crate::problem::{Code, ProblemError};
use crate::server::Peer;

/// A browser at the door.
pub(crate) struct Visit {
    /// What it says that it is.
    pub(crate) browser: String,
    /// The mark that it keeps, if someone signed in with it before.
    pub(super) mark: Option<String>,
    from: IpAddr,
    host: String,
}

impl FromRequestParts<App> for Visit {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let header =
            |name| parts.headers.get(&name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let peer = parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let from = if app.behind_proxy { forwarded(&parts.headers).unwrap_or(peer) } else { peer };
        let (browser, host) = (named(header(USER_AGENT)), header(HOST).to_owned());
        Ok(Self { browser, mark: session::mark(parts, app), from, host })
    }
}

/// Where a request comes from by the word of a proxy of ours.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    static TOLD: Once = Once::new();
    // The last entry is the proxy's own word; what is before it anyone can write.
    let last = headers.get_all("x-forwarded-for").iter().next_back();
    let from = last.and_then(|value| address(value.to_str().ok()?.rsplit(',').next()?.trim()));
    if from.is_none() {
        TOLD.call_once(|| {
            tracing::warn!(
                "X-Forwarded-For of a request is missing or names no address last, although --behind-proxy says that a \
                 proxy writes it: attempts to sign in are then counted for all of its visitors together"
            );
        });
    }
    from
}

/// An address as proxies write it: alone, with a port, or in brackets.
fn address(entry: &str) -> Option<IpAddr> {
    let with_port = || entry.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let in_brackets = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    entry.parse().ok().or_else(with_port).or_else(in_brackets)
}

impl Visit {
    /// Whether it may try to come in now.
    pub(super) fn may_try(&self, app: &App) -> Result<(), ProblemError> {
        app.attempts.allow(self.from, app.engine.now()).map_err(|TooOften { wait_seconds }| {
            ProblemError::new(
                Code::TooManyAttempts,
                format!(
                    "too many attempts to sign in from your address; the next can be made in {wait_seconds} s"
                ),
            )
        })
    }

    /// What passkeys are for, if this browser is where they work.
    pub(super) fn site<'a>(&self, app: &'a App) -> Option<&'a Site> {
        app.address.site_at(&self.host)
    }

    /// Whether it is at our public address.
    pub(super) fn is_at(&self, app: &App) -> bool {
        app.address.is_at(&self.host)
    }

    /// What passkeys are for, for an answer of one.
    pub(super) fn must_have_site<'a>(&self, app: &'a App) -> Result<&'a Site, ProblemError> {
        self.site(app).ok_or_else(|| {
            ProblemError::new(Code::InvalidRequest, format!("passkeys work at {}", app.address.origin()))
        })
    }
}

/// A browser in two words, as far as it tells.
fn named(agent: &str) -> String {
    let first = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    let browser = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "a browser".to_owned(),
    }
}

/// Where to go after signing in: a page of ours and nothing else, whatever an address or a form says.
pub(super) fn own_page(wish: &str) -> &str {
    let plain = wish.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte));
    if plain && wish.starts_with('/') && !wish.starts_with("//") { wish } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_away() {
        for own in ["/", "/audit", "/actions/act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB", "/mode"] {
            assert_eq!(own_page(own), own);
        }
        for foreign in [
            "",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/%2f/evil.example",
            "/x?next=//evil",
            "/x#y",
            " /x",
            "/\tx",
            "/\nLocation: x",
            "evil.example",
            "/..//evil.example",
            "/@evil",
            "/x:y",
        ] {
            assert_eq!(own_page(foreign), "/", "{foreign:?}");
        }
    }

    #[test]
    fn where_a_proxy_says_that_a_request_comes_from() {
        for (lines, expected) in [
            (vec!["203.0.113.7"], Some("203.0.113.7")),
            (vec!["203.0.113.7:51234"], Some("203.0.113.7")),
            (vec!["2001:db8::1"], Some("2001:db8::1")),
            (vec!["[2001:db8::1]"], Some("2001:db8::1")),
            (vec!["[2001:db8::1]:443"], Some("2001:db8::1")),
            (vec!["198.51.100.1, 203.0.113.7:51234 "], Some("203.0.113.7")),
            (vec!["198.51.100.1", "198.51.100.2,203.0.113.7"], Some("203.0.113.7")),
            (vec!["198.51.100.1, unknown"], None),
            (vec!["203.0.113.7:port"], None),
            (vec!["[203.0.113.7]"], None),
            (vec!["203.0.113.7,"], None),
            (vec![""], None),
            (vec![], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            assert_eq!(forwarded(&headers).map(|ip| ip.to_string()).as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn browsers_are_known_by_their_words() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36";
        assert_eq!(named(chrome), "Chrome on Linux");
        assert_eq!(named("curl/8"), "a browser");
        assert_eq!(named("<script>"), "a browser");
    }
}
