//! Documents of other systems, as their own pages show them.

use banksman_config::Source;
use banksman_policy::{Imported, Policy};

const HAROMBE_RULES: &str = r#"
security:
  hitl:
    enabled: true
    default_timeout: 60 # seconds

    # Rules for requiring approval
    rules:
      # Always require approval for these tools
      - tools: [send_email, delete_file, execute_sql]
        risk: high
        require_approval: true
        timeout: 60

      # Require approval for destructive actions
      - tools: [write_file]
        conditions:
          - param: path
            matches: "^/etc/.*|^/sys/.*|^/root/.*"
        risk: critical
        require_approval: true
        timeout: 30

      # No approval for read-only operations
      - tools: [read_file, list_files, web_search]
        risk: low
        require_approval: false
"#;

const HAROMBE_POLICIES: &str = "
security:
  hitl:
    enabled: true

    # Risk-based policies
    policies:
      low:
        require_approval: false

      medium:
        require_approval: true
        timeout: 120 # 2 minutes
        allow_skip: true # User can choose \"always allow\"

      high:
        require_approval: true
        timeout: 60
        allow_skip: false

      critical:
        require_approval: true
        timeout: 30
        allow_skip: false
        require_reason: true # Must provide reason
";

const TINMAN: &str = "
approval:
  timeout_seconds: 300  # 5 minutes default

  # Per-severity timeouts
  timeouts:
    S0: 60      # 1 minute
    S1: 120     # 2 minutes
    S2: 300     # 5 minutes
    S3: 600     # 10 minutes
    S4: 1800    # 30 minutes (though usually blocked)
";

const AUTOMATON: &str = "
### 6.1 Expiry Rules

| Scenario | Default TTL | Behavior |
|----------|-------------|----------|
| Financial transfers | 1 hour | Expire to `expired` status |
| Dangerous tool calls | 30 minutes | Shorter window for risky ops |
| Self-modification | 2 hours | Longer window for code changes |
";

fn import(text: &str) -> Imported {
    Imported::from(&Source::new("theirs.yaml", text)).unwrap_or_else(|error| panic!("{error}"))
}

fn passes(imported: &Imported, more: &str, cases: &str) {
    let policy = Policy::parse("imported", &format!("{}\n{more}", imported.policy)).unwrap();
    for result in policy.run_cases(&Source::new("cases", cases)).unwrap() {
        assert!(
            result.differences.is_empty(),
            "{}: {:?}\n{}",
            result.name,
            result.differences,
            imported.policy
        );
    }
}

#[test]
fn harombes_rules_demand_what_its_page_says() {
    let imported = import(HAROMBE_RULES);
    assert_eq!(imported.system, "harombe");
    passes(
        &imported,
        "",
        r"
cases:
- {name: mail, action: {tool: send_email, args: {to: a}}, expect: {tier: approve, risk: high, timeout_seconds: 60}}
- {name: sql, action: {tool: execute_sql, args: {}}, expect: {tier: approve, risk: high}}
- {name: etc, action: {tool: write_file, args: {path: /etc/passwd}}, expect: {tier: approve, risk: critical, timeout_seconds: 30}}
- {name: a path that is no text, action: {tool: write_file, args: {path: [/etc/passwd]}}, expect: {tier: approve, risk: critical}}
- {name: elsewhere is not named, action: {tool: write_file, args: {path: notes.txt}}, expect: {tier: approve, risk: high, rule: defaults.unknown_tool}}
- {name: reading, action: {tool: read_file, args: {path: notes.txt}}, expect: {tier: auto, risk: low}}
- {name: searching, action: {tool: web_search, args: {query: weather}}, expect: {tier: auto, risk: low}}
- {name: unknown operations default to high, action: {tool: launch, args: {}}, expect: {tier: approve, risk: high, timeout_seconds: 60}}
",
    );
}

#[test]
fn harombes_risk_policies_demand_what_its_page_says() {
    passes(
        &import(HAROMBE_POLICIES),
        "tools: {low: {risk: low}, medium: {risk: medium}, high: {risk: high}, critical: {risk: critical}}",
        r"
cases:
- {name: low, action: {tool: low}, expect: {tier: auto}}
- {name: medium, action: {tool: medium}, expect: {tier: approve, timeout_seconds: 120, allow_remember: true}}
- {name: high, action: {tool: high}, expect: {tier: approve, timeout_seconds: 60, allow_remember: false, require_reason: false}}
- {name: critical, action: {tool: critical}, expect: {tier: approve, timeout_seconds: 30, require_reason: true}}
",
    );
}

