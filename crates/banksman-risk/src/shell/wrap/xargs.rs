//! `xargs` and `parallel`: commands whose arguments come from the input.

use super::super::program::{How, quote};
use super::super::run::{Invocation, Runner};
use super::super::value::{Field, HOLE, Taint, Text};
use super::{option_value, options_end};

const VALUES: &[&str] = &[
    "-a",
    "--arg-file",
    "-d",
    "--delimiter",
    "-E",
    "-I",
    "-L",
    "--max-lines",
    "-n",
    "--max-args",
    "-P",
    "--max-procs",
    "-s",
    "--max-chars",
    "-R",
    "-S",
    "-J",
    "--process-slot-var",
];

/// Arguments from the input that are followed one by one.
const FOLLOWED: usize = 32;

pub(super) fn run(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    let start = options_end(arguments, VALUES);
    let options = arguments.get(..start).unwrap_or_default();
    let mark = replacement(options);
    let mut inner = arguments.get(start..).unwrap_or_default().to_vec();
    runner.state_part(invocation, 1 + start);
    let Some(first) = invocation.fields.first() else { return Text::default() };
    if let Some(file) = option_value(options, &["-a", "--arg-file"]) {
        runner.read_file(&file, file.span());
    }
    if inner.is_empty() {
        // `xargs` alone echoes.
        return invocation.stdin.clone();
    }
    let input = items(invocation, first, options, mark.is_some());
    match mark {
        Some(mark) => {
            let mut output = Text::default();
            for item in input.iter().take(FOLLOWED) {
                let mut fields: Vec<Field> = inner.iter().map(|field| filled(field, &mark, item)).collect();
                if !inner.iter().any(|field| field.text.contains(&mark)) {
                    // Some would append it after all.
                    fields.push(item.clone());
                }
                let printed = runner.program(child(invocation, fields));
                output.append(&printed);
            }
            output
        }
        None => {
            inner.extend(input.into_iter().take(FOLLOWED));
            runner.program(child(invocation, inner))
        }
    }
}

/// The command does not read what the wrapper reads.
fn child(invocation: &Invocation, fields: Vec<Field>) -> Invocation {
    let mut inner = invocation.instead(fields);
    inner.stdin = Text { text: String::new(), taint: Taint::NONE };
    inner
}

fn replacement(options: &[Field]) -> Option<String> {
    if let Some(field) = option_value(options, &["-I", "-J", "--replace"]).filter(|_| {
        options.iter().any(|field| {
            field.text.starts_with("-I")
                || field.text.starts_with("-J")
                || field.text.starts_with("--replace=")
        })
    }) {
        return Some(if field.text.is_empty() { "{}".to_owned() } else { field.text });
    }
    options.iter().find_map(|field| match field.text.as_str() {
        "-i" | "--replace" => Some("{}".to_owned()),
        text => text.strip_prefix("-i").filter(|_| !text.starts_with("--")).map(str::to_owned),
    })
}

/// The items of the input, as far as they are known.
fn items(invocation: &Invocation, first: &Field, options: &[Field], by_line: bool) -> Vec<Field> {
    let input = &invocation.stdin;
    let make = |text: &str| {
        let mut field = first.with_text(text);
        field.taint = input.taint | Taint::INPUT;
        field
    };
    let unknown = || vec![make("\0")];
    let by_nul = options.iter().any(|field| {
        field.text.starts_with("-0")
            || field.text == "--null"
            || (field.text.len() > 2 && !field.text.starts_with("--") && field.text.ends_with('0'))
    });
    let trimmed = input.text.trim();
    if trimmed.is_empty() || trimmed.chars().all(|letter| letter == HOLE || letter.is_whitespace()) {
        return unknown();
    }
    let delimiter = option_value(options, &["-d", "--delimiter"]).map(|field| field.text);
    let mut pieces: Vec<Field> = match delimiter.as_deref() {
        Some("\\n") | Some("\n") => input.text.lines().map(make).collect(),
        Some("\\0") => vec![make(trimmed)],
        Some(delimiter) if !delimiter.is_empty() => trimmed.split(delimiter).map(make).collect(),
        _ if by_nul || by_line => trimmed.lines().map(make).collect(),
        // Quotes are undone by xargs itself.
        _ => trimmed.split_whitespace().map(|piece| make(piece.trim_matches(['"', '\'']))).collect(),
    };
    if pieces.len() > FOLLOWED {
        pieces.truncate(FOLLOWED - 1);
        pieces.push(make("\0"));
    }
    pieces
}

