//! What the agent says about an action. Nothing of it was checked.

use banksman_core::json::CanonicalJson;
use banksman_core::wire::ContextView;

/// One thing that the agent, or whoever steers it, says.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim<'a> {
    /// What it is about, in a word or two of ours.
    pub name: &'static str,
    /// What is said.
    pub said: Said<'a>,
}

/// The words of a claim. They are as the agent wrote them: whoever shows them makes them visible.
#[derive(Debug, Clone, PartialEq)]
pub enum Said<'a> {
    /// A text, perhaps of several lines.
    Words(String),
    /// A value.
    Json(&'a CanonicalJson),
}

/// The server that Banksman itself passes the action on to. That is no claim: it is part of what will run.
#[must_use]
pub fn passed_on_to(context: &ContextView) -> Option<&str> {
    context.server.as_deref().filter(|_| context.forwarded)
}

/// Everything that the agent says, in the order in which it helps. Empty if it says nothing.
#[must_use]
pub fn claims(context: &ContextView) -> Vec<Claim<'_>> {
    // Whoever adds a field decides here whether and how every surface shows it.
    let ContextView {
        description,
        rationale,
        evidence,
        session,
        thread,
        task,
        action_type,
        predicted_severity,
        estimated_cost_usd,
        estimated_duration_ms,
        affected_systems,
        reversible,
        rollback_plan,
        // For the form that edits are made in.
        args_schema: _,
        state_before,
        preconditions,
        server,
        annotations,
        forwarded,
    } = context;
    let yes_no = |is: bool| if is { "yes" } else { "no" };
    let hints = annotations.map(|hints| {
        let named = [
            ("read-only", hints.read_only_hint),
            ("destructive", hints.destructive_hint),
            ("idempotent", hints.idempotent_hint),
            ("open world", hints.open_world_hint),
        ];
        let given = named.into_iter().filter_map(|(name, hint)| Some(format!("{name}: {}", yes_no(hint?))));
        given.collect::<Vec<_>>().join(", ")
    });
    [
        words("description", description.clone()),
        words("rationale", rationale.clone()),
        words("cost", estimated_cost_usd.map(|cost| format!("{cost} USD"))),
        words("takes", estimated_duration_ms.map(|time| format!("{time} ms"))),
        words("affects", (!affected_systems.is_empty()).then(|| affected_systems.join(", "))),
        words("undo", reversible.map(|can| if can { "possible" } else { "impossible" }.to_owned())),
        words("rollback", rollback_plan.clone()),
        words("severity", predicted_severity.map(|severity| severity.as_str().to_owned())),
        words("tool hints", hints.filter(|hints| !hints.is_empty())),
        words("MCP server", server.clone().filter(|_| !forwarded)),
        words("action type", action_type.clone()),
        words("task", task.clone()),
        words("session", session.clone()),
        words("thread", thread.clone()),
        json("evidence", evidence),
        json("before", state_before),
        json("must hold", preconditions),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn words<'a>(name: &'static str, words: Option<String>) -> Option<Claim<'a>> {
    Some(Claim { name, said: Said::Words(words?) })
}

fn json<'a>(name: &'static str, value: &'a Option<CanonicalJson>) -> Option<Claim<'a>> {
    Some(Claim { name, said: Said::Json(value.as_ref()?) })
}

#[cfg(test)]
mod tests {
    use banksman_core::Annotations;

    use super::*;

    #[test]
    fn a_server_that_we_pass_it_on_to_is_no_claim() {
        let context =
            |forwarded| ContextView { server: Some("mail".into()), forwarded, ..ContextView::default() };
        assert_eq!(passed_on_to(&context(true)), Some("mail"));
        assert_eq!(claims(&context(true)), []);
        assert_eq!(passed_on_to(&context(false)), None);
        assert_eq!(claims(&context(false)), [Claim { name: "MCP server", said: Said::Words("mail".into()) }]);
    }

    #[test]
    fn hints_are_shown_as_they_were_given() {
        let hints = Annotations {
            read_only_hint: Some(false),
            destructive_hint: Some(true),
            ..Annotations::default()
        };
        let context = ContextView { annotations: Some(hints), ..ContextView::default() };
        let said = Said::Words("read-only: no, destructive: yes".into());
        assert_eq!(claims(&context), [Claim { name: "tool hints", said }]);
    }
}
