//! Makes Python of what is pasted from elsewhere.

use unicode_normalization::UnicodeNormalization as _;

use crate::code::tree::Statement;
use crate::origin::Origin;

/// A text that can be parsed, and the shell commands that stood in it.
pub(super) struct Prepared {
    pub(super) text: String,
    pub(super) origin: Origin,
    pub(super) shell: Vec<Statement>,
}

/// Takes off indentation and prompts, and takes out the shell commands of a notebook. `None`: there are none.
pub(super) fn prepare(text: &str, origin: Origin) -> Option<Prepared> {
    let derived = |text: String, whole: &str| {
        Some(Prepared { text, origin: origin.derived(0..whole.len()), shell: Vec::new() })
    };
    if text.lines().any(|line| line.starts_with(">>> ")) {
        return derived(without_prompts(text), text);
    }
    if text.lines().any(is_magic) {
        return Some(notebook(text, origin));
    }
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let indentation =
        first.map_or("", |line| line.get(..line.len() - line.trim_start().len()).unwrap_or_default());
    if indentation.is_empty() {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix(indentation).unwrap_or(line)).collect();
    derived(lines.join("\n"), text)
}

/// To Python `ｏｓ` is `os`: it reads names in their compatibility form. Letters in texts are folded with them, which
/// changes what a text says but never what it is a text of. `None`: there is nothing to fold.
pub(super) fn fold(text: &str) -> Option<String> {
    let ascii = |c: char| {
        let mut folded = std::iter::once(c).nfkc();
        match (folded.next(), folded.next()) {
            (Some(plain), None) if plain.is_ascii_alphanumeric() || plain == '_' => Some(plain),
            _ => None,
        }
    };
    if text.is_ascii() || !text.chars().any(|c| !c.is_ascii() && ascii(c).is_some()) {
        return None;
    }
    Some(text.chars().map(|c| if c.is_ascii() { c } else { ascii(c).unwrap_or(c) }).collect())
}

/// `!command` or `%magic`, but neither `!= x` nor `% x`.
fn is_magic(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with('!') && !line.starts_with("!="))
        || line
            .strip_prefix('%')
            .is_some_and(|rest| rest.starts_with(|c: char| c == '%' || c.is_ascii_alphabetic()))
}

fn without_prompts(text: &str) -> String {
    let code = |line: &str| {
        let line = line.strip_prefix(">>> ").or_else(|| line.strip_prefix("... "));
        line.map(|line| format!("{line}\n")).unwrap_or_default()
    };
    text.lines().map(code).collect()
}

/// A cell: `!command` and `%sx command` run in a shell, `%%bash` makes the whole cell one.
fn notebook(text: &str, origin: Origin) -> Prepared {
    let mut shell = Vec::new();
    let mut python = String::with_capacity(text.len());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let blank = is_magic(line);
        if let Some(name) = code.strip_prefix("%%") {
            let name = name.split_whitespace().next().unwrap_or_default();
            if matches!(name, "bash" | "sh" | "shell" | "script" | "system") {
                let body = text.get(end..).unwrap_or_default();
                shell.push(Statement::Shell(body.into(), origin.span(end..text.len())));
                return Prepared { text: python, origin, shell };
            }
        } else if let Some(command) = code.strip_prefix("!!").or_else(|| code.strip_prefix('!')) {
            shell.push(Statement::Shell(command.trim_end().into(), origin.span(at + indent..end)));
        } else if let Some((_, command)) = code.split_once(' ').filter(|(magic, _)| is_shell_magic(magic)) {
            shell.push(Statement::Shell(command.trim_end().into(), origin.span(at + indent..end)));
        }
        if blank {
            // A statement of the same length keeps what follows in its place, and a block from being empty.
            python.push_str(line.get(..indent).unwrap_or_default());
            let width = line.trim_end_matches(['\r', '\n']).len() - indent.min(line.len());
            python.push('0');
            python.extend(std::iter::repeat_n(' ', width.saturating_sub(1)));
            python.push('\n');
        } else {
            python.push_str(line);
        }
        at = end;
    }
    Prepared { text: python, origin, shell }
}

fn is_shell_magic(word: &str) -> bool {
    matches!(word, "%sx" | "%system" | "%bash" | "%sh" | "%rm" | "%mv" | "%cp" | "%rmdir" | "%mkdir")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> (String, Vec<String>) {
        let Some(prepared) = prepare(text, Origin::whole(text)) else { return (text.to_owned(), Vec::new()) };
        let shell = prepared.shell.iter().map(|statement| match statement {
            Statement::Shell(command, _) => command.to_string(),
            _ => String::new(),
        });
        (prepared.text.to_string(), shell.collect())
    }

    #[test]
    fn pasted_text_becomes_python() {
        for (text, python, shell) in [
            ("x = 1\n", "x = 1\n", vec![]),
            ("  x = 1\n  y", "x = 1\ny", vec![]),
            (">>> x = 1\n>>> if x:\n...     y\n1\n", "x = 1\nif x:\n    y\n", vec![]),
            ("!rm -rf x\ny = 1\n", "0        \ny = 1\n", vec!["rm -rf x"]),
            ("%%bash\nls\nrm x\n", "", vec!["ls\nrm x\n"]),
            ("%matplotlib inline\nx", "0                 \nx", vec![]),
        ] {
            let (made, commands) = prepared(text);
            assert_eq!((made.as_str(), commands), (python, shell.into_iter().map(str::to_owned).collect()));
        }
    }
}
