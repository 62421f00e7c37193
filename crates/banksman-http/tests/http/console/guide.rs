//! `/settings`, `/guide`: how someone likes the pages, and the first steps.

use super::{Browser, told};
use crate::client::Request;
use crate::server::Server;

#[tokio::test]
async fn the_guide_makes_something_to_decide_on_and_is_put_away_for_good() {
    let server = Server::start().await;
    let mut browser = Browser::sign_in(&server, "ada").await;
    assert!(browser.page(&server).await.text().contains("New here?"));
    let made = browser.form(&server, "/guide/sample", &[]).await;
    assert_eq!(made.status, 303, "{}", made.text());
    let place = made.header("location").unwrap().to_owned();
    let page = browser.open(&server, &place).await.text();
    assert!(page.contains("This is a sample") && page.contains("sample_send_email"), "{page}");
    assert!(page.contains("data-approve"), "{page}");
    // Twice is once: the same sample is already waiting.
    let again = browser.form(&server, "/guide/sample", &[]).await;
    assert_eq!(again.header("location"), Some(place.as_str()));

    let away = browser.form(&server, "/guide/dismiss", &[]).await;
    assert_eq!(away.status, 303);
    let likes = away.header("set-cookie").unwrap();
    assert!(likes.contains("HttpOnly; SameSite=Strict; Max-Age=34560000"), "{likes}");
    browser.cookie = format!("{}; {}", browser.cookie, likes.split(';').next().unwrap());
    assert!(!browser.page(&server).await.text().contains("New here?"));
    assert!(browser.open(&server, "/guide").await.text().contains("Make a sample action"));
}

#[tokio::test]
async fn nobody_can_use_what_the_sample_was_asked_with() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    browser.form(&server, "/guide/sample", &[]).await;
    let log = browser.open(&server, "/audit/export").await.text();
    let count = |kind: &str| log.matches(&format!("\"type\":\"{kind}\"")).count();
    assert_eq!(count("token_revoked"), 1, "{log}");
    // A form that is not from this session makes nothing.
    let foreign = browser.submit(&server, "/guide/sample", &[("csrf", "x")]).await;
    foreign.problem(403, "origin_not_allowed");
}

#[tokio::test]
async fn what_someone_likes_is_kept_by_their_browser() {
    let server = Server::start().await;
    let mut browser = Browser::sign_in(&server, "ada").await;
    let saved =
        browser.form(&server, "/settings", &[("theme", "dark"), ("sort", "risk"), ("guide", "open")]).await;
    assert_eq!((saved.status, told(&saved)), (303, Some("/settings?said=settings-saved")));
    let likes = saved.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(likes, "banksman_likes=dark.risk.open");
    browser.cookie = format!("{}; {likes}", browser.cookie);
    let page = browser.page(&server).await.text();
    assert!(page.contains("<html lang=\"en\" data-theme=\"dark\">"), "{page}");
    assert!(page.contains("<option value=\"risk\" selected>"), "{page}");
    // Anyone can write a cookie.
    let cookie = format!("{}; banksman_likes=\"><script>.x.done", browser.cookie.split(';').next().unwrap());
    let page = server.send(Request::get("/settings").header("Cookie", cookie)).await;
    assert!(page.status == 200 && !page.text().contains("<script>"), "{}", page.text());
    let nonsense =
        browser.form(&server, "/settings", &[("theme", "x; Path=/evil"), ("sort", "\r\nX: y")]).await;
    assert!(nonsense.header("set-cookie").unwrap().starts_with("banksman_likes=system.urgency.open;"));
}
