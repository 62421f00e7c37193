//! Programs that run code: shells, interpreters, database clients, awk and sed.

mod database;
mod editor;
mod powershell;
mod scripting;
mod windows;

pub(super) use powershell::{is_cmdlet, read as read_powershell};

use super::program::{How, is_shell};
use super::run::{Invocation, Runner};
use super::value::{Field, HOLE, Taint, Text};
use crate::fact::Access;
use crate::inspection::Code;
use crate::origin::Origin;

/// Runs the code that a program is given; nothing if it is given none.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    if is_shell(name) {
        return Some(shell(runner, invocation));
    }
    if let Some(interpreter) = interpreter(name) {
        return Some(interpret(runner, &interpreter, invocation));
    }
    match name {
        "awk" | "gawk" | "mawk" | "nawk" | "igawk" => editor::awk(runner, name, invocation),
        "sed" | "gsed" => editor::sed(runner, name, invocation),
        "cmd" => windows::cmd(runner, invocation),
        "start" | "call" => windows::start(runner, invocation),
        "powershell" | "pwsh" => Some(powershell::run(runner, invocation)),
        _ if name.contains('^') => windows::escaped(runner, invocation),
        _ => database::run(runner, name, invocation),
    }
}

/// `bash -lc CODE`, `sh FILE`, `bash -s`, `sh` with code as its input.
fn shell(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    let values = ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];
    let mut at = 0;
    let (mut takes_code, mut from_input) = (false, false);
    while let Some(field) = arguments.get(at) {
        let text = field.text.as_str();
        if text == "--" || text == "-" {
            at += 1;
            break;
        }
        // No option has blanks or operators in it: that is the code, however it starts.
        let is_code =
            takes_code && !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+_=./".contains(&b));
        if is_code || !text.starts_with(['-', '+']) {
            break;
        }
        at += 1;
        if text == "--command" {
            takes_code = true;
        }
        if !text.starts_with("--") {
            let letters = text.get(1..).unwrap_or_default();
            takes_code |= letters.contains('c');
            if text.starts_with('-')
                && letters.contains('n')
                && letters.bytes().all(|b| b.is_ascii_alphabetic())
            {
                // Only checked for its grammar, never run.
                runner.state_command(invocation);
                return Text::default();
            }
            from_input |= letters.contains('s');
            // Each `o` in a cluster takes an argument of its own.
            if values.contains(&text) || (letters.len() > 1 && letters.ends_with(['o', 'O'])) {
                at += 1;
            }
        } else if values.contains(&text) {
            at += 1;
        }
        if matches!(text, "--version" | "--help") {
            return Text::unknown(Taint::NONE);
        }
    }
    runner.state_part(invocation, 1 + at.min(arguments.len()));
    let rest = arguments.get(at..).unwrap_or_default();
    let texts = |fields: &[Field]| fields.iter().map(Field::as_text).collect::<Vec<_>>();
    match rest.split_first() {
        Some((code, others)) if takes_code => {
            let positional = texts(others.get(1..).unwrap_or_default());
            runner.shell(&code.as_text(), code.origin, positional, &invocation.stdin, How::Argument)
        }
        Some((file, others)) if !from_input => run_file(runner, file, texts(others), invocation),
        _ => {
            let stdin = invocation.stdin.clone();
            let origin = Origin::of_span(invocation.span);
            let mut output = runner.shell(&stdin, origin, texts(rest), &Text::default(), How::Input);
            output.taint |= Taint::SHELL;
            output
        }
    }
}

fn run_file(
    runner: &mut Runner<'_, '_>,
    file: &Field,
    positional: Vec<Text>,
    invocation: &Invocation,
) -> Text {
    match runner.code_in(&file.text, invocation) {
        Some((content, how)) => {
            let stdin = if how == How::Input { &Text::default() } else { &invocation.stdin };
            runner.shell(&content, file.origin, positional, stdin, how)
        }
        // A whole command in quotes is no file, and running it so fails.
        None if file.text.contains(char::is_whitespace) && !file.text.contains('/') => {
            Text::unknown(Taint::OUTPUT)
        }
        None => {
            runner.path(Access::Execute, file, file.span());
            Text::unknown(Taint::OUTPUT | invocation.stdin.taint)
        }
    }
}

