//! With a million rows, a query that reads them all is an outage: every plan is looked at.

use banksman_core::{Decision, Risk, Status, Tier};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params_from_iter};

use super::{File, id, second};
use crate::listing::{self, Listing};
use crate::sqlite::apply::{JOINABLE, PENDING_BY_AGENT};
use crate::sqlite::lists::{DIALECT, PENDING_BY_RISK, PENDING_BY_TIER};
use crate::sqlite::meters::{DISTINCT, SUM};
use crate::sqlite::read::{DUE, NEXT_DUE};
use crate::{CaseQuery, EventQuery, Order, SortBy};

fn plan<V: ToSql>(connection: &Connection, sql: &str, values: Vec<V>) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

/// A plan that touches only the rows that it answers with, or those that one index leads to.
fn assert_indexed(plan: &str, what: &str) {
    for step in plan.lines() {
        let searches = step.starts_with("SEARCH");
        // A partial index that is walked in its order holds nothing but candidates.
        let walks_partial_index =
            step.starts_with("SCAN") && step.contains("USING") && step.contains("INDEX");
        assert!(searches || walks_partial_index, "{what}\nreads everything:\n{plan}");
    }
    assert!(!plan.contains("TEMP B-TREE"), "{what}\nsorts:\n{plan}");
}

fn cases_plan(connection: &Connection, query: &CaseQuery) -> String {
    let Listing { sql, values, .. } = listing::cases(&DIALECT, query);
    plan(connection, &sql, values)
}

fn events_plan(connection: &Connection, query: &EventQuery) -> String {
    let Listing { sql, values, .. } = listing::events(&DIALECT, query);
    plan(connection, &sql, values)
}

fn empty() -> (File, Connection) {
    let file = File::new();
    drop(file.store());
    let connection = file.connect();
    (file, connection)
}

