//! Lists of actions: what is in them, in which order, page by page.

use std::sync::Arc;

use banksman_core::{ActionId, Case, Risk, Status, Submission, Tier, Triage};

use super::Harness;
use super::bench::Bench;
use super::fixture::{Proposal, advance, approve, claim, deny, edit, hold, id, opening, second};
use crate::{CaseQuery, Order, PendingCounts, SortBy, Store};

/// Actions of two agents with two tools at all tiers, some of them moved on.
async fn varied_cases(store: &Arc<dyn Store>) -> Vec<Case> {
    let mut cases = Vec::new();
    for number in 0..60 {
        let proposal = Proposal {
            tool: if number % 3 == 0 { "mail".into() } else { "refund".into() },
            tier: [Tier::Approve, Tier::Escalate, Tier::Auto, Tier::Approve, Tier::Block]
                [usize::try_from(number).unwrap() % 5],
            risk: Risk::ALL[usize::try_from(number).unwrap() % Risk::ALL.len()],
            // Older by its clock than by its id: the order is that of the ids.
            at: second(100 - i64::try_from(number).unwrap()),
            ..Proposal::number(number)
        };
        let case = hold(store, proposal.by(if number % 2 == 0 { "riley" } else { "bo" })).await;
        let is = |status| case.status() == status;
        let case = match number % 4 {
            1 if is(Status::Pending) => advance(store, deny(&case, second(101))).await,
            2 if is(Status::Pending) => advance(store, approve(&case, second(101))).await,
            3 if is(Status::Authorised) => advance(store, claim(&case, second(101))).await,
            _ => case,
        };
        cases.push(case);
    }
    cases
}

fn wanted(query: &CaseQuery, case: &Case) -> bool {
    query.status.is_none_or(|status| case.status() == status)
        && query.tier.is_none_or(|tier| case.submission.verdict.tier == tier)
        && query.risk.is_none_or(|risk| case.submission.verdict.risk == risk)
        && query.tool.as_deref().is_none_or(|tool| case.submission.action.tool == tool)
        && query.agent.as_deref().is_none_or(|agent| case.agent == agent)
}

/// What is urgent comes first, and then the rest by age, page by page, without gaps or repeats.
pub async fn the_most_urgent_come_first<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for number in 0..20 {
        let mut transition = Proposal::number(number).open();
        let priority = [None, Some(0), Some(10), Some(90)][usize::try_from(number).unwrap() % 4];
        let mut submission = Submission::clone(&transition.case.submission);
        Arc::make_mut(&mut submission.assessment).triage = Some(Triage { priority, ..Triage::default() });
        transition.case.submission = Arc::new(submission);
        bench.store().commit(opening(transition)).await.unwrap();
    }
    let mut expected: Vec<u64> = (0..20).collect();
    expected.sort_by_key(|number| {
        (std::cmp::Reverse([0, 0, 10, 90][usize::try_from(*number).unwrap() % 4]), *number)
    });
    let expected: Vec<ActionId> = expected.into_iter().map(id).collect();
    for page in [1, 3, 7, 100] {
        let mut found = Vec::new();
        let mut query = CaseQuery::urgent(page);
        loop {
            let cases = bench.store().cases(query.clone()).await.unwrap();
            let Some(last) = cases.last() else { break };
            query.after = Some(last.id);
            found.extend(cases.iter().map(|case| case.id));
        }
        assert_eq!(found, expected, "pages of {page}");
    }
    let tool = CaseQuery { tool: Some("nothing of the kind".into()), ..CaseQuery::urgent(10) };
    assert!(bench.store().cases(tool).await.unwrap().is_empty());
    bench.finish().await;
}

/// Every combination of filters finds what it says, in both directions, without gaps or repeats between pages.
pub async fn every_list_finds_what_it_says<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let cases = varied_cases(bench.store()).await;
    let statuses =
        [None, Some(Status::Pending), Some(Status::Authorised), Some(Status::Denied), Some(Status::Expired)];
    for status in statuses {
        for tier in [None, Some(Tier::Approve), Some(Tier::Escalate)] {
            for tool in [None, Some("mail")] {
                for agent in [None, Some("riley"), Some("Riley")] {
                    let query = CaseQuery {
                        status,
                        tier,
                        tool: tool.map(Into::into),
                        agent: agent.map(Into::into),
                        ..CaseQuery::newest(1_000)
                    };
                    check_list(bench.store(), &cases, query).await;
                }
            }
        }
    }
    bench.finish().await;
}

async fn check_list(store: &Arc<dyn Store>, cases: &[Case], query: CaseQuery) {
    let mut expected: Vec<Case> = cases.iter().filter(|case| wanted(&query, case)).cloned().collect();
    for order in [Order::Ascending, Order::Descending] {
        let query = CaseQuery { order, ..query.clone() };
        assert_eq!(store.cases(query.clone()).await.unwrap(), expected, "{query:?}");
        let query = CaseQuery { limit: 4, ..query };
        assert_eq!(paged(store, query.clone()).await, ids(&expected), "{query:?}");
        expected.reverse();
    }
}

