//! What build tools run from a file that was written before: make and npm.

use super::super::run::{Invocation, Runner};
use super::super::value::{Field, HOLE, Text};
use super::{option_value, options_end};
use crate::origin::Origin;

const MAKE_VALUES: &[&str] =
    &["-C", "--directory", "-f", "--file", "--makefile", "-I", "-j", "-l", "-o", "-W", "-E"];

/// What make runs by its arguments, and by a makefile that is known.
pub(super) fn make(runner: &mut Runner<'_, '_>, invocation: &Invocation) {
    let arguments = invocation.arguments();
    let span = Origin::of_span(invocation.span);
    for field in arguments {
        if let Some((name, value)) = field.text.split_once('=').filter(|_| !field.text.starts_with('-')) {
            make_variable(runner, name.trim_end_matches([':', '+', '?']), value, field.origin);
        }
    }
    if let Some(code) = option_value(arguments, &["--eval", "-E"]) {
        Makefile::of(&code.text).run(runner, &[], code.origin);
    }
    let folder = option_value(arguments, &["-C", "--directory"])
        .map(|field| format!("{}/", field.text))
        .unwrap_or_default();
    let file = option_value(arguments, &["-f", "--file", "--makefile"]);
    let names: Vec<String> = match &file {
        Some(file) if file.text == "-" => vec![file.text.clone()],
        Some(file) => vec![format!("{folder}{}", file.text)],
        None => ["GNUmakefile", "makefile", "Makefile"].map(|name| format!("{folder}{name}")).to_vec(),
    };
    let Some((code, how)) = names.iter().find_map(|name| runner.code_in(name, invocation)) else { return };
    if !runner.note_code(&code, span, how) || !runner.spend(1 + code.text.len() / 8) {
        return;
    }
    let goals: Vec<&str> = operands(arguments, MAKE_VALUES).filter(|goal| !goal.contains('=')).collect();
    Makefile::of(&code.text).run(runner, &goals, span);
}

fn operands<'f>(arguments: &'f [Field], values: &'static [&'static str]) -> impl Iterator<Item = &'f str> {
    let mut rest = arguments;
    std::iter::from_fn(move || {
        rest = rest.get(options_end(rest, values)..).unwrap_or_default();
        let (first, after) = rest.split_first()?;
        rest = after;
        Some(first.text.as_str())
    })
}

/// A variable that a makefile sees: those for programs are run.
pub(in crate::shell) fn make_variable(runner: &mut Runner<'_, '_>, name: &str, value: &str, origin: Origin) {
    let named_program = matches!(
        name,
        "SHELL"
            | "CC"
            | "CXX"
            | "CPP"
            | "LD"
            | "AR"
            | "AS"
            | "FC"
            | "RM"
            | "LEX"
            | "YACC"
            | "MAKE"
            | "INSTALL"
            | "PYTHON"
    );
    if named_program && value.contains(' ') && !value.contains(HOLE) {
        runner.suspect_text(value, origin);
    }
    shell_functions(runner, value, origin);
}

/// `$(shell ...)`, wherever it stands.
fn shell_functions(runner: &mut Runner<'_, '_>, text: &str, origin: Origin) {
    for rest in text.split("$(shell ").skip(1) {
        let mut depth = 1_usize;
        let end = rest.bytes().position(|byte| {
            depth = match byte {
                b'(' => depth + 1,
                b')' => depth - 1,
                _ => depth,
            };
            depth == 0
        });
        runner.suspect_text(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default(), origin);
    }
}

struct Makefile<'t> {
    text: &'t str,
    variables: Vec<(&'t str, &'t str)>,
    /// Targets, what has to be made before them, and what is run.
    rules: Vec<(Vec<&'t str>, Vec<&'t str>, Vec<&'t str>)>,
}

