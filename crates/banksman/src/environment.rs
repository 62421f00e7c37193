//! What the environment would add to what runs. Nobody has judged it, so it is not passed on.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Functions that a shell would take for commands: `BASH_FUNC_ls%%`.
const FUNCTIONS: &[u8] = b"BASH_FUNC_";

/// Variables whose value is run, or names what is loaded and run. Those that only say where names are looked for, such
/// as PATH, are no such thing: without them nothing would be found.
const RUN: &[&str] = &[
    // Shells
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "ZDOTDIR",
    // Whatever is loaded into any program
    "DYLD_INSERT_LIBRARIES",
    "LD_AUDIT",
    "LD_PRELOAD",
    // Interpreters
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "PERL5DB",
    "PERL5OPT",
    "PYTHONBREAKPOINT",
    "PYTHONSTARTUP",
    "PYTHONWARNINGS",
    "RUBYOPT",
    "_JAVA_OPTIONS",
    // Programs that start others
    "BROWSER",
    "EDITOR",
    "FZF_DEFAULT_COMMAND",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GNUMAKEFLAGS",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFLAGS",
    "MANPAGER",
    "PAGER",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "TAR_OPTIONS",
    "VISUAL",
];

/// Those of our own variables that nothing gets which we start.
pub(crate) fn unjudged() -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_run(name)).collect()
}

fn is_run(name: &OsStr) -> bool {
    // Git takes configuration from numbered variables, too, and some of that is run.
    let numbered = |prefix: &[u8]| name.as_bytes().starts_with(prefix);
    numbered(FUNCTIONS) || numbered(b"GIT_CONFIG_") || RUN.iter().any(|run| name == *run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_run_is_told_from_what_only_configures() {
        for run in ["BASH_ENV", "BASH_FUNC_ls%%", "BASH_FUNC_ls()", "LD_PRELOAD", "GIT_CONFIG_KEY_0", "PS4"] {
            assert!(is_run(OsStr::new(run)), "{run}");
        }
        for kept in ["PATH", "HOME", "LANG", "TERM", "bash_env", "MY_ENV", "BASH_FUNCTION", ""] {
            assert!(!is_run(OsStr::new(kept)), "{kept}");
        }
    }
}
