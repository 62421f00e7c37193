//! Every example in the documentation is a policy, or cases for one.

use banksman_config::Source;
use banksman_policy::Policy;

pub(crate) fn examples(page: &str) -> Vec<(usize, String)> {
    let path = format!("../../docs/{page}");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let mut inside: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut inside, line) {
            (None, "```yaml") => inside = Some((number + 2, String::new())),
            (Some(_), "```") => found.extend(inside.take()),
            (Some((_, example)), line) => {
                example.push_str(line);
                example.push('\n');
            }
            (None, _) => {}
        }
    }
    found
}

#[test]
fn every_example_loads() {
    let examples = examples("policy.md");
    assert!(examples.len() >= 6, "the examples were not found");
    let mut first = None;
    for (line, text) in examples {
        if text.starts_with("cases:") {
            let policy: &Policy = first.as_ref().unwrap();
            for result in policy.run_cases(&Source::new("docs/policy.md", text)).unwrap() {
                assert!(result.differences.is_empty(), "{}: {:?}", result.name, result.differences);
            }
            continue;
        }
        let policy =
            Policy::parse("docs/policy.md", &text).unwrap_or_else(|error| panic!("line {line}: {error}"));
        first.get_or_insert(policy);
    }
}

/// Renewed with `BANKSMAN_UPDATE=1`.
#[test]
fn the_reference_is_that_of_the_types() {
    let path = "../../docs/policy-reference.md";
    let text = banksman_policy::reference();
    if std::env::var_os("BANKSMAN_UPDATE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == text,
        "docs/policy-reference.md is old: BANKSMAN_UPDATE=1"
    );
}

/// A link to a section that is not there helps nobody, and a key without a word on it neither.
#[test]
fn every_link_of_the_reference_leads_somewhere_and_every_key_is_explained() {
    let text = banksman_policy::reference();
    let sections: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_ascii_lowercase).collect();
    for target in text.split("(#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(sections.iter().any(|section| section == target), "#{target}");
    }
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        assert!(!line.ends_with("|  |"), "{line}");
    }
    assert!(sections.len() > 20, "{sections:?}");
}

#[test]
fn every_example_about_people_loads() {
    let examples = examples("people.md");
    assert!(examples.len() >= 6, "the examples were not found");
    for (line, text) in examples {
        Policy::parse("docs/people.md", &text).unwrap_or_else(|error| panic!("line {line}: {error}"));
    }
}

#[test]
fn the_example_policy_says_what_its_comments_say() {
    let text = include_str!("../../../../examples/policy.yaml");
    let cases = include_str!("../../../../examples/policy.test.yaml");
    let policy = Policy::parse("examples/policy.yaml", text).unwrap();
    let results = policy.run_cases(&Source::new("examples/policy.test.yaml", cases)).unwrap();
    assert!(results.len() > 5);
    for result in results {
        assert!(result.differences.is_empty(), "{}: {:?}", result.name, result.differences);
    }
}
