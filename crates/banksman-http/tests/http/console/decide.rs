//! `/decide`, `/cancel`, `/actions/{id}/edit`: the buttons.

use serde_json::json;

use super::{Browser, hidden, told};
use crate::client::Request;
use crate::server::{Server, id};

#[tokio::test]
async fn the_buttons_decide_about_what_the_page_showed() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"to": "bob"})).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert_eq!(hidden(&page, "id"), id(&action));
    assert_eq!(hidden(&page, "digest"), action["digest"].as_str().unwrap());
    assert_eq!(hidden(&page, "version"), "1");
    let answer = browser.decide(&server, &action, "approve").await;
    let said = format!("/?said=approved&about={}", id(&action));
    assert_eq!((answer.status, told(&answer)), (303, Some(said.as_str())));
    let inbox = browser.open(&server, answer.header("location").unwrap()).await.text();
    assert!(inbox.contains("Approved: it may run once."), "{inbox}");
    let shown = server.show(&server.riley, &action).await;
    assert_eq!(shown["status"], "authorised");
    assert_eq!((&shown["votes"][0]["by"], &shown["votes"][0]["reason"]), (&json!("ada"), &json!("seen")));

    let denied = server.propose("send_email", json!({"to": "eve"})).await;
    assert_eq!(browser.decide(&server, &denied, "deny").await.status, 303);
    assert_eq!(server.show(&server.riley, &denied).await["status"], "denied");
}

#[tokio::test]
async fn a_page_that_is_out_of_date_decides_nothing() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    let edit = json!({"decision": "modify", "args": {"id": 2}});
    server.decide(&server.ann, &action, edit).await.ok(200);
    let stale = browser.decide(&server, &action, "approve").await;
    assert_eq!(stale.status, 409);
    assert!(stale.text().contains("version 2"), "{}", stale.text());
    let mut swapped = server.show(&server.riley, &action).await;
    swapped["digest"] = action["digest"].clone();
    assert_eq!(browser.decide(&server, &swapped, "approve").await.status, 409);
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn a_form_that_is_not_from_this_session_is_refused() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let other = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    for csrf in ["", "x", other.csrf.as_str()] {
        let forged = Browser { cookie: browser.cookie.clone(), csrf: csrf.into() };
        forged.decide(&server, &action, "approve").await.problem(403, "origin_not_allowed");
        for path in [
            "/sign-out",
            "/cancel",
            "/grants",
            "/delegations",
            "/freezes",
            "/mode",
            "/mode/fallback",
            "/people",
            "/account/password",
            "/account/password/remove",
            "/account/passkeys",
            "/account/passkeys/remove",
            "/account/recovery-codes",
            "/account/sign-out-everywhere",
        ] {
            forged.form(&server, path, &[]).await.problem(403, "origin_not_allowed");
        }
    }
    // A page of another origin does not even get that far.
    let request = Request::form("/decide", &[("csrf", &browser.csrf)]).header("Cookie", &browser.cookie);
    server.send(request.header("Origin", "http://evil.example")).await.problem(403, "origin_not_allowed");
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
    assert!(browser.page(&server).await.text().contains("send_email"));
}

#[tokio::test]
async fn a_form_that_is_none_of_ours_is_refused() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let digest = action["digest"].as_str().unwrap();
    let csrf = browser.csrf.as_str();
    for fields in [
        vec![],
        vec![("csrf", csrf)],
        vec![
            ("csrf", csrf),
            ("id", id(&action)),
            ("version", "one"),
            ("digest", digest),
            ("decision", "approve"),
        ],
        vec![("csrf", csrf), ("id", "x"), ("version", "1"), ("digest", digest), ("decision", "approve")],
        vec![("csrf", csrf), ("id", id(&action)), ("version", "1"), ("digest", "x"), ("decision", "approve")],
        vec![("csrf", csrf), ("id", id(&action)), ("version", "1"), ("digest", digest), ("decision", "yes")],
    ] {
        browser.submit(&server, "/decide", &fields).await.problem(422, "invalid_request");
    }
    let json = Request::post("/decide", &json!({"csrf": csrf})).header("Cookie", &browser.cookie);
    server.send(json).await.problem(422, "invalid_request");
    let long = "x".repeat(2_000_000);
    browser.submit(&server, "/decide", &[("csrf", &long)]).await.problem(413, "body_too_large");
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn a_reviewer_answers_with_words_for_the_agent() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let wordless =
        browser.about(&server, "/decide", &action, &[("decision", "respond"), ("message", " ")]).await;
    assert_eq!(wordless.status, 409);
    let fields = [("decision", "respond"), ("message", "Use the template."), ("reason", "")];
    assert_eq!(browser.about(&server, "/decide", &action, &fields).await.status, 303);
    let shown = server.show(&server.riley, &action).await;
    assert_eq!(
        (&shown["status"], &shown["resolution"]["message"]),
        (&json!("denied"), &json!("Use the template."))
    );
}

