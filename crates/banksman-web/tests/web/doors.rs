//! The pages of people: who there is, the ways in, and the touch of a passkey.

use banksman_core::wire::{ActionView, PersonView};
use banksman_core::{Decision, PrincipalKind, SignInMethod, Standing};
use banksman_web::{
    AccountPage, AppSecret, Ask, Frame, JoinPage, OwnPasskey, OwnSession, PeoplePage, SignInPage, Signs,
    StepUpPage,
};

use crate::pages::NOW;

const PERSON: &str = "usr_01J9ZKQ7V8Y3F5T2M6N4P0R1SB";

fn person(words: &str, standing: Standing) -> PersonView {
    PersonView {
        id: PERSON.parse().unwrap(),
        name: format!("x{words}"),
        display_name: Some(words.to_owned()),
        kind: PrincipalKind::Reviewer,
        roles: vec![words.to_owned()],
        standing,
        created_at: NOW,
        has_password: true,
        passkeys: vec![words.to_owned()],
        recovery_codes: 3,
        provider: Some(words.to_owned()),
        link_expires_at: Some(NOW),
        brought_by: Some(words.to_owned()),
    }
}

/// These pages, with one text in every field that someone else can write.
pub(crate) fn all(words: &str, frame: &Frame<'_>, pending: &ActionView) -> Vec<(&'static str, String)> {
    let ask = || Ask {
        challenge: "challenge".into(),
        rp_id: "banksman.example".into(),
        passkeys: vec!["key".into()],
    };
    let app = || AppSecret { secret: "SECRET".into(), uri: format!("otpauth://totp/{words}?secret=SECRET") };
    let account = AccountPage {
        id: PERSON.parse().unwrap(),
        ask: Some(ask()),
        passkeys_at: None,
        app: app(),
        passkeys: vec![OwnPasskey { id: words, label: words, added_at: NOW }],
        has_password: true,
        recovery_codes: 3,
        sessions: vec![OwnSession {
            id: "tok_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
            method: SignInMethod::Oidc,
            browser: words.to_owned(),
            since: NOW,
            is_this: false,
        }],
    };
    let people =
        [Standing::Active, Standing::Locked, Standing::Removed].map(|standing| person(words, standing));
    let join = JoinPage {
        code: words,
        user: (PERSON, words),
        ask: Some(ask()),
        passkeys_at: None,
        app: app(),
        refused: Some(words),
    };
    let step_up = StepUpPage {
        action: pending,
        decision: Decision::Approve,
        signs: Signs { digest: pending.digest, version: pending.version, args: &pending.args },
        ask: ask(),
        nonce: "nonce",
        fields: &[(words.to_owned(), words.to_owned()), ("reason".into(), words.to_owned())],
    };
    let sign_in = SignInPage {
        ask: Some(ask()),
        passkeys_at: None,
        provider: Some(words),
        next: words,
        refused: Some(words),
    };
    vec![
        ("account", account.render(frame)),
        ("people", PeoplePage { people: &people, link: Some((words, "/join?code=x")) }.render(frame)),
        ("join", join.render()),
        ("step-up", step_up.render(frame)),
        ("ways in", sign_in.render()),
        ("ways in, without passkeys", SignInPage { ask: None, ..sign_in }.render()),
        ("signed out", banksman_web::signed_out(words)),
        ("bad code", banksman_web::bad_code()),
        ("recovery codes", banksman_web::recovery_codes(&["one-two".to_owned()])),
    ]
}
