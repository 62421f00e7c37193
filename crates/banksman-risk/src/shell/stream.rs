//! What programs print, as far as that can be said without running them.

use super::decode;
use super::paths::Reading;
use super::run::{Invocation, Runner};
use super::syntax::ansi_c;
use super::value::{Field, HOLE, Taint, Text};
use super::wrap::option_value;

/// Programs that print what a shell should run to be set up; everyone runs their output.
const SET_UP: &[&str] = &[
    "ssh-agent",
    "direnv",
    "brew",
    "pyenv",
    "rbenv",
    "nodenv",
    "jenv",
    "goenv",
    "starship",
    "zoxide",
    "fnm",
    "mise",
    "rtx",
    "thefuck",
    "dircolors",
    "gdircolors",
    "lesspipe",
    "lesspipe.sh",
    "keychain",
    "opam",
    "luarocks",
    "register-python-argcomplete",
    "atuin",
    "mcfly",
    "navi",
    "hub",
    "pkgx",
    "scmpuff",
    "resize",
    "tset",
    "locale-gen",
    "docker-machine",
    "minikube",
    "gpg-agent",
    "path_helper",
    "conda",
    "perl5lib",
    "plenv",
    "phpenv",
    "swiftenv",
    "rvm",
    "oh-my-posh",
    "fzf",
    "stack",
    "cs",
];