fn ids(cases: &[Case]) -> Vec<ActionId> {
    cases.iter().map(|case| case.id).collect()
}

async fn paged(store: &Arc<dyn Store>, mut query: CaseQuery) -> Vec<ActionId> {
    let mut all = Vec::new();
    loop {
        let page = store.cases(query.clone()).await.unwrap();
        assert!(page.len() <= query.limit);
        let Some(last) = page.last() else { return all };
        query.after = Some(last.id);
        all.extend(ids(&page));
    }
}

/// Every status can be listed, also one that nothing has.
pub async fn every_status_can_be_listed<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let cases = varied_cases(bench.store()).await;
    for status in Status::ALL {
        let query = CaseQuery { status: Some(*status), ..CaseQuery::newest(1_000) };
        check_list(bench.store(), &cases, query).await;
    }
    bench.finish().await;
}

/// What is decided while someone turns pages is neither shown twice nor pushes anything off the list.
pub async fn pages_hold_still_while_the_list_moves<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    for number in 1..=10 {
        hold(store, Proposal::number(number)).await;
    }
    let first = store.cases(CaseQuery::pending(4)).await.unwrap();
    assert_eq!(ids(&first), [1, 2, 3, 4].map(id));
    // The cursor itself leaves the list, one ahead of it too, and new ones come.
    advance(store, deny(&first[3], second(1))).await;
    advance(store, deny(&first[0], second(1))).await;
    hold(store, Proposal::number(11)).await;
    let query = CaseQuery { after: Some(id(4)), ..CaseQuery::pending(100) };
    assert_eq!(ids(&store.cases(query).await.unwrap()), (5..=11).map(id).collect::<Vec<_>>());
    bench.finish().await;
}

/// The number of pending actions is that of the list; and a list has no longest length.
pub async fn what_is_pending_is_counted<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    varied_cases(bench.store()).await;
    let pending = bench.store().cases(CaseQuery::pending(usize::MAX)).await.unwrap();
    assert_eq!(bench.store().pending_count().await.unwrap(), u64::try_from(pending.len()).unwrap());
    assert_eq!(bench.store().cases(CaseQuery::pending(0)).await.unwrap(), Vec::new());
    bench.finish().await;
}

/// What is pending comes in any order that people ask for, page by page, without gaps or repeats, whatever else they ask.
pub async fn what_is_pending_comes_in_any_order<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let cases = varied_cases(bench.store()).await;
    let pending: Vec<Case> = cases.into_iter().filter(|case| case.status() == Status::Pending).collect();
    for sort in [SortBy::Age, SortBy::Urgency, SortBy::Deadline, SortBy::Risk] {
        for risk in [None, Some(Risk::Low), Some(Risk::Critical)] {
            for tool in [None, Some("mail")] {
                for tier in [None, Some(Tier::Escalate)] {
                    let query = CaseQuery {
                        sort,
                        risk,
                        tier,
                        tool: tool.map(Into::into),
                        ..CaseQuery::pending(1_000)
                    };
                    let mut expected: Vec<Case> =
                        pending.iter().filter(|case| wanted(&query, case)).cloned().collect();
                    match sort {
                        SortBy::Age | SortBy::Urgency => {}
                        SortBy::Deadline => expected.sort_by_key(|case| case.state.ends_at()),
                        SortBy::Risk => {
                            expected.sort_by_key(|case| std::cmp::Reverse(case.submission.verdict.risk));
                        }
                    }
                    assert_eq!(bench.store().cases(query.clone()).await.unwrap(), expected, "{query:?}");
                    let query = CaseQuery { limit: 3, ..query };
                    assert_eq!(paged(bench.store(), query.clone()).await, ids(&expected), "{query:?}");
                }
            }
        }
    }
    bench.finish().await;
}

/// Words are found wherever an action says them, in both sizes of letters, and nothing in them is a pattern.
pub async fn words_are_found<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let find = async |words: &[&str], status| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let query =
            CaseQuery { status: Some(status), words, order: Order::Ascending, ..CaseQuery::newest(9) };
        ids(&store.cases(query).await.unwrap())
    };
    for (number, tool) in (1..).zip(["Refund_A-77120", "refund_50%", "gr\u{f6}\u{df}e", "it's_quoted"]) {
        hold(store, Proposal { tool: tool.into(), ..Proposal::number(number) }).await;
    }
    hold(store, Proposal::number(5).by("the Archivist")).await;
    let denied = hold(store, Proposal { tool: "refund_a-77120_again".into(), ..Proposal::number(6) }).await;
    advance(store, deny(&denied, second(1))).await;
    for (words, found) in [
        (&["a-77120"][..], vec![1]),
        (&["REFUND_"], vec![1, 2]),
        (&["refund_", "50%"], vec![2]),
        (&["%"], vec![2]),
        (&["refund_5_%"], vec![]),
        (&["gr\u{f6}\u{df}e"], vec![3]),
        (&["t's_q"], vec![4]),
        (&["archivist"], vec![5]),
        (&["' OR 1=1 --"], vec![]),
    ] {
        let expected: Vec<ActionId> = found.into_iter().map(id).collect();
        assert_eq!(find(words, Status::Pending).await, expected, "{words:?}");
    }
    assert_eq!(find(&["77120"], Status::Denied).await, [id(6)]);
    bench.finish().await;
}

