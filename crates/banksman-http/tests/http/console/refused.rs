//! What is refused, what is lost on the way, and how someone gets back.

use serde_json::json;

use super::{Browser, told};
use crate::client::Request;
use crate::server::{Server, id};

/// Where the script goes instead of sending the form again.
fn here(page: &str) -> Option<&str> {
    page.split_once("data-here=\"")?.1.split('"').next()
}

#[tokio::test]
async fn a_page_that_answers_a_form_says_where_to_read_it_again() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"to": "bob"})).await;
    let path = format!("/actions/{}", id(&action));
    assert_eq!(here(&browser.open(&server, &path).await.text()), None);
    let freeze = [("scope", "tool"), ("name", "send_email"), ("reason", "wait")];
    assert_eq!(browser.form(&server, "/freezes", &freeze).await.status, 303);
    let refused = browser.decide(&server, &action, "approve").await;
    assert_eq!((refused.status, here(&refused.text())), (409, Some(path.as_str())));
    let nothing = browser.about(&server, &format!("{path}/edit"), &action, &[("raw", "{")]).await;
    assert_eq!(here(&nothing.text()), Some(format!("{path}/edit").as_str()));
    let nameless = browser.form(&server, "/freezes", &[("scope", "tool"), ("name", "")]).await;
    assert_eq!(here(&nameless.text()), Some("/freezes"));
    assert_eq!(here(&browser.about(&server, "/cancel", &action, &[]).await.text()), None, "it was done");
    let again = browser.about(&server, "/cancel", &action, &[]).await;
    assert_eq!((again.status, here(&again.text())), (409, Some(path.as_str())));

    let batch =
        json!({"items": [{"tool": "run_tests", "args": {}}, {"tool": "run_tests", "args": {"a": 1}}]});
    let batch = server.send(Request::post("/v1/batches", &batch).by(&server.riley)).await.ok(200);
    let path = format!("/batches/{}", id(&batch));
    let fields = [("digest", batch["digest"].as_str().unwrap()), ("all", "")];
    let nothing = browser.form(&server, &format!("{path}/decide"), &fields).await;
    assert_eq!((nothing.status, here(&nothing.text())), (409, Some(path.as_str())));
}

#[tokio::test]
async fn what_was_written_is_there_again_after_a_refusal() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let freeze = [("scope", "everything"), ("reason", "wait")];
    assert_eq!(browser.form(&server, "/freezes", &freeze).await.status, 303);
    let fields = [("decision", "approve"), ("reason", "\nI asked <Bob>."), ("message", "Next time ask.")];
    let page = browser.about(&server, "/decide", &action, &fields).await.text();
    // A browser drops the first line break of a text area.
    assert!(page.contains(">\n\nI asked &lt;Bob&gt;.</textarea>"), "{page}");
    assert!(page.contains("<details class=\"answer\" open>") && page.contains("Next time ask."), "{page}");
}

#[tokio::test]
async fn words_for_the_agent_reach_it_whichever_button_denies() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let fields = [("decision", "deny"), ("reason", ""), ("message", "Use the template.")];
    let answer = browser.about(&server, "/decide", &action, &fields).await;
    assert_eq!(told(&answer), Some(format!("/?said=responded&about={}", id(&action)).as_str()));
    let shown = server.show(&server.riley, &action).await;
    assert_eq!(shown["resolution"]["message"], "Use the template.");
}

#[tokio::test]
async fn whoever_has_to_sign_in_gets_back_to_the_page_of_the_form() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let page = format!("/actions/{}", id(&action));
    for (path, referer, next) in [
        ("/decide", format!("http://{}{page}", server.address), page.as_str()),
        ("/decide", format!("http://{}/decide", server.address), "/"),
        ("/batches/bat_01J9ZKQ7V8Y3F5T2M6N4P0R1SB/decide", String::new(), "/"),
        ("/freezes", format!("http://{}/freezes?agent=x", server.address), "/freezes"),
        ("/decide", "http://evil.example//evil.example/".into(), "/"),
    ] {
        let request = Request::form(path, &[("csrf", "x")]).header("Accept", "text/html");
        let answer = server.send(request.header("Referer", &referer)).await;
        assert_eq!(answer.status, 401);
        assert!(answer.text().contains(&format!("/sign-in?next={next}\"")), "{referer}: {}", answer.text());
    }
}

#[tokio::test]
async fn an_address_without_a_page_is_said_in_words() {
    let server = Server::start().await;
    for (path, status, code) in [("/no-such-page", 404, "not_found"), ("/decide", 405, "method_not_allowed")]
    {
        let page = server.send(Request::get(path).header("Accept", "text/html,*/*")).await;
        assert_eq!((page.status, page.header("content-type")), (status, Some("text/html; charset=utf-8")));
        assert!(page.text().contains("To the inbox"), "{}", page.text());
        server.send(Request::get(path)).await.problem(status, code);
    }
}

#[tokio::test]
async fn a_decision_in_a_list_leads_back_to_that_list() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"to": "needle & thread"})).await;
    let page = browser.open(&server, "/?q=needle%20%26&sort=deadline").await.text();
    let list = super::hidden(&page, "list");
    assert_eq!(list, "q=needle%20%26&amp;sort=deadline");
    let list = list.replace("&amp;", "&");
    let answer = browser.about(&server, "/decide", &action, &[("decision", "deny"), ("list", &list)]).await;
    assert_eq!(told(&answer), Some(format!("/?{list}&said=denied&about={}", id(&action)).as_str()));
    let back = browser.open(&server, answer.header("location").unwrap()).await.text();
    assert!(back.contains("Denied. It will not run.") && back.contains("value=\"needle &amp;\""), "{back}");
    // Whatever is no question of a list leads to the inbox.
    for list in ["said=approved", "q=a&seal=b", "//evil.example", "q=a\r\nX: y", "q", "q=a#b"] {
        let action = server.propose("send_email", json!({"to": list})).await;
        let answer =
            browser.about(&server, "/decide", &action, &[("decision", "deny"), ("list", list)]).await;
        assert_eq!(told(&answer), Some(format!("/?said=denied&about={}", id(&action)).as_str()), "{list}");
    }
}

#[tokio::test]
async fn nobody_is_offered_to_approve_twice() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    let path = format!("/actions/{}", id(&action));
    let offers = |page: &str| page.contains("value=\"approve\"");
    assert!(offers(&browser.open(&server, &path).await.text()));
    assert_eq!(browser.decide(&server, &action, "approve").await.status, 303);
    let page = browser.open(&server, &path).await.text();
    assert!(!offers(&page) && page.contains("value=\"deny\""), "{page}");
    assert!(page.contains("You approved this. Someone else is needed, too."), "{page}");
}

#[tokio::test]
async fn a_form_that_enter_has_sent_decides_nothing() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let answer = browser.about(&server, "/decide", &action, &[("decision", "none")]).await;
    let page = format!("/actions/{}", id(&action));
    assert_eq!((answer.status, answer.header("location")), (303, Some(page.as_str())));
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}
