//! `find` and `fd`: what they run on what they find.

use super::super::run::{Invocation, Runner};
use super::super::value::{Field, HOLE, Taint, Text};
use crate::fact::Access;
use crate::path::{Place, Places};

/// Files that are found from here.
struct Search<'f> {
    roots: Vec<&'f Field>,
    /// Whether what it starts from is not found itself.
    narrowed: bool,
    /// Whether only some of what lies below is found, not all of it.
    some: bool,
    /// What it has to be called, with holes for wildcards, if that says more than that it was found.
    name: Option<String>,
}

impl Search<'_> {
    /// What a found path could be.
    fn found(&self, template: &Field) -> Vec<Field> {
        const ROOTS: usize = 4;
        let mut found = Vec::new();
        let here = template.with_text(".");
        let none_given = self.roots.is_empty().then_some(&here);
        for root in self.roots.iter().copied().chain(none_given).take(ROOTS) {
            let name = match &self.name {
                // Somewhere below; what can be made again in a project is not so elsewhere.
                Some(name) if Places::of(name, None).has(Place::Scratch) => {
                    if root.text.starts_with(['/', '~', HOLE]) || root.text.contains("..") {
                        HOLE.to_string()
                    } else {
                        format!("{HOLE}/{name}")
                    }
                }
                Some(name) => name.clone(),
                // All of a home is more than something in it that is not known.
                None if !self.some && Places::of(&root.text, None).has(Place::Home) => "*".to_owned(),
                None => HOLE.to_string(),
            };
            found.push(template.with_text(format!("{}/{name}", root.text.trim_end_matches('/'))));
            if !self.narrowed {
                found.push(template.with_text(root.text.clone()));
            }
        }
        found
    }
}

pub(super) fn run(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
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
    // What stands behind an action comes too late for it.
    let tests = rest.split(|field| is_action(&field.text)).next().unwrap_or_default();
    let search = Search {
        roots: roots.iter().collect(),
        name: rest
            .iter()
            .position(|field| matches!(field.text.as_str(), "-name" | "-iname"))
            .and_then(|at| rest.get(at + 1))
            .map(|field| field.text.replace(['*', '?'], "\0"))
            .filter(|name| {
                let places = Places::of(name, None);
                places.has(Place::Secret) || (places.has(Place::Scratch) && is_picked(tests, rest))
            }),
        narrowed: tests
            .iter()
            .any(|field| is_test(&field.text) || matches!(field.text.as_str(), "-type" | "-mindepth")),
        some: tests.iter().any(|field| is_test(&field.text)),
    };
    let mut deletes = None;
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
            "-delete" => deletes = deletes.or(Some(at - 1)),
            // Their values are no actions: `-name -delete`.
            "-type" | "-xtype" | "-printf" | "-mindepth" | "-uid" | "-gid" | "-fstype" | "-lname"
            | "-ilname" | "-amin" | "-cmin" | "-anewer" | "-cnewer" | "-used" | "-context" => at += 1,
            // All tests that pick some take a value but one.
            test if is_test(test) && test != "-empty" => at += 1,
            _ => {}
        }
    }
    let Some(first) = invocation.fields.first() else { return Text::default() };
    match deletes {
        Some(at) if !is_picked(rest.get(..at).unwrap_or_default(), rest) => {
            // Whatever else is said does not hold it back.
            let others = rest.get(at + 1..).unwrap_or_default().iter();
            let others = others.filter(|field| !field.text.starts_with('-'));
            let mut fields = vec![first.clone()];
            fields.extend(roots.iter().chain(rest.get(at)).chain(others).cloned());
            runner.state_command(&invocation.instead(fields));
        }
        _ => runner.state_command(invocation),
    }
    let mut output = String::new();
    for path in search.found(first) {
        output.push_str(&path.text);
        output.push('\n');
    }
    Text { text: output, taint: Taint::NONE }
}

/// Whether a word does something with what was found so far.
fn is_action(word: &str) -> bool {
    matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir" | "-delete" | "-ls" | "-fls")
        || word.starts_with("-print")
        || word.starts_with("-fprint")
}

/// Whether a test picks some of the files.
fn is_test(word: &str) -> bool {
    matches!(
        word,
        "-name"
            | "-iname"
            | "-path"
            | "-ipath"
            | "-wholename"
            | "-regex"
            | "-iregex"
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
}

/// Whether an action only gets files of a certain name: a pattern with letters in it stands before it, and nothing in
/// the whole expression gets around that.
fn is_picked(before: &[Field], expression: &[Field]) -> bool {
    let by_name = |(at, field): (usize, &Field)| {
        let is_test = matches!(field.text.as_str(), "-name" | "-iname" | "-path" | "-ipath" | "-wholename");
        is_test && before.get(at + 1).is_some_and(|value| value.is_known() && says_something(&value.text))
    };
    let gets_around = |field: &Field| matches!(field.text.as_str(), "!" | "-not" | "-o" | "-or" | ",");
    before.iter().enumerate().any(by_name) && !expression.iter().any(gets_around)
}

/// Whether a pattern has letters of its own: `[a-z]*` fits nearly everything.
fn says_something(pattern: &str) -> bool {
    let mut pieces = pattern.split('[');
    let first = pieces.next().unwrap_or_default();
    let behind_brackets = pieces.filter_map(|piece| piece.split_once(']')).map(|(_, behind)| behind);
    std::iter::once(first).chain(behind_brackets).any(|piece| piece.contains(char::is_alphanumeric))
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
    let search = Search { roots: Vec::new(), narrowed: true, some: true, name: None };
    let mut inner = inner;
    if !inner.iter().any(|field| field.text.contains("{}"))
        && let Some(first) = inner.first().cloned()
    {
        inner.push(first.with_text("{}"));
    }
    run_on_found(runner, invocation, &inner, &search);
    Some(Text::unknown(Taint::OUTPUT))
}
