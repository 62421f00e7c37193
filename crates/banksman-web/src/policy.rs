//! Which policy is in force: its rules, what reading looks for, and what it would say of an action.

use banksman_core::visible::VisibleJson;
use banksman_core::wire::PolicyView;
use banksman_core::{Assessment, Kind, Risk, Tier, Verdict};
use banksman_review::numbered;
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::moment::{moment, span};
use crate::parts::{anchor, finding_link, findings, hidden, line, risk, rule_link};
use crate::text::{Foreign, ForeignLines};

/// A rule as it is written.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is what it says")]
pub struct PolicyRule<'a> {
    pub id: &'a str,
    pub place: &'a str,
    pub text: &'a str,
    pub remark: Option<&'a str>,
}

/// What someone asks of the policy, as they typed it.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the fields of the form")]
pub struct PolicyQuestion {
    pub tool: String,
    pub kind: String,
    pub args: String,
    pub agent: String,
}

/// One thing that had a say.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is what it says")]
pub struct Say<'a> {
    pub source: &'a str,
    pub tier: Option<Tier>,
    pub risk: Option<Risk>,
    pub note: Option<&'a str>,
}

/// What the policy would say.
#[derive(Debug)]
pub struct PolicyAnswer<'a> {
    /// What it demands.
    pub verdict: &'a Verdict,
    /// How risky it looks.
    pub assessment: &'a Assessment,
    /// Everything that had a say.
    pub says: Vec<Say<'a>>,
    /// Findings that a rule set aside, with the rule.
    pub set_aside: &'a [(String, String)],
    /// Whether a freeze would stop it.
    pub frozen: bool,
}

/// The page about the policy.
#[derive(Debug)]
pub struct PolicyPage<'a> {
    /// What is in force.
    pub policy: &'a PolicyView,
    /// Its rules, in their order.
    pub rules: &'a [PolicyRule<'a>],
    /// What is asked of it.
    pub question: &'a PolicyQuestion,
    /// The answer, if something was.
    pub answer: Option<&'a PolicyAnswer<'a>>,
}

impl PolicyPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let policy = self.policy;
        let body = html! {
            h1 { "Policy" }
            p.lead { "Every rule that matches an action has a say, and the strictest wins. Rules are changed in their file; a change is taken up within seconds." }
            @if let Some(refused) = &policy.refused {
                section.panel.wrong {
                    h2 { "A newer policy could not be used" }
                    p { "Tried " (moment(refused.at)) ". The one below stays in force." }
                    pre tabindex="0" { (ForeignLines(&refused.problem)) }
                }
            }
            section.panel {
                h2 { "In force" }
                dl.pairs {
                    dt { "From" } dd { @if policy.source.is_empty() { span.quiet { "built in" } } @else { code { (Foreign(&policy.source)) } } }
                    dt { "Since" } dd { (moment(policy.loaded_at)) }
                    dt { "Digest" } dd { code { (policy.digest.to_string()) } " " span.quiet { "as the audit log names it" } }
                }
            }
            (self.ask(frame))
            section.panel {
                h2 { "Rules" }
                @if self.rules.is_empty() {
                    p { "It names no tool and has no rule, so everything is held until a person decides." }
                    p.quiet { "Write what each tool demands under " code { "tools:" } " in the file above. " code { "banksman policy check" } " says what is wrong with it." }
                }
                @for rule in self.rules {
                    div.rule id=(anchor("rule", rule.id)) {
                        h3 { code { (Foreign(rule.id)) } " " span.quiet { (Foreign(rule.place)) } }
                        pre { (ForeignLines(rule.text)) }
                        @if let Some(remark) = rule.remark { p.caution { (Foreign(remark)) } }
                    }
                }
            }
            section.panel #built-in {
                h2 { "What holds without a rule" }
                dl.pairs {
                    dt { code { "defaults.unknown_tool" } } dd { "A tool that no rule names is high risk and held." }
                    dt { code { "risks" } } dd { "What a level of risk demands, whatever the tool." }
                    dt { code { "preset" } } dd { "A ready-made stance: which risks a person sees." }
                    dt { code { "tinman" } } dd { "Severity against mode, types of action that are always blocked or reviewed, and cost." }
                    dt { code { "budgets" } } dd { "What may be spent in a while; at the limit it is held or blocked." }
                    dt { code { "finding" } } dd { "What reading the action found. " a href="/policy/built-in" { "All that is looked for" } }
                }
            }
        };
        frame.page(Place::Policy, "Policy", &body)
    }

    fn ask(&self, frame: &Frame<'_>) -> Markup {
        let PolicyQuestion { tool, kind, args, agent } = self.question;
        html! {
            section.panel #explain {
                h2 { "What would it say?" }
                p.quiet { "Nothing is proposed by asking, and nothing is counted." }
                form method="post" action="/policy/explain" {
                    (hidden("csrf", frame.viewer.csrf))
                    div.row {
                        (line("tool", "Tool", tool, "send_email"))
                        label.field { span { "Kind" }
                            select name="kind" { @for option in Kind::ALL { option value=(option.as_str()) selected[option.as_str() == kind] { (option.as_str()) } } }
                        }
                        (line("agent", "Agent", agent, "any"))
                    }
                    label.field { span { "Arguments, as JSON" } textarea.code name="args" rows="3" spellcheck="false" { "\n" (if args.is_empty() { "{}".to_owned() } else { VisibleJson(args).to_string() }) } }
                    button.strong { "Explain" }
                }
                @if let Some(answer) = self.answer { (answer.show()) }
            }
        }
    }
}

