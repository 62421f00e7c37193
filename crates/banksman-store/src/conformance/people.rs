//! People, what works once, and sessions.

use banksman_core::{Digest, PersonId, PrincipalKind, SignInMethod, Standing};

use super::Harness;
use super::bench::Bench;
use super::fixture::{at_once, second, tally};
use super::house::{change, credential};
use crate::{
    Commit, CommitError, Conflict, ControlChange, Credential, Failures, Hidden, Link, LinkPurpose, Passkey,
    Person, SessionMark, Subject, Totp,
};

fn person(number: u128, name: &str) -> Person {
    let id = PersonId::from_parts(second(0).as_millis(), number);
    Person::new(id, name.into(), PrincipalKind::Reviewer, Vec::new(), second(0))
}

/// With everything that a person can have.
fn full(number: u128, name: &str) -> Person {
    Person {
        display_name: Some("Ann \u{202e}\u{1f3d7} \"O'Neil\"".into()),
        kind: PrincipalKind::Admin,
        roles: vec!["finance".into(), "support \"lead\"".into()],
        standing: Standing::Locked,
        password: Some(Hidden("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".into())),
        totp: Some(Totp { sealed: Hidden("c2VhbGVk".into()), last_step: 57_000_000 }),
        recovery: vec![Digest::of(b"one"), Digest::of(b"two")],
        passkeys: vec![Passkey {
            id: "a2V5".into(),
            key: "pQEC".into(),
            rp_id: "localhost".into(),
            count: u32::MAX,
            label: "blue key".into(),
            added_at: second(1),
        }],
        subject: Some(Subject {
            issuer: "https://id.example".into(),
            subject: "4711".into(),
            set_aside: true,
        }),
        link: Some(Link {
            hash: Digest::of(b"link"),
            expires_at: second(9),
            purpose: LinkPurpose::Invitation,
        }),
        brought_by: Some("ada \"the boss\"".into()),
        failures: Failures { count: 7, not_before: Some(second(8)) },
        own_failures: Failures { count: 1, not_before: None },
        ..person(number, name)
    }
}

fn put(person: &Person) -> ControlChange {
    ControlChange::PutPerson(Box::new(person.clone()))
}

/// People are as they were put last, oldest first.
pub async fn people_are_as_they_were_put_last<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let (ann, bob) = (full(1, "ann"), person(2, "bob"));
    change(bench.store(), vec![put(&bob)]).await;
    change(bench.store(), vec![put(&ann)]).await;
    bench.reopen().await;
    assert_eq!(bench.store().people().await.unwrap(), [ann.clone(), bob.clone()]);
    let gone = Person { standing: Standing::Removed, ..bob };
    change(bench.store(), vec![put(&gone)]).await;
    bench.reopen().await;
    assert_eq!(bench.store().people().await.unwrap(), [ann.clone(), gone.clone()]);
    assert_eq!(bench.store().person("bob").await.unwrap(), Some(gone));
    for nobody in ["Ann", "an", "ann ", ""] {
        assert_eq!(bench.store().person(nobody).await.unwrap(), None, "{nobody:?}");
    }
    // What is noted of someone is kept as well.
    let noted = Person { failures: Failures::default(), ..ann };
    change(bench.store(), vec![ControlChange::NotePerson(Box::new(noted.clone()))]).await;
    bench.reopen().await;
    assert_eq!(bench.store().person("ann").await.unwrap(), Some(noted));
    bench.finish().await;
}

/// Whoever tries to sign in, or does, makes nobody look again who goes by the house rules; new rights do. All of them are
/// changes of people.
pub async fn signing_in_does_not_move_the_house_rules<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let ann = person(1, "ann");
    let session = Credential {
        expires_at: Some(second(9)),
        session: Some(SessionMark { method: SignInMethod::Password, browser: String::new() }),
        ..credential(7, PrincipalKind::Reviewer)
    };
    let before = change(bench.store(), vec![put(&ann)]).await;
    let noted = ControlChange::NotePerson(Box::new(ann.clone()));
    let spent = ControlChange::Spend { key: Digest::of(b"code"), at: second(1), until: second(2) };
    let after =
        change(bench.store(), vec![noted, spent, ControlChange::AddCredential(session.clone())]).await;
    assert_eq!((after.epoch, after.people_epoch), (before.epoch, before.people_epoch + 1));
    let stale =
        Commit { people_epoch: Some(before.people_epoch), control: vec![put(&ann)], ..Commit::default() };
    let refused = bench.store().commit(stale).await;
    assert!(matches!(refused, Err(CommitError::Conflict(Conflict::PeopleMoved))), "{refused:?}");
    let guarded = Commit { control_epoch: Some(before.epoch), control: vec![put(&ann)], ..Commit::default() };
    bench.store().commit(guarded).await.unwrap();
    let ended =
        change(bench.store(), vec![ControlChange::RevokeCredential { id: session.id, at: second(1) }]).await;
    assert_eq!((ended.epoch, ended.people_epoch), (before.epoch + 2, before.people_epoch + 2));
    bench.finish().await;
}

