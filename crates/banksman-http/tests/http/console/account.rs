//! `/join/password`, `/sign-in/password`, `/account`: passwords with codes, and the browsers that are signed in.

use std::time::{Duration, Instant};

use banksman_core::PrincipalKind;
use banksman_engine::By;
use banksman_identity::TotpSecret;

use super::{Browser, cookie_of, hidden, told};
use crate::client::{Request, Response};
use crate::server::Server;

const PASSWORD: &str = "the cranes stand still";

/// Someone with a password and an app.
struct Ann<'a> {
    server: &'a Server,
    secret: TotpSecret,
    recovery: Vec<String>,
    browser: Browser,
    /// What her browser is known by.
    mark: String,
}

fn now(server: &Server) -> u64 {
    u64::try_from(server.engine.now().as_micros() / 1_000_000).unwrap()
}

/// What is between these, each time.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

async fn invitation(server: &Server, name: &str) -> String {
    let id = server.person(PrincipalKind::Reviewer, name, &["finance"]).await;
    server.engine.invite(By::Operator, id).await.unwrap().code
}

async fn join(server: &Server, code: &str, password: &str, secret: &TotpSecret, totp_code: &str) -> Response {
    let shown = secret.to_base32();
    let fields = [("code", code), ("password", password), ("totp_secret", &shown), ("totp_code", totp_code)];
    server.send(Request::form("/join/password", &fields)).await
}

impl<'a> Ann<'a> {
    async fn joins(server: &'a Server) -> Self {
        let code = invitation(server, "ann-marie").await;
        let page = server.send(Request::get(format!("/join?code={code}"))).await.text();
        let secret = TotpSecret::from_base32(&hidden(&page, "totp_secret")).unwrap();
        let joined = join(server, &code, PASSWORD, &secret, &secret.code_at(now(server))).await;
        assert_eq!(joined.status, 200, "{}", joined.text());
        let page = joined.text();
        let recovery = between(&page, "<li><code>", "<").into_iter().map(str::to_owned).collect();
        let mark =
            joined.cookies().iter().find(|cookie| cookie.starts_with("banksman_known=")).unwrap().to_string();
        let browser = Browser::with(server, cookie_of(&joined)).await;
        Self { server, secret, recovery, browser, mark }
    }

    /// The next code that was not used yet.
    fn code(&self) -> String {
        self.server.jump(Duration::from_secs(30));
        self.secret.code_at(now(self.server))
    }

    async fn signs_in(&self, password: &str, code: &str) -> Response {
        sign_in(self.server, "ann-marie", password, code).await
    }

    /// From the browser that she joined with.
    async fn signs_in_at_home(&self, password: &str, code: &str) -> Response {
        let fields = [("name", "ann-marie"), ("password", password), ("code", code)];
        self.server.send(Request::form("/sign-in/password", &fields).header("Cookie", &self.mark)).await
    }
}

async fn sign_in(server: &Server, name: &str, password: &str, code: &str) -> Response {
    let fields = [("name", name), ("password", password), ("code", code), ("next", "/audit")];
    server.send(Request::form("/sign-in/password", &fields)).await
}

fn is_out(answer: &Response) -> bool {
    answer.status == 403 && answer.cookies().is_empty()
}

#[tokio::test]
async fn an_invitation_is_accepted_once_with_a_password_and_a_code() {
    let server = Server::start().await;
    let code = invitation(&server, "ann-marie").await;
    let secret = TotpSecret::new([7; 20]);
    let right = secret.code_at(now(&server));
    for (password, totp_code) in
        [("too short", right.as_str()), ("ann-marie is my name", &right), (PASSWORD, "000000")]
    {
        let refused = join(&server, &code, password, &secret, totp_code).await;
        assert_eq!((refused.status, refused.header("set-cookie")), (409, None), "{password}");
    }
    assert_eq!(join(&server, "another code", PASSWORD, &secret, &right).await.status, 403);
    let joined = join(&server, &code, PASSWORD, &secret, &right).await;
    assert_eq!(between(&joined.text(), "<li><code>", "<").len(), 10);
    assert_eq!(join(&server, &code, PASSWORD, &secret, &right).await.status, 403, "used up");
    // The first session has the rights that the invitation was for.
    let browser = Browser::with(&server, cookie_of(&joined)).await;
    let action = server.propose("pay", serde_json::json!({})).await;
    assert_eq!(browser.decide(&server, &action, "approve").await.status, 303);
}