impl PolicyAnswer<'_> {
    fn show(&self) -> Markup {
        let verdict = self.verdict;
        let found = numbered(&self.assessment.findings);
        html! {
            section.answer role="status" aria-label="What the policy says" {
                p.verdict { (risk(verdict.risk)) " " b { (verdict.tier.as_str()) } ": " (consequence(verdict)) ", by " (rule_link(&verdict.rule)) "." }
                @if self.frozen { p.caution { "A freeze covers it: it would be refused whatever the policy says." } }
                @for message in &verdict.messages { p.message { (ForeignLines(message)) } }
                table.list {
                    thead { tr { th scope="col" { "Who has a say" } th scope="col" { "Tier" } th scope="col" { "Risk" } th scope="col" { "Why" } } }
                    tbody {
                        @for say in &self.says {
                            tr {
                                td { (rule_link(say.source)) @if say.source == verdict.rule { " " span.status.pending { "decides" } } }
                                td data-label="tier" { (say.tier.map_or("says nothing", Tier::as_str)) }
                                td data-label="risk" { (say.risk.map_or("says nothing", Risk::as_str)) }
                                td { @if let Some(note) = say.note { (Foreign(note)) } }
                            }
                        }
                    }
                }
                @if !found.is_empty() { h3 { "What reading it found" } (findings(&found)) }
                @for (finding, rule) in self.set_aside { p { (finding_link(finding)) " is set aside by " (rule_link(rule)) "." } }
            }
        }
    }
}

/// What becomes of an action with this verdict.
fn consequence(verdict: &Verdict) -> String {
    match verdict.tier {
        Tier::Auto => "it runs at once".into(),
        Tier::Notify => "it runs at once, and people are told".into(),
        Tier::Block => "it never runs".into(),
        Tier::Approve | Tier::Escalate => {
            let people = match verdict.quorum.count() {
                1 => "one person".to_owned(),
                count => format!("{count} people"),
            };
            let within = span(std::time::Duration::from_secs(verdict.timeout_seconds));
            format!("it is held for {people}, within {within}")
        }
    }
}

/// Something that reading an action looks for.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is what it says")]
pub struct LookedForRule<'a> {
    pub id: &'a str,
    pub level: Risk,
    pub reason: &'a str,
    pub advice: Option<&'a str>,
}

/// The page about what reading looks for.
#[must_use]
pub fn looked_for(frame: &Frame<'_>, rules: &[LookedForRule<'_>]) -> String {
    let mut groups: Vec<(&str, Vec<&LookedForRule<'_>>)> = Vec::new();
    for rule in rules {
        let group = rule.id.split('.').next().unwrap_or_default();
        match groups.last_mut().filter(|(name, _)| *name == group) {
            Some((_, members)) => members.push(rule),
            None => groups.push((group, vec![rule])),
        }
    }
    let body = html! {
        h1 { "What reading an action looks for" }
        p.lead { (rules.len()) " rules, by parsing and not by words: each is proved by examples when the program is built. A policy adds, replaces and disables them. " a href="/policy" { "Back to the policy" } }
        @for (group, members) in &groups {
            section.panel {
                h2 { (Foreign(group)) }
                dl.looked {
                    @for rule in members {
                        dt id=(anchor("found", rule.id)) { code { (Foreign(rule.id)) } " " (risk(rule.level)) }
                        dd { (Foreign(rule.reason)) @if let Some(advice) = rule.advice { " " span.quiet { (Foreign(advice)) } } }
                    }
                }
            }
        }
    };
    frame.page(Place::Policy, "What reading looks for", &body)
}
