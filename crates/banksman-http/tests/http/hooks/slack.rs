//! People on Slack.

use std::time::Duration;

use banksman_core::Risk;
use serde_json::{Value, json};

use super::{House, SIGNING, from_slack, press, pressed};

#[tokio::test]
async fn whoever_may_decides_by_a_button_and_the_log_says_where() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    assert_eq!(
        pressed(&house, "ANN", "decide:approve", &action).await,
        "Approved. It may run once. (send_email)"
    );
    let shown = house.server.show(&house.server.ann, &action).await;
    assert_eq!((&shown["status"], &shown["votes"][0]["by"]), (&json!("authorised"), &json!("ann")));
    let decided = house.audit("decided").await;
    assert_eq!((&decided[0]["via"], &decided[0]["actor"]["name"]), (&json!("slack"), &json!("ann")));
    // And it runs, once.
    house.server.claim(&house.server.riley, &action).await.ok(200);
}

#[tokio::test]
async fn a_denial_ends_it() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    assert_eq!(pressed(&house, "BEN", "decide:deny", &action).await, "Denied. It will not run. (send_email)");
    assert_eq!(house.status(&action).await, "denied");
}

#[tokio::test]
async fn nobody_gets_more_rights_than_in_the_console() {
    let house = House::start().await;
    for (who, tool, words, why) in [
        ("EVE", "send_email", "You may not decide: you are not among", "stranger"),
        ("GHOST", "send_email", "You may not decide: your access to Banksman has ended", "no_rights"),
        ("OLGA", "send_email", "You may not decide this: nobody approves what they", "self_approval"),
        (
            "ANN",
            "pay",
            "You may not decide this: an approval by someone with one of these roles",
            "missing_role",
        ),
        ("ANN", "fire", "Nothing was decided: a decision on this action needs a reason", "reason_required"),
    ] {
        let action = house.held(tool).await;
        let said = pressed(&house, who, "decide:approve", &action).await;
        assert!(said.starts_with(words), "{who} {tool}: {said}");
        assert_eq!(house.status(&action).await, "pending", "{who} {tool}");
        assert_eq!(house.audit("inbound_refused").await[0]["why"], why);
        assert_eq!(house.audit("inbound_refused").await[0]["about"], action["id"]);
        house.server.cancel(&house.server.riley, &action, json!({})).await.ok(200);
    }
    let action = house.held("pay").await;
    assert!(pressed(&house, "BEN", "decide:approve", &action).await.starts_with("Approved."));
}

#[tokio::test]
async fn rights_that_were_taken_away_are_gone_at_once() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let tokens = house.server.engine.tokens().await.unwrap();
    for token in tokens.iter().filter(|token| token.name == "ann") {
        house.server.engine.revoke_token(token.id, banksman_core::Actor::Operator).await.unwrap();
    }
    let payload = press(&house, "ANN", "decide:approve", &action);
    let said = house.words(from_slack(&payload, house.now(), SIGNING)).await;
    assert!(said.starts_with("You may not decide: your access"), "{said}");
    let shown = house.server.show(&house.server.ben, &action).await;
    assert_eq!(shown["status"], "pending");
}

#[tokio::test]
async fn one_alone_is_no_quorum_and_twice_is_still_one() {
    let house = House::deciding_up_to(Some(Risk::Critical)).await;
    let action = house.held("delete_customer").await;
    assert_eq!(
        pressed(&house, "ANN", "decide:approve", &action).await,
        "Your approval counts: 1 of 2. (delete_customer)"
    );
    house.server.jump(Duration::from_secs(1));
    let again = pressed(&house, "ANN", "decide:approve", &action).await;
    assert!(again.starts_with("You have approved it already: 1 of 2."), "{again}");
    assert_eq!(house.status(&action).await, "pending");
    assert!(pressed(&house, "BEN", "decide:approve", &action).await.starts_with("Approved."));
}

#[tokio::test]
async fn what_is_too_risky_for_a_channel_is_approved_elsewhere_and_denied_anywhere() {
    let house = House::start().await;
    let action = house.held("delete_customer").await;
    let said = pressed(&house, "ANN", "decide:approve", &action).await;
    assert!(said.starts_with("This is not decided here."), "{said}");
    assert_eq!(house.status(&action).await, "pending");
    assert_eq!(house.refusals(1).await, ["not_here via slack"]);
    assert!(pressed(&house, "ANN", "decide:deny", &action).await.starts_with("Denied."));
}

#[tokio::test]
async fn what_needs_its_page_is_not_approved_by_a_card_that_should_have_no_button() {
    let house = House::start().await;
    for args in
        [json!({"to": "ann@p\u{430}ypal.com"}), json!({"to": "ann@example.org", "text": "x".repeat(400)})]
    {
        let action = house.server.propose("send_email", args.clone()).await;
        for button in ["decide:approve", "explain:modify"] {
            let said = pressed(&house, "ANN", button, &action).await;
            assert!(said.starts_with("This is not decided here."), "{button} {args}: {said}");
            house.server.jump(Duration::from_secs(1));
        }
        assert_eq!(house.status(&action).await, "pending", "{args}");
        assert!(pressed(&house, "ANN", "decide:deny", &action).await.starts_with("Denied."), "{args}");
    }
}

