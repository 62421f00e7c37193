//! The house rules: freezes, grants, mode, credentials, and the epoch that guards them.

use std::sync::Arc;

use banksman_core::{
    ArgPatterns, Delegation, DelegationId, Digest, Freeze, FreezeId, FreezeScope, Grant, GrantId, GrantReach,
    Mode, PrincipalKind, Risk, Timestamp, TokenId,
};

use super::Harness;
use super::bench::{Bench, Snapshot};
use super::fixture::{at_once, second, tally};
use crate::{Commit, Control, ControlChange, Credential, Store};

fn freeze(number: u128, scope: FreezeScope) -> Freeze {
    Freeze {
        id: FreezeId::from_parts(second(0).as_millis(), number),
        scope,
        reason: "\"drill\"; DROP TABLE freezes".into(),
        by: "ada".into(),
        at: second(0),
    }
}

fn grant(number: u128, reach: GrantReach, digest: Option<Digest>, until: Timestamp) -> Grant {
    Grant {
        id: GrantId::from_parts(second(0).as_millis(), number),
        agent: "riley".into(),
        tool: "refund".into(),
        digest,
        args: None,
        reach,
        by: "ann".into(),
        at: second(1),
        expires_at: until,
        uses_left: None,
        risk: None,
    }
}

pub(super) fn credential(number: u64, kind: PrincipalKind) -> Credential {
    Credential {
        id: TokenId::from_parts(second(0).as_millis() + number, 1),
        secret_hash: Digest::of(&number.to_be_bytes()),
        kind,
        name: format!("someone {number}"),
        owner: None,
        roles: Vec::new(),
        created_at: second(0),
        expires_at: None,
        revoked_at: None,
        session: None,
    }
}

/// Makes a change, and checks that the epoch rose.
pub(super) async fn change(store: &Arc<dyn Store>, changes: Vec<ControlChange>) -> Control {
    let before = store.control().await.unwrap();
    let what = format!("{changes:?}");
    let (epoch, people) = (
        changes.iter().any(ControlChange::raises_epoch),
        changes.iter().any(ControlChange::raises_people_epoch),
    );
    store.commit(Commit { control: changes, ..Commit::default() }).await.unwrap();
    let after = store.control().await.unwrap();
    assert_eq!(after.epoch, before.epoch + u64::from(epoch), "{what}");
    assert_eq!(after.people_epoch, before.people_epoch + u64::from(people), "{what}");
    after
}

/// Freezes are in force until they are lifted.
pub async fn freezes_are_read_back_until_lifted<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let freezes = [
        freeze(1, FreezeScope::Everything),
        freeze(2, FreezeScope::Agent("riley".into())),
        freeze(3, FreezeScope::Tool("refund \u{1f9ca}".into())),
    ];
    for freeze in freezes.clone() {
        change(bench.store(), vec![ControlChange::Freeze(freeze)]).await;
    }
    bench.reopen().await;
    assert_eq!(bench.store().control().await.unwrap().freezes, freezes);
    let left = change(bench.store(), vec![ControlChange::Unfreeze(freezes[1].id)]).await;
    assert_eq!(left.freezes, [freezes[0].clone(), freezes[2].clone()]);
    bench.finish().await;
}

/// Grants hold until they are revoked; those that have ended may be forgotten, those that have not may not.
pub async fn grants_are_read_back_until_revoked<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let session = GrantReach::Session { session: "monday".into() };
    let grants = [
        grant(1, session, Some(Digest::of(b"call")), second(100)),
        grant(2, GrantReach::Agent, None, second(1_000)),
    ];
    for grant in grants.clone() {
        change(bench.store(), vec![ControlChange::Grant(grant)]).await;
    }
    bench.reopen().await;
    assert_eq!(bench.store().control().await.unwrap().grants, grants);

    // One that is given while the others still hold does not end them.
    let later = Grant { at: second(99), ..grant(3, GrantReach::Agent, None, second(2_000)) };
    let all = change(bench.store(), vec![ControlChange::Grant(later.clone())]).await;
    assert_eq!(all.grants, [grants[0].clone(), grants[1].clone(), later.clone()]);

    let left = change(bench.store(), vec![ControlChange::RevokeGrant(grants[1].id)]).await;
    assert_eq!(left.grants, [grants[0].clone(), later]);
    bench.finish().await;
}

