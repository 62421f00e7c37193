//! Arms that catch all, found in the text of a source file.
//!
//! Clippy's `wildcard_enum_match_arm` knows no difference between our decisions and the errors of others, which are
//! matched with `_` for good reasons. This reads no types, so it goes by what the other arms of a match name.

/// Enums of which a new variant must not fall into an arm that somebody wrote without knowing it.
const DECIDED_BY: &[&str] = &["State", "Status", "Tier", "Decision", "Command"];

/// The lines of arms that catch all, in matches over one of those.
pub(super) fn catch_alls(source: &str) -> Vec<usize> {
    let blank = without_words(source);
    let code = blank.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("match ") {
        if !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            let arms = arms_of(code, at);
            let of_self = DECIDED_BY.contains(&implemented(&code[..at]));
            if arms.iter().any(|(_, pattern)| names_one(pattern, of_self)) {
                let caught = arms.iter().filter(|(_, pattern)| catches_all(pattern));
                found.extend(caught.map(|(place, _)| code[..*place].lines().count()));
            }
        }
    }
    found
}

/// The same text with nothing in its strings and comments, and no braces in its characters. Lines stay.
fn without_words(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let before = source[..at].chars().next_back().unwrap_or(' ');
        let hashes = rest.strip_prefix('r').map(|rest| rest.len() - rest.trim_start_matches('#').len());
        let raw = hashes.filter(|count| {
            rest[1 + count..].starts_with('"')
                && (before == 'b' || !(before.is_alphanumeric() || before == '_'))
        });
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(count) = raw {
            let end = format!("\"{}", "#".repeat(count));
            let body = 2 + count;
            rest[body..].find(&end).map_or(rest.len(), |found| body + found + end.len())
        } else if rest.starts_with('"') {
            closed(rest, '"')
        } else if rest.starts_with('\'') && is_character(rest) {
            closed(rest, '\'')
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..length]);
            at += length;
            continue;
        };
        out.extend(rest[..length].chars().filter(|c| *c == '\n'));
        // So that something stands where a pattern was a word.
        if !rest.starts_with('/') {
            out.push_str("\"\"");
        }
        at += length;
    }
    out
}

/// How long a literal is that ends with this, unless a backslash stands before it.
fn closed(rest: &str, end: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == end => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// A character, and not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut after = rest.chars().skip(1);
    let first = after.next();
    first == Some('\\') || after.next() == Some('\'')
}

/// What the last `impl` before is of.
fn implemented(before: &str) -> &str {
    let start = before.rfind("\nimpl").map_or("", |at| &before[at + 1..]);
    let head = start.split('{').next().unwrap_or_default();
    let of = head.rsplit(" for ").next().unwrap_or_default();
    of.trim().trim_start_matches("impl").trim().split(['<', ' ']).next().unwrap_or_default()
}

/// The arms of the match that begins here: where each pattern begins, and the pattern without its guard.
fn arms_of(code: &str, begin: usize) -> Vec<(usize, &str)> {
    let mut arms = Vec::new();
    let Some(open) = at_depth_zero(code, begin, |rest| rest.starts_with('{')) else { return arms };
    let mut at = open + 1;
    while let Some(arrow) = at_depth_zero(code, at, |rest| rest.starts_with("=>") || rest.starts_with('}')) {
        if code[arrow..].starts_with('}') {
            break;
        }
        let written = code[at..arrow].trim_start_matches([',', ' ', '\n']);
        let (pattern, guard) = written.split_once(" if ").unwrap_or((written, ""));
        // With a guard it catches some, whatever it looks like.
        if guard.is_empty() || !catches_all(pattern.trim()) {
            arms.push((arrow, pattern.trim()));
        }
        let body = arrow + 2 + code[arrow + 2..].len() - code[arrow + 2..].trim_start().len();
        let end = if code[body..].starts_with('{') {
            at_depth_zero(code, body + 1, |rest| rest.starts_with('}')).map(|end| end + 1)
        } else {
            at_depth_zero(code, body, |rest| rest.starts_with([',', '}']))
        };
        match end {
            Some(end) => at = end,
            None => break,
        }
    }
    arms
}

/// The first place from here on, outside whatever is opened after it, that is looked for.
fn at_depth_zero(code: &str, from: usize, is_it: impl Fn(&str) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, c) in code[from..].char_indices() {
        let at = from + offset;
        if depth == 0 && is_it(&code[at..]) {
            return Some(at);
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

fn names_one(pattern: &str, of_self: bool) -> bool {
    let words = |name: &str| {
        let path = format!("{name}::");
        pattern
            .match_indices(&path)
            .any(|(at, _)| !pattern[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
    };
    DECIDED_BY.iter().any(|name| words(name)) || (of_self && words("Self"))
}

/// `_`, a name for it, or several of them.
fn catches_all(pattern: &str) -> bool {
    let mut parts = pattern.split(['(', ')', ',', ' ']).filter(|part| !part.is_empty()).peekable();
    let is_lower = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    parts.peek().is_some() && parts.all(is_lower) && !matches!(pattern, "true" | "false")
}

#[cfg(test)]
mod tests {
    use super::catch_alls;

    #[test]
    fn an_arm_that_catches_all_is_found_wherever_it_hides() {
        let found =
            |arms: &str| catch_alls(&format!("fn f() {{\n    match it {{\n{arms}\n    }}\n}}\n")).len();
        assert_eq!(found("Status::Denied => 1,\n_ => 2,"), 1);
        assert_eq!(found("Status::Denied => {}\nother => g(other),"), 1, "by a name");
        assert_eq!(found("(Some(Decision::Deny), _) => 1,\n(_, _) => 2,"), 1, "of a tuple");
        assert_eq!(found("State::Pending { deadline, .. } if now < *deadline => 1,\n_ => 2,"), 1);
        assert_eq!(found("// match {\nTier::Block => '{',\n_ => \"}\","), 1, "beside braces that are words");
        assert_eq!(found("Status::Denied => match x { 1 => 2, _ => 3 },\nStatus::Expired => 4,"), 0);
        assert_eq!(
            found("Status::Denied => 1,\nstatus if status.never_ran() => 2,\nStatus::Failed => 3,"),
            0
        );
        assert_eq!(found("ToolState::Fresh => 1,\n_ => 2,"), 0, "another enum, whose name ends so");
        assert_eq!(found("\"denied\" => Status::Denied,\n_ => Status::Pending,"), 0, "over words");
        let of_self = "\nimpl Status {\n    fn f(self) -> u8 {\n        match self {\n            Self::Denied => 1,\n            _ => 2,\n        }\n    }\n}\n";
        assert_eq!(catch_alls(of_self), [6]);
        assert_eq!(catch_alls(&of_self.replace("Status", "Error")), [0_usize; 0]);
    }
}
