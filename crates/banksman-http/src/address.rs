//! Where people reach this server: what cookies and passkeys are bound to.

use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::header::HOST;
use banksman_identity::Site;
use url::{Host, Url};

/// The address that people type.
#[derive(Debug, Clone)]
pub struct PublicAddress {
    origin: String,
    /// `host:port` as browsers send it.
    authority: String,
    host: String,
    secure: bool,
    site: Option<Site>,
}

impl PublicAddress {
    /// What `--public-url` says.
    ///
    /// # Errors
    /// If it is no address of a site.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("{text:?} is no address: {error}"))?;
        let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !matches!(url.scheme(), "http" | "https")
            || !plain
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return Err(format!(
                "{text:?} is not like https://banksman.example: a scheme, a host, perhaps a port"
            ));
        }
        let (Some(host), Some(name)) = (url.host(), url.host_str()) else {
            return Err(format!("{text:?} names no host"));
        };
        let origin = url.origin().ascii_serialization();
        let secure = url.scheme() == "https";
        // Browsers give passkeys to pages of a domain, over lines that nobody listens to.
        let site = match host {
            Host::Domain(domain) if secure || domain == "localhost" => {
                Some(Site { rp_id: domain.to_owned(), origin: origin.clone() })
            }
            Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => None,
        };
        let authority = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        Ok(Self { origin, authority, host: name.to_owned(), secure, site })
    }

    /// A server of this machine that nobody gave another address.
    #[must_use]
    pub fn local(address: SocketAddr) -> Self {
        let authority = if address.ip().is_loopback() {
            format!("localhost:{}", address.port())
        } else {
            address.to_string()
        };
        let origin = format!("http://{authority}");
        let host = authority.rsplit_once(':').map_or("", |(host, _)| host).to_owned();
        let site = (host == "localhost").then(|| Site { rp_id: host.clone(), origin: origin.clone() });
        Self { origin, authority, host, secure: false, site }
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The host, as browsers name it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether browsers come over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// What passkeys are for, if this address can have any.
    pub(crate) fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    /// The same, if the browser is at this address.
    pub(crate) fn site_at(&self, host: &str) -> Option<&Site> {
        self.site.as_ref().filter(|_| self.is_at(host))
    }

    /// Whether a browser that names this host is at this address.
    pub(crate) fn is_at(&self, host: &str) -> bool {
        host.eq_ignore_ascii_case(&self.authority)
    }

    /// The address by which a client reached us; the server has checked that its host is one of ours. What stands before us
    /// at our public address may speak TLS.
    pub(crate) fn reached_by(&self, headers: &HeaderMap) -> String {
        match headers.get(HOST).and_then(|host| host.to_str().ok()) {
            Some(host) if !self.is_at(host) => format!("http://{host}"),
            Some(_) | None => self.origin.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_site_is_an_address() {
        for (text, origin, passkeys) in [
            ("https://banksman.example", "https://banksman.example", true),
            ("https://Banksman.Example:8443/", "https://banksman.example:8443", true),
            ("http://localhost:7447", "http://localhost:7447", true),
            ("http://banksman.example", "http://banksman.example", false),
            ("https://10.0.0.1", "https://10.0.0.1", false),
            ("https://[::1]:8443", "https://[::1]:8443", false),
        ] {
            let address = PublicAddress::parse(text).unwrap();
            assert_eq!((address.origin(), address.site().is_some()), (origin, passkeys), "{text}");
        }
        for wrong in
            ["", "banksman.example", "ftp://x", "https://x/path", "https://x/?q", "https://u:p@x", "https://"]
        {
            assert!(PublicAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clients_are_told_the_address_that_they_came_by() {
        let address = PublicAddress::parse("https://banksman.example").unwrap();
        for (host, told) in [
            ("banksman.example", "https://banksman.example"),
            ("127.0.0.1:7447", "http://127.0.0.1:7447"),
            ("banksman.example:7447", "http://banksman.example:7447"),
        ] {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            assert_eq!(address.reached_by(&headers), told);
        }
    }

    #[test]
    fn passkeys_are_for_the_very_address() {
        let address = PublicAddress::local("127.0.0.1:7447".parse().unwrap());
        assert!(address.site_at("localhost:7447").is_some());
        for elsewhere in ["127.0.0.1:7447", "localhost", "localhost:7448", "evil.example", ""] {
            assert!(address.site_at(elsewhere).is_none(), "{elsewhere}");
        }
        assert!(PublicAddress::local("0.0.0.0:7447".parse().unwrap()).site().is_none());
    }
}
