//! Every page, with one text in every field that someone else can write.

use std::collections::BTreeMap;

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::statistics::{Answers, Lately, OTHER_TOOLS, Summary, Ways};
use banksman_core::wire::{
    ActionView, BatchView, ContextView, DelegationView, DeliveryView, FreezeView, GrantView, ModeView,
    OutcomeView, PolicyView, RefusedPolicyView, ResolutionView, VoteView,
};
use banksman_core::{
    Acting, ActingSource, Action, Actor, Assessment, Decision, DeliveryStatus, Digest, Finding, Kind, Mode,
    Purpose, Quorum, Risk, Span, Status, Tier, Timestamp, Triage, Verdict,
};
use banksman_web::{
    ActionPage, AuditFilter, AuditPage, BatchPage, Draft, EarlierVersion, EditPage, Entry, Extent, Frame,
    FreezeDraft, History, House, InboxFilter, InboxPage, Kept, LookedForRule, Misfit, Notice, OverviewPage,
    PolicyAnswer, PolicyPage, PolicyQuestion, PolicyRule, Preferences, Say, Viewer, Waiting, Window,
};

const ID: &str = "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB";
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_795_000_000_000_000);

fn later() -> Timestamp {
    NOW.after(std::time::Duration::from_secs(3000))
}

fn object(members: Vec<(&str, Json)>) -> CanonicalJson {
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    CanonicalJson::of(&Json::Object(Object::from_members(members).unwrap()))
}

fn text(text: &str) -> Json {
    Json::String(text.to_owned())
}

/// An action of which an agent, a reviewer and a policy wrote everything that they can.
fn action(words: &str, status: Status) -> ActionView {
    let some = || Some(words.to_owned());
    // A name of its own, so that the two do not meet.
    let args = object(vec![
        (&format!("key {words}"), text(words)),
        ("content", text(words)),
        ("list", Json::Array(vec![text(words)])),
    ]);
    let bare = Action::bare(words, Kind::Shell, args.clone());
    let mut assessment = Assessment::of(vec![Finding {
        argument: Some("/content".into()),
        span: Some(Span { start: 0, end: 3 }),
        ..Finding::new(words, Risk::High, words)
    }]);
    assessment.resources = vec![words.to_owned()];
    assessment.impact = some();
    assessment.recommendations = vec![words.to_owned()];
    assessment.triage = Some(Triage { rationale: some(), ..Triage::default() });
    let mut verdict = Verdict::new(Tier::Approve, Risk::High, words);
    verdict.matched = vec![words.to_owned(), "other".into()];
    verdict.messages = vec![words.to_owned()];
    verdict.allow_remember = true;
    verdict.quorum = Quorum::one();
    let vote = VoteView {
        by: words.to_owned(),
        roles: vec![words.to_owned()],
        acting: vec![Acting {
            role: words.to_owned(),
            source: ActingSource::HandOver { as_role: words.to_owned() },
        }],
        solo_operator: true,
        decision: Decision::Approve,
        version: 1,
        at: NOW,
        reason: some(),
        message: some(),
    };
    ActionView {
        id: ID.parse().unwrap(),
        status,
        version: 2,
        digest: bare.digest(),
        agent: words.to_owned(),
        tool: words.to_owned(),
        kind: Kind::Shell,
        args,
        proposed_args: None,
        created_at: NOW,
        expires_at: Some(later()),
        observed: false,
        assessment: assessment.into(),
        verdict: verdict.into(),
        votes: vec![vote],
        resolution: (status != Status::Pending).then(|| ResolutionView {
            by: words.to_owned(),
            at: NOW,
            reason: some(),
            message: some(),
            modified: true,
        }),
        outcome: (status == Status::Failed).then(|| OutcomeView {
            status,
            at: NOW,
            result: Some(CanonicalJson::of(&text(words))),
            error: some(),
        }),
        context: ContextView {
            description: some(),
            rationale: some(),
            evidence: Some(object(vec![("said", text(words))])),
            session: some(),
            thread: some(),
            task: some(),
            action_type: some(),
            affected_systems: vec![words.to_owned()],
            rollback_plan: some(),
            args_schema: Some(object(vec![(
                "properties",
                Json::Object(
                    Object::from_members(vec![(
                        format!("absent {words}"),
                        Json::Object(
                            Object::from_members(vec![("description".into(), text(words))]).unwrap(),
                        ),
                    )])
                    .unwrap(),
                ),
            )])),
            state_before: Some(CanonicalJson::of(&text(words))),
            preconditions: Some(object(vec![("still", text(words))])),
            server: some(),
            ..ContextView::default()
        },
        checkpoint: None,
        batch: None,
        joined: false,
        status_url: None,
        authorization: None,
    }
}

