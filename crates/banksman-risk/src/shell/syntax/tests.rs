//! The parser on its own, and against another one.

use super::{Command, CommandKind, Part, RedirectionKind, Script, Word, parse};

/// The programs that a script names outright, in the order in which they stand.
fn programs(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    in_script(&parse(text), &mut found);
    found.sort();
    found
}

fn in_script(script: &Script, found: &mut Vec<String>) {
    for item in &script.items {
        item.commands.iter().for_each(|command| in_command(command, found));
    }
}

fn in_command(command: &Command, found: &mut Vec<String>) {
    for redirection in &command.redirections {
        match &redirection.kind {
            RedirectionKind::Document(body) => {
                if let Some(word) = body.get() {
                    in_parts(&word.parts, found);
                }
            }
            RedirectionKind::Input(word)
            | RedirectionKind::Truncate(word)
            | RedirectionKind::Append(word)
            | RedirectionKind::ReadWrite(word)
            | RedirectionKind::Duplicate(word)
            | RedirectionKind::Text(word) => in_parts(&word.parts, found),
        }
    }
    match &command.kind {
        CommandKind::Simple { assignments, words } => {
            assignments.iter().for_each(|assignment| in_parts(&assignment.value.parts, found));
            in_words(words, found);
            // Those have nodes of their own in the other grammar.
            let keywords = ["[", "export", "declare", "local", "readonly", "typeset", "unset"];
            if let Some(name) = words.first().and_then(Word::plain).filter(|name| !keywords.contains(name)) {
                found.push(name.to_owned());
            }
        }
        CommandKind::Group(script) | CommandKind::Subshell(script) => in_script(script, found),
        CommandKind::If { branches, otherwise } => {
            for (condition, body) in branches {
                in_script(condition, found);
                in_script(body, found);
            }
            otherwise.iter().for_each(|script| in_script(script, found));
        }
        CommandKind::Loop { condition, body } => {
            in_script(condition, found);
            in_script(body, found);
        }
        CommandKind::For { values, body, .. } => {
            in_words(values.as_deref().unwrap_or_default(), found);
            in_script(body, found);
        }
        CommandKind::Count { header, body } => {
            in_parts(&header.parts, found);
            in_script(body, found);
        }
        CommandKind::Case { subject, arms } => {
            in_parts(&subject.parts, found);
            for (patterns, body) in arms {
                in_words(patterns, found);
                in_script(body, found);
            }
        }
        CommandKind::Function { body, .. } => in_command(body, found),
        CommandKind::Test(words) => in_words(words, found),
    }
}

fn in_words(words: &[Word], found: &mut Vec<String>) {
    words.iter().for_each(|word| in_parts(&word.parts, found));
}

fn in_parts(parts: &[Part], found: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Literal(_) | Part::Quoted(..) => {}
            Part::Double(parts) | Part::Arithmetic(parts) => in_parts(parts, found),
            Part::Parameter(parameter) => {
                in_parts(parameter.index.as_deref().unwrap_or_default(), found);
                in_parts(&parameter.argument, found);
            }
            Part::Substitution(script) | Part::Process(script) => in_script(script, found),
            Part::Array(words) => in_words(words, found),
        }
    }
}

/// The same by tree-sitter-bash; nothing if it finds an error.
fn programs_of_other(text: &str) -> Option<Vec<String>> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None).unwrap();
    if tree.root_node().has_error() {
        return None;
    }
    let mut found = Vec::new();
    let mut nodes = vec![tree.root_node()];
    while let Some(node) = nodes.pop() {
        let mut cursor = node.walk();
        nodes.extend(node.children(&mut cursor));
        let plain = node.kind() == "command_name" && node.child_count() == 1;
        if let Some(word) = node.child(0).filter(|word| plain && word.kind() == "word") {
            let name = text.get(word.byte_range()).unwrap_or_default();
            // It takes `time`, `coproc` and a bare `[[` for programs, and keeps backslashes.
            if !name.contains('\\') {
                found.push(name.to_owned());
            }
        }
    }
    found.sort();
    Some(found)
}

