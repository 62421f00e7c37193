//! Addresses of a provider: nobody on the way may read or change what is said there.

use url::Url;

/// An address that can be believed: https, or http on this very machine.
pub(crate) fn believable(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    (url.scheme() == "https" || (url.scheme() == "http" && is_local)).then_some(url)
}

/// The same for what discovery names: nothing less secret than the issuer itself.
pub(crate) fn named_by(issuer: &str, text: &str) -> Option<Url> {
    let url = believable(text)?;
    (url.scheme() == "https" || !issuer.starts_with("https:")).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_less_secret_than_the_issuer() {
        let (secret, local) = ("https://id.example", "http://localhost:9000");
        for (issuer, address) in [
            (secret, "https://id.example/token"),
            (secret, "https://elsewhere.example/keys"),
            (local, "http://127.0.0.1:9000/token"),
            (local, "http://[::1]:9000/token"),
            (local, "https://id.example/token"),
        ] {
            assert!(named_by(issuer, address).is_some(), "{issuer} {address}");
        }
        for (issuer, address) in [
            (secret, "http://id.example/token"),
            (secret, "http://localhost/token"),
            (local, "http://id.example/token"),
            (local, "http://localhost.evil.example/token"),
            (secret, "ftp://id.example/keys"),
            (secret, "/token"),
            (secret, ""),
        ] {
            assert!(named_by(issuer, address).is_none(), "{issuer} {address}");
        }
    }
}
