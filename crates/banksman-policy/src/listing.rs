//! A policy's rules as people read them: each with its place in the file and its own words.

use banksman_config::{Place, Source};

use crate::compile::Policy;

/// A rule as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRule {
    /// Its name, as verdicts name it.
    pub id: String,
    /// Where it is.
    pub place: Place,
    /// Its lines.
    pub text: String,
}

/// How many lines of a rule are kept: a table of a thousand arguments is better read in its file.
const LINES: usize = 60;

impl Policy {
    /// The rules in their order, the tools that it names included.
    #[must_use]
    pub fn listing(&self) -> &[ListedRule] {
        &self.listing
    }

    pub(crate) fn list_rules(&mut self, sources: &[Source]) {
        let listed = self.rules.iter().map(|rule| {
            let source = sources.iter().find(|source| source.name() == rule.place.file);
            let name = rule.id.strip_prefix("tools.").unwrap_or(&rule.id);
            let text =
                source.map(|source| lines_of(source.text(), rule.place.line, name)).unwrap_or_default();
            ListedRule { id: rule.id.clone(), place: rule.place.clone(), text }
        });
        self.listing = listed.collect();
    }
}

/// How far a line is indented; a dash counts as the indent that it is.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}

/// The lines of the rule at a place: from the line that names it or begins the item that it is in, to where the indent
/// ends.
fn lines_of(text: &str, line: u64, name: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let at = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX).min(lines.len().saturating_sub(1));
    let line = |number: usize| lines.get(number).copied().unwrap_or_default();
    let mut start = at;
    // A table that is written in lines begins below its name; an id may come after other keys of its rule.
    while start > 0 && at - start < 20 && !is_item(line(start)) && !names(line(start), name) {
        start -= 1;
    }
    if !is_item(line(start)) && !names(line(start), name) {
        start = at;
    }
    // The id of a rule stands in the middle of its item.
    if !is_item(line(start)) && line(start).trim_start().starts_with("id:") {
        let inner = indent(line(start));
        let above = (start.saturating_sub(20)..start).rev();
        if let Some(item) =
            above.clone().find(|number| is_item(line(*number)) && indent(line(*number)) == inner)
        {
            start = item;
        }
    }
    let outer = line(start).len() - line(start).trim_start().len();
    let belongs = |text: &&str| text.trim().is_empty() || text.len() - text.trim_start().len() > outer;
    let rest = lines.iter().skip(start + 1).copied().take_while(belongs);
    let all: Vec<&str> = std::iter::once(line(start)).chain(rest).take(LINES).collect();
    let shown: Vec<&str> = all.iter().map(|text| text.get(outer..).unwrap_or_default()).collect();
    shown.join("\n").trim_end().to_owned()
}

/// Whether a line begins with a key of this name, quoted or not.
fn names(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix(['"', '\'']).unwrap_or(line);
    line.strip_prefix(name)
        .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
version: 1
tools:
  mail: {tier: approve}
  \"http get\":
    tier: auto
    risk: low

  shell: {tier: approve}
rules:
  - id: big
    match: {tool: refund}
    tier: escalate
  - match:
      tool: mail
    id: last
    tier: block
risk:
  disable: [git.push.force]
";

    #[test]
    fn each_rule_comes_with_its_own_lines_and_no_others() {
        let policy = Policy::parse("policy.yaml", TEXT).unwrap();
        let texts: Vec<(&str, u64, &str)> = policy
            .listing()
            .iter()
            .map(|rule| (rule.id.as_str(), rule.place.line, rule.text.as_str()))
            .collect();
        assert_eq!(
            texts,
            [
                ("tools.http get", 5, "\"http get\":\n  tier: auto\n  risk: low"),
                ("tools.mail", 3, "mail: {tier: approve}"),
                ("tools.shell", 8, "shell: {tier: approve}"),
                ("big", 10, "- id: big\n  match: {tool: refund}\n  tier: escalate"),
                ("last", 15, "- match:\n    tool: mail\n  id: last\n  tier: block"),
            ]
        );
    }

    #[test]
    fn no_text_makes_it_fail() {
        for text in ["", "\n", "x", "- ", "  - id: a", "\u{e9}\u{e9}: {}\n \u{e9}"] {
            for line in [0, 1, 2, 99, u64::MAX] {
                for name in ["", "a", "\u{e9}\u{e9}"] {
                    let _ = lines_of(text, line, name);
                }
            }
        }
    }
}
