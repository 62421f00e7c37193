//! `cmd.exe`: quotes of one kind, `^` before what is meant literally, `&` between commands.

use super::super::builtin::joined;
use super::super::program::How;
use super::super::run::{Invocation, Runner};
use super::super::value::{Field, HOLE, Taint, Text};

/// `cmd /c COMMAND`, also `/k`, `/s/c` and, without a blank, `/crd`.
pub(super) fn cmd(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let behind_switch = |field: &Field| {
        let lower = field.text.to_ascii_lowercase();
        let at = ["/c", "/k", "/r"].iter().filter_map(|switch| lower.find(switch)).min()?;
        field.text.get(at + 2..).filter(|_| lower.starts_with('/')).map(str::to_owned)
    };
    let (at, first) = arguments
        .iter()
        .enumerate()
        .find_map(|(at, field)| behind_switch(field).map(|rest| (at, field.with_text(rest))))?;
    let mut words: Vec<Field> = Some(first).filter(|field| !field.text.is_empty()).into_iter().collect();
    words.extend(arguments.get(at + 1..)?.iter().cloned());
    let (code, origin) = joined(&words)?;
    runner.state_command(invocation);
    if !runner.note_code(&code, origin, How::Argument) {
        return Some(Text::unknown(Taint::OUTPUT));
    }
    if let Some(first) = words.first() {
        let folder = runner.scope.directory.clone();
        for statement in statements(&code.text) {
            let fields =
                without_prefixes(&statement).iter().map(|word| first.with_text(word.clone())).collect();
            runner.program(invocation.instead(fields));
        }
        runner.scope.directory = folder;
    }
    // What is run by it may have quotes of another kind.
    Some(runner.shell(&code, origin, Vec::new(), &invocation.stdin, How::Argument))
}

/// `start "title" /b program`, `call program`.
pub(super) fn start(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Option<Text> {
    let words: Vec<String> = invocation.fields.iter().map(|field| field.text.clone()).collect();
    let skipped = words.len() - without_prefixes(&words).len();
    let fields = invocation.fields.get(skipped..).filter(|rest| !rest.is_empty())?.to_vec();
    runner.state_part(invocation, skipped);
    Some(runner.program(invocation.instead(fields)))
}

/// `r^m^d^i^r`: the same without the marks.
pub(super) fn escaped(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Option<Text> {
    let plain = |field: &Field| field.with_text(field.text.replace('^', ""));
    let fields: Vec<Field> = invocation.fields.iter().map(plain).collect();
    fields.first().filter(|program| !program.text.is_empty())?;
    Some(runner.program(invocation.instead(fields)))
}

/// The words of each command.
fn statements(code: &str) -> Vec<Vec<String>> {
    const MOST: usize = 256;
    let mut all = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        let current = word.get_or_insert_default();
        match letter {
            '"' => quoted = !quoted,
            '^' if !quoted => current.extend(letters.next()),
            '%' => {
                // `%NAME%`, or `%i` of a loop.
                let rest: String = letters.clone().take_while(|letter| *letter != '%').collect();
                let is_name =
                    !rest.is_empty() && rest.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
                if is_name && letters.clone().nth(rest.chars().count()) == Some('%') {
                    letters.by_ref().take(rest.chars().count() + 1).for_each(drop);
                    current.push_str(if rest.eq_ignore_ascii_case("USERPROFILE") { "~" } else { "\0" });
                } else {
                    letters.next_if(|next| next.is_alphanumeric());
                    current.push(HOLE);
                }
            }
            '&' | '|' | '\n' | '(' | ')' if !quoted => {
                push(&mut all, &mut word);
                if all.len() < MOST {
                    all.push(Vec::new());
                }
            }
            letter if letter.is_whitespace() && !quoted => push(&mut all, &mut word),
            letter => current.push(letter),
        }
    }
    push(&mut all, &mut word);
    all.retain(|words| !words.is_empty());
    all
}

/// Ends a word. `rd/s/q` and `/s/q` are several.
fn push(all: &mut [Vec<String>], word: &mut Option<String>) {
    let Some(words) = all.last_mut() else { return };
    let Some(text) = word.take().filter(|text| !text.is_empty()) else { return };
    let mut pieces = text.split('/');
    let before = pieces.next().unwrap_or_default();
    let takes_switches =
        matches!(before.to_ascii_lowercase().as_str(), "" | "rd" | "rmdir" | "del" | "erase" | "format");
    let is_switches = text.contains('/') && takes_switches && pieces.clone().all(|piece| piece.len() == 1);
    if !is_switches {
        words.push(text);
        return;
    }
    if !before.is_empty() {
        words.push(before.to_owned());
    }
    words.extend(pieces.map(|switch| format!("/{switch}")));
}

/// The command behind `call`, `start` with its options, `do`, `if exist x`.
fn without_prefixes(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let lower = |word: &String| word.to_ascii_lowercase();
        let skip = match first.trim_start_matches('@').to_ascii_lowercase().as_str() {
            "call" | "do" | "else" | "" => 0,
            "start" => {
                let title =
                    usize::from(after.first().is_some_and(|word| word.is_empty() || word.contains(' ')));
                title + after.iter().skip(title).take_while(|word| word.starts_with('/')).count()
            }
            "if" => {
                let negated =
                    after.iter().take_while(|word| matches!(lower(word).as_str(), "not" | "/i")).count();
                let tests = after.get(negated).map(lower);
                negated
                    + match tests.as_deref() {
                        Some("exist" | "defined" | "errorlevel") => 2,
                        Some(test) if test.contains("==") => 1,
                        _ => 3,
                    }
            }
            _ => return rest,
        };
        rest = after.get(skip..).unwrap_or_default();
    }
    rest
}