/// An argument with the mark replaced.
fn filled(field: &Field, mark: &str, item: &Field) -> Field {
    if mark.is_empty() || !field.text.contains(mark) {
        return field.clone();
    }
    let mut result = field.with_text(field.text.replace(mark, &item.text));
    result.taint |= item.taint;
    result
}

const PARALLEL_VALUES: &[&str] = &[
    "-j",
    "--jobs",
    "-P",
    "--max-procs",
    "-n",
    "--max-args",
    "-N",
    "-L",
    "-l",
    "-I",
    "-a",
    "--arg-file",
    "-S",
    "--sshlogin",
    "--results",
    "--joblog",
    "--delay",
    "--timeout",
    "--retries",
    "--colsep",
    "-C",
    "-d",
    "--delimiter",
    "--halt",
    "--tagstring",
    "--tmpdir",
    "--workdir",
    "--wd",
    "--load",
    "--memfree",
    "--nice",
    "-s",
    "-E",
    "--env",
    "--block",
    "--recstart",
    "--recend",
    "--shebang",
    "--bar-width",
];

pub(super) fn run_parallel(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    let start = options_end(arguments, PARALLEL_VALUES);
    runner.state_part(invocation, 1 + start);
    let Some(first) = invocation.fields.first() else { return Text::default() };
    let options = arguments.get(..start).unwrap_or_default();
    let rest = arguments.get(start..).unwrap_or_default();
    let marks = [":::", ":::+", "::::"];
    let end = rest.iter().position(|field| marks.contains(&field.text.as_str())).unwrap_or(rest.len());
    let template = rest.get(..end).unwrap_or_default();
    let given = rest.get(end..).unwrap_or_default();
    let from_files = given.iter().any(|field| field.text == "::::");
    if template.is_empty() && given.is_empty() {
        // The lines of the input are the commands.
        let code = invocation.stdin.clone();
        if code.is_known() && !code.text.is_empty() {
            return runner.shell(&code, first.origin, Vec::new(), &Text::default(), How::Input);
        }
        runner.inspection.signal("pipe_run", invocation.span);
        return Text::unknown(Taint::OUTPUT);
    }
    let mut input: Vec<Field> = if given.is_empty() {
        items(invocation, first, &[], true)
    } else if from_files {
        vec![first.with_text("\0")]
    } else {
        given.iter().filter(|field| !marks.contains(&field.text.as_str())).cloned().collect()
    };
    input.truncate(FOLLOWED);
    let mark = option_value(options, &["-I"]).map_or_else(|| "{}".to_owned(), |field| field.text);
    let all_marks = [mark.as_str(), "{.}", "{/}", "{//}", "{1}"];
    let mut output = Text::default();
    for item in &input {
        let printed = match template {
            [] => runner.shell(&item.as_text(), item.origin, Vec::new(), &Text::default(), How::Argument),
            // One text is read by a shell, several words are taken as they are.
            [only] if only.text.contains(char::is_whitespace) => {
                let mut line = only.text.clone();
                for mark in all_marks {
                    line = line.replace(mark, &quote(&item.text));
                }
                if line == only.text {
                    line.push(' ');
                    line.push_str(&quote(&item.text));
                }
                let code = Text { text: line, taint: Taint::NONE };
                runner.shell(&code, only.origin, Vec::new(), &Text::default(), How::Argument)
            }
            words => {
                let uses_mark =
                    words.iter().any(|field| all_marks.iter().any(|mark| field.text.contains(mark)));
                let mut fields = words.to_vec();
                for mark in all_marks {
                    fields = fields.iter().map(|field| filled(field, mark, item)).collect();
                }
                if !uses_mark {
                    fields.push(item.clone());
                }
                runner.program(child(invocation, fields))
            }
        };
        output.append(&printed);
    }
    output
}