#[test]
fn every_list_of_pending_actions_uses_an_index() {
    let (_file, connection) = empty();
    for tier in [None, Some(Tier::Approve)] {
        for tool in [None, Some("refund".to_owned())] {
            for agent in [None, Some("riley".to_owned())] {
                for after in [None, Some(id(1))] {
                    for order in [Order::Ascending, Order::Descending] {
                        let query = CaseQuery {
                            tier,
                            tool: tool.clone(),
                            agent: agent.clone(),
                            after,
                            order,
                            ..CaseQuery::pending(50)
                        };
                        let plan = cases_plan(&connection, &query);
                        assert_indexed(&plan, &format!("{query:?}"));
                        assert!(
                            plan.contains("pending_by") || plan.contains("open_by_status"),
                            "{query:?}\n{plan}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_most_selective_filter_of_pending_actions_has_an_index_of_its_own() {
    let (_file, connection) = empty();
    let pending = CaseQuery::pending(50);
    for (query, index) in [
        (pending.clone(), "open_by_status"),
        (CaseQuery { tier: Some(Tier::Escalate), ..pending.clone() }, "pending_by_tier"),
        (CaseQuery { tool: Some("refund".into()), ..pending.clone() }, "pending_by_tool"),
        (CaseQuery { agent: Some("riley".into()), ..pending }, "pending_by_agent"),
    ] {
        let plan = cases_plan(&connection, &query);
        assert!(plan.contains(&format!("SEARCH a USING INDEX {index}")), "{query:?}\n{plan}");
    }
}

#[test]
fn lists_of_what_is_open_use_the_index_of_statuses() {
    let (_file, connection) = empty();
    for status in [Status::Pending, Status::Authorised, Status::Executing, Status::Unknown] {
        let query = CaseQuery { status: Some(status), ..CaseQuery::newest(50) };
        let plan = cases_plan(&connection, &query);
        assert!(plan.contains("SEARCH a USING INDEX open_by_status"), "{status}\n{plan}");
        assert_indexed(&plan, status.as_str());
    }
}

#[test]
fn the_newest_of_everything_come_in_the_order_of_the_table() {
    let (_file, connection) = empty();
    for after in [None, Some(id(1))] {
        let plan = cases_plan(&connection, &CaseQuery { after, ..CaseQuery::newest(50) });
        // It walks the table by its key and stops at the limit.
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}

#[test]
fn the_timekeeper_and_the_doorkeeper_use_indexes() {
    let (_file, connection) = empty();
    let by = Value::Integer(second(0).as_micros());
    let due = plan(&connection, DUE, vec![by, Value::Integer(256)]);
    assert_indexed(&due, DUE);
    assert!(due.contains("INDEX due"), "{due}");
    let next = plan(&connection, NEXT_DUE, Vec::<Value>::new());
    assert_indexed(&next, NEXT_DUE);
    assert!(next.contains("INDEX due"), "{next}");
    let joinable = plan(&connection, JOINABLE, vec![Value::Text("riley".into()), Value::Blob(vec![0; 32])]);
    assert_indexed(&joinable, JOINABLE);
    assert!(joinable.contains("one_joinable (agent=? AND digest=?)"), "{joinable}");
}

#[test]
fn counting_reads_only_what_is_pending() {
    let (_file, connection) = empty();
    for sql in [PENDING_BY_AGENT, PENDING_BY_TIER] {
        let plan = plan(&connection, sql, Vec::<Value>::new());
        assert!(plan.contains("USING COVERING INDEX"), "{sql}\n{plan}");
        assert_indexed(&plan, sql);
    }
    let by_risk = plan(&connection, PENDING_BY_RISK, Vec::<Value>::new());
    assert!(by_risk.contains("USING COVERING INDEX pending_in_brief"), "{by_risk}");
}

#[test]
fn following_the_log_reads_only_what_is_new() {
    let (_file, connection) = empty();
    for order in [Order::Ascending, Order::Descending] {
        let all = EventQuery { order, ..EventQuery::following(5, 100) };
        // What was answered about a tool has no index of its own: a stretch of the log, by its place.
        let of_tool = EventQuery { tool: Some("refund".into()), resolutions_only: true, ..all.clone() };
        for query in [all, of_tool] {
            let plan = events_plan(&connection, &query);
            assert_indexed(&plan, &format!("{query:?}"));
            assert!(plan.contains("INTEGER PRIMARY KEY (rowid"), "{plan}");
        }
    }
}

#[test]
fn the_events_of_an_action_and_the_resolutions_of_an_agent_have_indexes() {
    let (_file, connection) = empty();
    let action = EventQuery { action: Some(id(1)), ..EventQuery::following(0, 100) };
    let resolutions =
        EventQuery { agent: Some("riley".into()), resolutions_only: true, ..EventQuery::following(0, 100) };
    for order in [Order::Ascending, Order::Descending] {
        for after in [None, Some(7)] {
            for (query, index) in [
                (action.clone(), "audit_by_action (action=?"),
                (EventQuery { kind: Some("decided".into()), ..action.clone() }, "audit_by_action (action=?"),
                (resolutions.clone(), "audit_resolutions (agent=?"),
                (EventQuery { since: Some(second(0)), ..resolutions.clone() }, "audit_resolutions (agent=?"),
            ] {
                let query = EventQuery { order, after, ..query };
                let plan = events_plan(&connection, &query);
                assert_indexed(&plan, &format!("{query:?}"));
                assert!(plan.contains(index), "{query:?}\n{plan}");
            }
        }
    }
}

#[test]
fn no_reading_of_the_log_sorts_it() {
    let (_file, connection) = empty();
    let all = EventQuery { after: None, ..EventQuery::following(0, 100) };
    for query in [
        all.clone(),
        EventQuery { kind: Some("decided".into()), ..all.clone() },
        EventQuery { agent: Some("riley".into()), ..all.clone() },
        EventQuery { tool: Some("refund".into()), ..all.clone() },
        EventQuery { risk: Some(Risk::High), decision: Some(Decision::Deny), ..all.clone() },
        EventQuery {
            actor: Some("ann".into()),
            since: Some(second(0)),
            until: Some(second(1)),
            ..all.clone()
        },
        EventQuery { resolutions_only: true, ..all.clone() },
        EventQuery { observed_only: true, ..all },
    ] {
        let plan = events_plan(&connection, &query);
        assert!(!plan.contains("TEMP B-TREE"), "{query:?}\n{plan}");
    }
}

#[test]
fn a_meter_reads_only_its_own_window() {
    let (_file, connection) = empty();
    for sql in [SUM, DISTINCT] {
        let values = vec![Value::Blob(vec![0; 16]), Value::Integer(0), Value::Null];
        let plan = plan(&connection, sql, values);
        assert!(plan.contains("SEARCH charges USING PRIMARY KEY (meter=? AND at>?)"), "{plan}");
    }
}

#[test]
fn what_is_urgent_is_read_in_its_order() {
    let (_file, connection) = empty();
    for after in [None, Some(id(1))] {
        let query = CaseQuery { after, ..CaseQuery::urgent(50) };
        let plan = cases_plan(&connection, &query);
        // What is sorted is the page, not the list: once, outside.
        assert!(plan.matches("TEMP B-TREE").count() <= 1, "{plan}");
        assert!(plan.contains("a USING COVERING INDEX pending_in_brief"), "{plan}");
    }
}

#[test]
fn whatever_pending_actions_are_chosen_by_is_in_one_index() {
    let (_file, connection) = empty();
    for sort in [SortBy::Urgency, SortBy::Deadline, SortBy::Risk] {
        for after in [None, Some(id(1))] {
            let query = CaseQuery {
                sort,
                after,
                tier: Some(Tier::Approve),
                risk: Some(Risk::High),
                tool: Some("refund".into()),
                agent: Some("riley".into()),
                ..CaseQuery::pending(50)
            };
            let plan = cases_plan(&connection, &query);
            assert!(plan.contains("a USING COVERING INDEX pending_in_brief"), "{sort:?}\n{plan}");
        }
    }
}