#[tokio::test]
async fn an_invitation_that_is_old_or_replaced_is_none() {
    let server = Server::start().await;
    let first = invitation(&server, "ann-marie").await;
    let second = invitation(&server, "ann-marie").await;
    assert_eq!(server.send(Request::get(format!("/join?code={first}"))).await.status, 403);
    assert_eq!(server.send(Request::get(format!("/join?code={second}"))).await.status, 200);
    // It does not sign in, and a sign-in link does not invite.
    assert_eq!(server.send(Request::form("/sign-in", &[("code", &second)])).await.status, 403);
    server.jump(Duration::from_secs(72 * 3600));
    assert_eq!(server.send(Request::get(format!("/join?code={second}"))).await.status, 403);
}

#[tokio::test]
async fn a_password_and_a_code_sign_in_and_a_code_works_once() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    let code = ann.code();
    let came_in = ann.signs_in(PASSWORD, &code).await;
    assert_eq!((came_in.status, came_in.header("location")), (303, Some("/audit")), "{}", came_in.text());
    assert_ne!(cookie_of(&came_in), ann.browser.cookie, "every session is a new one");
    assert!(is_out(&ann.signs_in(PASSWORD, &code).await), "the same code again");
    let older = ann.secret.code_at(now(&server) - 30);
    assert!(is_out(&ann.signs_in(PASSWORD, &older).await), "an older code");
    assert!(is_out(&ann.signs_in("the cranes stand stil", &ann.code()).await), "another password");
    assert!(is_out(&ann.signs_in(PASSWORD, "000000").await), "another code");
    assert!(is_out(&ann.signs_in(PASSWORD, "").await), "no code");
    assert_eq!(ann.signs_in(PASSWORD, &ann.code()).await.status, 303);
}

#[tokio::test]
async fn of_many_who_bring_the_same_code_at_once_one_comes_in() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    let code = ann.code();
    let tries = (0..4).map(|_| ann.signs_in(PASSWORD, &code));
    let answers = futures_util::future::join_all(tries).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 303).count(), 1);
}

#[tokio::test]
async fn a_recovery_code_works_once() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    assert_eq!(ann.recovery.len(), 10);
    assert!(is_out(&ann.signs_in("another password!", &ann.recovery[0]).await));
    let typed = ann.recovery[0].to_uppercase().replace('-', " ");
    assert_eq!(ann.signs_in(PASSWORD, &typed).await.status, 303);
    assert!(is_out(&ann.signs_in(PASSWORD, &ann.recovery[0]).await), "used up");
    assert_eq!(ann.signs_in(PASSWORD, &ann.recovery[1]).await.status, 303);
    // New ones replace those that are left.
    let renewed = ann.browser.form(&server, "/account/recovery-codes", &[]).await.text();
    assert_eq!(between(&renewed, "<li><code>", "<").len(), 10);
    assert!(is_out(&ann.signs_in(PASSWORD, &ann.recovery[2]).await));
}

