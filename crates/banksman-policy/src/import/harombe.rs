//! harombe's `security.hitl`: rules by tool and parameter, and policies by risk.

use serde_json::Value;

use super::draft::{Draft, comment, scalar, seconds};

/// Reads the member `security.hitl`.
pub(super) fn read(hitl: &Value) -> Draft {
    let mut draft = Draft::default();
    draft.warn_of_others("security.hitl", hitl, &["enabled", "default_timeout", "rules", "policies"]);
    if hitl.get("enabled") == Some(&Value::Bool(false)) {
        draft.warn("enabled: false is not taken over: a policy that is in force judges");
    }
    draft.warn(
        "harombe calls what no rule names low in one place and high in another; it stays high and held",
    );
    match hitl.get("default_timeout").map(seconds) {
        None => {}
        Some(Some(seconds)) => draft.line("defaults", format!("timeout: {seconds}s")),
        Some(None) => draft.warn("default_timeout is no number of seconds and was left out"),
    }
    for (number, rule) in (1..).zip(hitl.get("rules").and_then(Value::as_array).into_iter().flatten()) {
        read_rule(&mut draft, number, rule);
    }
    for (risk, demand) in hitl.get("policies").and_then(Value::as_object).into_iter().flatten() {
        read_policy(&mut draft, risk, demand);
    }
    draft
}

fn read_rule(draft: &mut Draft, number: usize, rule: &Value) {
    let at = format!("rules[{}]", number - 1);
    draft.warn_of_others(
        &at,
        rule,
        &["tools", "conditions", "risk", "require_approval", "timeout", "allow_skip", "require_reason"],
    );
    let tools = texts(rule.get("tools"));
    if tools.is_empty() {
        draft.warn(format!("{at} names no tools and was left out; name them in a rule of your own"));
        return;
    }
    let demands = demands(draft, &at, rule, "risk");
    // Without a yes or no, harombe's own default is to ask.
    let lets_through = rule.get("require_approval") == Some(&Value::Bool(false));
    let conditions = rule.get("conditions").and_then(Value::as_array);
    let tool = format!("tool: [{}]", tools.iter().map(|tool| scalar(tool)).collect::<Vec<_>>().join(", "));
    let Some(conditions) = conditions else {
        draft.line("rules", format!("- {{id: rule-{number}, match: {{{tool}}}, {demands}}}"));
        return;
    };
    let read: Vec<Option<String>> = conditions.iter().map(read_condition).collect();
    for (index, _) in read.iter().enumerate().filter(|(_, condition)| condition.is_none()) {
        draft.warn(format!("{at}.conditions[{index}] could not be read"));
    }
    if lets_through {
        // All of them have to hold, or nothing is let through.
        let all: Option<Vec<String>> = read.into_iter().collect();
        match all {
            Some(all) if conditions.len() == 1 => {
                let args = all.join(", ");
                draft.line(
                    "rules",
                    format!("- {{id: rule-{number}, match: {{{tool}, args: {{{args}}}}}, {demands}}}"),
                );
            }
            _ => draft.warn(format!("{at} lets through on conditions that are not understood: left out")),
        }
        return;
    }
    draft.warn(format!(
        "{} is named in {at} only with conditions; what does not meet them is held like any unknown tool",
        tools.join(", ")
    ));
    // The document does not say whether all have to hold or any; any is stricter. What could not be read always holds.
    if read.len() > 1 {
        draft.line("rules", format!("# {at}: any one of its conditions is enough"));
    }
    for (index, condition) in (1..).zip(read) {
        let args = condition.map(|condition| format!(", args: {{{condition}}}")).unwrap_or_default();
        let id = if index == 1 { format!("rule-{number}") } else { format!("rule-{number}-{index}") };
        draft.line("rules", format!("- {{id: {id}, match: {{{tool}{args}}}, {demands}}}"));
    }
}

/// `{param: path, matches: REGEX}`, searched anywhere: more is found so than by looking only at the beginning.
fn read_condition(condition: &Value) -> Option<String> {
    let members = condition.as_object()?;
    let param = members.get("param")?.as_str()?;
    let pattern = members.get("matches")?.as_str()?;
    if members.len() != 2 || regex::Regex::new(pattern).is_err() {
        return None;
    }
    Some(format!("{}: {{regex: {}}}", scalar(param), scalar(pattern)))
}

fn read_policy(draft: &mut Draft, risk: &str, demand: &Value) {
    let at = format!("policies.{risk}");
    if !banksman_core::Risk::ALL.iter().any(|known| known.as_str() == risk) {
        draft.warn(format!("{at} is about no risk that is known and was left out"));
        return;
    }
    draft.warn_of_others(&at, demand, &["require_approval", "timeout", "allow_skip", "require_reason"]);
    let demands = demands(draft, &at, demand, "");
    draft.line("risks", format!("{risk}: {{{demands}}}"));
}

/// What is demanded, as members of a rule or a table.
fn demands(draft: &mut Draft, at: &str, object: &Value, risk_key: &str) -> String {
    let mut parts = Vec::new();
    if let Some(risk) = object.get(risk_key).and_then(Value::as_str) {
        match risk.parse::<banksman_core::Risk>() {
            Ok(risk) => parts.push(format!("risk: {risk}")),
            Err(_) => {
                draft.warn(format!("{at}.risk is {}, which is none: read as critical", comment(risk)));
                parts.push("risk: critical".to_owned());
            }
        }
    }
    let held = object.get("require_approval") != Some(&Value::Bool(false));
    if object.get("require_approval").is_some_and(|value| !value.is_boolean()) {
        draft.warn(format!("{at}.require_approval is neither true nor false: read as true"));
    }
    parts.push(format!("tier: {}", if held { "approve" } else { "auto" }));
    match object.get("timeout").map(seconds) {
        None => {}
        Some(Some(seconds)) => parts.push(format!("timeout: {seconds}s")),
        Some(None) => draft.warn(format!("{at}.timeout is no number of seconds and was left out")),
    }
    match object.get("allow_skip") {
        Some(Value::Bool(true)) if held => parts.push("allow_remember: true".to_owned()),
        Some(Value::Bool(false)) => parts.push("allow_remember: false".to_owned()),
        Some(_) | None => {}
    }
    if object.get("require_reason") == Some(&Value::Bool(true)) {
        parts.push("require_reason: true".to_owned());
    }
    parts.join(", ")
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}
