//! The policy at hand, where no server is configured.

use std::path::Path;

use banksman_core::{Tier, Timestamp};
use banksman_policy::{DEFAULT_POLICY, Facts, Policy};

use super::{Clearance, Denial, Question, Ruling, Unseen};
use crate::exit::{Exit, stop};
use crate::folder::read_policy;

pub(crate) struct Embedded {
    policy: Policy,
}

impl Embedded {
    /// Reads the policy, or takes the default one, which holds everything.
    pub(crate) fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let policy = match path {
            Some(path) => read_policy(path)?,
            None => Policy::parse("the default policy", DEFAULT_POLICY)
                .map_err(|error| stop(Exit::Failure, error.to_string()))?,
        };
        Ok(Self { policy })
    }

    pub(crate) fn ask(&self, question: &Question<'_>, now: Timestamp) -> Ruling {
        let seen = self.assess(question, now);
        self.rule(question, seen)
    }

    /// What the action could do, and what policy demands of it.
    pub(crate) fn assess(&self, question: &Question<'_>, now: Timestamp) -> Unseen {
        let action = question.action;
        let assessment = self.policy.assessor().assess(action);
        // No windows: what asks how much there was lately cannot be told, and counts as reached.
        let facts = Facts::plain(question.agent, now);
        let verdict = self.policy.judge(action, &assessment, &facts).verdict;
        // An evaluator outside may only make things stricter. Here nobody asks it, so it has not let this pass.
        let unasked = self.policy.triage(action, &assessment, &facts, &verdict).is_some();
        Unseen { assessment, verdict, unasked }
    }

    fn rule(&self, question: &Question<'_>, seen: Unseen) -> Ruling {
        match seen.verdict.tier {
            Tier::Block => Ruling::Denied(Denial::new(Exit::NotAllowed, blocked(&seen.verdict))),
            Tier::Auto | Tier::Notify if !seen.unasked => Ruling::Allowed(Clearance {
                args: question.action.args.clone(),
                modified: false,
                claimed: None,
                words: format!("Banksman: policy lets this run ({})", seen.verdict.rule),
            }),
            Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate => Ruling::NeedsPerson(Box::new(seen)),
        }
    }
}

/// What an agent is told of a block.
pub(crate) fn blocked(verdict: &banksman_core::Verdict) -> String {
    let said = verdict.messages.first().map(|message| format!(" {message}")).unwrap_or_default();
    format!(
        "Banksman: policy never lets this run (risk {}, rule {}). It was not executed, and trying it another way \
         is trying it again.{said}",
        verdict.risk, verdict.rule
    )
}

#[cfg(test)]
mod tests {
    use banksman_core::json::CanonicalJson;
    use banksman_core::{Action, Kind};

    use super::*;

    fn ruling(policy: &str, command: &str) -> Ruling {
        let embedded = Embedded { policy: Policy::parse("test", policy).unwrap() };
        let args = CanonicalJson::parse(format!("{{\"command\":{command:?}}}").as_bytes()).unwrap();
        let action = Action::bare("Bash", Kind::Shell, args);
        let question = Question {
            action: &action,
            agent: "claude-code",
            key: None,
            until: None,
            takes_edits: true,
            on_hold: None,
        };
        embedded.ask(&question, Timestamp::from_micros(0))
    }

    const OPEN: &str = "version: 1\ntools:\n  Bash: {tier: auto}\n";

    #[test]
    fn what_policy_lets_run_runs_and_what_it_blocks_does_not() {
        assert!(matches!(ruling(OPEN, "ls"), Ruling::Allowed(_)));
        let blocked = "version: 1\ntools:\n  Bash: {tier: block}\n";
        assert!(matches!(ruling(blocked, "ls"), Ruling::Denied(_)));
        for policy in [DEFAULT_POLICY, "version: 1\ntools:\n  Bash: {tier: escalate}\n"] {
            assert!(matches!(ruling(policy, "ls"), Ruling::NeedsPerson(_)));
        }
    }

    #[test]
    fn what_was_found_to_be_dangerous_needs_a_person_whatever_the_tool_is_worth() {
        let policy = "version: 1\ntools:\n  Bash: {tier: auto}\nrisks:\n  critical: {tier: approve}\n";
        assert!(matches!(ruling(policy, "rm -rf /"), Ruling::NeedsPerson(_)));
    }

    #[test]
    fn what_nobody_can_count_here_counts_as_reached() {
        let budget = "version: 1\ntools:\n  Bash: {tier: auto}\n\
            budgets: {b: {cost_usd: 1, over: 1h, at_limit: block}}\n";
        assert!(matches!(ruling(budget, "ls"), Ruling::Denied(_)));
    }

    #[test]
    fn observing_and_presets_that_say_yes_need_a_record_to_do_so() {
        let observing = "version: 1\nenforcement: observe\ntools:\n  Bash: {tier: approve}\n";
        assert!(matches!(ruling(observing, "ls"), Ruling::NeedsPerson(_)));
        let preset = "version: 1\npreset: auto_approve\n";
        assert!(matches!(ruling(preset, "rm -rf /srv"), Ruling::NeedsPerson(_)));
    }
}
