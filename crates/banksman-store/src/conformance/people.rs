//! People, what works once, and sessions.

use banksman_core::{Digest, PersonId, PrincipalKind, SignInMethod, Standing};

use super::Harness;
use super::bench::Bench;
use super::fixture::{at_once, second, tally};
use super::house::{change, credential};
use crate::{
    Commit, ControlChange, Credential, Failures, Hidden, Link, LinkPurpose, Passkey, Person, SessionMark,
    Subject, Totp,
};

fn person(number: u128, name: &str) -> Person {
    Person {
        id: PersonId::from_parts(second(0).as_millis(), number),
        name: name.into(),
        display_name: None,
        kind: PrincipalKind::Reviewer,
        roles: Vec::new(),
        standing: Standing::Active,
        created_at: second(0),
        password: None,
        totp: None,
        recovery: Vec::new(),
        passkeys: Vec::new(),
        subject: None,
        link: None,
        failures: Failures::default(),
    }
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
        subject: Some(Subject { issuer: "https://id.example".into(), subject: "4711".into() }),
        link: Some(Link {
            hash: Digest::of(b"link"),
            expires_at: second(9),
            purpose: LinkPurpose::Invitation,
        }),
        failures: Failures { count: 7, not_before: Some(second(8)) },
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
    assert_eq!(bench.store().people().await.unwrap(), [ann, gone]);
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
    let epoch = change(bench.store(), vec![put(&person(1, "ann"))]).await.epoch;
    let commits = (0..16).map(|count| {
        let failures = Failures { count, not_before: None };
        let changed = Person { failures, ..person(1, "ann") };
        Commit { control_epoch: Some(epoch), control: vec![put(&changed)], ..Commit::default() }
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
