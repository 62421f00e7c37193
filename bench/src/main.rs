//! Banksman's policy beside cedar-policy: the same rules, the same questions, the same answers, in one run.
//!
//! Half of the rules let a tool through, half of them forbid it beyond an amount. Rounds of one side and of the other
//! take turns, so that whatever else the machine does falls on both, and each round is long enough to have the caches
//! to itself. Cedar's requests are made beforehand; our side parses the arguments of each action anew, because a
//! server would.

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use banksman_core::json::CanonicalJson;
use banksman_core::{Action, Assessment, Kind, Tier, Timestamp};
use banksman_policy::{Facts, Policy};
use cedar_policy::{Authorizer, Context, Decision, Entities, PolicySet, Request};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const LIMIT: u64 = 500;
const ROUNDS: usize = 9;
const PASSES: usize = 20;
const QUESTIONS: u64 = 1_000;

/// One question, for both.
struct Question {
    action: Action,
    request: Request,
}

/// Times of one size, in nanoseconds, sorted.
struct Times {
    ours: Vec<u64>,
    theirs: Vec<u64>,
    ratio: f64,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    println!("rules    banksman p50     p99   cedar p50       p99   cedar / banksman (median of ratios)");
    let mut medians = Vec::new();
    let mut ahead = true;
    for size in SIZES {
        let times = measure(size)?;
        let (ours, theirs) = (percentile(&times.ours, 50), percentile(&times.theirs, 50));
        println!(
            "{size:>6} {:>11} ns {:>5} ns {:>8} ns {:>6} ns   {:.1}",
            ours,
            percentile(&times.ours, 99),
            theirs,
            percentile(&times.theirs, 99),
            times.ratio,
        );
        ahead &= times.ratio > 1.0;
        medians.push(ours);
    }
    let growth = ratio(*medians.last().unwrap_or(&0), *medians.first().unwrap_or(&1));
    println!("at 10,000 rules we take {growth:.2} times as long as at 10 (target: at most 2)");
    println!("ahead at every size: {}", if ahead { "yes" } else { "NO" });
    Ok(if ahead && growth <= 2.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(size: usize) -> Result<Times, Box<dyn Error>> {
    let tools = size / 2;
    let policy = Policy::parse("bench", &our_rules(tools))?;
    let cedar: PolicySet = their_rules(tools).parse()?;
    let questions = questions(tools)?;
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    let assessment = Assessment::of(Vec::new());
    let facts = Facts::plain("riley", Timestamp::default());
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let mut mine = Vec::with_capacity(questions.len() * PASSES);
        let mut verdicts = Vec::new();
        for _ in 0..PASSES {
            verdicts.clear();
            for Question { action, .. } in &questions {
                let began = Instant::now();
                let verdict = black_box(policy.judge(black_box(action), &assessment, &facts)).verdict;
                mine.push(nanoseconds(began));
                verdicts.push(verdict.tier == Tier::Auto);
            }
        }
        // Cedar asks every rule: where there are many, fewer questions do.
        let asked = (400_000 / size).clamp(40, questions.len());
        let mut other = Vec::with_capacity(asked);
        for (Question { action, request }, allowed) in questions.iter().zip(&verdicts).take(asked) {
            let began = Instant::now();
            let answer = black_box(authorizer.is_authorized(black_box(request), &cedar, &entities));
            other.push(nanoseconds(began));
            if *allowed != (answer.decision() == Decision::Allow) {
                return Err(format!("both disagree about {} {}", action.tool, action.args.as_str()).into());
            }
        }
        // The first round only warms up.
        if round > 0 {
            mine.sort_unstable();
            other.sort_unstable();
            ratios.push(ratio(percentile(&other, 50), percentile(&mine, 50)));
            ours.extend(mine);
            theirs.extend(other);
        }
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    ratios.sort_by(f64::total_cmp);
    Ok(Times { ours, theirs, ratio: ratios[ratios.len() / 2] })
}

fn our_rules(tools: usize) -> String {
    let mut text = "version: 1\ntools:\n".to_owned();
    for n in 0..tools {
        text.push_str(&format!("  tool_{n}: {{risk: low, tier: auto}}\n"));
    }
    text.push_str("rules:\n");
    for n in 0..tools {
        text.push_str(&format!(
            "- {{id: limit-{n}, match: {{tool: tool_{n}, args: {{amount: {{gt: {LIMIT}}}}}}}, tier: block}}\n"
        ));
    }
    text
}

fn their_rules(tools: usize) -> String {
    let permit = |n: usize| format!("permit(principal, action == Action::\"tool_{n}\", resource);\n");
    let forbid = |n: usize| {
        format!(
            "forbid(principal, action == Action::\"tool_{n}\", resource) when {{ context.amount > {LIMIT} }};\n"
        )
    };
    (0..tools).map(permit).chain((0..tools).map(forbid)).collect()
}

/// Questions about tools all over the rules, within and beyond the limit, and about one that no rule names.
fn questions(tools: usize) -> Result<Vec<Question>, Box<dyn Error>> {
    (0..QUESTIONS)
        .map(|n| {
            let tool = match n % 10 {
                9 => "nobody_named_it".to_owned(),
                // A step that has no factor in common with any of the sizes visits tools in no order.
                _ => format!("tool_{}", (n as usize * 7_919) % tools),
            };
            let args = format!("{{\"amount\": {}, \"customer\": \"c-{n}\", \"note\": \"for order {n}\"}}", n);
            let action = Action::bare(tool.as_str(), Kind::Tool, CanonicalJson::parse(args.as_bytes())?);
            let request = Request::new(
                "Agent::\"riley\"".parse()?,
                format!("Action::\"{tool}\"").parse()?,
                "Account::\"main\"".parse()?,
                Context::from_json_str(&args, None)?,
                None,
            )?;
            Ok(Question { action, request })
        })
        .collect()
}

fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0)
}

fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}
