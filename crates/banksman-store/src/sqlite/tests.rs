//! What only SQLite can get wrong: its plans, its schema, its file, its neighbours.

mod beside;
mod constraints;
mod faults;
mod leaves;
mod log;
mod plans;
mod redo;
mod schema;

use std::path::PathBuf;
use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Ballot, Case, Command, Decision, Kind, Moment, Opening, Principal,
    PrincipalKind, Risk, Submission, Tier, Timestamp, TokenId, Transition, Verdict, open, step,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::SqliteStore;
use crate::{AdvancedCase, Commit};

/// A database file in a folder of its own.
struct File(TempDir);

impl File {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("banksman.db")
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.path()).unwrap()
    }

    /// A connection as any other program would make it.
    fn connect(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }
}

fn second(count: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + count * 1_000_000)
}

fn id(number: u64) -> ActionId {
    ActionId::from_parts(second(0).as_millis() + number, u128::from(number))
}

fn person(kind: PrincipalKind, name: &str) -> Principal {
    Principal { token: TokenId::from_parts(0, 7), kind, name: name.into(), owner: None, roles: Vec::new() }
}

/// A proposal of the so-manieth action, unlike any other.
fn proposed(number: u64, tier: Tier) -> Transition {
    proposed_with(number, tier, &format!(r#"{{"n":{number}}}"#))
}

fn proposed_with(number: u64, tier: Tier, args: &str) -> Transition {
    let action = Action::bare("refund", Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap());
    let verdict = Verdict::new(tier, Risk::High, "refunds");
    let opening = Opening {
        id: id(number),
        agent: person(PrincipalKind::Agent, "riley"),
        batch: None,
        submission: Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict)),
        grant: None,
    };
    open(opening, &Moment::at(second(0)))
}

fn approved(case: &Case) -> Transition {
    let ballot = Ballot {
        reviewer: person(PrincipalKind::Reviewer, "ann"),
        lent: Vec::new(),
        brought_by: None,
        decision: Decision::Approve,
        version: case.version,
        digest: case.submission.digest,
        reason: None,
        message: None,
        remember: false,
        step_up: None,
    };
    step(case, Command::Decide(ballot), &Moment::at(second(1))).unwrap()
}

fn opening(transition: Transition) -> Commit {
    Commit { opened: vec![Arc::new(transition.case)], events: vec![*transition.event], ..Commit::default() }
}

fn advancing(transition: Transition) -> Commit {
    Commit {
        advanced: vec![AdvancedCase {
            was_pending: ends_a_hold(&transition.event.fact),
            before: None,
            case: Arc::new(transition.case),
            new_submission: false,
        }],
        events: vec![*transition.event],
        ..Commit::default()
    }
}

/// Only what is pending is decided, edited, withdrawn or expired.
fn ends_a_hold(fact: &banksman_core::audit::Fact) -> bool {
    use banksman_core::audit::Fact;
    matches!(fact, Fact::Decided { .. } | Fact::Modified { .. } | Fact::Cancelled { .. } | Fact::Expired)
}

/// A number that a query answers with.
fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}
