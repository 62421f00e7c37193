//! Which rules change nothing: another one matches whatever they match and is at least as strict.
//!
//! Only what is sure is said. All fields are taken apart by name, so that a new one cannot be forgotten here.

use banksman_core::{Escalation, EscalationStep, Kind, Quorum, Risk};

use crate::arguments::{Answer, Argument, Comparison, Test};
use crate::compile::{CompiledRule, Effect, Policy};
use crate::condition::Condition;
use crate::file::Hints;
use crate::glob::Glob;

impl Policy {
    /// Rules without which every action would be judged the same, each with the rule that makes it so.
    pub(crate) fn shadowed(&self) -> impl Iterator<Item = (&CompiledRule, &CompiledRule)> {
        (0..).zip(&self.rules).filter_map(|(number, rule)| {
            let by = self.possible_shadows(rule).into_iter().find_map(|other| {
                let over = self.rules.get(other as usize)?;
                // Of two that say the same, the first one stays.
                let counts =
                    other != number && shadows(over, rule) && (other < number || !shadows(rule, over));
                counts.then_some(over)
            })?;
            Some((rule, by))
        })
    }

    /// Rules that may match whatever this one matches. A rule that covers a pattern would also be asked about a
    /// tool of that name, because what stands before its own first wildcard begins the pattern.
    fn possible_shadows(&self, rule: &CompiledRule) -> Vec<u32> {
        let first = |globs: &[Glob]| globs.first().map(ToString::to_string).unwrap_or_default();
        self.index.candidates(&first(&rule.condition.tool), &first(&rule.condition.agent))
    }
}

fn shadows(over: &CompiledRule, under: &CompiledRule) -> bool {
    // What a rule accepts counts only where it surely matches, so covering what it may match is not enough.
    let accepts = under.accepts.is_empty()
        || (covers_all(&over.accepts, &under.accepts) && over.condition.is_always_decided());
    // Naming a tool is what makes it known, where the rule surely matches.
    let known = !under.condition.names_tools()
        || (over.condition.names_tools() && over.condition.is_always_decided());
    // The same holds for what may be remembered.
    let remembers = under.effect.allow_remember.is_none() || over.condition.is_always_decided();
    accepts
        && known
        && remembers
        && as_strict(&over.effect, &under.effect)
        && matches_more(&over.condition, &under.condition)
}

fn as_strict(over: &Effect, under: &Effect) -> bool {
    let Effect {
        risk,
        tier,
        quorum,
        extra_people,
        escalation: _,
        timeout,
        claim_within,
        lease,
        require_reason,
        require_passkey,
        allow_remember,
        message,
        route,
        redact,
    } = under;
    let shorter = |over: Option<u64>, under: Option<u64>| {
        under.is_none_or(|under| over.is_some_and(|over| over <= under))
    };
    over.risk >= *risk
        && over.tier >= *tier
        && more_people(over.quorum.as_ref(), quorum.as_ref())
        && over.extra_people >= *extra_people
        && same_chain(over, under)
        && shorter(over.timeout, *timeout)
        && shorter(over.claim_within, *claim_within)
        && shorter(over.lease, *lease)
        && (over.require_reason || !require_reason)
        && (over.require_passkey || !require_passkey)
        && (allow_remember.is_none() || over.allow_remember == *allow_remember)
        && (message.is_none() || over.message == *message)
        && (route.is_none() || over.route == *route)
        && subset(redact, &over.redact)
}

/// Whether nothing about chains changes with `under`. A demand for a role that hands it to nobody keeps others from
/// handing it over, so `over` has to do the same.
fn same_chain(over: &Effect, under: &Effect) -> bool {
    fn roles(effect: &Effect) -> &[String] {
        effect.quorum.as_ref().map_or(&[], Quorum::roles)
    }
    let hands_over = |step: &EscalationStep| matches!(step.then, Escalation::HandTo { .. });
    if under.escalation.is_empty() {
        roles(under).is_empty() || !over.escalation.iter().any(hands_over)
    } else {
        over.escalation == under.escalation && roles(over) == roles(under)
    }
}

fn more_people(over: Option<&Quorum>, under: Option<&Quorum>) -> bool {
    let Some(under) = under else { return true };
    over.is_some_and(|over| over.clone().at_least(under) == *over)
}

