//! `find` and `fd`: what they run on what they find.

use super::super::run::{Invocation, Runner};
use super::super::value::{Field, Taint, Text};
use crate::fact::Access;
use crate::path::{Place, Places};

/// Files that are found from here.
struct Search<'f> {
    roots: Vec<&'f Field>,
    /// Whether anything narrows down what is found.
    narrowed: bool,
    /// What it has to be called, with holes for wildcards.
    name: Option<String>,
}

impl Search<'_> {
    /// What a found path could be.
    fn found(&self, template: &Field) -> Vec<Field> {
        const ROOTS: usize = 4;
        let mut found = Vec::new();
        let name = self.name.as_deref().unwrap_or("\0");
        for root in self.roots.iter().take(ROOTS) {
            let below = format!("{}/{name}", root.text.trim_end_matches('/'));
            found.push(template.with_text(below));
            if !self.narrowed {
                found.push(template.with_text(root.text.clone()));
            }
        }
        if self.roots.is_empty() {
            found.push(template.with_text(format!("./{name}")));
            if !self.narrowed {
                found.push(template.with_text("."));
            }
        }
        found
    }
}

pub(super) fn run(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    runner.state_command(invocation);
    let leading = arguments
        .iter()
        .position(|field| {
            !matches!(field.text.as_str(), "-H" | "-L" | "-P" | "-E" | "-X" | "-d" | "-s" | "-x")
                && !field.text.starts_with("-O")
        })
        .unwrap_or(arguments.len());
    let rest = arguments.get(leading..).unwrap_or_default();
    let expression = rest
        .iter()
        .position(|field| field.text.starts_with('-') || matches!(field.text.as_str(), "(" | "!" | ")"))
        .unwrap_or(rest.len());
    let roots = rest.get(..expression).unwrap_or_default();
    let search = Search {
        roots: roots.iter().collect(),
        name: rest
            .iter()
            .position(|field| matches!(field.text.as_str(), "-name" | "-iname"))
            .and_then(|at| rest.get(at + 1))
            .map(|field| field.text.replace(['*', '?'], "\0"))
            // Only a name that says what is in the file says more than that it was found.
            .filter(|name| Places::of(name, None).has(Place::Secret)),
        narrowed: rest.iter().any(|field| {
            matches!(
                field.text.as_str(),
                "-name"
                    | "-iname"
                    | "-path"
                    | "-ipath"
                    | "-wholename"
                    | "-regex"
                    | "-iregex"
                    | "-type"
                    | "-mindepth"
                    | "-mtime"
                    | "-mmin"
                    | "-newer"
                    | "-size"
                    | "-empty"
                    | "-user"
                    | "-group"
                    | "-perm"
                    | "-atime"
                    | "-ctime"
                    | "-links"
                    | "-inum"
                    | "-samefile"
                    | "-maxdepth"
            )
        }),
    };
    let mut at = expression;
    while let Some(field) = rest.get(at) {
        at += 1;
        match field.text.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let command = rest.get(at..).unwrap_or_default();
                // `+` only ends a command after `{}`.
                let length = command
                    .iter()
                    .enumerate()
                    .position(|(index, field)| {
                        matches!(field.text.as_str(), ";" | "\\;")
                            || (field.text == "+"
                                && index > 0
                                && command.get(index - 1).is_some_and(|before| before.text == "{}"))
                    })
                    .unwrap_or(command.len());
                let inner = command.get(..length).unwrap_or_default();
                run_on_found(runner, invocation, inner, &search);
                at += length + 1;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = rest.get(at) {
                    runner.path(Access::Truncate, file, file.span());
                }
                at += 1;
            }
            "-files0-from" => {
                if let Some(file) = rest.get(at) {
                    runner.read_file(file, file.span());
                }
                at += 1;
            }
            // Their values are no actions: `-name -delete`.
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex" | "-printf"
            | "-newer" | "-type" | "-user" | "-group" | "-size" | "-perm" | "-mtime" | "-mmin"
            | "-maxdepth" | "-mindepth" => at += 1,
            _ => {}
        }
    }
    let Some(first) = invocation.fields.first() else { return Text::default() };
    let mut output = String::new();
    for path in search.found(first) {
        output.push_str(&path.text);
        output.push('\n');
    }
    Text { text: output, taint: Taint::NONE }
}

fn run_on_found(runner: &mut Runner<'_, '_>, invocation: &Invocation, inner: &[Field], search: &Search<'_>) {
    let Some(first) = inner.first() else { return };
    for found in search.found(first) {
        let fields = inner
            .iter()
            .map(|field| {
                if field.text.contains("{}") {
                    field.with_text(field.text.replace("{}", &found.text))
                } else {
                    field.clone()
                }
            })
            .collect();
        let mut command = invocation.instead(fields);
        command.stdin = Text::default();
        runner.program(command);
    }
}

/// `fd pattern -x command`.
pub(super) fn run_fd(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let at = arguments
        .iter()
        .position(|field| matches!(field.text.as_str(), "-x" | "--exec" | "-X" | "--exec-batch"))?;
    runner.state_part(invocation, 1 + at);
    let inner: Vec<Field> =
        arguments.get(at + 1..)?.iter().take_while(|field| field.text != ";").cloned().collect();
    let search = Search { roots: Vec::new(), narrowed: true, name: None };
    let mut inner = inner;
    if !inner.iter().any(|field| field.text.contains("{}"))
        && let Some(first) = inner.first().cloned()
    {
        inner.push(first.with_text("{}"));
    }
    run_on_found(runner, invocation, &inner, &search);
    Some(Text::unknown(Taint::OUTPUT))
}
