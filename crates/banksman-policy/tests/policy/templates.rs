//! The policies to start from do what they say, and nothing in them is idle.

use banksman_config::Source;
use banksman_policy::{Policy, Template};

#[test]
fn templates_pass_their_cases_and_have_no_idle_rules() {
    for template in Template::ALL {
        let name = template.name;
        let policy = Policy::parse(name, template.policy).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(policy.remarks().is_empty(), "{name}: {:#?}", policy.remarks());
        let results = policy.run_cases(&Source::new(name, template.cases)).unwrap();
        assert!(results.len() >= 7, "{name}");
        let wrong: Vec<_> = results.iter().filter(|result| !result.differences.is_empty()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

/// A case that no change of the policy could break proves nothing.
#[test]
fn every_rule_of_a_template_is_met_by_a_case() {
    for template in Template::ALL {
        let ids: Vec<&str> =
            template.policy.lines().filter_map(|line| line.trim().strip_prefix("- id: ")).collect();
        assert!(!ids.is_empty(), "{}", template.name);
        for id in ids {
            let shorter = without_rule(template.policy, id);
            let Ok(policy) = Policy::parse(template.name, &shorter) else { continue };
            let results = policy.run_cases(&Source::new(template.name, template.cases)).unwrap();
            let broken = results.iter().any(|result| !result.differences.is_empty());
            // A few rules matter only together with others; those that decide have to be seen.
            let decides = template.cases.contains(id);
            assert!(broken || !decides, "{}: no case misses {id}", template.name);
        }
    }
}

/// The policy without a rule: from its line to the next rule or the end of the list.
fn without_rule(policy: &str, id: &str) -> String {
    let mut kept = Vec::new();
    let mut inside = false;
    for line in policy.lines() {
        if line.trim() == format!("- id: {id}") {
            inside = true;
            continue;
        }
        if inside && (line.starts_with("  - ") || (!line.starts_with(' ') && !line.is_empty())) {
            inside = false;
        }
        if !inside {
            kept.push(line);
        }
    }
    kept.join("\n")
}
