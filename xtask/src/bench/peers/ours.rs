//! Ours, as the peers are measured.

use super::{Facts, Figures};
use crate::bench::connection::{Answer, Script, drive};
use crate::bench::held;
use crate::bench::load::{self, Head};
use crate::bench::percentile;
use crate::bench::server::House;

pub(crate) fn measure(house: &House, clients: usize, cycles: usize, first: usize) -> anyhow::Result<Figures> {
    let mut measured = load::run(&house.doors(), clients, cycles, first)?;
    // From the decision to the recorded outcome, as for the others.
    Ok(Figures {
        cycles_per_s: measured.cycles_per_second,
        create_p50_ms: percentile(&mut measured.propose, 0.5),
        create_p99_ms: percentile(&mut measured.propose, 0.99),
        resume_p50_ms: percentile(&mut measured.resume, 0.5),
        resume_p99_ms: percentile(&mut measured.resume, 0.99),
    })
}

/// Several people approve one action at the same time, and as many clients of its agent want to run it.
pub(crate) fn approve_together(house: &House, approvals: usize) -> anyhow::Result<Facts> {
    let agents = [house.agent.clone()];
    let held = held::propose(house, &agents, 1, 2_000_000_000)?.pop();
    let held = held.ok_or_else(|| anyhow::anyhow!("nothing is held"))?;
    let reviewers = house.reviewers(approvals)?;
    let decision = [r#"{"decision":"approve","version":1,"digest":""#, &held.digest, "\"}"].concat();
    let decided = once(house, &reviewers, &format!("/{}/decision", held.id), &decision)?;
    let claim = [r#"{"digest":""#, &held.digest, "\"}"].concat();
    let claimed = once(house, &vec![house.agent.clone(); approvals], &format!("/{}/claim", held.id), &claim)?;
    let accepted = decided.iter().filter(|(status, _)| *status == 200).count();
    let precise = |(status, body): &&(u16, String)| *status == 409 && body.contains("already_decided");
    Ok(Facts {
        approvals,
        accepted,
        refused: decided.iter().filter(precise).count(),
        effects: claimed.iter().filter(|(status, _)| *status == 200).count(),
    })
}

/// The same request by each of them at once, and what they were answered.
fn once(house: &House, tokens: &[String], path: &str, body: &str) -> anyhow::Result<Vec<(u16, String)>> {
    let scripts =
        tokens.iter().map(|token| Once { head: Head::of(token), path, body, answer: (0, String::new()) });
    let done = drive(&house.addresses(), scripts.collect())?;
    Ok(done.into_iter().map(|once| once.answer).collect())
}

struct Once<'a> {
    head: Head,
    path: &'a str,
    body: &'a str,
    answer: (u16, String),
}

impl Script for Once<'_> {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        match answer {
            None => self.head.post(out, &[self.path], &[self.body]),
            Some(Answer { status, body }) => self.answer = (*status, (*body).to_owned()),
        }
        Ok(())
    }
}
