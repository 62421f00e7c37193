//! The policy at hand, where no server is configured.

use std::path::Path;

use banksman_core::{Tier, Timestamp, Verdict};
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
            Tier::Auto | Tier::Notify if !seen.unasked => Ruling::Allowed(Clearance {
                args: question.action.args.clone(),
                modified: false,
                claimed: None,
                words: format!("Banksman: policy lets this run ({})", seen.verdict.rule),
                said: false,
            }),
            Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate | Tier::Block => {
                match refusal(&seen.verdict) {
                    Some(denial) => Ruling::Denied(denial),
                    None => Ruling::NeedsPerson(Box::new(seen)),
                }
            }
        }
    }
}

/// Why the person at a terminal need not be asked, if that is so: policy blocks it, or wants more than one person of whom
/// nobody knows who they are.
pub(crate) fn refusal(verdict: &Verdict) -> Option<Denial> {
    match verdict.tier {
        Tier::Block => Some(blocked(verdict)),
        Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate => {
            beyond_one_person(verdict).map(|needs| {
                format!(
                    "Banksman: policy wants {needs} for this (risk {}, rule {}), and without a server there is only \
                     whoever sits at the terminal. It was not executed. With a server (`banksman serve`) it is held \
                     until they have decided.",
                    verdict.risk, verdict.rule
                )
            })
        }
    }
    .map(|words| Denial::new(Exit::NotAllowed, words))
}

/// What policy wants that one person without a name cannot give.
fn beyond_one_person(verdict: &Verdict) -> Option<String> {
    let mut needs = Vec::new();
    let people = verdict.quorum.count();
    if people > 1 {
        needs.push(format!("{people} different people"));
    } else if verdict.tier == Tier::Escalate {
        needs.push("someone to escalate it to".to_owned());
    }
    needs.extend(verdict.quorum.roles().iter().map(|role| format!("someone of the role {role}")));
    if verdict.require_passkey {
        needs.push("the touch of a passkey".to_owned());
    }
    (!needs.is_empty()).then(|| needs.join(" and "))
}

/// What an agent is told of a block.
fn blocked(verdict: &Verdict) -> String {
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
            leave: None,
        };
        embedded.ask(&question, Timestamp::from_micros(0))
    }

    const OPEN: &str = "version: 1\ntools:\n  Bash: {tier: auto}\n";

    #[test]
    fn what_policy_lets_run_runs_and_what_it_blocks_does_not() {
        assert!(matches!(ruling(OPEN, "ls"), Ruling::Allowed(_)));
        let blocked = "version: 1\ntools:\n  Bash: {tier: block}\n";
        assert!(matches!(ruling(blocked, "ls"), Ruling::Denied(_)));
        assert!(matches!(ruling(DEFAULT_POLICY, "ls"), Ruling::NeedsPerson(_)));
    }

    #[test]
    fn one_unnamed_person_is_no_quorum_no_role_no_passkey_and_nobody_to_escalate_to() {
        for (demand, words) in [
            ("tier: escalate", "2 different people"),
            ("tier: escalate, quorum: 1", "someone to escalate it to"),
            ("tier: approve, quorum: 3", "3 different people"),
            ("tier: approve, roles: [finance]", "someone of the role finance"),
            ("tier: approve, require_passkey: true", "the touch of a passkey"),
        ] {
            let policy = format!("version: 1\ntools:\n  Bash: {{{demand}}}\n");
            let Ruling::Denied(denial) = ruling(&policy, "ls") else { panic!("{demand}: not denied") };
            assert!(
                denial.words.contains(words) && denial.words.contains("banksman serve"),
                "{}",
                denial.words
            );
            assert_eq!(denial.exit, Exit::NotAllowed);
        }
        let plain = "version: 1\ntools:\n  Bash: {tier: approve, quorum: 1, require_reason: true}\n";
        assert!(matches!(ruling(plain, "ls"), Ruling::NeedsPerson(_)), "a reason can be asked for");
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
