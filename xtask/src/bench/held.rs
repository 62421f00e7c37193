//! Many actions that are proposed and stay pending.

use std::time::Duration;

use super::connection::{Answer, Script, drive};
use super::load::Head;
use super::server::House;

/// An action that waits for people.
pub(crate) struct Held {
    pub(crate) id: String,
    pub(crate) digest: String,
    /// Which of the agents proposed it.
    pub(crate) agent: usize,
}

/// How many clients propose at a time.
const CLIENTS: usize = 32;

/// A client that proposes and leaves it at that.
struct Proposals {
    head: Head,
    agent: usize,
    numbers: std::iter::StepBy<std::ops::Range<usize>>,
    held: Vec<Held>,
}

impl Script for Proposals {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        if let Some(answer) = answer {
            let Answer { status, body } = answer;
            anyhow::ensure!(*status == 202, "propose answered {status}: {body}");
            let (id, digest) = (answer.member("\"id\":\"")?, answer.member("\"digest\":\"")?);
            self.held.push(Held { id: id.to_owned(), digest: digest.to_owned(), agent: self.agent });
        }
        if let Some(number) = self.numbers.next() {
            self.head.propose(out, number);
        }
        Ok(())
    }
}

/// Proposes `count` actions that stay pending, by these agents in turn, numbered from `first`.
pub(crate) fn propose(
    house: &House,
    agents: &[String],
    count: usize,
    first: usize,
) -> anyhow::Result<Vec<Held>> {
    let scripts = (0..CLIENTS).zip(agents.iter().enumerate().cycle()).map(|(client, (agent, token))| {
        let numbers = (first + client..first + count).step_by(CLIENTS);
        Proposals { head: Head::of(token), agent, numbers, held: Vec::with_capacity(count / CLIENTS + 1) }
    });
    let done = drive(&house.addresses(), scripts.collect())?;
    // Workers that tell people of the holds settle down.
    std::thread::sleep(Duration::from_millis(1500));
    Ok(done.into_iter().flat_map(|client| client.held).collect())
}