fn entries(words: &str) -> Vec<Entry> {
    let about = action(words, Status::Pending);
    let named = |fact: Fact| Event {
        v: banksman_core::audit::FORMAT,
        at: NOW,
        actor: Actor::Reviewer { name: words.to_owned() },
        action: Some(ActionRef {
            id: about.id,
            revision: 1,
            version: 1,
            digest: about.digest,
            agent: words.to_owned(),
            tool: words.to_owned(),
            risk: Risk::High,
            tier: Tier::Approve,
            status: Status::Pending,
            session: None,
            batch: None,
        }),
        via: Some(words.to_owned()),
        fact,
    };
    let some = || Some(words.to_owned());
    let facts = vec![
        Fact::Proposed {
            assessment: about.assessment.clone(),
            verdict: about.verdict.clone(),
            grant: None,
            freeze: None,
        },
        Fact::Decided {
            decision: Decision::Deny,
            reason: some(),
            message: some(),
            acting: Vec::new(),
            solo_operator: false,
            step_up: None,
        },
        Fact::Cancelled { reason: some() },
        Fact::Finished { late: true, error: some() },
        Fact::PolicyLoaded { digest: about.digest, source: words.to_owned() },
        Fact::ModeChanged { from: Mode::Lab, to: Mode::Shadow, reason: some(), fallback: false },
    ];
    let mut entries: Vec<Entry> = facts
        .into_iter()
        .enumerate()
        .map(|(at, fact)| Entry { seq: at as u64, kind: fact.type_name().into(), event: Some(named(fact)) })
        .collect();
    entries.push(Entry { seq: 99, kind: words.to_owned(), event: None });
    entries
}

