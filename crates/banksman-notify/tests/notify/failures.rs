//! What providers do on bad days.

use std::time::{Duration, Instant};

use banksman_faults::{Conduct, Service};
use banksman_notify::{Channel, SendError};

use crate::fixture::{ask, local};
use crate::line::line;
use crate::slack::slack;
use crate::webhook::webhook;

fn channels(service: &Service) -> Vec<Box<dyn Channel>> {
    vec![Box::new(slack(service)), Box::new(line(service)), Box::new(webhook(local(), &service.url()))]
}

#[tokio::test]
async fn what_a_status_means_is_the_same_for_all() {
    for (status, later) in [
        (301, false),
        (307, false),
        (400, false),
        (401, false),
        (403, false),
        (404, false),
        (410, false),
        (408, true),
        (425, true),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (504, true),
    ] {
        let service = Service::start(move |_, _| Conduct::answer(status, "\u{1b}[31m no\r\n")).unwrap();
        for channel in channels(&service) {
            let error = channel.send(&ask("U1")).await.unwrap_err();
            assert_eq!(
                matches!(error, SendError::Later { .. }),
                later,
                "{} {status}: {error}",
                channel.kind()
            );
            let words = error.to_string();
            assert!(words.contains(&status.to_string()) && !words.chars().any(char::is_control), "{words:?}");
        }
    }
}

#[tokio::test]
async fn whoever_wants_to_be_left_alone_is_but_not_for_ever() {
    for (wish, expected) in
        [("30", Some(30)), ("999999999", Some(3600)), ("-1", None), ("soon", None), ("", None)]
    {
        let wish = wish.to_owned();
        let service = Service::start(move |_, _| Conduct::Answer {
            status: 429,
            headers: vec![("retry-after", wish.clone())],
            body: Vec::new(),
        })
        .unwrap();
        for channel in channels(&service) {
            let SendError::Later { after, .. } = channel.send(&ask("U1")).await.unwrap_err() else {
                panic!("{} gave up", channel.kind())
            };
            assert_eq!(after, expected.map(Duration::from_secs), "{}", channel.kind());
        }
    }
}

#[tokio::test]
async fn a_line_that_breaks_and_an_answer_without_end_are_survived() {
    for conduct in [Conduct::HangUp, Conduct::EndlessHead] {
        let service = Service::start(move |_, _| conduct.clone()).unwrap();
        for channel in channels(&service) {
            let error = channel.send(&ask("U1")).await.unwrap_err();
            assert!(matches!(error, SendError::Later { .. }), "{}: {error}", channel.kind());
        }
    }
    // A status is enough for those who need no more; Slack says in the body whether it took the message.
    let service = Service::start(|_, _| Conduct::EndlessBody).unwrap();
    for channel in channels(&service) {
        let sent = channel.send(&ask("U1")).await;
        assert_eq!(sent.is_err(), channel.kind() == "slack", "{}", channel.kind());
    }
}

#[tokio::test]
async fn silence_and_dripping_end_in_time_and_all_at_once() {
    for conduct in [Conduct::Silence, Conduct::Drip] {
        let service = Service::start(move |_, _| conduct.clone()).unwrap();
        let begun = Instant::now();
        let mut tries = tokio::task::JoinSet::new();
        for channel in channels(&service) {
            tries.spawn(async move { (channel.kind(), channel.send(&ask("U1")).await) });
        }
        while let Some(tried) = tries.join_next().await {
            let (kind, sent) = tried.unwrap();
            assert!(matches!(sent, Err(SendError::Later { .. })), "{kind}: {sent:?}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn no_error_tells_a_secret() {
    let service = Service::start(|_, _| Conduct::answer(401, "no")).unwrap();
    for channel in channels(&service) {
        let error = channel.send(&ask("U1")).await.unwrap_err().to_string();
        assert!(
            !error.contains("xoxb") && !error.contains("channel-token") && !error.contains("whsec"),
            "{error}"
        );
    }
}
