//! Taking arguments apart, and refusing rules that cannot be.

use banksman_core::Span;

use super::options::Arguments;
use super::programs::{Programs, UNKNOWN};
use super::rule::ProgramSpec;
use super::{Catalogue, RuleSet};
use crate::fact::Word;

/// Arguments as one line: `sub.command flags=values | operands`.
fn taken_apart(spec: &ProgramSpec, args: &str) -> String {
    let words = words(args);
    let (_, parsed) = Arguments::parse(spec, &words, |_| None);
    describe(&parsed)
}

fn words(args: &str) -> Vec<Word<'_>> {
    args.split_whitespace().map(|word| Word::known(word, Span { start: 0, end: 0 })).collect()
}

fn describe(parsed: &Arguments<'_, '_>) -> String {
    let flags = parsed.flags.iter().map(|flag| {
        let name = match flag.name {
            super::FlagName::Short(letter) => format!("-{letter}"),
            super::FlagName::Long(name) => name.to_owned(),
        };
        flag.value.map_or(name.clone(), |value| format!("{name}={}", value.text()))
    });
    let operands = parsed.operands.iter().map(|word| word.text.to_string());
    let parts: Vec<String> = flags.chain(["|".to_owned()]).chain(operands).collect();
    format!(
        "{}{}",
        parsed.subcommand.iter().map(|word| format!("{word}: ")).collect::<String>(),
        parts.join(" ")
    )
}

