//! Calls over real sockets, to services that answer in every way there is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops; helpers here are test code too")]

mod tls;

use std::time::{Duration, Instant};

use banksman_faults::{Conduct, Service};
use banksman_outward::{Answer, Call, CallError, Outward, Reach};
use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

fn local() -> Outward {
    Outward::new(Reach::and(vec!["127.0.0.0/8".parse().unwrap()]))
}

async fn call(outward: &Outward, url: &str) -> Result<Answer, CallError> {
    let call = Call {
        method: Method::POST,
        url: &url.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}"),
        within: Duration::from_secs(1),
        at_most: 10_000,
    };
    outward.call(call).await
}

#[tokio::test]
async fn a_service_gets_what_was_sent_and_its_answer_is_read() {
    let answer =
        Conduct::Answer { status: 201, headers: vec![("retry-after", "7".into())], body: b"done".to_vec() };
    let service = Service::start(move |_, _| answer.clone()).unwrap();
    let answer = call(&local(), &format!("{}/a/b?c=d%20e#f", service.url())).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.body.as_ref(), answer.cut), (201, b"done".as_slice(), false));
    assert_eq!(answer.retry_after(), Some(Duration::from_secs(7)));
    let heard = service.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", "/a/b?c=d%20e"));
    assert_eq!(heard.body, b"{}");
    assert_eq!(heard.header("host"), Some(format!("127.0.0.1:{}", service.port()).as_str()));
}

#[tokio::test]
async fn nothing_that_is_not_public_is_called_however_it_is_spelled() {
    let service = Service::start(|_, _| Conduct::answer(200, "secret")).unwrap();
    let port = service.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        for scheme in ["http", "https"] {
            let error = call(&Outward::new(Reach::public()), &format!("{scheme}://{host}:{port}/"))
                .await
                .unwrap_err();
            assert!(matches!(error, CallError::NotPublic { .. }) && error.is_lasting(), "{host}: {error}");
        }
    }
    assert!(service.heard().is_empty());
}

#[tokio::test]
async fn what_is_public_is_not_called_without_tls() {
    let error = call(&local(), "http://1.1.1.1/").await.unwrap_err();
    assert!(matches!(error, CallError::NotSecret { .. }) && error.is_lasting(), "{error}");
}

#[tokio::test]
async fn other_schemes_and_names_in_addresses_are_not_called() {
    for url in ["ftp://example.org/", "file:///etc/passwd", "http://ann@127.0.0.1/", "http://:pw@127.0.0.1/"]
    {
        let error = call(&local(), url).await.unwrap_err();
        assert!(matches!(error, CallError::BadUrl(_)) && error.is_lasting(), "{url}: {error}");
    }
}

#[tokio::test]
async fn redirects_are_answers() {
    let other = Service::start(|_, _| Conduct::answer(200, "")).unwrap();
    let location = other.url();
    let service = Service::start(move |_, _| Conduct::Answer {
        status: 307,
        headers: vec![("location", location.clone())],
        body: Vec::new(),
    })
    .unwrap();
    assert_eq!(call(&local(), &service.url()).await.unwrap().status.as_u16(), 307);
    assert!(other.heard().is_empty());
}

#[tokio::test]
async fn nobody_keeps_us_for_longer_than_a_call_may_take() {
    for conduct in [Conduct::Silence, Conduct::Drip] {
        let service = Service::start(move |_, _| conduct.clone()).unwrap();
        let begun = Instant::now();
        let error = call(&local(), &service.url()).await.unwrap_err();
        assert!(matches!(error, CallError::TooSlow { .. }) && !error.is_lasting(), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn a_giant_answer_is_read_to_its_limit_and_no_further() {
    let service = Service::start(|_, _| Conduct::EndlessBody).unwrap();
    let answer = call(&local(), &service.url()).await.unwrap();
    assert_eq!((answer.body.len(), answer.cut), (10_000, true));
    let service = Service::start(|_, _| Conduct::EndlessHead).unwrap();
    assert!(matches!(call(&local(), &service.url()).await, Err(CallError::Broken { .. })));
}

#[tokio::test]
async fn a_line_that_breaks_and_a_port_without_anyone_are_worth_another_try() {
    let service = Service::start(|_, _| Conduct::HangUp).unwrap();
    let error = call(&local(), &service.url()).await.unwrap_err();
    assert!(matches!(error, CallError::Broken { .. }) && !error.is_lasting(), "{error}");
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let error = call(&local(), &format!("http://{gone}/")).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }) && !error.is_lasting(), "{error}");
    let error = call(&local(), "https://no-such-host.invalid/").await.unwrap_err();
    assert!(matches!(error, CallError::Unresolved { .. }) && !error.is_lasting(), "{error}");
}

#[tokio::test]
async fn errors_do_not_tell_the_path_which_may_be_a_secret() {
    let url: Url = "http://127.0.0.1:1/hooks/T00/B00/XXXX?token=YYYY".parse().unwrap();
    let error = call(&local(), url.as_str()).await.unwrap_err().to_string();
    assert!(!error.contains("XXXX") && !error.contains("YYYY"), "{error}");
}