/// The output of a program.
pub(super) fn output(
    runner: &mut Runner<'_, '_>,
    name: &str,
    invocation: &Invocation,
    read: Reading,
) -> Text {
    let arguments = invocation.arguments();
    let stdin = &invocation.stdin;
    let flagged = |flags: &[&str]| arguments.iter().any(|field| flags.contains(&field.text.as_str()));
    let through = Taint::OUTPUT | stdin.taint | read.taint;
    let input = || match &read.known {
        Some(text) => Text { text: text.clone(), taint: read.taint },
        None if read.any => Text::unknown(read.taint | Taint::OUTPUT),
        None => stdin.clone(),
    };
    match name {
        "echo" | "print" => echo(arguments),
        "printf" => printf(runner, arguments),
        "cat" | "tac" | "head" | "tail" | "sort" | "uniq" | "pv" | "sponge" | "less" | "more" | "nl"
        | "buffer" | "grep" | "bat" | "strings" | "column" | "fold" | "shuf" | "tr" | "rev" | "sed"
        | "cut"
            if !(read.any && read.known.is_none()) =>
        {
            filtered(name, arguments, input())
        }
        "tee" => {
            let append = flagged(&["-a", "--append"]);
            for field in arguments.iter().filter(|field| !field.text.starts_with('-')) {
                runner.scope.write_file(&field.text, stdin.clone(), append);
            }
            stdin.clone()
        }
        "cp" | "mv" | "install" | "ln" => {
            let operands: Vec<&Field> =
                arguments.iter().filter(|field| !field.text.starts_with('-')).collect();
            if let [source, target] = operands.as_slice() {
                let content = match runner.scope.file(&source.text) {
                    Some(content) => Some(content.clone()),
                    None if read.taint.has(Taint::SECRET) => Some(Text::unknown(Taint::SECRET | Taint::FILE)),
                    None => None,
                };
                if let Some(content) = content {
                    runner.scope.write_file(&target.text, content, false);
                }
            }
            Text::default()
        }
        "base64" | "gbase64" | "base32" | "uudecode" | "xxd" => {
            let decodes = name == "uudecode"
                || arguments.iter().any(|field| {
                    let text = field.text.as_str();
                    matches!(text, "-d" | "-D" | "--decode" | "-r")
                        || (text.len() > 1 && "--decode".starts_with(text) && text.starts_with("--d"))
                        || (name != "xxd"
                            && text.starts_with('-')
                            && !text.starts_with("--")
                            && text.contains(['d', 'D']))
                        || (name == "xxd" && text.starts_with('-') && text.contains('r'))
                });
            if !decodes {
                return Text::unknown(through);
            }
            let encoded = input();
            let decoded = match name {
                "base64" | "gbase64" if encoded.is_known() => decode::base64(&encoded.text),
                "xxd" if encoded.is_known() => decode::hex(&encoded.text),
                _ => None,
            };
            match decoded {
                Some(text) => Text { text, taint: encoded.taint | Taint::DECODED },
                None => Text::unknown(through | Taint::DECODED),
            }
        }
        "gunzip" | "zcat" | "bzcat" | "xzcat" | "gzip" | "bunzip2" | "unxz" | "xz" | "zstd" | "zstdcat"
        | "lz4" | "uncompress" | "gpg" | "gpg2" | "age" | "ccrypt" => {
            // Packed or encrypted: what comes out was not to be read before.
            Text::unknown(through | Taint::DECODED)
        }
        "openssl" => {
            let decodes = flagged(&["-d", "-decrypt", "pkeyutl", "rsautl"]);
            Text::unknown(if decodes { through | Taint::DECODED } else { through })
        }
        "printenv" if arguments.is_empty() => Text::unknown(through | Taint::ENVIRONMENT),
        "mktemp" => Text::known("/tmp/tmp.\0"),
        "basename" => match arguments {
            [path] if path.is_known() => {
                Text::known(path.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
            }
            _ => Text::unknown(Taint::OUTPUT),
        },
        "dirname" => match arguments {
            [path] => Text::known(path.text.rsplit_once('/').map_or(".", |(folder, _)| folder)),
            _ => Text::unknown(Taint::OUTPUT),
        },
        "realpath" | "readlink" => match arguments.last() {
            Some(path) if !path.text.starts_with('-') => path.as_text(),
            _ => Text::unknown(Taint::OUTPUT),
        },
        "whoami" | "hostname" | "date" | "id" | "uname" | "nproc" | "seq" | "tty" | "arch" => {
            Text::unknown(Taint::NONE)
        }
        "git" if flagged(&["--show-toplevel"]) => Text::known("."),
        "git" if flagged(&["ls-files", "diff", "grep", "ls-tree"]) => Text::known("./\0"),
        "ls" | "fd" | "fdfind" => {
            let folder = arguments
                .iter()
                .find(|field| !field.text.starts_with('-'))
                .map_or(".", |field| field.text.as_str());
            Text { text: format!("{}/\0", folder.trim_end_matches('/')), taint: Taint::NONE }
        }
        _ if SET_UP.contains(&name) => Text::default(),
        _ if flagged(&[
            "completion",
            "completions",
            "--completion",
            "shellenv",
            "shell-init",
            "hook",
            "docker-env",
            "generate-shell-completion",
        ]) =>
        {
            Text::default()
        }
        _ => Text::unknown(through),
    }
}

fn echo(arguments: &[Field]) -> Text {
    let mut skip = 0;
    let mut escapes = false;
    let mut newline = true;
    for field in arguments {
        let text = field.text.as_str();
        let is_option =
            text.len() > 1 && text.starts_with('-') && text.bytes().skip(1).all(|b| b"neE".contains(&b));
        if !is_option {
            break;
        }
        escapes |= text.contains('e');
        newline &= !text.contains('n');
        skip += 1;
    }
    let mut whole = Text::default();
    for (at, field) in arguments.iter().skip(skip).enumerate() {
        if at > 0 {
            whole.text.push(' ');
        }
        whole.append(&field.as_text());
    }
    if escapes {
        whole.text = unescape(&whole.text);
    }
    if newline {
        whole.text.push('\n');
    }
    whole
}

/// Undoes escapes, but leaves holes where they are.
fn unescape(text: &str) -> String {
    text.split(HOLE).map(ansi_c).collect::<Vec<_>>().join("\0")
}

fn printf(runner: &mut Runner<'_, '_>, arguments: &[Field]) -> Text {
    const ROUNDS: usize = 64;
    if let Some(variable) = option_value(arguments, &["-v"]) {
        let rest = arguments.get(2..).unwrap_or_default();
        let value = printf(runner, rest);
        runner.arithmetic(&variable.text);
        runner.scope.set(&variable.text, super::scope::Variable::One(value), true);
        return Text::default();
    }
    let arguments = match arguments.first() {
        Some(first) if first.text == "--" => arguments.get(1..).unwrap_or_default(),
        _ => arguments,
    };
    let Some((format, values)) = arguments.split_first() else { return Text::default() };
    let template = unescape(&format.text);
    let mut result = Text { text: String::new(), taint: format.taint };
    let mut values = values.iter().peekable();
    for round in 0..ROUNDS {
        let mut used = false;
        let mut letters = template.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                result.text.push(letter);
                continue;
            }
            let mut kind = letters.next().unwrap_or('%');
            while matches!(kind, '-' | '0'..='9' | '.' | '+' | ' ' | '#' | '*') {
                kind = letters.next().unwrap_or('s');
            }
            if kind == '%' {
                result.text.push('%');
                continue;
            }
            used = true;
            if let Some(value) = values.next() {
                let mut text = value.as_text();
                if kind == 'b' {
                    text.text = unescape(&text.text);
                }
                result.append(&text);
            }
        }
        if values.peek().is_none() || !used || round + 1 == ROUNDS {
            break;
        }
    }
    if values.peek().is_some() {
        result.text.push(HOLE);
    }
    result
}

/// What a filter makes of a known input; more than it would let through is fine, less is not.
fn filtered(name: &str, arguments: &[Field], input: Text) -> Text {
    if !input.is_known() {
        return Text { text: input.text, taint: input.taint | Taint::OUTPUT };
    }
    let operands: Vec<&str> =
        arguments.iter().map(|field| field.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    let text = match name {
        "rev" => input.text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect(),
        "tr" => match decode::translate(&input.text, arguments) {
            Some(text) => text,
            None => return Text::unknown(input.taint | Taint::OUTPUT),
        },
        "sed" => match operands.first().and_then(|script| decode::substitute(&input.text, script)) {
            Some(text) => text,
            None => return Text::unknown(input.taint | Taint::OUTPUT),
        },
        "cut" | "strings" | "column" | "fold" | "nl" => return Text::unknown(input.taint | Taint::OUTPUT),
        _ => input.text,
    };
    Text { text, taint: input.taint }
}