fn spec(text: &str) -> ProgramSpec {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn arguments_are_taken_apart() {
    for (program, args, wanted) in [
        ("{}", "-rf a b", "-r -f -rf | a b"),
        ("{}", "a --force b --x=1", "--force --x=1 | a b"),
        ("{}", "-r -- -f --force", "-r | -f --force"),
        ("{}", "- a", "| - a"),
        ("{values: [-n, --num]}", "-vn5 a", "-v -n=5 -vn5 | a"),
        ("{values: [-n, --num]}", "-n 5 --num 6 --num=7 a", "-n=5 --num=6 --num=7 | a"),
        ("{values: [-n]}", "-n", "-n |"),
        ("{subcommands: 1, values: [-C]}", "-C dir push -f origin", "push: -C=dir -f | origin"),
        ("{subcommands: 1}", "-- push", "push: |"),
        ("{subcommands: 2}", "a --x b c", "a: b: --x | c"),
        ("{options_first: true, values: [-e]}", "-e A=1 image rm -rf", "-e=A=1 | image rm -rf"),
        ("{style: words, values: [-name]}", "-name -delete -print", "-name=-delete -print |"),
        ("{style: words}", "-auto-approve -var=a=b", "-auto-approve -var=a=b |"),
        ("{style: words, commands: [-exec]}", ". -exec rm -delete {} ; -print", "-exec -print | ."),
        ("{style: words}", "( a ! b )", "| a b"),
        ("{style: assignments}", "if=/dev/zero of=x y", "if=/dev/zero of=x | y"),
        (
            "{style: powershell, values: [-Path]}",
            "-Recurse -pa x -Force:$true",
            "-Recurse -pa=x -Force=$true |",
        ),
    ] {
        assert_eq!(taken_apart(&spec(program), args), wanted, "{program} {args}");
    }
}

#[test]
fn a_subcommand_has_an_alphabet_of_its_own() {
    let described =
        "{git: {subcommands: 1, values: [-C, --git-dir]}, git diff: {}, git stash: {subcommands: 1}}";
    let programs = Programs::of(serde_saphyr::from_str(described).unwrap()).unwrap_or_default();
    for (args, wanted) in [
        ("-C dir diff -C file", "diff: -C=dir -C | file"),
        ("diff --git-dir x file", "diff: --git-dir=x | file"),
        ("stash drop one", "stash: drop: | one"),
    ] {
        let words = words(args);
        let (program, subcommand) = programs.find("git");
        assert_eq!(describe(&Arguments::parse(program, &words, subcommand).1), wanted, "{args}");
    }
}

#[test]
fn flags_are_found_in_all_their_spellings() {
    let has = |text: &str, args: &str, flag: &str| {
        let spec = spec(text);
        let words = words(args);
        let (spec, parsed) = Arguments::parse(&spec, &words, |_| None);
        parsed.has(flag, spec.style)
    };
    for (text, args, flag) in [
        ("{}", "-qf", "-f"),
        ("{}", "--forc", "--force"),
        ("{}", "--force=yes", "--force"),
        ("{}", "--no-force --force", "--force"),
        ("{style: words}", "-delete", "-delete"),
        ("{style: powershell}", "-rec", "-Recurse"),
        ("{style: powershell}", "-FORCE", "-Force"),
        ("{style: assignments}", "of=x", "of"),
    ] {
        assert!(has(text, args, flag), "{text} {args} {flag}");
    }
    for (text, args, flag) in [
        ("{}", "-- -f", "-f"),
        ("{}", "--f", "--force"),
        ("{}", "--force-with-lease", "--force"),
        ("{}", "--force --no-force", "--force"),
        ("{}", "--force=false", "--force"),
        ("{values: [-b]}", "-bf", "-f"),
        ("{style: plain}", "--forc", "--force"),
        ("{style: words}", "-del", "-delete"),
        ("{style: words}", "-rf", "-f"),
    ] {
        assert!(!has(text, args, flag), "{text} {args} {flag}");
    }
}

#[test]
fn what_makes_a_command_harmless_is_never_guessed() {
    let group = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
    for (args, flags, wanted) in [
        ("--dry-run", group(&["-n", "--dry-run"]), true),
        ("--dry-r", group(&["-n", "--dry-run"]), true),
        ("-n", group(&["-n", "--dry-run"]), true),
        ("-n --no-dry-run", group(&["-n", "--dry-run"]), false),
        ("--dry-run=none", group(&["-n", "--dry-run"]), false),
        ("--force", group(&["--force-with-lease"]), false),
        ("--fo", group(&["--follow"]), false),
    ] {
        let words = words(args);
        let (spec, parsed) = Arguments::parse(&UNKNOWN, &words, |_| None);
        assert_eq!(parsed.has_surely(&flags, spec.style), wanted, "{args}");
    }
}

#[test]
fn asking_for_help_is_noticed() {
    for (text, args, wanted) in [
        ("{}", "--help", true),
        ("{}", "-f --help", true),
        ("{}", "file --help", false),
        ("{}", "-- --help", false),
        ("{}", "-h", true),
        ("{}", "-h file", false),
        ("{help: [--help]}", "-h", false),
        ("{help: [--help, -h]}", "file -h", true),
        ("{help: [--help, -h], values: [-s]}", "-s --help", false),
        ("{help: [--help, help], subcommands: 1}", "help push", true),
        ("{help: [--help], options_first: true}", "image --help", false),
    ] {
        let spec = spec(text);
        let words = words(args);
        assert_eq!(Arguments::parse(&spec, &words, |_| None).1.help, wanted, "{text} {args}");
    }
}

const RULE: &str = "
rules:
  - id: own.deploy
    level: high
    reason: It deploys.
    reversible: false
    when: [{command: {program: [deploy-it], no_flag: [--dry-run]}}]
    examples: {matches: [deploy-it now], differs: [deploy-it --dry-run now]}
";

fn refused(text: &str) -> String {
    match RuleSet::parse("own.yaml", text).and_then(Catalogue::with_rules) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn own_rules_are_added() {
    assert_eq!(refused(RULE), "accepted");
}

#[test]
fn rules_that_cannot_be_are_refused() {
    let replaced = |old: &str, new: &str| {
        assert!(RULE.contains(old), "{old}");
        refused(&RULE.replace(old, new))
    };
    for (problem, wanted) in [
        (replaced("level: high", "level: enormous"), "own.yaml: "),
        (replaced("level: high", "severity: high"), "own.yaml: "),
        (replaced("program:", "programme:"), "own.yaml: "),
        (replaced("[deploy-it]", "[{regex: '('}]"), "own.yaml: "),
        (replaced("own.deploy", "Deploy"), "an id is lower-case words joined by dots"),
        (replaced("It deploys.", "' '"), "a rule needs a reason"),
        (replaced("[{command: {program: [deploy-it], no_flag: [--dry-run]}}]", "[]"), "something to notice"),
        (
            replaced("{command: {program: [deploy-it], no_flag: [--dry-run]}}", "{signal: smoke}"),
            "no signal \"smoke\"",
        ),
        (replaced("matches: [deploy-it now]", "matches: []"), "an example that matches and one that differs"),
        (
            replaced("differs: [deploy-it --dry-run now]", "differs: []"),
            "an example that matches and one that differs",
        ),
        (replaced("matches: [deploy-it now]", "matches: [ls]"), "should have matched: \"ls\""),
        (
            replaced("differs: [deploy-it --dry-run now]", "differs: [deploy-it]"),
            "should not have matched: \"deploy-it\"",
        ),
        (replaced("    level: high", "    replace: true\n    level: high"), "but there is no such rule"),
        (refused("disable: [own.nothing]"), "there is no such rule"),
        (refused("programs: {mine: {like: yours}}"), "is not described itself"),
        (refused(&format!("{RULE}{}", RULE.replace("rules:\n", ""))), "there are two rules of this id"),
    ] {
        assert!(problem.contains(wanted), "{problem:?} should say {wanted:?}");
    }
}

#[test]
fn built_in_rules_are_replaced_and_disabled_by_name() {
    let known = "git.push.force";
    let has = |text: &str| {
        let catalogue = RuleSet::parse("own.yaml", text).and_then(Catalogue::with_rules).unwrap();
        catalogue.rules().find(|rule| rule.id == known).map(|rule| rule.reason.clone())
    };
    let own = RULE.replace("own.deploy", known);
    assert!(refused(&own).contains("say `replace: true` to replace it"));
    assert_eq!(
        has(&own.replace("    level", "    replace: true\n    level")).as_deref(),
        Some("It deploys.")
    );
    assert_eq!(has(&format!("disable: [{known}]")), None);
    // Disabled first, so the name is free.
    assert_eq!(has(&format!("disable: [{known}]\n{own}")).as_deref(), Some("It deploys."));
}

#[test]
fn what_notices_the_unread_stays() {
    let essential = Catalogue::builtin().unwrap();
    let ids: Vec<&str> =
        essential.rules().map(|rule| rule.id.as_str()).filter(|id| id.starts_with("unread.")).collect();
    for id in ids {
        assert!(refused(&format!("disable: [{id}]")).contains("cannot be disabled"), "{id}");
    }
}
