//! `/join/passkey`, `/sign-in/passkey`, `/account/passkeys`: passkeys, and everything that is not one.

use super::key::{Answer, AtHome, Key, b64, challenge};
use super::{cookie_of, told};
use crate::server::Server;

fn with(answer: &Answer, name: &str, value: String) -> Answer {
    answer
        .iter()
        .map(|(known, old)| (*known, if *known == name { value.clone() } else { old.clone() }))
        .collect()
}

#[tokio::test]
async fn an_invitation_is_accepted_with_a_passkey_that_then_signs_in() {
    let server = Server::start().await;
    let mut key = Key::new("key-1");
    let joined = AtHome::invited(&server, "ann-marie", &["finance"], &mut key).await;
    assert!(joined.open("/account").await.text().contains("blue key"));

    let door = AtHome::stranger(&server);
    let page = door.open("/sign-in?next=/audit").await.text();
    let answer = key.sign(&challenge(&page), &door.origin());
    let came_in = door.submit("/sign-in/passkey", &[("next", "/audit")], &answer).await;
    assert_eq!((came_in.status, came_in.header("location")), (303, Some("/audit")), "{}", came_in.text());
    assert_ne!(cookie_of(&came_in), joined.cookie, "every session is a new one");

    // The same answer again, however soon, lets nobody in.
    let again = door.submit("/sign-in/passkey", &[], &answer).await;
    assert_eq!((again.status, again.header("set-cookie")), (403, None));
    assert!(again.text().contains("used before"), "{}", again.text());
}

#[tokio::test]
async fn what_is_not_quite_a_passkeys_answer_lets_nobody_in() {
    let server = Server::start().await;
    let mut key = Key::new("key-1");
    AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let door = AtHome::stranger(&server);
    let asked = || async { challenge(&door.open("/sign-in").await.text()) };
    let origin = door.origin();
    let good = key.sign(&asked().await, &origin);
    let mut stranger = Key::new("key-1");
    let mut unknown = Key::new("key-2");
    let mut wrong = vec![
        ("another's key under the same id", stranger.sign(&asked().await, &origin)),
        ("a key that nobody has", unknown.sign(&asked().await, &origin)),
        ("a page of elsewhere", key.sign(&asked().await, "http://evil.example")),
        ("a question that we did not ask", key.sign(&b64(&[7; 40]), &origin)),
        ("nobody there", key.sign_with(&asked().await, &origin, 0x04)),
        ("nobody recognised", key.sign_with(&asked().await, &origin, 0x01)),
        ("no signature", with(&good, "signature", String::new())),
        ("garbage", with(&good, "client_data", "%%%".into())),
        ("other words of the browser", with(&good, "client_data", b64(b"{}"))),
    ];
    key.rewind();
    wrong.push(("a copy that counts less", key.sign(&asked().await, &origin)));
    for (what, answer) in &wrong {
        let refused = door.submit("/sign-in/passkey", &[], answer).await;
        assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{what}: {}", refused.text());
    }
    let came_in = door.submit("/sign-in/passkey", &[], &good).await;
    assert_eq!(came_in.status, 303, "{}", came_in.text());
}

#[tokio::test]
async fn an_old_question_is_not_answered_any_more() {
    let server = Server::start().await;
    let mut key = Key::new("key-1");
    AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let door = AtHome::stranger(&server);
    let asked = challenge(&door.open("/sign-in").await.text());
    server.jump(std::time::Duration::from_secs(301));
    let late = door.submit("/sign-in/passkey", &[], &key.sign(&asked, &door.origin())).await;
    assert_eq!(late.status, 403);
    assert!(late.text().contains("too old"), "{}", late.text());
}

#[tokio::test]
async fn passkeys_are_kept_and_given_up_by_whoever_signed_in_just_now() {
    let server = Server::start().await;
    let (mut first, mut second) = (Key::new("key-1"), Key::new("key-2"));
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut first).await;
    let question = challenge(&ann.open("/account").await.text());
    let answer = second.create(&question, &ann.origin());
    let add = || ann.submit("/account/passkeys", &[], &answer);
    assert_eq!(told(&add().await), Some("/account?said=passkey-added"));
    assert_eq!(add().await.status, 409, "known already");
    let remove = |id: &'static str| {
        let id = b64(id.as_bytes());
        let ann = &ann;
        async move { ann.submit("/account/passkeys/remove", &[("passkey", &id)], &Vec::new()).await }
    };
    assert_eq!(told(&remove("key-1").await), Some("/account?said=passkey-removed"));
    let last = remove("key-2").await;
    assert_eq!(last.status, 409);
    assert!(last.text().contains("last way"), "{}", last.text());
    // What was given up signs nobody in.
    let door = AtHome::stranger(&server);
    let asked = challenge(&door.open("/sign-in").await.text());
    assert_eq!(door.submit("/sign-in/passkey", &[], &first.sign(&asked, &door.origin())).await.status, 403);
    // A browser that was left open is not enough.
    server.jump(std::time::Duration::from_secs(16 * 60));
    let question = challenge(&ann.open("/account").await.text());
    let stale =
        ann.submit("/account/passkeys", &[], &Key::new("key-3").create(&question, &ann.origin())).await;
    assert_eq!(stale.status, 409);
    assert!(stale.text().contains("sign in again"), "{}", stale.text());
}

#[tokio::test]
async fn a_question_for_one_person_is_not_answered_for_another() {
    let server = Server::start().await;
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut Key::new("key-1")).await;
    let bob = AtHome::invited(&server, "bob-dylan", &[], &mut Key::new("key-2")).await;
    let anns = challenge(&ann.open("/account").await.text());
    let answer = Key::new("key-3").create(&anns, &bob.origin());
    assert_eq!(bob.submit("/account/passkeys", &[], &answer).await.status, 409);
}

#[tokio::test]
async fn where_passkeys_do_not_work_the_page_says_where_they_do() {
    let server = Server::start().await;
    let page = server.send(crate::client::Request::get("/sign-in")).await.text();
    assert!(!page.contains("data-challenge"), "{page}");
    assert!(page.contains(&format!("http://localhost:{}", server.address.port())), "{page}");
}
