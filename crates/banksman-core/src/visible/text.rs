//! Plain text by someone else.

/// The start and the end of a text that is too long for its place; what is left out is said, and never the end.
#[must_use]
pub fn brief(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let tail = most / 3;
    let head: String = text.chars().take(most - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head} … {} more characters … {end}", count - most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_text_keeps_its_end() {
        assert_eq!(brief("short", 10), "short");
        let long = format!("{}rm -rf /", "x".repeat(1000));
        let shown = brief(&long, 90);
        assert!(shown.ends_with("rm -rf /") && shown.chars().count() < 130, "{shown}");
    }
}
