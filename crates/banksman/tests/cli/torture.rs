//! Everything that can break, breaks, while a crew works with several nodes over one PostgreSQL: nodes and the database
//! are killed, nodes are frozen, and the line between them fails in every way, around commits above all.
//!
//! What everyone was told is written down, and in the end a checker proves from that and the log that decisions were
//! linearizable, nothing was claimed twice, nothing acknowledged was lost and nothing invented.
//!
//! `cargo xtask torture --minutes N` goes on for longer. The seed that it prints makes the same plan again; threads and
//! disks have a mind of their own.

mod schedule;
mod town;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use self::schedule::{Fault, Schedule};
use self::town::Town;
use crate::chance::Chance;
use crate::crew::{Crew, checker};
use crate::installation::now;

/// In the ordinary run of the suite: for as long as it takes to break everything once, and not less than the first nor
/// more than the second.
const BRIEF: (Duration, Duration) = (Duration::from_secs(12), Duration::from_secs(40));

/// How many milliseconds there are between two faults at the most: in the suite, and in a long run, in which there is
/// time for more to happen in between.
const GAPS: (u64, u64) = (1_400, 4_000);

/// How long clients wait for an answer. Shorter than what many faults last, so that nobody is stuck with one node.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much longer the crew works if too little was done to prove anything.
const OVERTIME: Duration = Duration::from_secs(40);

const PROGRESS: Duration = Duration::from_secs(10);

/// A number from the environment, where `cargo xtask torture` puts it.
fn asked(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.trim().parse().unwrap())
}

#[test]
fn whatever_breaks_decisions_are_linearizable_and_nothing_is_lost_or_invented() {
    let minutes = asked("BANKSMAN_TORTURE_MINUTES");
    let nodes = asked("BANKSMAN_TORTURE_NODES").map_or(3, |nodes| usize::try_from(nodes).unwrap());
    let seed = Chance::seed();
    eprintln!("BANKSMAN_SEED={seed}, {nodes} nodes");
    let mut chance = Chance::new(seed);

    let mut town = Town::build(nodes, PATIENCE);
    let crew = Crew::employ(&town.site, &mut chance, |kind, name| town.token(kind, name));
    let began = Instant::now();
    let mut told = began;
    let mut faults: BTreeMap<Fault, u64> = BTreeMap::new();
    let gap = if minutes.is_some() { GAPS.1 } else { GAPS.0 };
    for due in Schedule::new(seed, nodes, gap) {
        let elapsed = began.elapsed();
        let enough = match minutes {
            Some(minutes) => elapsed > Duration::from_secs(60 * minutes),
            None => (faults.len() == Fault::ALL.len() && elapsed > BRIEF.0) || elapsed > BRIEF.1,
        };
        if enough {
            break;
        }
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            let count: u64 = faults.values().sum();
            eprintln!("{:>5} s  {count} faults  {}", elapsed.as_secs(), town.site.progress());
        }
        // What the steps themselves take, such as starting a database, makes the plan late and nothing else.
        std::thread::sleep(due.at.saturating_sub(began.elapsed()));
        if let Some(fault) = due.begins {
            *faults.entry(fault).or_default() += 1;
        }
        town.perform(due.step);
    }
    let recovery = town.mend();
    let lasted = began.elapsed();
    // On a machine that is busy with other things, little got done between the faults.
    let mended = Instant::now();
    while town.site.book().lacks().is_some() && mended.elapsed() < OVERTIME {
        std::thread::sleep(Duration::from_millis(200));
    }
    crew.go_home(&town.site);
    let token = town.token("reviewer", "the checker");
    let client = town.crash_all_and_look(&token);
    let book = town.site.book();
    let (record, mut findings) = checker::read(&client);
    findings.extend(checker::check(&record, &book, now()));
    eprintln!("{} faults in {lasted:.1?}: {faults:?}", faults.values().sum::<u64>());
    eprintln!(
        "{} traps sprung at a commit; ready again {recovery:.1?} after the last fault",
        town.traps_sprung()
    );
    eprintln!("{}", book.summary());
    eprintln!("{}", record.tally());
    assert!(findings.is_empty(), "BANKSMAN_SEED={seed}\n{}\n{}", findings.join("\n"), town.last_words());
    book.expect_something_of_everything();
    let missing: Vec<&Fault> = Fault::ALL.iter().filter(|fault| !faults.contains_key(fault)).collect();
    assert!(missing.is_empty(), "too slow a machine to break everything once: {missing:?}");
    assert!(town.traps_sprung() > 0, "no commit met a trap");
    eprintln!("no contradiction found");
}
