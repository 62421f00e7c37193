//! Every example in the documentation is a policy, or cases for one.

use banksman_policy::{Policy, Source};

pub(crate) fn examples() -> Vec<(usize, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
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
    let examples = examples();
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
