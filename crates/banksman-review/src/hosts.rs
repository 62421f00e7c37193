//! Where a text names a host. A name may stand anywhere, between any marks: what ends it is what no host can hold.

use banksman_core::visible::is_hidden;

/// A name in a text that a program could take for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// As it is written.
    pub(crate) written: &'a str,
    /// The same with plain dots, and without what shows nothing.
    pub(crate) name: String,
    /// Whether it stands where an address has its host; else it only has the form of one, as many files have.
    pub(crate) by_place: bool,
    /// What stands before it and an `@`, if that looks like the host and is not.
    pub(crate) posing: Option<&'a str>,
}

impl Named<'_> {
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.name.split('.').filter(|label| !label.is_empty())
    }
}

/// More than any host name has, without what shows nothing.
const LONGEST: usize = 1000;

/// How far before an `@` the beginning of an address is looked for.
const LONGEST_USER: usize = 300;

/// Every name in the text.
pub(crate) fn hosts(text: &str) -> impl Iterator<Item = Named<'_>> {
    runs(text).filter_map(|(start, end)| {
        let written =
            text.get(start..end)?.trim_matches(|c| is_dot(c) || is_hidden(c) || c == '-' || c == '_');
        let before = text.get(..start)?;
        let shown = written.chars().filter(|c| !is_hidden(*c));
        let name: String = shown.map(|c| if is_dot(c) { '.' } else { c }).take(LONGEST).collect();
        let by_place = before.ends_with("//") || before.ends_with("\\\\") || before.ends_with('@');
        let named = Named { written, name, by_place, posing: posing(before) };
        let is_host = (by_place || named.labels().nth(1).is_some())
            && named.name.chars().any(char::is_alphabetic)
            && named.name.len() < LONGEST;
        is_host.then_some(named)
    })
}

/// The longest stretches of what a host can hold.
fn runs(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, _) = rest.find(|(_, c)| is_of_a_host(*c))?;
        while rest.next_if(|(_, c)| is_of_a_host(*c)).is_some() {}
        let end = rest.peek().map_or(text.len(), |(end, _)| *end);
        Some((start, end))
    })
}

/// Letters and digits of all writing, what shows nothing and would be ignored, and what passes for a mark of an address.
fn is_of_a_host(c: char) -> bool {
    c.is_alphanumeric()
        || is_dot(c)
        || matches!(c, '-' | '_')
        // Marks on the letter before.
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
        // Slashes, colons and hyphens that are none.
        || matches!(c, '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{2571}' | '\u{3033}' | '\u{a789}' | '\u{2236}' | '\u{2010}'..='\u{2012}' | '\u{2212}' | '\u{2d7}')
        || (is_hidden(c) && !c.is_control() && !c.is_whitespace())
}

/// What resolvers take for the dot between labels, and what looks like it.
fn is_dot(c: char) -> bool {
    matches!(c, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{2024}' | '\u{fe52}')
}

/// What stands between the beginning of an address and an `@`, if the text before a name ends so and it looks like a host.
fn posing(before: &str) -> Option<&str> {
    let before = before.strip_suffix('@')?;
    let window = before.get(ceiling(before, before.len().saturating_sub(LONGEST_USER))..)?;
    let (_, user) = window.rsplit_once("//").or_else(|| window.rsplit_once("\\\\"))?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '\\' | '?' | '#' | '"' | '<' | '>');
    let first = user.split(':').next()?;
    let looks_like_a_host = first.split_once('.').is_some_and(|(label, rest)| {
        label.chars().any(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric)
    });
    (looks_like_a_host && !user.contains(ends)).then_some(first)
}

fn ceiling(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The text with its encoded letters read, as programs read them in an address. What is ASCII stays encoded: a `%2f` does
/// not end a host any less.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut read = Vec::new();
    let mut rest = bytes;
    let mut found = false;
    while let Some((first, after)) = rest.split_first() {
        let encoded = match after {
            [high, low, ..] if *first == b'%' => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok())
                .filter(|byte| !byte.is_ascii()),
            _ => None,
        };
        found |= encoded.is_some();
        read.push(encoded.unwrap_or(*first));
        rest = if encoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    found.then(|| String::from_utf8_lossy(&read).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        hosts(text).map(|named| named.name).collect()
    }

    #[test]
    fn a_name_ends_where_no_host_goes_on() {
        for after in [
            "",
            "!",
            "`",
            "}",
            "&x",
            "%2fx",
            ".",
            "...",
            "\\x",
            "。",
            "]",
            "*",
            "$",
            "^",
            "~",
            "\0",
            "…",
            "”",
            "\u{1b}[0m",
        ] {
            assert_eq!(names(&format!("see https://a.example{after}")), ["a.example"], "{after:?}");
        }
        for before in ["`", "{", "(", "=", "$(curl ", "\\\\", "//", "@", "\"", "“", "user:pw@", "--url=", "<"]
        {
            assert_eq!(names(&format!("{before}a.example/x"))[..1], ["a.example"], "{before:?}");
        }
        assert_eq!(names("a。example．com"), ["a.example.com"]);
        assert_eq!(names("https://host \\\\share mail @there alone 1.5"), ["host", "share", "there"]);
    }

    #[test]
    fn encoded_letters_are_read_and_encoded_slashes_are_not() {
        assert_eq!(percent_decoded("p%D0%B0y%2fx%"), Some("pаy%2fx%".to_owned()));
        assert_eq!(percent_decoded("100%25 %zz %2"), None);
    }

    /// Each piece once more costs as much as the one before, or this takes minutes.
    #[test]
    fn much_is_read_in_little_time() {
        for (piece, named) in
            [("@a", 50_000), ("//", 0), ("x.y@", 50_000), ("//a@", 50_000), ("\u{200b}", 0), ("a", 0)]
        {
            assert_eq!(hosts(&piece.repeat(50_000)).count(), named, "{piece}");
        }
    }
}
