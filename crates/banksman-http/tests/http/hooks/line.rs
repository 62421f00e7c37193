//! People on LINE.

use serde_json::json;

use super::{CHANNEL, House, from_line, tap};

#[tokio::test]
async fn a_tap_decides_once_however_often_line_delivers_it() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let event = tap(&house, "01EVENT", Some("ANN"), "approve", &action);
    assert_eq!(
        house.words(from_line(std::slice::from_ref(&event), CHANNEL)).await,
        "Approved. It may run once. (send_email)"
    );
    let decided = house.audit("decided").await;
    assert_eq!((decided.len(), &decided[0]["via"]), (1, &json!("line")));
    let mut again = event.clone();
    again["deliveryContext"]["isRedelivery"] = json!(true);
    for event in [event, again] {
        house.server.send(from_line(&[event], CHANNEL)).await.ok(200);
    }
    assert_eq!(house.refusals(2).await, ["replayed via line", "replayed via line"]);
    assert_eq!(house.audit("decided").await.len(), 1);
    // Nobody was answered a second time.
    assert_eq!(house.provider.heard().len(), 1);
}

#[tokio::test]
async fn in_a_group_that_hides_who_it_is_nothing_is_decided() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let said = house.words(from_line(&[tap(&house, "01E", None, "approve", &action)], CHANNEL)).await;
    assert!(said.ends_with("Use the one-to-one chat."), "{said}");
    assert_eq!(house.status(&action).await, "pending");
    assert_eq!(house.refusals(1).await, ["nobody via line"]);
}

#[tokio::test]
async fn a_stranger_decides_nothing_and_learns_their_id_when_they_write() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let said = house.words(from_line(&[tap(&house, "01E", Some("EVE"), "approve", &action)], CHANNEL)).await;
    assert!(said.starts_with("You may not decide"), "{said}");
    assert_eq!(house.status(&action).await, "pending");
    let mut hello = tap(&house, "02E", Some("EVE"), "approve", &action);
    hello["type"] = json!("message");
    let said = house.words(from_line(&[hello], CHANNEL)).await;
    assert!(said.contains("Your id is EVE"), "{said}");
    let refused = house.audit("inbound_refused").await;
    assert_eq!((refused.len(), &refused[0]["who"]), (1, &json!("EVE")));
}

#[tokio::test]
async fn who_writes_is_answered_once_however_often_line_delivers_it() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let mut hello = tap(&house, "03E", Some("EVE"), "approve", &action);
    hello["type"] = json!("message");
    house.words(from_line(std::slice::from_ref(&hello), CHANNEL)).await;
    house.server.send(from_line(&[hello], CHANNEL)).await.ok(200);
    assert_eq!(house.refusals(1).await, ["replayed via line"]);
    assert_eq!(house.provider.heard().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_told_to_end_first_does_what_it_has_taken() {
    let house = House::start().await;
    house.provider.change(|_, _| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        banksman_faults::Conduct::answer(200, "{}")
    });
    let mut events = Vec::new();
    let mut actions = Vec::new();
    for n in 0..6 {
        let action = house.server.propose("send_email", json!({ "n": n })).await;
        events.push(tap(&house, &format!("E{n}"), Some("ANN"), "deny", &action));
        actions.push(action);
    }
    house.server.send(from_line(&events, CHANNEL)).await.ok(200);
    house.server.end().await;
    assert_eq!(
        house.provider.heard().len(),
        6,
        "LINE was told that they were taken, and does not send them again"
    );
    for action in actions {
        let case = house.server.engine.case(super::id(&action).parse().unwrap()).await.unwrap();
        assert_eq!(case.status().as_str(), "denied");
    }
}

#[tokio::test]
async fn of_many_taps_at_once_one_decides_and_each_is_told() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let events: Vec<_> = (0..8)
        .map(|n| {
            let (who, decision) = if n % 2 == 0 { ("ANN", "approve") } else { ("BEN", "deny") };
            tap(&house, &format!("E{n}"), Some(who), decision, &action)
        })
        .collect();
    let sent = events.iter().map(|event| house.server.send(from_line(std::slice::from_ref(event), CHANNEL)));
    for answer in futures_util::future::join_all(sent).await {
        answer.ok(200);
    }
    house.refusals(7).await;
    assert_eq!(house.audit("decided").await.len(), 1);
}

#[tokio::test]
async fn several_events_in_one_request_are_several() {
    let house = House::start().await;
    let (one, two) = (house.held("send_email").await, house.held("run_tests").await);
    let mut bad = tap(&house, "E0", Some("ANN"), "approve", &one);
    bad["postback"]["data"] = json!("action=approve");
    let events =
        [bad, tap(&house, "E1", Some("ANN"), "approve", &one), tap(&house, "E2", Some("BEN"), "deny", &two)];
    house.server.send(from_line(&events, CHANNEL)).await.ok(200);
    while house.provider.heard().len() < 2 {
        house.told(house.provider.heard().len()).await;
    }
    assert_eq!(house.refusals(1).await, ["unreadable via line"]);
    assert_eq!((house.status(&one).await, house.status(&two).await), ("authorised".into(), "denied".into()));
}