/// A grant that is used is the grant with fewer uses left, and nothing else.
pub async fn a_used_grant_is_read_back_with_what_is_left<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let like = [("to".to_owned(), "*@example.com".to_owned())].into();
    let counted = Grant {
        args: Some(ArgPatterns::only(like)),
        uses_left: Some(2),
        risk: Some(Risk::High),
        ..grant(1, GrantReach::Agent, None, second(100))
    };
    let other = grant(2, GrantReach::Agent, None, second(100));
    let both = [counted.clone(), other.clone()].map(ControlChange::Grant);
    change(bench.store(), both.to_vec()).await;
    let used = Grant { uses_left: Some(1), ..counted };
    change(bench.store(), vec![ControlChange::UseGrant(used.clone())]).await;
    bench.reopen().await;
    assert_eq!(bench.store().control().await.unwrap().grants, [used, other]);
    bench.finish().await;
}

fn delegation(number: u128, until: Timestamp) -> Delegation {
    Delegation {
        id: DelegationId::from_parts(second(0).as_millis(), number),
        from: "ann".into(),
        to: "bob \u{1f9ca}".into(),
        roles: vec!["finance".into()],
        starts_at: second(10),
        ends_at: until,
        by: "ada".into(),
        at: second(1),
        reason: Some("\"holiday\"; DROP TABLE delegations".into()),
    }
}

/// Delegations are there until they are revoked; those that are over may be forgotten, those that are not may not.
pub async fn delegations_are_read_back_until_revoked<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let first = delegation(1, second(100));
    let all = Delegation { roles: Vec::new(), reason: None, ..delegation(2, second(1_000)) };
    for delegation in [&first, &all] {
        change(bench.store(), vec![ControlChange::Delegate(delegation.clone())]).await;
    }
    bench.reopen().await;
    assert_eq!(bench.store().control().await.unwrap().delegations, [first.clone(), all.clone()]);
    let later = Delegation { at: second(99), ..delegation(3, second(2_000)) };
    let three = change(bench.store(), vec![ControlChange::Delegate(later.clone())]).await;
    assert_eq!(three.delegations, [first.clone(), all, later.clone()]);
    let left = change(bench.store(), vec![ControlChange::RevokeDelegation(three.delegations[1].id)]).await;
    assert_eq!(left.delegations, [first, later]);
    bench.finish().await;
}

/// A fallback is remembered until a person sets the mode.
pub async fn a_fallback_is_remembered_until_the_mode_is_set<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let fall = ControlChange::FallBack { from: Mode::Production, to: Mode::Shadow };
    change(bench.store(), vec![fall]).await;
    bench.reopen().await;
    let fallen = bench.store().control().await.unwrap();
    assert_eq!((fallen.mode, fallen.fell_back_from), (Mode::Shadow, Some(Mode::Production)));
    let set = change(bench.store(), vec![ControlChange::SetMode(Mode::Shadow)]).await;
    assert_eq!((set.mode, set.fell_back_from), (Mode::Shadow, None));
    bench.finish().await;
}

/// The mode is what was set last.
pub async fn the_mode_is_what_was_set_last<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    for mode in [Mode::Shadow, Mode::Lab, Mode::Shadow, Mode::Production, Mode::Lab] {
        let control = change(bench.store(), vec![ControlChange::SetMode(mode)]).await;
        assert_eq!(control.mode, mode);
    }
    bench.reopen().await;
    assert_eq!(bench.store().control().await.unwrap().mode, Mode::Lab);
    bench.finish().await;
}

/// Credentials are found by the hash of their secret and listed oldest first, also when they are over.
pub async fn credentials_are_found_by_their_hash<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let agent = Credential {
        owner: Some("olga".into()),
        expires_at: Some(second(50)),
        ..credential(1, PrincipalKind::Agent)
    };
    let reviewer = Credential {
        roles: vec!["finance".into(), "support \"lead\"".into()],
        name: "Ann \u{202e}nna".into(),
        ..credential(2, PrincipalKind::Reviewer)
    };
    let admin = Credential { revoked_at: Some(second(3)), ..credential(3, PrincipalKind::Admin) };
    let all = [agent, reviewer, admin];
    for credential in all.clone() {
        change(bench.store(), vec![ControlChange::AddCredential(credential)]).await;
    }
    bench.reopen().await;
    for credential in &all {
        let found = bench.store().credential(credential.secret_hash).await.unwrap();
        assert_eq!(found.as_ref(), Some(credential));
    }
    assert_eq!(bench.store().credentials().await.unwrap(), all);
    assert_eq!(bench.store().credential(Digest::of(b"guessed")).await.unwrap(), None);
    bench.finish().await;
}