#[tokio::test]
async fn an_edit_is_shown_before_it_is_decided() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"to": "bob", "copies": 2, "urgent": false})).await;
    let path = format!("/actions/{}/edit", id(&action));
    let form = browser.open(&server, &path).await.text();
    for field in ["text:/to", "number:/copies", "json:/urgent"] {
        assert!(form.contains(&format!("name=\"{field}\"")), "{field} in {form}");
    }
    let fields = [("text:/to", "ann\r\nand bob"), ("number:/copies", "3"), ("json:/urgent", "true")];
    let shown = browser.about(&server, &path, &action, &fields).await;
    assert_eq!(shown.status, 200);
    let args = r#"{"copies":3,"to":"ann\nand bob","urgent":true}"#;
    assert!(shown.text().contains("removed: "), "{}", shown.text());
    assert_eq!(hidden(&shown.text(), "args").replace("&quot;", "\""), args);
    assert_eq!(server.show(&server.riley, &action).await["version"], 1, "looking changes nothing");

    let decided = browser.about(&server, "/decide", &action, &[("decision", "modify"), ("args", args)]).await;
    assert_eq!(decided.status, 303, "{}", decided.text());
    let now = server.show(&server.riley, &action).await;
    assert_eq!((&now["status"], &now["version"]), (&json!("authorised"), &json!(2)));
    assert_eq!(now["args"], json!({"to": "ann\nand bob", "copies": 3, "urgent": true}));
}

#[tokio::test]
async fn an_edit_that_makes_no_sense_changes_nothing_and_says_why() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"copies": 2})).await;
    let path = format!("/actions/{}/edit", id(&action));
    for (fields, why) in [
        ([("number:/copies", "many")], "/copies"),
        ([("raw", "{\"a\":1,\"a\":2}")], "One value does not fit"),
        ([("raw", "not json")], "not json"),
    ] {
        let answer = browser.about(&server, &path, &action, &fields).await;
        assert_eq!(answer.status, 409, "{fields:?}");
        assert!(answer.text().contains(why), "{fields:?}: {}", answer.text());
    }
    for args in ["[]", "{\"copies\":2}"] {
        let answer =
            browser.about(&server, "/decide", &action, &[("decision", "modify"), ("args", args)]).await;
        assert_eq!(answer.status, 409, "{args}");
    }
    let broken = browser.about(&server, "/decide", &action, &[("decision", "modify"), ("args", "{")]).await;
    broken.problem(422, "invalid_request");
    assert_eq!(server.show(&server.riley, &action).await["version"], 1);
}

#[tokio::test]
async fn an_edit_of_a_redacted_picture_keeps_what_is_black() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("charge_card", json!({"amount": 50, "card": "4111-1111"})).await;
    let path = format!("/actions/{}/edit", id(&action));
    let form = browser.open(&server, &path).await.text();
    assert!(form.contains("[redacted]") && !form.contains("4111-1111"), "{form}");
    let args = r#"{"amount":40,"card":"[redacted]"}"#;
    let decided = browser.about(&server, "/decide", &action, &[("decision", "modify"), ("args", args)]).await;
    assert_eq!(decided.status, 303, "{}", decided.text());
    let now = server.show(&server.riley, &action).await;
    assert_eq!(now["args"], json!({"amount": 40, "card": "4111-1111"}));
}