#[test]
fn tinmans_times_hold_by_severity() {
    let imported = import(TINMAN);
    assert_eq!(imported.system, "Tinman");
    passes(
        &imported,
        "tools: {x: {tier: auto}}",
        r"
cases:
- {name: default, action: {tool: other}, expect: {tier: approve, timeout_seconds: 300}}
- {name: S0, action: {tool: x, predicted_severity: S0}, expect: {tier: auto, timeout_seconds: 60}}
- {name: S2, action: {tool: x, predicted_severity: S2}, expect: {tier: approve, timeout_seconds: 300}}
- {name: S3, action: {tool: x, predicted_severity: S3}, expect: {tier: approve, timeout_seconds: 600}}
- {name: S4 though usually blocked, action: {tool: x, predicted_severity: S4}, expect: {tier: block, timeout_seconds: 1800}}
- {name: S4 in the lab, action: {tool: x, predicted_severity: S4}, facts: {mode: lab}, expect: {tier: approve, timeout_seconds: 1800}}
",
    );
}

#[test]
fn automatons_table_becomes_classes() {
    let imported = import(AUTOMATON);
    assert_eq!(imported.system, "automaton");
    passes(
        &imported,
        "rules: [{id: pay, match: {tool: transfer_credits}, tier: approve, ttl: financial_transfers}, {id: self, match: {tool: edit_self}, tier: approve, ttl: self_modification}, {id: low, match: {tool: exec}, risk: high}]",
        r"
cases:
- {name: money, action: {tool: transfer_credits}, facts: {findings: {}}, expect: {timeout_seconds: 3600}}
- {name: self, action: {tool: edit_self}, facts: {findings: {}}, expect: {timeout_seconds: 7200}}
- {name: dangerous, action: {tool: exec}, facts: {findings: {}}, expect: {tier: approve, timeout_seconds: 1800}}
",
    );
}

#[test]
fn what_has_no_equal_is_told_and_never_lets_more_through() {
    let text = r#"
security:
  hitl:
    enabled: false
    audit: everything
    rules:
      - {tools: [a], require_approval: false, conditions: [{param: p, equals: x}]}
      - {tools: [b], require_approval: true, conditions: [{param: p, matches: '(?=x)y'}]}
      - {tools: [c], risk: enormous, require_approval: "no"}
      - {tools: [d], require_approval: true, conditions: [{param: p, matches: x}, {param: q, matches: z}]}
      - {tools: [e, 'f"g'], require_approval: false}
      - {tools: [e], require_approval: true}
      - {risk: low, require_approval: false}
"#;
    let imported = import(text);
    for told in [
        "enabled: false",
        "security.hitl.audit",
        "rules[0] lets through",
        "rules[1].conditions[0]",
        "enormous",
        "require_approval is neither",
        "rules[6] names no tools",
    ] {
        assert!(
            imported.warnings.iter().any(|warning| warning.contains(told)),
            "{told}: {:#?}",
            imported.warnings
        );
        assert!(imported.policy.contains(told), "{told}");
    }
    passes(
        &imported,
        "",
        r#"
cases:
- {name: not let through, action: {tool: a, args: {p: x}}, facts: {findings: {}}, expect: {tier: approve}}
- {name: what cannot be read always holds, action: {tool: b, args: {}}, facts: {findings: {}}, expect: {tier: approve, rule: rule-2}}
- {name: no risk is the highest, action: {tool: c}, facts: {findings: {}}, expect: {tier: approve, risk: critical}}
- {name: any condition is enough, action: {tool: d, args: {q: z}}, facts: {findings: {}}, expect: {tier: approve, rule: rule-4-2}}
- {name: two rules that disagree, action: {tool: e}, facts: {findings: {}}, expect: {tier: approve}}
- {name: a name with a quote, action: {tool: 'f"g'}, facts: {findings: {}}, expect: {tier: auto}}
"#,
    );
}

#[test]
fn other_documents_are_refused() {
    for text in ["version: 1", "a: [", "", "security: {}", "| a | b |"] {
        assert!(Imported::from(&Source::new("x", text)).is_err(), "{text}");
    }
}