#[tokio::test]
async fn whoever_guesses_has_to_wait_and_nobody_is_locked_out_for_ever() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    for _ in 0..5 {
        assert!(is_out(&ann.signs_in("a guess at a password", "123456").await));
    }
    // Beyond the first short wait; guess until it is long.
    for _ in 0..9 {
        server.jump(Duration::from_secs(900));
        assert!(is_out(&ann.signs_in("a guess at a password", "123456").await));
    }
    assert!(is_out(&ann.signs_in(PASSWORD, &ann.code()).await), "right, and too early");
    // Passkeys, links and open browsers are not held back.
    assert_eq!(ann.browser.page(&server).await.status, 200);
    let link = server.sign_in_code("ann-marie").await;
    assert_eq!(server.send(Request::form("/sign-in", &[("code", &link)])).await.status, 303);
    server.jump(Duration::from_secs(900));
    assert_eq!(ann.signs_in(PASSWORD, &ann.code()).await.status, 303, "a quarter of an hour later");
    for _ in 0..4 {
        assert!(is_out(&ann.signs_in("a guess at a password", "123456").await));
    }
    assert_eq!(ann.signs_in(PASSWORD, &ann.code()).await.status, 303, "counting began anew");
}

#[tokio::test]
async fn an_address_that_tries_too_often_has_to_wait() {
    let server = Server::start().await;
    let mut refused = 0;
    for number in 0..40 {
        let fields = [("code", format!("guess {number}"))];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        let answer = server.send(Request::form("/sign-in", &fields)).await;
        if answer.status == 429 {
            answer.problem(429, "too_many_attempts");
            refused += 1;
        }
    }
    assert!((9..=11).contains(&refused), "{refused}");
    server.jump(Duration::from_secs(120));
    assert_eq!(server.send(Request::form("/sign-in", &[("code", "guess")])).await.status, 403);
}

#[tokio::test]
async fn an_answer_does_not_tell_whether_there_is_such_a_person() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    server.person(PrincipalKind::Reviewer, "without-password", &[]).await;
    let names = ["ann-marie", "nobody", "without-password"];
    // The shortest of a few: whatever else the machine does only adds to it.
    let mut took = [Duration::MAX; 3];
    for _ in 0..4 {
        for (name, took) in names.iter().zip(&mut took) {
            let begin = Instant::now();
            let answer = sign_in(&server, name, "a guess at a password", "123456").await;
            *took = begin.elapsed().min(*took);
            assert!(is_out(&answer));
            let words = answer.text();
            let alert = words.split("role=\"alert\"").nth(1).unwrap().split("</p>").next().unwrap();
            assert!(alert.contains("The name, the password or the code is wrong"), "{name}: {alert}");
        }
        server.jump(Duration::from_secs(900));
    }
    drop(ann);
    // Hashing takes most of the time, and all of them hash.
    let (shortest, longest) = (took.iter().min().unwrap(), took.iter().max().unwrap());
    assert!(*longest < *shortest * 3, "{took:?}");
}

#[tokio::test]
async fn sessions_are_listed_and_ended_by_their_owner_alone() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    let other = Browser::with(&server, cookie_of(&ann.signs_in(PASSWORD, &ann.code()).await)).await;
    let page = ann.browser.open(&server, "/account").await.text();
    let ends = between(&page, "/account/sessions/", "/end");
    assert_eq!(ends.len(), 2, "{page}");
    let stranger = Browser::sign_in(&server, "ada").await;
    for id in &ends {
        stranger.form(&server, &format!("/account/sessions/{id}/end"), &[]).await.problem(404, "not_found");
    }
    // The newest comes first.
    let ended = ann.browser.form(&server, &format!("/account/sessions/{}/end", ends[0]), &[]).await;
    assert_eq!(told(&ended), Some("/account?said=session-ended"));
    other.open(&server, "/audit").await.problem(401, "unauthenticated");
    assert_eq!(ann.browser.open(&server, "/audit").await.status, 200);

    let another = Browser::with(&server, cookie_of(&ann.signs_in(PASSWORD, &ann.code()).await)).await;
    let out = ann.browser.form(&server, "/account/sign-out-everywhere", &[]).await;
    assert_eq!(out.status, 303);
    for browser in [&ann.browser, &another] {
        browser.open(&server, "/audit").await.problem(401, "unauthenticated");
    }
    assert_eq!(stranger.open(&server, "/audit").await.status, 200, "others stay");
}