impl Runner<'_, '_> {
    /// What a file holds that is about to run, and how it comes to that; nothing if nobody can say.
    pub(super) fn code_in(&self, file: &str, invocation: &Invocation) -> Option<(Text, How)> {
        if matches!(file, "-" | "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0") {
            return Some((invocation.stdin.clone(), How::Input));
        }
        let is_descriptor = file.starts_with("/dev/fd/") || file.starts_with("/proc/self/fd/");
        match self.scope.file(file) {
            Some(content) => Some((content.clone(), if is_descriptor { How::Input } else { How::File })),
            // Whatever was opened there.
            None if is_descriptor => Some((Text::unknown(Taint::OUTPUT), How::Input)),
            None => None,
        }
    }
}

/// A program that runs code of another language.
struct Interpreter {
    language: Language,
    /// Options whose value is code.
    code: &'static [&'static str],
    /// Options with another value.
    values: &'static [&'static str],
    /// A word that stands before code: `deno eval`.
    word: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Read(Code),
    /// Read lightly, by its calls.
    Scripting,
}

fn interpreter(name: &str) -> Option<Interpreter> {
    let stem =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-');
    let (language, code, values, word): (_, &[&str], &[&str], _) = match stem {
        "python" | "pypy" | "ipython" | "micropython" | "jython" | "bpython" | "pythonw" | "py" => (
            Language::Read(Code::Python),
            &["-c"],
            &["-m", "-W", "-X", "-Q", "--check-hash-based-pycs"],
            None,
        ),
        "node" | "nodejs" | "bun" | "qjs" | "d" | "tsx" | "ts-node" | "esno" | "vite-node" => (
            Language::Read(Code::Javascript),
            &["-e", "--eval", "-p", "--print", "-pe"],
            &["-r", "--require", "--import", "--loader", "--input-type", "-C", "--conditions"],
            None,
        ),
        "deno" => (Language::Read(Code::Javascript), &[], &["--ext"], Some("eval")),
        "osascript" => (Language::Scripting, &["-e"], &["-l", "-s"], None),
        "perl" => {
            (Language::Scripting, &["-e", "-E"], &["-I", "-M", "-m", "-F", "-i", "-C", "-0", "-l"], None)
        }
        "ruby" | "jruby" | "irb" => {
            (Language::Scripting, &["-e"], &["-r", "-I", "-C", "-K", "-E", "-F", "-T"], None)
        }
        "php" => {
            (Language::Scripting, &["-r", "-R", "-B", "-E"], &["-d", "-c", "-f", "-z", "-S", "-t"], None)
        }
        "lua" | "luajit" => (Language::Scripting, &["-e"], &["-l"], None),
        "rscript" | "r" => (Language::Scripting, &["-e"], &["-f"], None),
        "julia" => (Language::Scripting, &["-e", "-E", "--eval", "--print"], &["-p", "-t", "-L"], None),
        "tclsh" => (Language::Scripting, &[], &[], None),
        "elixir" | "scala" | "groovy" | "guile" => {
            (Language::Scripting, &["-e", "--eval", "-c"], &["-l", "--load"], None)
        }
        // Its words may have one dash or two.
        "emacs" => (
            Language::Scripting,
            &["--eval", "-eval", "--execute", "-execute"],
            &["-l", "--load", "-f", "--funcall"],
            None,
        ),
        _ => return None,
    };
    // `d8` and `d` are not the same.
    if stem == "d" && name != "d8" {
        return None;
    }
    Some(Interpreter { language, code, values, word })
}

