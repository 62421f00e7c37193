//! A checker that cannot fail is worth nothing: a sound story passes, and each single forgery of it is found.

use std::time::Duration;

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::json::CanonicalJson;
use banksman_core::{
    ActionId, Actor, Assessment, Decision, Digest, Freeze, FreezeId, FreezeScope, Risk, Status, Tier,
    Timestamp, Verdict,
};

use super::check;
use super::record::{Record, Standing, Vote};
use crate::crew::book::{Book, Call, Reply, Wish};

const RUN: u64 = 1;
const NO: u64 = 2;

fn id(number: u64) -> ActionId {
    ActionId::from_parts(1_700_000_000_000 + number, u128::from(number))
}

fn digest(number: u64, version: u32) -> Digest {
    Digest::of(format!("{number} {version}").as_bytes())
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn lease() -> Timestamp {
    Timestamp::from_micros(9_000_000)
}

fn result() -> Option<CanonicalJson> {
    CanonicalJson::parse(b"{\"number\":1}").ok()
}

fn proposed() -> Fact {
    let verdict = Verdict::new(Tier::Approve, Risk::High, "forged").into();
    Fact::Proposed { assessment: Assessment::of(Vec::new()).into(), verdict, grant: None, freeze: None }
}

fn decided(decision: Decision) -> Fact {
    Fact::Decided {
        decision,
        reason: None,
        message: None,
        acting: Vec::new(),
        solo_operator: false,
        step_up: None,
    }
}

fn modified(number: u64) -> Fact {
    Fact::Modified {
        from: digest(number, 1),
        assessment: Assessment::of(Vec::new()).into(),
        verdict: Verdict::new(Tier::Approve, Risk::High, "forged").into(),
        reason: None,
        message: None,
        acting: Vec::new(),
        solo_operator: false,
        step_up: None,
    }
}

/// What happened, in one line each.
struct Story {
    record: Record,
    book: Book,
}

impl Story {
    fn call(&mut self, by: &'static str, wish: Wish, asked: u64, answered: u64, reply: Reply) {
        let answer = Some((at(answered), reply));
        self.book.calls.push(Call { by, wish, asked: at(asked), answer, lost: 0 });
    }

    fn event(&mut self, number: u64, revision: u64, version: u32, by: &str, fact: Fact, status: Status) {
        let actor = match by {
            "" => Actor::System,
            "ann" | "bob" => Actor::Reviewer { name: by.into() },
            agent => Actor::Agent { name: agent.into() },
        };
        let action = ActionRef {
            id: id(number),
            revision,
            version,
            digest: digest(number, version),
            agent: "riley".into(),
            tool: "steady".into(),
            risk: Risk::High,
            tier: Tier::Approve,
            status,
            session: None,
            batch: None,
        };
        let seq = u64::try_from(self.record.log.len()).unwrap() + 1;
        let event =
            Event { v: 1, at: Timestamp::from_micros(1), actor, action: Some(action), via: None, fact };
        self.record.log.push((seq, event));
    }

    fn stands(&mut self, number: u64, version: u32, status: Status, votes: &[(&str, u32, Decision)]) {
        let vote = |(by, version, decision): &(&str, u32, Decision)| Vote {
            by: (*by).into(),
            version: *version,
            decision: *decision,
        };
        let standing = Standing {
            agent: "riley".into(),
            number,
            version,
            digest: digest(number, version),
            status,
            votes: votes.iter().map(vote).collect(),
            outcome: (status == Status::Succeeded).then(|| (status, result())),
        };
        self.record.actions.insert(id(number), standing);
    }

    /// Two actions. One is edited, approved, claimed and run, with a second decision and a second claim refused on the
    /// way; the other is denied, and a claim of it is refused.
    fn sound() -> Self {
        let mut story = Self { record: Record::default(), book: Book::default() };
        let propose = |number: u64| Wish::Propose { number, key: format!("wish-{number}") };
        let answer = |number: u64| Reply::Proposed { id: id(number), version: 1, digest: digest(number, 1) };
        let decide = |number: u64, decision, version| Wish::Decide { id: id(number), decision, version };
        let claim = |number: u64, version| Wish::Claim { id: id(number), version };
        let refused = |code: &str| Reply::Refused(code.into());
        story.call("riley", propose(RUN), 10, 20, answer(RUN));
        story.event(RUN, 1, 1, "riley", proposed(), Status::Pending);
        story.call("riley", propose(NO), 15, 30, answer(NO));
        story.event(NO, 1, 1, "riley", proposed(), Status::Pending);
        story.call("ann", decide(RUN, Decision::Modify, 1), 40, 50, Reply::Decided);
        story.event(RUN, 2, 2, "ann", modified(RUN), Status::Pending);
        story.call("bob", decide(RUN, Decision::Approve, 1), 45, 60, refused("stale_version"));
        story.call("bob", decide(RUN, Decision::Approve, 2), 70, 80, Reply::Decided);
        story.event(RUN, 3, 2, "bob", decided(Decision::Approve), Status::Authorised);
        story.call("bob", decide(NO, Decision::Deny, 1), 82, 90, Reply::Decided);
        story.event(NO, 2, 1, "bob", decided(Decision::Deny), Status::Denied);
        story.call("ann", decide(NO, Decision::Approve, 1), 92, 99, refused("already_decided"));
        story.call("riley", claim(NO, 1), 100, 110, refused("not_authorised"));
        let claimed = Reply::Claimed {
            number: RUN,
            idempotency_key: format!("{}.2", id(RUN)),
            digest: digest(RUN, 2),
            lease_expires_at: lease(),
        };
        story.call("riley", claim(RUN, 2), 120, 130, claimed);
        story.event(RUN, 4, 2, "riley", Fact::Claimed { lease_expires_at: lease() }, Status::Executing);
        story.call("riley", claim(RUN, 2), 140, 150, refused("already_claimed"));
        let report = Wish::Report { id: id(RUN), status: Status::Succeeded, result: result() };
        story.call("riley", report, 160, 170, Reply::Recorded);
        story.event(RUN, 5, 2, "riley", Fact::Finished { late: false, error: None }, Status::Succeeded);
        story.stands(
            RUN,
            2,
            Status::Succeeded,
            &[("ann", 2, Decision::Modify), ("bob", 2, Decision::Approve)],
        );
        story.stands(NO, 1, Status::Denied, &[("bob", 1, Decision::Deny)]);
        story
    }

    /// Everything is frozen before the event at this place, and nobody lets go.
    fn freeze_before(&mut self, place: usize) {
        let freeze = Freeze {
            id: FreezeId::from_parts(1_700_000_000_000, 1),
            scope: FreezeScope::Everything,
            reason: "freeze 1".into(),
            by: "walt".into(),
            at: Timestamp::from_micros(1),
        };
        let id = freeze.id;
        let actor = Actor::Reviewer { name: "walt".into() };
        let event = Event::general(Timestamp::from_micros(1), actor, Fact::Frozen { freeze });
        self.record.log.insert(place, (0, event));
        for (seq, (number, _)) in (1..).zip(&mut self.record.log) {
            *number = seq;
        }
        self.call("walt", Wish::Freeze { reason: "freeze 1".into() }, 1, 500, Reply::Frozen { id });
    }

    fn findings(&self) -> Vec<String> {
        check(&self.record, &self.book, Timestamp::from_micros(1_000_000))
    }

    /// The so-manieth call.
    fn of(&mut self, place: usize) -> &mut Call {
        &mut self.book.calls[place]
    }

    fn answered(&mut self, place: usize, millis: u64) {
        self.of(place).answer.as_mut().unwrap().0 = at(millis);
    }

    fn fact(&mut self, place: usize) -> &mut Event {
        &mut self.record.log[place].1
    }

    fn action(&mut self, number: u64) -> &mut Standing {
        self.record.actions.get_mut(&id(number)).unwrap()
    }
}

#[test]
fn a_sound_story_passes() {
    assert_eq!(Story::sound().findings(), Vec::<String>::new());
}

#[test]
fn a_story_with_unheard_answers_passes() {
    let mut story = Story::sound();
    for call in &mut story.book.calls {
        call.answer = None;
    }
    assert_eq!(story.findings(), Vec::<String>::new());
}

#[test]
fn a_freeze_at_the_end_of_a_sound_story_passes() {
    let mut story = Story::sound();
    story.freeze_before(7);
    assert_eq!(story.findings(), Vec::<String>::new());
}

/// Calls of the sound story, by their places in the book.
mod call {
    pub(super) const PROPOSE_RUN: usize = 0;
    pub(super) const PROPOSE_NO: usize = 1;
    pub(super) const EDIT: usize = 2;
    pub(super) const STALE: usize = 3;
    pub(super) const DENY: usize = 5;
    pub(super) const TOO_LATE: usize = 6;
    pub(super) const CLAIM_OF_DENIED: usize = 7;
    pub(super) const CLAIM: usize = 8;
    pub(super) const CLAIM_AGAIN: usize = 9;
}

type Forgery = (&'static str, fn(&mut Story));

/// Each is one lie, and what must be said of it.
const FORGERIES: &[Forgery] = &[
    // An acknowledged write is lost.
    ("a proposal was acknowledged and the action is gone", |story| {
        story.record.actions.remove(&id(NO));
        story.record.log.retain(|(_, event)| event.action.as_ref().unwrap().id != id(NO));
    }),
    ("is recorded, and it is not", |story| story.action(RUN).votes.clear()),
    ("the log lacks the approve of bob", |story| {
        story.fact(3).actor = Actor::Reviewer { name: "ann".into() };
    }),
    ("the log lacks the claim", |story| {
        story.fact(5).fact = Fact::Claimed { lease_expires_at: Timestamp::from_micros(5) };
    }),
    ("reported succeeded, found None", |story| story.action(RUN).outcome = None),
    ("reported succeeded, found", |story| {
        story.action(RUN).outcome = Some((Status::Succeeded, CanonicalJson::parse(b"{\"number\":7}").ok()));
    }),
    ("is only in the log, or only beside it", |story| drop(story.record.actions.remove(&id(NO)))),
    // Something happened that nobody asked for.
    ("nobody wished 2", |story| drop(story.book.calls.remove(call::PROPOSE_NO))),
    ("nobody asked for this Decision", |story| drop(story.book.calls.remove(call::EDIT))),
    ("nobody asked for this Claim", |story| {
        story
            .book
            .calls
            .retain(|call| !matches!(call.wish, Wish::Claim { id: claimed, .. } if claimed == id(RUN)));
    }),
    ("nobody asked for this Outcome", |story| drop(story.book.calls.pop())),
    ("was wished once and is there twice", |story| {
        story.stands(3, 1, Status::Pending, &[]);
        story.action(3).number = NO;
        story.event(3, 1, 1, "riley", proposed(), Status::Pending);
    }),
    // More than one.
    ("was claimed twice", |story| {
        let again = story.of(call::CLAIM).clone();
        story.book.calls.push(again);
    }),
    ("led to", |story| {
        let mut again = story.of(call::PROPOSE_RUN).clone();
        again.answer = Some((at(400), Reply::Proposed { id: id(NO), version: 1, digest: digest(NO, 1) }));
        story.book.calls.push(again);
    }),
    ("claimed led from Some(Executing)", |story| {
        story.event(RUN, 6, 2, "riley", Fact::Claimed { lease_expires_at: lease() }, Status::Executing);
        story.record.log.swap(6, 7);
        story.record.log[6].0 = 7;
        story.record.log[7].0 = 8;
        story.fact(6).action.as_mut().unwrap().revision = 5;
        story.fact(7).action.as_mut().unwrap().revision = 6;
    }),
    // A no that did not hold, or a yes to something else.
    ("denied, and yet authorised", |story| {
        story.action(NO).status = Status::Authorised;
        story.fact(4).action.as_mut().unwrap().status = Status::Authorised;
    }),
    ("decided led from Some(Pending) to Authorised", |story| {
        story.fact(4).action.as_mut().unwrap().status = Status::Authorised;
    }),
    ("what was claimed is not what is there", |story| {
        let Some((_, Reply::Claimed { digest: claimed, .. })) = &mut story.of(call::CLAIM).answer else {
            panic!()
        };
        *claimed = digest(RUN, 1);
    }),
    ("claimed led from Some(Pending)", |story| {
        story.record.log.remove(3);
        let revisions = (1..).zip([0, 2, 4, 5]);
        for (revision, place) in revisions {
            story.fact(place).action.as_mut().unwrap().revision = revision;
        }
    }),
    ("named version 1", |story| {
        let Some((_, Reply::Proposed { digest: told, .. })) = &mut story.of(call::PROPOSE_RUN).answer else {
            panic!()
        };
        *told = digest(RUN, 9);
    }),
    // The log itself.
    ("where 3 should be", |story| story.record.log[2].0 = 4),
    ("is revision 4", |story| story.fact(2).action.as_mut().unwrap().revision = 4),
    ("the log ends with", |story| story.action(RUN).status = Status::Failed),
    // Time.
    ("was acknowledged before", |story| {
        // The edit was acknowledged, and a proposal that stands before it in the log was asked for afterwards.
        story.of(call::PROPOSE_NO).asked = at(55);
        story.answered(call::PROPOSE_NO, 65);
    }),
    ("refused by already_decided, which was true at no moment", |story| {
        // Refused before the one decision was even asked for.
        story.of(call::DENY).asked = at(100);
        story.answered(call::DENY, 101);
    }),
    ("refused by already_claimed, which was true at no moment", |story| {
        story.of(call::CLAIM_AGAIN).asked = at(112);
        story.answered(call::CLAIM_AGAIN, 115);
    }),
    ("refused by stale_version, which was true at no moment", |story| {
        story.of(call::STALE).asked = at(32);
        story.answered(call::STALE, 35);
    }),
    ("refused by not_authorised, which was true at no moment", |story| {
        // Of the one that was approved, between its approval and its claim.
        story.of(call::CLAIM_OF_DENIED).wish = Wish::Claim { id: id(RUN), version: 2 };
    }),
    ("which was true at no moment", |story| {
        story.of(call::TOO_LATE).answer = Some((at(99), Reply::Refused("made_up".into())));
    }),
    // A freeze that did not hold, or that nobody made.
    ("claimed while frozen", |story| story.freeze_before(5)),
    ("decided while frozen", |story| story.freeze_before(3)),
    ("nobody asked for this Freeze", |story| {
        story.freeze_before(7);
        story.book.calls.pop();
    }),
    ("happened twice", |story| {
        story.freeze_before(7);
        story.freeze_before(8);
    }),
    ("the log lacks Freeze", |story| {
        story.freeze_before(7);
        story.record.log.pop();
    }),
    ("refused by frozen, which was true at no moment", |story| {
        story.of(call::CLAIM_AGAIN).answer = Some((at(150), Reply::Refused("frozen".into())));
    }),
    ("blocked, and nothing is frozen", |story| {
        story.event(3, 1, 1, "riley", proposed(), Status::Blocked);
    }),
    ("refused by blocked, which was true at no moment", |story| {
        let wish = Wish::Propose { number: 9, key: "wish-9".into() };
        story.call("riley", wish, 300, 310, Reply::Refused("blocked".into()));
    }),
    // Nobody reported it, and yet it is not what that leads to.
    ("nobody reported it", |story| {
        story.book.calls.pop();
        story.record.log.pop();
        story.action(RUN).status = Status::Unknown;
        story.event(RUN, 5, 2, "", Fact::LeaseEnded, Status::Unknown);
    }),
    ("half an answer", |story| story.book.broken.push("half an answer".into())),
];

#[test]
fn every_single_forgery_is_found() {
    let mut missed = Vec::new();
    for (expected, forge) in FORGERIES {
        let mut story = Story::sound();
        forge(&mut story);
        let findings = story.findings();
        if !findings.iter().any(|finding| finding.contains(expected)) {
            missed.push((expected, findings));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