#[tokio::test]
async fn an_approval_is_remembered_as_it_was_asked() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("run_tests", json!({"path": "tests/a", "fast": true})).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(page.contains("like:path"), "{page}");
    let fields = [
        ("decision", "approve"),
        ("remember", "args"),
        ("like:path", "tests/*"),
        ("all_sessions", "yes"),
        ("remember_for", "3600"),
    ];
    assert_eq!(browser.about(&server, "/decide", &action, &fields).await.status, 303);
    let body = json!({"tool": "run_tests", "args": {"path": "tests/b", "fast": true}});
    assert_eq!(server.propose_as(&server.riley, body).await["status"], "authorised");
    let body = json!({"tool": "run_tests", "args": {"path": "src", "fast": true}});
    assert_eq!(server.propose_as(&server.riley, body).await["status"], "pending");
    // A denial remembers nothing, whatever the form says.
    let other = server.propose("run_tests", json!({"path": "other"})).await;
    let fields = [("decision", "deny"), ("remember", "tool"), ("remember_for", "3600")];
    assert_eq!(browser.about(&server, "/decide", &other, &fields).await.status, 303);
}

#[tokio::test]
async fn of_two_who_decide_the_second_learns_who_was_first() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    server.decide(&server.ann, &action, json!({"decision": "deny", "reason": "not today"})).await.ok(200);
    let late = browser.decide(&server, &action, "approve").await;
    assert_eq!(late.status, 409);
    let page = late.text();
    for word in ["Not done", "ann", "not today", "denied"] {
        assert!(page.contains(word), "{word} in {page}");
    }
    assert!(!page.contains("data-approve"), "there is nothing left to press: {page}");
}

#[tokio::test]
async fn what_has_expired_cannot_be_approved() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    server.jump(std::time::Duration::from_secs(3601));
    let late = browser.decide(&server, &action, "approve").await;
    assert_eq!(late.status, 409);
    assert!(late.text().contains("expired"), "{}", late.text());
}

#[tokio::test]
async fn what_is_authorised_can_be_taken_back() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    browser.decide(&server, &action, "approve").await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(page.contains("Take it back"), "{page}");
    assert_eq!(browser.about(&server, "/cancel", &action, &[("reason", "no")]).await.status, 303);
    assert_eq!(server.show(&server.riley, &action).await["status"], "revoked");
    assert_eq!(browser.about(&server, "/cancel", &action, &[]).await.status, 409);
}

#[tokio::test]
async fn what_a_page_leaves_out_is_seen_before_it_is_approved() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let mut wide: serde_json::Map<_, _> = (0..1500).map(|n| (format!("a{n:04}"), json!(n))).collect();
    wide.insert("zz_to".into(), json!("attacker@example.com"));
    let action = server.propose("send_email", json!(wide)).await;
    let path = format!("/actions/{}", id(&action));
    let usual = browser.open(&server, &path).await.text();
    let approve = "name=\"decision\" value=\"approve\"";
    let table = |page: &str| page.split("<details class=\"exact\">").next().unwrap().to_owned();
    assert!(table(&usual).contains("attacker@example.com") && !table(&usual).contains("a1200"));
    assert!(!usual.contains(approve) && usual.contains("value=\"deny\""), "{usual}");
    assert!(usual.contains(&format!("{path}?all=yes")));
    let whole = browser.open(&server, &format!("{path}?all=yes")).await.text();
    assert!((0..1500).all(|n| table(&whole).contains(&format!("a{n:04}"))));
    assert!(whole.contains(approve));
}

/// What an agent says its arguments are.
fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "required": ["to", "when"],
        "additionalProperties": false,
        "properties": {
            "to": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/person"}},
            "when": {"type": "object", "required": ["hour"], "properties": {"hour": {"type": "integer", "minimum": 0, "maximum": 23}}},
            "tone": {"enum": ["formal", "plain"]},
            "copy": {"type": "boolean"},
            "pin": {"type": "string", "maxLength": 4},
        },
        "$defs": {"person": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 2}}}},
    })
}