fn interpret(runner: &mut Runner<'_, '_>, interpreter: &Interpreter, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    runner.state_command(invocation);
    let mut codes: Vec<Field> = Vec::new();
    let mut at = 0;
    let mut module = false;
    let mut asks = false;
    while let Some(field) = arguments.get(at) {
        let text = field.text.as_str();
        if interpreter.word == Some(text) {
            at += 1;
            if let Some(code) = arguments.iter().skip(at).find(|field| !field.text.starts_with('-')) {
                codes.push(code.clone());
            }
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        asks |= matches!(text, "--version" | "--help" | "-V" | "-h");
        if text.starts_with("--") {
            let (name, attached) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let is_code = interpreter.code.contains(&name);
            if matches!(name, "--import" | "--require" | "--loader" | "--experimental-loader")
                && let Some(value) = attached.or_else(|| arguments.get(at).map(|next| next.text.as_str()))
            {
                module_in_url(runner, value, field.origin);
            }
            match attached {
                Some(value) if is_code => codes.push(field.with_text(value)),
                Some(_) => {}
                None if is_code => {
                    codes.extend(arguments.get(at).cloned());
                    at += 1;
                }
                None => at += usize::from(interpreter.values.contains(&text)),
            }
            continue;
        }
        if text.len() > 2 && interpreter.code.contains(&text) {
            codes.extend(arguments.get(at).cloned());
            at += 1;
            continue;
        }
        // A cluster: `-Ic`, `-lane`, `-we`; what takes a value takes the rest or the next argument.
        let letters = text.get(1..).unwrap_or_default();
        for (index, letter) in letters.char_indices() {
            let after = letters.get(index + letter.len_utf8()..).unwrap_or_default();
            let is = |names: &[&str]| names.iter().any(|name| name.len() == 2 && name.ends_with(letter));
            if is(interpreter.code) {
                if after.is_empty()
                    || (interpreter.language != Language::Read(Code::Python)
                        && after.len() < 3
                        && after.chars().all(char::is_alphabetic))
                {
                    codes.extend(arguments.get(at).cloned());
                    at += 1;
                } else {
                    codes.push(field.with_text(after));
                }
                break;
            }
            if is(interpreter.values) {
                module |= letter == 'm' && interpreter.language == Language::Read(Code::Python);
                // Perl's `-i`, `-0`, `-l` have their value attached or not at all.
                let detached = !matches!(
                    (interpreter.language, letter),
                    (Language::Scripting, 'i' | '0' | 'l' | 'C' | 'F')
                );
                at += usize::from(after.is_empty() && detached);
                break;
            }
        }
        if interpreter.language == Language::Read(Code::Python) && !codes.is_empty() {
            break;
        }
    }
    let before = runner.inspection.secrets_read();
    let mut taint = Taint::OUTPUT | invocation.stdin.taint.without(Taint::DOWNLOAD | Taint::DECODED);
    let arguments_left = arguments.get(at..).unwrap_or_default();
    if !codes.is_empty() {
        for code in codes {
            read(runner, interpreter.language, &code.as_text(), code.origin, How::Argument);
        }
        argument_files(runner, arguments_left);
    } else if !module && !asks {
        match arguments_left.first().filter(|field| field.text != "-") {
            Some(file) => {
                match runner.code_in(&file.text, invocation) {
                    Some((content, how)) => read(runner, interpreter.language, &content, file.origin, how),
                    None => runner.path(Access::Execute, file, file.span()),
                }
                argument_files(runner, arguments_left.get(1..).unwrap_or_default());
            }
            None => from_input(runner, interpreter.language, invocation),
        }
    } else {
        argument_files(runner, arguments_left);
    }
    if runner.inspection.secrets_read() > before {
        taint |= Taint::SECRET;
    }
    Text::unknown(taint)
}

/// `data:text/javascript,...`: a module that stands in its own address.
pub(in crate::shell) fn module_in_url(runner: &mut Runner<'_, '_>, address: &str, origin: Origin) {
    let Some((kind, content)) = address.strip_prefix("data:").and_then(|rest| rest.split_once(',')) else {
        return;
    };
    let code = if kind.ends_with(";base64") {
        super::decode::base64(content)
    } else {
        Some(crate::address::decode_percent(content))
    };
    match code {
        Some(code) => {
            read(runner, Language::Read(Code::Javascript), &Text::known(code), origin, How::Argument)
        }
        None => runner.inspection.signal("decode_run", origin.span(0..0)),
    }
}

/// Files that are named to a script are probably read by it.
fn argument_files(runner: &mut Runner<'_, '_>, arguments: &[Field]) {
    for field in arguments {
        if super::program::looks_like_path(&field.text)
            && !field.text.contains("://")
            && !field.text.contains(' ')
        {
            runner.path(Access::Read, field, field.span());
        }
    }
}

fn from_input(runner: &mut Runner<'_, '_>, language: Language, invocation: &Invocation) {
    let stdin = invocation.stdin.clone();
    let origin = Origin::of_span(invocation.span);
    read(runner, language, &stdin, origin, How::Input);
}

/// Hands code over to who reads its language.
fn read(runner: &mut Runner<'_, '_>, language: Language, code: &Text, origin: Origin, how: How) {
    if code.text.is_empty() || !runner.note_code(code, origin, how) {
        return;
    }
    match language {
        Language::Read(language) => {
            let text = code.text.replace(HOLE, "_");
            runner.inspection.read(language, &text, origin);
            if !text.contains(['(', '"', '\'', '=', ';', '\n']) {
                // Not the language that it says it is: perhaps meant for a shell.
                runner.suspect_text(&text, origin);
            }
        }
        Language::Scripting => scripting::read(runner, &code.text, origin),
    }
}
