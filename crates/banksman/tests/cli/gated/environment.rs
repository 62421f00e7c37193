//! What the environment would add to what runs, and was not judged.

use std::fs;
use std::process::{Command, Output, Stdio};

use super::{Site, served};
use crate::hooks::User;
use crate::installation::said;

/// What would run something of its own, unasked: a script that leaves a trace, and a function in a command's place.
fn poisoned(command: &mut Command, user: &User) -> Output {
    let script = user.home().join("evil.sh");
    fs::write(&script, "touch \"$HOME/trace\"\n").unwrap();
    command.env("BASH_ENV", &script).env("ENV", &script);
    command.env("BASH_FUNC_ls%%", "() { touch \"$HOME/trace\"; }");
    command.env("SHELLOPTS", "xtrace").env("PS4", "$(touch \"$HOME/trace\")");
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn nothing_of_the_environment_runs_that_nobody_judged() {
    let site = Site::new();
    let trace = site.user.home().join("trace");
    for words in [
        &["shell-guard", "-c", "ls /; echo said"][..],
        &["exec", "--shell", "ls /; echo said"],
        &["exec", "--", "bash", "-c", "ls /; echo said"],
    ] {
        let output = poisoned(&mut site.command(words), &site.user);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
        assert!(String::from_utf8_lossy(&output.stdout).ends_with("said\n"), "{words:?}: {}", said(&output));
        assert!(!trace.exists(), "{words:?} ran what nobody judged");
    }
}

#[test]
fn nothing_of_it_runs_with_a_server_either() {
    let (_installation, server) = served();
    let user = User::new();
    let mut command = user.command();
    command.args(["exec", "--", "bash", "-c", "ls /"]);
    command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &server.first().agent_token);
    let output = poisoned(&mut command, &user);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(!user.home().join("trace").exists(), "it ran what nobody judged");
}

#[test]
fn exec_says_what_it_does_not_pass_on_and_what_only_configures_is_passed_on() {
    let site = Site::new();
    let mut command = site.command(&["exec", "--", "env"]);
    command.env("LD_PRELOAD", "/no/such/library.so").env("NODE_OPTIONS", "--require=x").env("MINE", "kept");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (env, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        env.contains("MINE=kept") && !env.contains("LD_PRELOAD") && !env.contains("NODE_OPTIONS"),
        "{env}"
    );
    assert!(words.contains("not passed on") && words.contains("LD_PRELOAD, "), "{words}");
}