impl<'t> Makefile<'t> {
    fn of(text: &'t str) -> Self {
        const LINES: usize = 2_048;
        let mut makefile = Self { text, variables: Vec::new(), rules: Vec::new() };
        for line in text.lines().take(LINES) {
            if let Some(command) = line.strip_prefix('\t') {
                if let Some((_, _, commands)) = makefile.rules.last_mut() {
                    commands.push(command);
                }
                continue;
            }
            let assigns = line
                .find('=')
                .filter(|at| !line.get(..*at).unwrap_or_default().trim_end_matches(':').contains(':'));
            if let Some(at) = assigns {
                let (name, value) = line.split_at(at);
                let name = name.trim_end_matches([':', '+', '?', '!']).trim();
                makefile
                    .variables
                    .push((name.trim_start_matches("export "), value.get(1..).unwrap_or_default().trim()));
            } else if let Some((targets, rest)) = line.split_once(':') {
                let (before, command) =
                    rest.split_once(';').map_or((rest, None), |(before, command)| (before, Some(command)));
                makefile.rules.push((
                    targets.split_whitespace().collect(),
                    before.trim_start_matches(':').split_whitespace().collect(),
                    command.into_iter().collect(),
                ));
            }
        }
        makefile
    }

    fn run(&self, runner: &mut Runner<'_, '_>, goals: &[&'t str], origin: Origin) {
        shell_functions(runner, self.text, origin);
        let first =
            self.rules.iter().flat_map(|(targets, ..)| targets.first()).find(|name| !name.starts_with('.'));
        let mut left: Vec<&str> =
            if goals.is_empty() { first.into_iter().copied().collect() } else { goals.to_vec() };
        let mut made: Vec<&str> = Vec::new();
        while let Some(goal) = left.pop() {
            if made.contains(&goal) || !runner.spend(1 + self.rules.len()) {
                continue;
            }
            made.push(goal);
            for (targets, before, commands) in &self.rules {
                // A pattern fits whatever is asked for.
                if targets.iter().any(|target| *target == goal || target.contains(['%', '$'])) {
                    left.extend(before);
                    for command in commands {
                        let command = self.expanded(command.trim_start_matches(['@', '-', '+', ' ']));
                        runner.suspect_text(&command, origin);
                    }
                }
            }
        }
    }

    /// A command with make's own variables filled in.
    fn expanded(&self, command: &str) -> String {
        let mut result = String::with_capacity(command.len());
        let mut rest = command;
        while let Some((before, after)) = rest.split_once('$') {
            result.push_str(before);
            let (name, behind) = match after.chars().next() {
                Some('$') => {
                    result.push('$');
                    rest = after.get(1..).unwrap_or_default();
                    continue;
                }
                Some('(') => after.get(1..).and_then(|after| after.split_once(')')).unwrap_or((after, "")),
                Some('{') => after.get(1..).and_then(|after| after.split_once('}')).unwrap_or((after, "")),
                letter => after.split_at(letter.map_or(0, char::len_utf8)),
            };
            match self.variables.iter().rev().find(|(known, _)| *known == name) {
                Some((_, value)) if !value.contains('$') => result.push_str(value),
                _ if name == "RM" => result.push_str("rm -f"),
                _ => result.push(HOLE),
            }
            rest = behind;
        }
        result.push_str(rest);
        result
    }
}

/// Scripts of a `package.json`: those that are set now, and those of one that was written before.
pub(super) fn package_scripts(runner: &mut Runner<'_, '_>, invocation: &Invocation) {
    let words: Vec<&str> =
        operands(invocation.arguments(), &["-C", "--dir", "--prefix", "-w", "--workspace"]).collect();
    let asked: &[&str] = match words.as_slice() {
        ["pkg", "set", ..] => {
            for field in invocation.arguments() {
                if let Some((_, code)) =
                    field.text.strip_prefix("scripts.").and_then(|rest| rest.split_once('='))
                {
                    runner.suspect_text(code, field.origin);
                }
            }
            return;
        }
        ["run" | "run-script", name, ..] => &[name],
        ["install" | "i" | "ci" | "add", ..] | [] => &["install", "prepare"],
        [name, ..] => &[name],
    };
    let Some(content) = runner.scope.file("package.json").filter(|content| content.is_known()) else {
        return;
    };
    let Ok(package) = serde_json::from_str::<serde_json::Value>(&content.text) else { return };
    let scripts = package.get("scripts").and_then(serde_json::Value::as_object).cloned().unwrap_or_default();
    let origin = Origin::of_span(invocation.span);
    for (name, code) in &scripts {
        let plain = name.strip_prefix("pre").or_else(|| name.strip_prefix("post")).unwrap_or(name);
        if (asked.contains(&plain) || asked.contains(&name.as_str()))
            && let Some(code) = code.as_str()
        {
            runner.evaluate(&Text::known(code), origin, &Text::default());
        }
    }
}