#[tokio::test]
async fn the_form_is_drawn_from_the_schema_and_says_at_the_field_what_does_not_fit() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let args = json!({"to": [{"name": "Ann"}], "when": {"hour": 9}});
    let action = server
        .propose_as(&server.riley, json!({"tool": "send_email", "args": args, "args_schema": schema()}))
        .await;
    let path = format!("/actions/{}/edit", id(&action));
    let form = browser.open(&server, &path).await.text();
    for part in [
        "name=\"text:/to/0/name\"",
        "name=\"number:/when/hour\"",
        "name=\"more:/to\"",
        "name=\"json:/tone\"",
        "name=\"json:/copy\"",
        "name=\"optional:/pin\"",
        "a whole number, at least 0, at most 23",
    ] {
        assert!(form.contains(part), "{part} in {form}");
    }
    let fields = |hour, name| {
        vec![
            ("object:", ""),
            ("list:/to", ""),
            ("object:/to/0", ""),
            ("text:/to/0/name", name),
            ("object:/when", ""),
            ("number:/when/hour", hour),
            ("json:/tone", "\"plain\""),
            ("json:/copy", ""),
            ("optional:/pin", ""),
        ]
    };
    // One more, without scripts: the form comes back with an empty one.
    let more = [fields("9", "Ann"), vec![("more:/to", "")]].concat();
    let grown = browser.about(&server, &path, &action, &more).await;
    assert_eq!(grown.status, 200);
    assert!(grown.text().contains("name=\"text:/to/1/name\""), "{}", grown.text());
    assert!(!grown.text().contains("Approve this instead"));

    let wrong = browser.about(&server, &path, &action, &fields("25", "A")).await;
    assert_eq!(wrong.status, 409);
    for field in ["field/when/hour-wrong", "field/to/0/name-wrong"] {
        assert!(wrong.text().contains(&format!("aria-describedby=\"{field}\"")), "{field}: {}", wrong.text());
        assert!(wrong.text().contains(&format!("id=\"{field}\"")), "{field}");
    }
    assert!(wrong.text().contains("2 values do not fit.") && !wrong.text().contains("Approve this instead"));

    let right = browser.about(&server, &path, &action, &fields("17", "Bo")).await;
    assert_eq!(right.status, 200, "{}", right.text());
    let args = hidden(&right.text(), "args").replace("&quot;", "\"");
    assert_eq!(args, r#"{"to":[{"name":"Bo"}],"tone":"plain","when":{"hour":17}}"#);
    let missing = [("object:", ""), ("list:/to", ""), ("object:/when", "")];
    let missing = browser.about(&server, &path, &action, &missing).await;
    assert!(missing.text().contains("field/when/hour-wrong"), "{}", missing.text());
}

#[tokio::test]
async fn what_does_not_fit_is_said_without_what_is_black() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let schema = json!({"properties": {"amount": {"maximum": 10}, "card": {"type": "string"}}});
    let body =
        json!({"tool": "charge_card", "args": {"amount": 5, "card": "4111-1111"}, "args_schema": schema});
    let action = server.propose_as(&server.riley, body).await;
    let path = format!("/actions/{}/edit", id(&action));
    let wrong =
        browser.about(&server, &path, &action, &[("raw", r#"{"amount":11,"card":"[redacted]"}"#)]).await;
    assert_eq!(wrong.status, 409);
    assert!(wrong.text().contains("/amount") && !wrong.text().contains("4111-1111"), "{}", wrong.text());
}

#[tokio::test]
async fn an_edited_action_shows_what_was_edited_without_what_is_black() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("delete_customer", json!({"id": 17, "why": "asked for it"})).await;
    let change =
        json!({"decision": "modify", "args": {"id": 18, "why": "asked for it"}, "reason": "another one"});
    server.decide(&server.ann, &action, change).await.ok(200);
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(page.contains("What was edited: version 1 to 2"), "{page}");
    assert!(page.contains("removed: ") && page.contains("17") && page.contains("18"), "{page}");

    let secret = server.propose("charge_card", json!({"amount": 50, "card": "4111-1111"})).await;
    let change = json!({"decision": "modify", "args": {"amount": 40, "card": "[redacted]"}});
    server.decide(&server.ann, &secret, change).await.ok(200);
    let page = browser.open(&server, &format!("/actions/{}", id(&secret))).await.text();
    assert!(page.contains("What was edited: version 1 to 2") && !page.contains("4111-1111"), "{page}");
}

#[tokio::test]
async fn a_second_attempt_is_shown_beside_the_first() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let first = server.propose("send_email", json!({"to": "everyone", "subject": "Hi"})).await;
    server
        .decide(&server.ann, &first, json!({"decision": "respond", "message": "fewer people"}))
        .await
        .ok(200);
    let second = server.propose("send_email", json!({"to": "bob", "subject": "Hi"})).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&second))).await.text();
    assert!(page.contains("What differs from the last one that was answered (denied)"), "{page}");
    assert!(page.contains("everyone"), "{page}");
}