/// Nobody gets a name that another has, and look-alikes are not the same.
pub async fn a_name_belongs_to_one_person<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let names = ["ann", "Ann", "a\u{308}nn", "\u{e4}nn", "ann "];
    for (number, name) in (1..).zip(names) {
        change(bench.store(), vec![put(&person(number, name))]).await;
    }
    let taken = Commit { control: vec![put(&person(9, "ann"))], ..Commit::default() };
    assert!(bench.store().commit(taken).await.is_err());
    let known: Vec<String> =
        bench.store().people().await.unwrap().into_iter().map(|person| person.name).collect();
    assert_eq!(known, names);
    bench.finish().await;
}

/// Of many who change a person as they saw them, one does.
pub async fn one_of_many_changes_of_a_person_succeeds<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let epoch = change(bench.store(), vec![put(&person(1, "ann"))]).await.people_epoch;
    let commits = (0..16).map(|count| {
        let failures = Failures { count, not_before: None };
        let changed = Person { failures, ..person(1, "ann") };
        let noted = ControlChange::NotePerson(Box::new(changed));
        Commit { people_epoch: Some(epoch), control: vec![noted], ..Commit::default() }
    });
    let (won, _) = tally(at_once(bench.store(), commits.collect()).await);
    assert_eq!(won, 1);
    bench.finish().await;
}

/// What works once and was used is remembered until it would have ended anyway, and cannot be used again.
pub async fn what_was_used_cannot_be_used_again<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let spend = |key: &[u8], at, until| ControlChange::Spend {
        key: Digest::of(key),
        at: second(at),
        until: second(until),
    };
    change(bench.store(), vec![spend(b"one", 1, 10)]).await;
    bench.reopen().await;
    assert!(bench.store().is_spent(Digest::of(b"one")).await.unwrap());
    assert!(!bench.store().is_spent(Digest::of(b"two")).await.unwrap());
    let again = Commit { control: vec![spend(b"one", 2, 10)], ..Commit::default() };
    assert!(bench.store().commit(again).await.is_err());
    let many = || Commit { control: vec![spend(b"many", 2, 10)], ..Commit::default() };
    let told = at_once(bench.store(), (0..16).map(|_| many()).collect()).await;
    assert_eq!(told.iter().filter(|told| told.is_ok()).count(), 1, "{told:?}");
    change(bench.store(), vec![spend(b"two", 10, 20)]).await;
    assert!(!bench.store().is_spent(Digest::of(b"one")).await.unwrap(), "it would have ended by now");
    bench.finish().await;
}

/// A session is read back as one, and a new one clears away those that are over; tokens stay.
pub async fn sessions_that_are_over_go<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let session = |number, from, until| Credential {
        created_at: second(from),
        expires_at: Some(second(until)),
        session: Some(SessionMark { method: SignInMethod::Passkey, browser: "Chrome on \"Linux\"".into() }),
        ..credential(number, PrincipalKind::Reviewer)
    };
    let token = Credential { expires_at: Some(second(5)), ..credential(1, PrincipalKind::Reviewer) };
    let (old, lasting, new) = (session(2, 0, 5), session(3, 0, 50), session(4, 5, 60));
    for one in [&token, &old, &lasting, &new] {
        change(bench.store(), vec![ControlChange::AddCredential(one.clone())]).await;
    }
    bench.reopen().await;
    assert_eq!(bench.store().credentials().await.unwrap(), [token, lasting, new]);
    assert_eq!(bench.store().credential(old.secret_hash).await.unwrap(), None);
    // An agent has none, and none is without end.
    let agents = Credential { kind: PrincipalKind::Agent, ..session(5, 5, 60) };
    let endless = Credential { expires_at: None, ..session(6, 5, 60) };
    for wrong in [agents, endless] {
        let commit = Commit { control: vec![ControlChange::AddCredential(wrong)], ..Commit::default() };
        assert!(bench.store().commit(commit).await.is_err());
    }
    bench.finish().await;
}
