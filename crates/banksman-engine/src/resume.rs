//! Whom an agent may have called once its action is resolved: addresses that the installation names, and no others.

use std::sync::Arc;

use banksman_core::Action;
use url::Url;

use crate::{Engine, EngineError};

/// Addresses that may be called: one origin, and the paths below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeTarget(Url);

impl ResumeTarget {
    /// Reads one, such as `https://agents.example.org/resume/`.
    ///
    /// # Errors
    /// In words, if it is no such address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("not an address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("only http and https can be called".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address that everyone may read holds no password".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("an origin and a path, and nothing behind it".into());
        }
        Ok(Self(url))
    }

    /// Whether an address is one of these.
    fn covers(&self, url: &Url) -> bool {
        let (folder, path) = (self.0.path(), url.path());
        // `/resume` covers `/resume` and what is below it, not `/resumed`.
        let below = path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| {
            let is_below =
                rest.starts_with('/') || (rest.is_empty() && !folder.ends_with('/')) || folder == path;
            is_below && !could_lead_out(rest)
        });
        self.0.scheme() == url.scheme()
            && self.0.host() == url.host()
            && self.0.port_or_known_default() == url.port_or_known_default()
            && below
    }
}

/// Whether servers could read a path otherwise than we do and go up from the folder: to us `..%2Fadmin` and `..;` are names, but
/// many undo such spellings, some twice, before they look for `..`. No address that is meant well needs them.
fn could_lead_out(rest: &str) -> bool {
    let rest = rest.to_ascii_lowercase();
    ["%2f", "%5c", "%2e", "%3b", "%25", "..;"].iter().any(|spelling| rest.contains(spelling))
}

impl Engine {
    /// Names the addresses that agents may have called. Until then there are none.
    pub fn allow_resuming_at(&self, targets: Vec<ResumeTarget>) {
        self.resume_targets.store(Arc::new(targets));
    }

    /// Refuses an action that wants a stranger called.
    pub(crate) fn check_resume(&self, action: &Action) -> Result<(), EngineError> {
        let Some(resume) = &action.resume else { return Ok(()) };
        if self.may_resume_at(&resume.url) {
            return Ok(());
        }
        Err(EngineError::Invalid(
            "resume: the url is not among the addresses that this installation calls (resume: allow, in its \
             channels.yaml)"
                .into(),
        ))
    }

    /// Whether an address may be called. Asked again before the call: the list may have become shorter.
    #[must_use]
    pub fn may_resume_at(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        plain && self.resume_targets.load().iter().any(|target| target.covers(&url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_and_what_is_below_a_folder() {
        for (target, yes, no) in [
            (
                "https://a.example/resume/",
                vec![
                    "https://a.example/resume/",
                    "https://a.example:443/resume/x?y=1",
                    "https://a.example/resume/x%20y?next=%2Fadmin",
                    "https://a.example/resume/..x/...",
                ],
                vec![
                    "https://a.example/resume",
                    "https://a.example/resumed",
                    "https://a.example/",
                    "http://a.example/resume/",
                    "https://a.example:8443/resume/",
                    "https://a.example.evil.example/resume/",
                    "https://a.example/resume/../admin",
                    "https://a.example/resume/%2e%2e/admin",
                    "https://a.example/resume/..%2Fadmin/run",
                    "https://a.example/resume/..%2fadmin",
                    "https://a.example/resume/%2e%2e%2Fadmin",
                    "https://a.example/resume/x/..%5Cadmin",
                    "https://a.example/resume/..%5c..%5Cadmin",
                    "https://a.example/resume/..\\admin",
                    "https://a.example/resume/..%252Fadmin",
                    "https://a.example/resume/..%255cadmin",
                    "https://a.example/resume/..%25%32Fadmin",
                    "https://a.example/resume/..;/admin",
                    "https://a.example/resume/%2E%2e;x=1/admin",
                    "https://a.example/resume/..%3B/admin",
                    "https://a.example/resume%2Fx",
                    "https://evil.example/?https://a.example/resume/",
                ],
            ),
            (
                "https://a.example/hook",
                vec!["https://a.example/hook", "https://a.example/hook/7"],
                vec!["https://a.example/hooks", "https://a.example/"],
            ),
            (
                // What the operator wrote is theirs to say.
                "https://a.example/group%2Fproject/",
                vec!["https://a.example/group%2Fproject/x"],
                vec!["https://a.example/group%2Fproject/..%2Fx", "https://a.example/group/project/x"],
            ),
            (
                "http://127.0.0.1:9",
                vec!["http://127.0.0.1:9/", "http://127.0.0.1:9/any"],
                vec!["http://127.0.0.1/"],
            ),
        ] {
            let target = ResumeTarget::parse(target).unwrap();
            for url in yes {
                assert!(target.covers(&Url::parse(url).unwrap()), "{url}");
            }
            for url in no {
                assert!(!target.covers(&Url::parse(url).unwrap()), "{url}");
            }
        }
    }

    #[test]
    fn what_is_no_address_of_a_server_is_refused() {
        for text in [
            "",
            "resume",
            "file:///etc/passwd",
            "https://u:p@a.example/",
            "https://a.example/?x",
            "gopher://x",
        ] {
            assert!(ResumeTarget::parse(text).is_err(), "{text}");
        }
    }
}