#[test]
fn both_parsers_see_the_same_programs() {
    for text in [
        "ls",
        "a; b & c && d || e | f |& g",
        "X=1 Y=2 a b c > d 2>&1 < e",
        "(a; b) | { c; d; }",
        "if a; then b; elif c; then d; else e; fi",
        "while a; do b; done; until c; do d; done",
        "for x in 1 2 \"$(a)\"; do b; done",
        "for ((i=0;i<3;i++)); do a; done",
        "case $(a) in x) b;; y|z) c;; esac",
        "f() { a; }; function g { b; }; f",
        "a $(b $(c)) \"$(d)\" `e`",
        "a <(b) >(c)",
        "a ${x:-$(b)}",
        "[[ -f x && $(a) == y ]] && b",
        "a $((1 + $(b)))",
        "cat <<EOF\n$(a)\nEOF\nb",
        "cat <<'EOF'\n$(a)\nEOF\nb",
        "cat <<-EOF | b\n\tx\n\tEOF\nc",
        "a <<< \"$(b)\"",
        "a=(1 $(b) 3); c",
        "a 'x;y' \"p|q\" $'r\\'s' t\\ u; b",
        "a # b; c\nd",
        "a \\\n b\nc",
        "! a",
        "export X=$(a); local y=1",
        "a 2>/dev/null | b >> c &> d",
        "find . -name '*.x' -exec rm {} \\; | wc -l",
        "a $'\\x41' $\"b\"",
        "echo {a,b} {1..3}",
    ] {
        assert_eq!(Some(programs(text)), programs_of_other(text), "{text}");
    }
}

#[test]
fn well_formed_text_is_not_broken() {
    // The other grammar reads some of these wrongly or not at all.
    for (text, expected) in [
        ("! { a; }", "a"),
        ("a \"${y#$(b)}\"", "a b"),
        ("a `b` `c`", "a b c"),
        ("time { a; }", "a"),
        ("coproc { a; }", "a"),
        ("coproc N { a; }", "a"),
        ("a `b \\`c\\``", "a b c"),
        ("cat <<EOF; a\nx\nEOF", "a cat"),
        ("b <<'A' <<B\nx\nA\n$(c)\nB\nd", "b c d"),
        ("a $'x\\\\' ; b 'y'", "a b"),
        ("f() for x; do a; done", "a"),
        ("{ a; } 2>&1 | b", "a b"),
        ("a {fd}> x; b", "a b"),
        ("case x in (a) b;; c) d;& *) e;; esac", "b d e"),
        ("a @(x|y) !(z)", "a"),
        ("if a\nthen\nb\nfi", "a b"),
        ("a <<E\n`b`\nE", "a b"),
        ("for x in a b\ndo c; done", "c"),
        ("a && # x\nb", "a b"),
        ("a |\n\nb", "a b"),
    ] {
        let script = parse(text);
        assert_eq!(script.broken, None, "{text}");
        assert_eq!(programs(text).join(" "), expected, "{text}");
    }
}

#[test]
fn trouble_is_told_and_nothing_after_it_is_lost() {
    for (text, expected) in [
        ("a 'b", "a"),
        ("a \"b", "a"),
        ("a $(b", "a b"),
        ("a `b", "a b"),
        ("if a; then b", "a b"),
        ("{ a", "a"),
        ("( a", "a"),
        ("a ) b", "a b"),
        ("fi; a", "a"),
        ("a ;; b", "a b"),
        ("a <<E\nb", "a"),
        ("a ${", "a"),
        ("for 1 in x; do a; done", "a"),
        ("a >", "a"),
    ] {
        assert!(parse(text).broken.is_some(), "{text}");
        assert_eq!(programs(text).join(" "), expected, "{text}");
    }
}
