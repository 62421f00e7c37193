//! The files that a patch changes.

use crate::fact::Access;

/// Calls back with every file that a patch names in its headers, and what happens to it.
///
/// Lines inside of a hunk are content, even if they look like headers: a hunk says how many lines it has.
pub(crate) fn files<'p>(patch: &'p str, mut each: impl FnMut(&'p str, Access)) {
    let mut old_left = 0usize;
    let mut new_left = 0usize;
    let envelope = patch.trim_start().starts_with("*** Begin Patch");
    for line in patch.lines() {
        if old_left > 0 || new_left > 0 {
            match line.as_bytes().first() {
                Some(b'-') => old_left = old_left.saturating_sub(1),
                Some(b'+') => new_left = new_left.saturating_sub(1),
                Some(b'\\') => {}
                _ => {
                    old_left = old_left.saturating_sub(1);
                    new_left = new_left.saturating_sub(1);
                }
            }
            continue;
        }
        if envelope {
            for (header, access) in [
                ("*** Update File: ", Access::Truncate),
                ("*** Add File: ", Access::Write),
                ("*** Delete File: ", Access::Delete),
                ("*** Move to: ", Access::Truncate),
            ] {
                if let Some(name) = line.strip_prefix(header) {
                    each(name.trim(), access);
                }
            }
            continue;
        }
        if let Some(range) = line.strip_prefix("@@ -") {
            (old_left, new_left) = hunk_lengths(range);
        } else if let Some(name) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("rename to ")) {
            report(name, Access::Truncate, &mut each);
        } else if let Some(name) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("rename from ")) {
            report(name, Access::Read, &mut each);
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            for name in names.split(' ') {
                report(name, Access::Truncate, &mut each);
            }
        }
    }
}

/// A file name without git's `a/` and `b/` and without the date behind it.
fn report<'p>(name: &'p str, access: Access, each: &mut impl FnMut(&'p str, Access)) {
    let name = name.split('\t').next().unwrap_or_default().trim();
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    if !name.is_empty() && name != "/dev/null" {
        each(name, access);
    }
}

/// The two numbers of lines in `1,5 +1,7 @@`; one that is left out is 1.
fn hunk_lengths(range: &str) -> (usize, usize) {
    let length = |side: &str| {
        let count = side.split_once(',').map_or("1", |(_, count)| count);
        count.parse::<usize>().unwrap_or(0)
    };
    let mut sides = range.split(' ');
    (sides.next().map_or(0, length), sides.next().map_or(0, length))
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn only_headers_name_files() {
        for (patch, expected) in [
            ("*** Begin Patch\n*** Update File: .env\n@@\n+--- a/x\n*** End Patch", vec![".env"]),
            ("*** Begin Patch\n*** Update File: a.md\n+*** Update File: .env\n*** End Patch", vec!["a.md"]),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- .env\n+++ .env\n", vec!["x", "x"]),
            (
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ .env\n@@ -0,0 +1 @@\n+T",
                vec!["x", "x", ".env"],
            ),
            ("diff --git .env .env\nGIT binary patch", vec![".env", ".env"]),
            ("", vec![]),
        ] {
            let mut found = Vec::new();
            files(patch, |name, _| found.push(name));
            assert_eq!(found, expected, "{patch}");
        }
    }
}
