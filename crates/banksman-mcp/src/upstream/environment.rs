//! What of our environment a program sees. It holds the credentials of other servers, of channels and of the database.

use std::ffi::{OsStr, OsString};

/// What is passed on to every program: where things are, and how people here write.
const PASSED_ON: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    // Where libraries and certificates are; interpreters do not start, or trust nobody, without them.
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

const PASSED_ON_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// What is ours, and no business of a program's.
const OURS: &str = "BANKSMAN_";

/// What a program sees of the environment in which we were started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inherits {
    /// What any program needs: it stands beside others, with credentials that are not its own.
    Necessary,
    /// Everything but what is ours: whoever starts us in its place has given it this environment.
    AllButOurs,
}

impl Inherits {
    /// What is left of an environment.
    pub(crate) fn of(
        self,
        all: impl Iterator<Item = (OsString, OsString)>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        all.filter(move |(name, _)| self.keeps(name))
    }

    fn keeps(self, name: &OsStr) -> bool {
        // One that is no text is none of ours, and not on the list.
        let name = name.to_string_lossy();
        match self {
            Self::Necessary => {
                PASSED_ON.contains(&name.as_ref())
                    || PASSED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            }
            Self::AllButOurs => !name.starts_with(OURS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_what_it_needs_and_no_credential_of_others() {
        let all =
            ["PATH", "LC_ALL", "XDG_CACHE_HOME", "TICKETS_TOKEN", "BANKSMAN_DATABASE", "AWS_SECRET_KEY"];
        let left = |inherits: Inherits| -> Vec<String> {
            let all = all.iter().map(|name| (OsString::from(name), OsString::new()));
            inherits.of(all).map(|(name, _)| name.into_string().unwrap()).collect()
        };
        assert_eq!(left(Inherits::Necessary), ["PATH", "LC_ALL", "XDG_CACHE_HOME"]);
        assert_eq!(
            left(Inherits::AllButOurs),
            ["PATH", "LC_ALL", "XDG_CACHE_HOME", "TICKETS_TOKEN", "AWS_SECRET_KEY"]
        );
    }
}
