//! `xargs` and `parallel`: commands whose arguments come from the input.

use super::super::program::quote;
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
    let input = items(invocation, first, options);
    match mark {
        Some(mark) => {
            let mut output = Text::default();
            for item in input.iter().take(FOLLOWED) {
                let fields = inner.iter().map(|field| filled(field, &mark, item)).collect();
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
fn items(invocation: &Invocation, first: &Field, options: &[Field]) -> Vec<Field> {
    let input = &invocation.stdin;
    let make = |text: &str| {
        let mut field = first.with_text(text);
        field.taint = input.taint;
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
        _ if by_nul => trimmed.lines().map(make).collect(),
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
    let mut input: Vec<Field> = if given.is_empty() {
        items(invocation, first, &[])
            .into_iter()
            .chain((template.is_empty()).then(|| first.with_text("")).filter(|_| false))
            .collect()
    } else if from_files {
        vec![first.with_text("\0")]
    } else {
        given.iter().filter(|field| !marks.contains(&field.text.as_str())).cloned().collect()
    };
    if given.is_empty() && template.is_empty() {
        // The lines of the input are the commands.
        let code = invocation.stdin.clone();
        return runner.shell(
            &code,
            first.origin,
            Vec::new(),
            &Text::default(),
            super::super::program::How::Input,
        );
    }
    input.truncate(FOLLOWED);
    let mark = option_value(options, &["-I"]).map_or_else(|| "{}".to_owned(), |field| field.text);
    let mut output = Text::default();
    for item in &input {
        // The template is put together and read by a shell.
        let mut line = match template {
            [only] => only.text.clone(),
            several => several.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" "),
        };
        let uses_mark =
            line.contains(&mark) || ["{.}", "{/}", "{//}", "{1}"].iter().any(|other| line.contains(other));
        if template.is_empty() {
            line.clone_from(&item.text);
        } else if uses_mark {
            for mark in [mark.as_str(), "{.}", "{/}", "{//}", "{1}"] {
                line = line.replace(mark, &quote(&item.text));
            }
        } else {
            line.push(' ');
            line.push_str(&quote(&item.text));
        }
        let code = Text { text: line, taint: Taint::NONE };
        let printed = runner.shell(
            &code,
            first.origin,
            Vec::new(),
            &Text::default(),
            super::super::program::How::Argument,
        );
        output.append(&printed);
    }
    output
}
