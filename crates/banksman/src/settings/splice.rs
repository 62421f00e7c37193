//! Changing a JSON text in one place and leaving every other byte as it is.
//!
//! Only for texts that the strict reader has read: the scanner here finds places, it does not look for mistakes.

use std::ops::Range;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) span: Range<usize>,
    pub(super) children: Vec<Child>,
}

/// A member or an item.
#[derive(Debug)]
pub(super) struct Child {
    /// The member's name; empty for items.
    pub(super) name: String,
    /// With the name, if it has one.
    pub(super) span: Range<usize>,
    pub(super) value: Place,
}

impl Place {
    /// The place of the whole value.
    pub(super) fn of(text: &str) -> Self {
        Scanner { text, at: 0 }.value()
    }

    pub(super) fn member(&self, name: &str) -> Option<&Child> {
        self.children.iter().find(|child| child.name == name)
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Place {
        self.space();
        let start = self.at;
        let children = match self.peek() {
            Some(b'{') => self.children(b'}', true),
            Some(b'[') => self.children(b']', false),
            Some(b'"') => {
                self.string();
                Vec::new()
            }
            _ => {
                while self.peek().is_some_and(|byte| !b",]} \t\r\n".contains(&byte)) {
                    self.at += 1;
                }
                Vec::new()
            }
        };
        Place { span: start..self.at, children }
    }

    fn children(&mut self, end: u8, named: bool) -> Vec<Child> {
        let mut children = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte != end => {
                    let start = self.at;
                    let name = if named { self.name() } else { String::new() };
                    let value = self.value();
                    children.push(Child { name, span: start..value.span.end, value });
                }
                Some(_) => {
                    self.at += 1;
                    return children;
                }
                None => return children,
            }
        }
    }

    fn name(&mut self) -> String {
        let start = self.at;
        self.string();
        let name = self.text.get(start..self.at).and_then(|text| serde_json::from_str(text).ok());
        self.space();
        self.at += 1;
        name.unwrap_or_default()
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }
}

/// The text with one more child in a container. `item` is written over several lines, as its neighbours are.
pub(super) fn insert(text: &str, container: &Place, item: &str) -> String {
    let (at, until, new) = match container.children.last() {
        Some(last) => {
            let before = text.get(..last.span.start).unwrap_or_default();
            let line = before.rsplit('\n').next().unwrap_or_default();
            let glue = if before.contains('\n') && line.trim().is_empty() {
                format!(",\n{line}{}", indented(item, line))
            } else {
                format!(", {}", flat(item))
            };
            (last.span.end, last.span.end, glue)
        }
        None => {
            let line =
                text.get(..container.span.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            let inner = format!("{indent}  ");
            let new = format!("\n{inner}{}\n{indent}", indented(item, &inner));
            (container.span.start + 1, container.span.end - 1, new)
        }
    };
    splice(text, at..until, &new)
}

/// The text without one child of a container: the inverse of [`insert`].
pub(super) fn remove(text: &str, container: &Place, index: usize) -> String {
    let children = &container.children;
    let Some(child) = children.get(index) else { return text.to_owned() };
    let before = index.checked_sub(1).and_then(|index| children.get(index));
    let range = match (before, children.get(index + 1)) {
        (Some(before), _) => before.span.end..child.span.end,
        (None, Some(after)) => child.span.start..after.span.start,
        (None, None) => container.span.start + 1..container.span.end - 1,
    };
    splice(text, range, "")
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    format!("{before}{new}{after}")
}

fn indented(item: &str, indent: &str) -> String {
    item.replace('\n', &format!("\n{indent}"))
}

/// An item of ours on one line. None of our texts has a line break inside a string.
fn flat(item: &str) -> String {
    item.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: &[&str] = &[
        "{}",
        "{\n}",
        "{\n  \"a\": [1, 2, {\"b\": \"}],\\\"\"}]\n}\n",
        "{\"a\":{\"b\":[]},\"c\":null}",
        "{\n\t\"a\": true\n}",
        "  { \"x\" : \"\\u0022,\" }  ",
    ];

    #[test]
    fn what_was_put_in_comes_out_again_and_nothing_else_changes() {
        for text in TEXTS {
            let root = Place::of(text);
            let put = insert(text, &root, "\"new\": {\n  \"k\": [1]\n}");
            let value: serde_json::Value =
                serde_json::from_str(&put).unwrap_or_else(|error| panic!("{error}: {put}"));
            assert_eq!(value["new"]["k"][0], 1);
            let again = Place::of(&put);
            let index = again.children.iter().position(|child| child.name == "new").unwrap();
            let out = remove(&put, &again, index);
            let same = if root.children.is_empty() { "{}".to_owned() } else { (*text).to_owned() };
            assert_eq!(out.trim(), same.trim(), "{text}");
        }
    }

    #[test]
    fn any_child_can_be_removed() {
        let text = "[1, [2], {\"a\": 3}]";
        for index in 0..3 {
            let left: Vec<serde_json::Value> =
                serde_json::from_str(&remove(text, &Place::of(text), index)).unwrap();
            assert_eq!(left.len(), 2);
        }
    }

    #[test]
    fn neighbours_decide_how_it_is_written() {
        let text = "{\n    \"a\": 1\n}";
        let put = insert(text, &Place::of(text), "\"b\": {\n  \"c\": 2\n}");
        assert_eq!(put, "{\n    \"a\": 1,\n    \"b\": {\n      \"c\": 2\n    }\n}");
        let flat = "{\"a\":1}";
        assert_eq!(
            insert(flat, &Place::of(flat), "\"b\": {\n  \"c\": 2\n}"),
            "{\"a\":1, \"b\": { \"c\": 2 }}"
        );
    }
}