#[tokio::test]
async fn a_password_is_changed_and_given_up() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    let gone = ann.browser.form(&server, "/account/password/remove", &[]).await;
    assert_eq!(gone.status, 409, "the last way in");
    let secret = TotpSecret::new([9; 20]);
    let shown = secret.to_base32();
    let code = secret.code_at(now(&server));
    let set = |password: &'static str, code: String| {
        let fields = [("password", password.to_owned()), ("totp_secret", shown.clone()), ("totp_code", code)];
        let (browser, server) = (&ann.browser, &server);
        async move {
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            browser.form(server, "/account/password", &fields).await
        }
    };
    assert_eq!(set("short", code.clone()).await.status, 409);
    assert_eq!(set("another crane stands still", code).await.status, 200);
    assert!(is_out(&ann.signs_in(PASSWORD, &ann.code()).await), "the old one");
    server.jump(Duration::from_secs(30));
    let new = ann.signs_in("another crane stands still", &secret.code_at(now(&server))).await;
    assert_eq!(new.status, 303);
}

#[tokio::test]
async fn a_stranger_who_guesses_does_not_hold_back_a_browser_that_was_here_before() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    // A stranger keeps her account held, for as long as they like.
    for _ in 0..15 {
        server.jump(Duration::from_secs(900));
        assert!(is_out(&ann.signs_in("a guess at a password", "123456").await));
    }
    assert!(is_out(&ann.signs_in(PASSWORD, &ann.code()).await), "a new browser has to wait");
    let home = ann.signs_in_at_home(PASSWORD, &ann.code()).await;
    assert_eq!(home.status, 303, "{}", home.text());
    // Guessing from there has an end as well, and is told when it may go on.
    for _ in 0..5 {
        assert!(is_out(&ann.signs_in_at_home("a guess at a password", "123456").await));
    }
    let held = ann.signs_in_at_home(PASSWORD, &ann.code()).await;
    assert_eq!(held.status, 303, "the wait was two seconds, and the code came thirty later");
    for _ in 0..5 {
        assert!(is_out(&ann.signs_in_at_home("a guess at a password", "123456").await));
    }
    let held = ann.signs_in_at_home("a guess at a password", "123456").await;
    assert!(is_out(&held) && held.text().contains("The next can be made in"), "{}", held.text());
    // Of another person, or changed, the mark is worth nothing.
    let forged =
        Request::form("/sign-in/password", &[("name", "ann-marie"), ("password", "x"), ("code", "1")])
            .header("Cookie", "banksman_known=AAAA");
    assert!(!server.send(forged).await.text().contains("The next can be made in"));
}

#[tokio::test]
async fn a_new_password_signs_out_every_other_browser() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    let thief = Browser::with(&server, cookie_of(&ann.signs_in(PASSWORD, &ann.code()).await)).await;
    let secret = TotpSecret::new([9; 20]);
    let (shown, code) = (secret.to_base32(), secret.code_at(now(&server)));
    let fields = [("password", "another crane stands still"), ("totp_secret", &shown), ("totp_code", &code)];
    let set = ann.browser.form(&server, "/account/password", &fields).await;
    assert_eq!(set.status, 200, "{}", set.text());
    assert!(set.cookies().iter().any(|cookie| cookie.starts_with("banksman_known=")), "a new mark");
    thief.open(&server, "/audit").await.problem(401, "unauthenticated");
    assert_eq!(ann.browser.open(&server, "/audit").await.status, 200);
}

#[tokio::test]
async fn whoever_tries_to_sign_in_moves_no_house_rules() {
    let server = Server::start().await;
    let ann = Ann::joins(&server).await;
    let before = server.engine.house_rules().await.unwrap();
    for _ in 0..3 {
        assert!(is_out(&ann.signs_in("a guess at a password", "123456").await));
    }
    assert_eq!(ann.signs_in(PASSWORD, &ann.code()).await.status, 303);
    let after = server.engine.house_rules().await.unwrap();
    assert_eq!(after.epoch, before.epoch, "commits of others start again for nothing");
    assert!(after.people_epoch > before.people_epoch);
}