/// A revoked credential says when it was revoked, and saying it again does not change that.
pub async fn a_revocation_is_kept<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let (gone, stays) = (credential(1, PrincipalKind::Agent), credential(2, PrincipalKind::Agent));
    let both = [gone.clone(), stays.clone()].map(ControlChange::AddCredential);
    change(bench.store(), both.to_vec()).await;
    for at in [second(5), second(9)] {
        let revoke = Commit {
            control: vec![ControlChange::RevokeCredential { id: gone.id, at }],
            ..Commit::default()
        };
        bench.store().commit(revoke).await.unwrap();
    }
    bench.reopen().await;
    let revoked = Credential { revoked_at: Some(second(5)), ..gone };
    assert_eq!(bench.store().credentials().await.unwrap(), [revoked.clone(), stays]);
    assert!(!revoked.is_live(second(5)));
    bench.finish().await;
}

/// Every kind of change raises the epoch, alone and in company; nothing else does.
pub async fn every_change_raises_the_epoch_and_nothing_else_does<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let (freeze, grant) =
        (freeze(1, FreezeScope::Everything), grant(1, GrantReach::Agent, None, second(100)));
    let token = credential(1, PrincipalKind::Reviewer);
    for one in [
        ControlChange::Freeze(freeze.clone()),
        ControlChange::Unfreeze(freeze.id),
        ControlChange::Grant(grant.clone()),
        ControlChange::UseGrant(grant.clone()),
        ControlChange::RevokeGrant(grant.id),
        ControlChange::Delegate(delegation(1, second(100))),
        ControlChange::RevokeDelegation(delegation(1, second(100)).id),
        ControlChange::FallBack { from: Mode::Production, to: Mode::Shadow },
        ControlChange::SetMode(Mode::Shadow),
        ControlChange::AddCredential(token.clone()),
        ControlChange::RevokeCredential { id: token.id, at: second(1) },
    ] {
        change(bench.store(), vec![one]).await;
    }
    let company = vec![ControlChange::SetMode(Mode::Lab), ControlChange::Freeze(freeze)];
    let epoch = change(bench.store(), company).await.epoch;
    super::fixture::hold(bench.store(), super::fixture::Proposal::number(1)).await;
    bench.reopen().await;
    assert_eq!(bench.store().control().await.unwrap().epoch, epoch);
    bench.finish().await;
}

/// Changes that are made at the same time all happen, each with an epoch of its own.
pub async fn changes_at_once_all_happen<H: Harness>() {
    const CHANGES: u64 = 64;
    let bench = Bench::<H>::set_up().await;
    let before = bench.store().control().await.unwrap().epoch;
    let rush = (1..=CHANGES).map(|number| {
        let credential = credential(number, PrincipalKind::Agent);
        Commit { control: vec![ControlChange::AddCredential(credential)], ..Commit::default() }
    });
    let (done, conflicts) = tally(at_once(bench.store(), rush.collect()).await);
    assert_eq!((done, conflicts.len()), (64, 0));
    let all = Snapshot::of(bench.store()).await;
    assert!(all.control.epoch >= before + CHANGES, "{} then {}", before, all.control.epoch);
    assert_eq!(all.credentials.len(), 64);
    bench.finish().await;
}

/// Two credentials with one secret would be one credential of two people: the second is not stored.
pub async fn a_secret_belongs_to_one_credential<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let first = credential(1, PrincipalKind::Agent);
    change(bench.store(), vec![ControlChange::AddCredential(first.clone())]).await;
    let before = Snapshot::of(bench.store()).await;
    let second = Credential { secret_hash: first.secret_hash, ..credential(2, PrincipalKind::Admin) };
    let commit = Commit { control: vec![ControlChange::AddCredential(second)], ..Commit::default() };
    assert!(bench.store().commit(commit).await.is_err());
    assert_eq!(Snapshot::of(bench.store()).await, before);
    bench.finish().await;
}
