//! PowerShell, read by its commands, its pipes and the calls that matter.

mod calls;
mod grammar;

use super::super::builtin::joined;
use super::super::program::How;
use super::super::run::{Invocation, Runner};
use super::super::value::{Taint, Text};
use crate::fact::Access;
use crate::origin::Origin;

/// Short names of commands.
const ALIASES: &[(&str, &str)] = &[
    ("iex", "invoke-expression"),
    ("irm", "invoke-restmethod"),
    ("iwr", "invoke-webrequest"),
    ("ri", "remove-item"),
    ("gci", "get-childitem"),
    ("saps", "start-process"),
    ("icm", "invoke-command"),
    ("gc", "get-content"),
    ("sc", "set-content"),
    ("spps", "stop-process"),
    ("rnp", "remove-itemproperty"),
    ("%", "foreach-object"),
    ("?", "where-object"),
    ("foreach", "foreach-object"),
    ("where", "where-object"),
];

/// Verbs that the names of commands begin with.
const VERBS: &[&str] = &[
    "add",
    "clear",
    "copy",
    "disable",
    "enable",
    "expand",
    "export",
    "format",
    "get",
    "import",
    "install",
    "invoke",
    "move",
    "new",
    "out",
    "register",
    "remove",
    "rename",
    "restart",
    "restore",
    "set",
    "start",
    "stop",
    "uninstall",
    "unregister",
    "update",
    "write",
];

/// Whether a word in the place of a program is PowerShell's.
pub(in crate::shell) fn is_cmdlet(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let verb_and_noun = lower.split_once('-').is_some_and(|(verb, noun)| {
        VERBS.contains(&verb) && !noun.is_empty() && noun.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    verb_and_noun
        || (lower.starts_with('[') && lower.contains("]::"))
        || ALIASES.iter().any(|(alias, _)| lower.len() > 1 && *alias == lower)
}

/// `powershell -Command CODE`, `-File FILE`, `-EncodedCommand BASE64`, or code as its input.
pub(super) fn run(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    runner.state_command(invocation);
    let mut at = 0;
    while let Some(field) = arguments.get(at) {
        at += 1;
        let rest = arguments.get(at..).unwrap_or_default();
        let lower = field.text.to_ascii_lowercase();
        let Some(option) = lower.strip_prefix(['-', '/']).filter(|option| !option.is_empty()) else {
            at -= 1;
            break;
        };
        let is = |name: &str| name.starts_with(option);
        if is("command") || option == "cwa" {
            break;
        } else if is("encodedcommand") || option == "ec" {
            let code = rest.first().and_then(|field| super::super::decode::base64(&field.text));
            return match code {
                Some(code) => read_code(runner, &Text::known(code), field.origin, How::Argument),
                None => {
                    runner.inspection.signal("decode_run", field.span());
                    Text::unknown(Taint::OUTPUT)
                }
            };
        } else if is("file") {
            let Some(file) = rest.first() else { break };
            return match runner.code_in(&file.text, invocation) {
                Some((code, how)) => read_code(runner, &code, file.origin, how),
                None => {
                    runner.path(Access::Execute, file, file.span());
                    Text::unknown(Taint::OUTPUT)
                }
            };
        }
        at += usize::from(
            ["executionpolicy", "windowstyle", "version", "outputformat", "inputformat", "workingdirectory"]
                .iter()
                .any(|name| is(name))
                || matches!(option, "ep" | "ex" | "wd"),
        );
    }
    match joined(arguments.get(at..).unwrap_or_default()).filter(|(code, _)| code.text != "-") {
        Some((code, origin)) => read_code(runner, &code, origin, How::Argument),
        None => read_code(runner, &invocation.stdin.clone(), Origin::of_span(invocation.span), How::Input),
    }
}

fn read_code(runner: &mut Runner<'_, '_>, code: &Text, origin: Origin, how: How) -> Text {
    if !runner.note_code(code, origin, how) {
        return Text::unknown(Taint::OUTPUT | code.taint);
    }
    let (output, broken) = read(runner, &code.text, origin);
    if broken {
        runner.inspection.signal("unreadable", origin.span(0..code.text.len()));
    }
    output
}

/// States what code would do; also whether it is not well-formed.
pub(in crate::shell) fn read(runner: &mut Runner<'_, '_>, code: &str, origin: Origin) -> (Text, bool) {
    if !runner.inspection.enter(code, origin) {
        return (Text::unknown(Taint::OUTPUT), false);
    }
    let (output, broken) = grammar::Reader::new(runner, code, origin).read();
    runner.inspection.leave();
    (output, broken)
}