/// Every page, by name.
pub(crate) fn all(words: &str) -> Vec<(&'static str, String)> {
    let viewer = Viewer { name: words, is_admin: true, csrf: "secret" };
    let house =
        House { mode: Mode::Production, observes: true, frozen: false, freezes: 1, pending: 2, newest: 7 };
    let frame = |notice| Frame {
        viewer,
        house,
        preferences: Preferences::default(),
        now: NOW,
        notice,
        answers_form: false,
    };
    let plain = frame(None);
    let refused = frame(Some(Notice::Refused(words.to_owned())));
    let pending = action(words, Status::Pending);
    let failed = action(words, Status::Failed);
    let list = [pending.clone(), failed.clone()];
    let filter = InboxFilter {
        tool: words.to_owned(),
        agent: words.to_owned(),
        search: words.to_owned(),
        ..InboxFilter::default()
    };
    let audit = AuditFilter {
        kind: words.to_owned(),
        tool: words.to_owned(),
        agent: words.to_owned(),
        reviewer: words.to_owned(),
        action: words.to_owned(),
        since: words.to_owned(),
        ..AuditFilter::default()
    };
    let edited = object(vec![("content", text("other"))]);
    let batch = BatchView {
        id: "bat_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
        digest: pending.digest,
        agent: words.to_owned(),
        created_at: NOW,
        items: list.to_vec(),
    };
    let grant = GrantView {
        id: "grt_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
        agent: words.to_owned(),
        tool: words.to_owned(),
        matches: banksman_core::GrantMatch::Args,
        digest: None,
        args: Some(BTreeMap::from([(words.to_owned(), words.to_owned())])),
        session: Some(words.to_owned()),
        by: words.to_owned(),
        at: NOW,
        expires_at: later(),
        uses_left: Some(1),
    };
    let delegation = DelegationView {
        id: "dlg_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
        from: words.to_owned(),
        to: words.to_owned(),
        roles: vec![words.to_owned()],
        starts_at: NOW,
        ends_at: later(),
        by: words.to_owned(),
        at: NOW,
        reason: Some(words.to_owned()),
    };
    let freeze = FreezeView {
        id: "frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
        scope: "agent".into(),
        name: Some(words.to_owned()),
        reason: words.to_owned(),
        by: words.to_owned(),
        at: NOW,
    };
    let mode = ModeView {
        mode: Mode::Production,
        fell_back_from: None,
        observes: true,
        solo_operator: Some(words.to_owned()),
    };
    let policy = PolicyView {
        digest: Digest::of(b"policy"),
        source: words.to_owned(),
        loaded_at: NOW,
        refused: Some(RefusedPolicyView { at: NOW, problem: words.to_owned() }),
    };
    let inbox = InboxPage {
        filter: &filter,
        actions: &list,
        next: Some(pending.id),
        among: Some(20_000),
        by_risk: &BTreeMap::from([(Risk::High, 2)]),
        total: 2,
        may_have_run: 1,
    };
    let history = [History { of: "this agent", same_tool: true, actions: &list }];
    let earlier = [EarlierVersion { version: 1, args: object(vec![("content", text(words))]) }];
    let (untouched, drafted) = (Draft::untouched(&pending.args), Draft::untouched(&edited));
    let wrong = Draft {
        misfits: vec![
            Misfit { pointer: "/content".into(), problem: words.to_owned() },
            Misfit { pointer: words.to_owned(), problem: words.to_owned() },
        ],
        typed: BTreeMap::from([("/list".to_owned(), words.to_owned())]),
        ..untouched.clone()
    };
    let ways = Ways { proposed: 3, held: 2, approved: 1, denied: 1, ..Ways::default() };
    let lately = Lately {
        parts: vec![(NOW, ways); 24],
        sum: Summary {
            all: ways,
            by_tool: BTreeMap::from([(words.to_owned(), ways), (OTHER_TOOLS.to_owned(), ways)]),
            by_tier: BTreeMap::from([(Tier::Approve, ways)]),
            by_risk: BTreeMap::from([(Risk::High, ways)]),
            answers: Answers { within: [1; 10] },
        },
    };
    let waiting = Waiting {
        by_risk: &BTreeMap::from([(Risk::High, 2)]),
        by_tier: &BTreeMap::from([(Tier::Approve, 2)]),
        by_tool: &[(words.to_owned(), 2)],
        by_agent: &[(words.to_owned(), 2)],
    };
    let rules = [PolicyRule { id: words, place: words, text: words, remark: Some(words) }];
    let question = PolicyQuestion {
        tool: words.to_owned(),
        kind: words.to_owned(),
        args: words.to_owned(),
        agent: words.to_owned(),
    };
    let answer = PolicyAnswer {
        verdict: &pending.verdict,
        assessment: &pending.assessment,
        says: vec![Say { source: words, tier: Some(Tier::Approve), risk: None, note: Some(words) }],
        set_aside: &[(words.to_owned(), words.to_owned())],
        frozen: true,
    };
    let looked_for = [LookedForRule { id: words, level: Risk::High, reason: words, advice: Some(words) }];
    let told = [DeliveryView {
        id: 7,
        action: pending.id,
        version: 1,
        purpose: Purpose::Ask,
        channel: words.to_owned(),
        recipient: words.to_owned(),
        status: DeliveryStatus::Failed,
        attempt: 3,
        next_at: None,
        provider_id: Some(words.to_owned()),
        error: Some(words.to_owned()),
        created_at: NOW,
        updated_at: NOW,
    }];
    let mut pages = vec![
        ("inbox", inbox.render(&refused)),
        (
            "action",
            ActionPage {
                action: &pending,
                extent: Extent::Usual,
                earlier: &earlier,
                history: &history,
                told: &told,
                kept: &Kept { reason: "seen".into(), message: "no".into() },
            }
            .render(&refused),
        ),
        (
            "action that failed",
            ActionPage {
                action: &failed,
                extent: Extent::Whole,
                earlier: &[],
                history: &[],
                told: &[],
                kept: &Kept::default(),
            }
            .render(&plain),
        ),
        ("edit", EditPage { action: &pending, draft: &untouched, preview: false }.render(&plain)),
        ("edit shown", EditPage { action: &pending, draft: &drafted, preview: true }.render(&plain)),
        ("batch", BatchPage { batch: &batch, refused: &[(ID.to_owned(), words.to_owned())] }.render(&plain)),
        ("grants", banksman_web::grants(&plain, &[grant])),
        ("delegations", banksman_web::delegations(&plain, &[delegation])),
        (
            "freezes",
            banksman_web::freezes(
                &plain,
                &[freeze],
                &FreezeDraft { agent: words.to_owned(), tool: String::new(), known: vec!["riley".into()] },
            ),
        ),
        ("mode", banksman_web::mode(&plain, &mode)),
        (
            "audit",
            AuditPage {
                filter: &audit,
                entries: &entries(words),
                older: None,
                export: "/audit/export".into(),
            }
            .render(&plain),
        ),
        (
            "edit that does not fit",
            EditPage { action: &pending, draft: &wrong, preview: false }.render(&plain),
        ),
        (
            "policy",
            PolicyPage { policy: &policy, rules: &rules, question: &question, answer: Some(&answer) }
                .render(&plain),
        ),
        ("looked for", banksman_web::looked_for(&plain, &looked_for)),
        (
            "overview",
            OverviewPage { window: Window::Day, lately: &lately, behind: 1, waiting }.render(&plain),
        ),
        ("settings", banksman_web::settings(&plain)),
        ("guide", banksman_web::guide(&plain, "http://127.0.0.1:7447")),
        ("sign in", banksman_web::sign_in(words)),
        ("problem", banksman_web::problem("Not found", words)),
    ];
    pages.extend(crate::doors::all(words, &plain, &pending));
    pages
}