/// Whether `over` matches, or cannot be decided, wherever `under` matches or cannot be decided.
fn matches_more(over: &Condition, under: &Condition) -> bool {
    let Condition {
        tool,
        agent,
        session,
        server,
        kind,
        risk,
        finding,
        action_type,
        severity,
        mode,
        hints,
        windows,
        time,
        arguments,
        when,
    } = over;
    // Every action has a tool, an agent, a kind and a risk; the rest may be missing, and then not even `*` fits.
    names_more(tool, &under.tool)
        && names_more(agent, &under.agent)
        && optional_covers(session, &under.session)
        && optional_covers(server, &under.server)
        && set_covers(kind, &under.kind, Kind::ALL)
        && risk
            .as_deref()
            .is_none_or(|over| set_covers(over, under.risk.as_deref().unwrap_or(&[]), Risk::ALL))
        && optional_covers(finding, &under.finding)
        && optional_covers(action_type, &under.action_type)
        && (severity.is_empty() || (!under.severity.is_empty() && subset(&under.severity, severity)))
        && set_covers(mode, &under.mode, banksman_core::Mode::ALL)
        && (*hints == Hints::default() || *hints == under.hints)
        && subset(windows, &under.windows)
        && (time.is_none() || *time == under.time)
        && arguments.iter().all(|argument| implied(argument, &under.arguments))
        && (when.is_none() || *when == under.when)
}

impl Condition {
    /// Whether it always has an answer: nothing in it depends on the type of an argument, on what was counted, on who says
    /// so, or can fail.
    fn is_always_decided(&self) -> bool {
        self.arguments.is_empty() && self.windows.is_empty() && self.when.is_none() && !self.believes_server()
    }
}

fn names_more(over: &[Glob], under: &[Glob]) -> bool {
    over.is_empty() || over.iter().any(|glob| glob.is_everything()) || optional_covers(over, under)
}

fn optional_covers(over: &[Glob], under: &[Glob]) -> bool {
    over.is_empty() || (!under.is_empty() && covers_all(over, under))
}

fn covers_all(over: &[Glob], under: &[Glob]) -> bool {
    under.iter().all(|glob| over.iter().any(|over| over.covers(glob)))
}

/// Both are sets of which an empty one stands for `all`.
fn set_covers<T: PartialEq>(over: &[T], under: &[T], all: &[T]) -> bool {
    over.is_empty() || subset(if under.is_empty() { all } else { under }, over)
}

fn subset<T: PartialEq>(small: &[T], large: &[T]) -> bool {
    small.iter().all(|item| large.contains(item))
}

/// Whether an argument surely meets (or leaves undecided) this, where it meets (or leaves undecided) all of those.
fn implied(argument: &Argument, given: &[Argument]) -> bool {
    argument.tests.iter().all(|test| {
        given
            .iter()
            .filter(|other| other.path == argument.path)
            .flat_map(|other| &other.tests)
            .any(|given| implies(given, test))
    })
}

fn implies(given: &Test, test: &Test) -> bool {
    let may_hold = |value: Option<&banksman_core::json::Json>| test.ask(value, "") != Answer::No;
    match (given, test) {
        (Test::Equals(value), _) => may_hold(Some(value)),
        (Test::OneOf(values), _) => values.iter().all(|value| may_hold(Some(value))),
        (Test::Present(false), _) => may_hold(None),
        (Test::Not(value), Test::Not(other)) => value == other,
        (Test::Not(value), Test::NotIn(others)) => others.iter().all(|other| other == value),
        (Test::NotIn(values), Test::Not(other)) => values.contains(other),
        (Test::NotIn(values), Test::NotIn(others)) => subset(others, values),
        (Test::Regex(regex), Test::Regex(other)) => regex.as_str() == other.as_str(),
        (Test::Glob(glob), Test::Glob(other)) => other.covers(glob),
        (Test::Contains(value), Test::Contains(other)) => value == other,
        (Test::Truthy(value), Test::Truthy(other)) => value == other,
        (Test::Compare(comparison, limit), Test::Compare(other, other_limit)) => {
            let order = limit.cmp(other_limit);
            match (comparison, other) {
                (Comparison::More, Comparison::More | Comparison::AtLeast)
                | (Comparison::AtLeast, Comparison::AtLeast) => order.is_ge(),
                (Comparison::AtLeast, Comparison::More) => order.is_gt(),
                (Comparison::Less, Comparison::Less | Comparison::AtMost)
                | (Comparison::AtMost, Comparison::AtMost) => order.is_le(),
                (Comparison::AtMost, Comparison::Less) => order.is_lt(),
                (Comparison::More | Comparison::AtLeast, Comparison::Less | Comparison::AtMost)
                | (Comparison::Less | Comparison::AtMost, Comparison::More | Comparison::AtLeast) => false,
            }
        }
        // None of these is met by an argument that is not there.
        (
            Test::Regex(_)
            | Test::Glob(_)
            | Test::Contains(_)
            | Test::Compare(..)
            | Test::Present(true)
            | Test::Truthy(true),
            Test::Present(true),
        ) => true,
        _ => false,
    }
}