#[tokio::test]
async fn what_was_decided_or_expired_or_changed_meanwhile_stays_as_it_is_and_says_so() {
    let house = House::start().await;
    let decided = house.held("send_email").await;
    house.server.approve(&house.server.ben, &decided).await;
    let said = pressed(&house, "ANN", "decide:deny", &decided).await;
    assert!(said.starts_with("Already decided: approved by ben."), "{said}");
    assert_eq!(house.status(&decided).await, "authorised");

    let edited = house.held("pay").await;
    let more = json!({"decision": "modify", "args": {"forbidden": false, "to": "x"}});
    house.server.decide(&house.server.ben, &edited, more).await;
    let changed = house.held("run_tests").await;
    let other = json!({"id": changed["id"], "version": 1, "digest": decided["digest"]});
    let said = pressed(&house, "ANN", "decide:approve", &other).await;
    assert!(said.starts_with("It has changed since this was sent."), "{said}");
    let newer = json!({"id": changed["id"], "version": 2, "digest": changed["digest"]});
    assert!(pressed(&house, "ANN", "decide:approve", &newer).await.starts_with("It has changed"));
    assert_eq!(house.status(&changed).await, "pending");

    house.server.pass(Duration::from_secs(3601)).await;
    let said = pressed(&house, "ANN", "decide:approve", &changed).await;
    assert!(said.starts_with("This request has expired. It did not run."), "{said}");
    assert_eq!(house.status(&changed).await, "expired");
}

/// Opens the dialogue behind a button; gives it as Slack was told to show it.
async fn opened(house: &House, button: &str, action: &Value) -> Value {
    let before = house.provider.heard().len();
    let payload = press(house, "ANN", button, action);
    house.server.send(from_slack(&payload, house.now(), SIGNING)).await.ok(200);
    let told = house.told(before).await;
    assert_eq!(told[0].path, "/api/views.open");
    serde_json::from_slice::<Value>(&told[0].body).unwrap()["view"].clone()
}

async fn submit(house: &House, view: &Value, typed: Value) -> String {
    let payload = json!({
        "type": "view_submission",
        "user": { "id": "ANN" },
        "view": {
            "callback_id": view["callback_id"],
            "private_metadata": view["private_metadata"],
            "state": { "values": typed },
        },
    });
    house.words(from_slack(&payload, house.now(), SIGNING)).await
}

#[tokio::test]
async fn a_reason_that_policy_wants_is_asked_for_and_kept() {
    let house = House::start().await;
    let action = house.held("fire").await;
    let view = opened(&house, "explain:approve", &action).await;
    assert_eq!(house.status(&action).await, "pending");
    let typed = json!({ "reason": { "reason": { "value": "asked her twice" } } });
    assert!(submit(&house, &view, typed).await.starts_with("Approved."));
    assert_eq!(house.audit("decided").await[0]["reason"], "asked her twice");
}

#[tokio::test]
async fn words_for_the_agent_reach_the_agent() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let view = opened(&house, "explain:respond", &action).await;
    let typed = json!({ "reason": { "reason": { "value": "Ask the customer first." } } });
    assert!(submit(&house, &view, typed).await.starts_with("Denied."));
    let shown = house.server.show(&house.server.riley, &action).await;
    assert_eq!(shown["resolution"]["message"], "Ask the customer first.");
}

#[tokio::test]
async fn an_edit_runs_instead_and_what_was_redacted_stays_what_it_was() {
    let house = House::start().await;
    let args = json!({"card": "4111111111111111", "amount": 50});
    let action = house.server.propose("charge_card", args).await;
    let view = opened(&house, "explain:modify", &action).await;
    let shown = view["blocks"][1]["element"]["initial_value"].as_str().unwrap();
    assert!(!view.to_string().contains("41111111") && shown.contains("[redacted]"), "{view}");
    let typed = |text: &str| json!({ "arguments": { "arguments": { "value": text } } });
    let said = submit(&house, &view, typed("{\"amount\": ")).await;
    assert!(said.starts_with("Nothing was decided: the arguments are not JSON"), "{said}");
    let said = submit(&house, &view, typed(&shown.replace("50", "40"))).await;
    assert!(said.starts_with("Edited and approved."), "{said}");
    let shown = house.server.show(&house.server.riley, &action).await;
    assert_eq!(shown["args"], json!({"card": "4111111111111111", "amount": 40}));
    assert_eq!(house.audit("modified").await[0]["via"], "slack");
}