/// Words are looked for among as many as asked, and looking goes on from there without gaps or repeats.
pub async fn words_are_looked_for_a_stretch_at_a_time<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    for number in 1..=20 {
        let tool = if number % 5 == 0 { "needle" } else { "hay" };
        hold(store, Proposal { tool: tool.into(), ..Proposal::number(number) }).await;
    }
    for among in [1, 3, 5, 7, 20, 100] {
        let mut query = CaseQuery { words: vec!["needle".into()], among, ..CaseQuery::urgent(9) };
        let (mut found, mut stretches) = (Vec::new(), 0);
        loop {
            found.extend(ids(&store.cases(query.clone()).await.unwrap()));
            stretches += 1;
            let Some(last) = store.place(query.clone(), among).await.unwrap() else { break };
            query.after = Some(last);
        }
        assert_eq!(found, [5, 10, 15, 20].map(id), "{among}");
        assert_eq!(stretches, 20 / among + 1, "{among}");
    }
    bench.finish().await;
}

/// History is looked through as far as asked, and no further.
pub async fn history_is_looked_through_within_bounds<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    for number in 1..=9 {
        let case = hold(store, Proposal::number(number)).await;
        if number % 3 == 0 {
            advance(store, deny(&case, second(1))).await;
        }
    }
    let denied =
        |among, after| CaseQuery { status: Some(Status::Denied), among, after, ..CaseQuery::newest(9) };
    for (among, after, found) in [
        (9, None, vec![9, 6, 3]),
        (4, None, vec![9, 6]),
        (1, None, vec![9]),
        (3, Some(9), vec![6]),
        (0, None, vec![]),
    ] {
        let expected: Vec<ActionId> = found.into_iter().map(id).collect();
        assert_eq!(
            ids(&store.cases(denied(among, after.map(id))).await.unwrap()),
            expected,
            "{among} {after:?}"
        );
    }
    bench.finish().await;
}

/// What is pending is counted by what it is, and the counts follow what happens.
pub async fn what_is_pending_is_counted_by_what_it_is<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    assert_eq!(store.pending_counts().await.unwrap(), PendingCounts::default());
    let cases = varied_cases(store).await;
    let pending: Vec<&Case> = cases.iter().filter(|case| case.status() == Status::Pending).collect();
    let counts = store.pending_counts().await.unwrap();
    for risk in Risk::ALL {
        let expected = pending.iter().filter(|case| case.submission.verdict.risk == *risk).count();
        assert_eq!(
            counts.by_risk.get(risk).copied().unwrap_or(0),
            u64::try_from(expected).unwrap(),
            "{risk}"
        );
    }
    for tier in Tier::ALL {
        let expected = pending.iter().filter(|case| case.submission.verdict.tier == *tier).count();
        assert_eq!(
            counts.by_tier.get(tier).copied().unwrap_or(0),
            u64::try_from(expected).unwrap(),
            "{tier}"
        );
    }
    for named in [&counts.by_tool, &counts.by_agent] {
        assert_eq!(named.iter().map(|(_, count)| count).sum::<u64>(), u64::try_from(pending.len()).unwrap());
        assert!(named.is_sorted_by(|one, other| one.1 >= other.1), "{named:?}");
    }
    bench.finish().await;
}

/// Each version of what would run stays to be looked at.
pub async fn earlier_versions_stay<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let case = hold(store, Proposal::number(1)).await;
    assert_eq!(store.submission(case.id, 1).await.unwrap().as_ref(), Some(&*case.submission));
    for (unknown, version) in [(case.id, 2), (case.id, 0), (case.id, u32::MAX), (id(2), 1)] {
        assert_eq!(store.submission(unknown, version).await.unwrap(), None, "{unknown} {version}");
    }
    let edited = advance(store, edit(&case, 77, second(1))).await;
    assert_eq!(edited.version, 2);
    assert_eq!(store.submission(case.id, 1).await.unwrap().as_ref(), Some(&*case.submission));
    assert_eq!(store.submission(case.id, 2).await.unwrap().as_ref(), Some(&*edited.submission));
    bench.finish().await;
}
