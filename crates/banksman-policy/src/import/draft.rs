//! A policy as it is written down, line by line, with comments.

use std::fmt::Write as _;

use serde_json::Value;

/// A policy in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    sections: Vec<(&'static str, Vec<String>)>,
    warnings: Vec<String>,
}

impl Draft {
    /// Adds a line to a section (a key of the file); lines of one section stay together.
    pub(super) fn line(&mut self, section: &'static str, line: impl Into<String>) {
        match self.sections.iter_mut().find(|(name, _)| *name == section) {
            Some((_, lines)) => lines.push(line.into()),
            None => self.sections.push((section, vec![line.into()])),
        }
    }

    /// Tells of something that has no equal here, or was read in one of several ways.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Tells of every member that was not understood.
    pub(super) fn warn_of_others(&mut self, at: &str, object: &Value, known: &[&str]) {
        for key in object.as_object().into_iter().flatten().map(|(key, _)| key) {
            if !known.contains(&key.as_str()) {
                self.warn(format!("{at}.{key} has no equal here and was left out"));
            }
        }
    }

    /// The text of the policy, and what is to be told.
    pub(super) fn finish(self, system: &str, name: &str) -> (String, Vec<String>) {
        let mut text = format!("# Made from {} ({system}) by `banksman policy import`.\n", comment(name));
        for warning in &self.warnings {
            let _ = writeln!(text, "# - {}", comment(warning));
        }
        text.push_str("version: 1\n");
        for (section, lines) in self.sections {
            let _ = write!(text, "\n{section}:\n");
            for line in lines {
                let _ = writeln!(text, "  {line}");
            }
        }
        (text, self.warnings)
    }
}

/// A text as a scalar. JSON's spelling of a text is also YAML's.
pub(super) fn scalar(text: &str) -> String {
    Value::from(text).to_string()
}

/// A text in a comment, which ends with its line.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A whole number of seconds, whether it is written as a number or as a text.
pub(super) fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|seconds| *seconds > 0)
}
