//! A provider on a socket, whose keys change and whose words can be wrong.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::token::tests::Key;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// What the provider answers, and what it was asked.
#[derive(Default)]
struct Desk {
    keys: Vec<Value>,
    token: String,
    /// What discovery says besides, or instead.
    more: Value,
    asked: Vec<String>,
}

async fn provider() -> (Provider, Arc<Mutex<Desk>>, String) {
    let (desk, issuer) = desk().await;
    let provider = Provider::new(config(&issuer), "http://localhost:7447");
    (provider, desk, issuer)
}

fn config(issuer: &str) -> Config {
    let file = format!(
        "version: 1\nprovider: {{label: Local, issuer: '{issuer}', client_id: banksman, roles_claim: groups, admit: [{{value: \
         crew, roles: [finance]}}]}}"
    );
    Config::parse("identity.yaml", &file).unwrap()
}

async fn desk() -> (Arc<Mutex<Desk>>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let desk = Arc::new(Mutex::new(Desk::default()));
    let (served, own) = (Arc::clone(&desk), issuer.clone());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (desk, issuer) = (Arc::clone(&served), own.clone());
            tokio::spawn(async move {
                let mut bytes = vec![0; 16 * 1024];
                let length = socket.read(&mut bytes).await.unwrap();
                let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
                let answer = {
                    let mut desk = desk.lock().unwrap();
                    desk.asked.push(request.clone());
                    match request.split(' ').nth(1).unwrap() {
                        "/.well-known/openid-configuration" => {
                            let mut says = json!({"issuer": issuer,
                                "authorization_endpoint": format!("{issuer}/auth?tenant=1"),
                                "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys")});
                            for (name, value) in desk.more.as_object().into_iter().flatten() {
                                says[name] = value.clone();
                            }
                            says
                        }
                        "/keys" => json!({"keys": desk.keys}),
                        _ => json!({"id_token": desk.token}),
                    }
                    .to_string()
                };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    answer.len()
                );
                socket.write_all((head + &answer).as_bytes()).await.unwrap();
            });
        }
    });
    (desk, issuer)
}

fn claims(issuer: &str, begun: &Begun) -> Value {
    let seconds = NOW.as_micros() / 1_000_000;
    json!({"iss": issuer, "aud": "banksman", "sub": "4711", "nonce": begun.nonce, "iat": seconds, "exp": seconds + 300,
           "preferred_username": "ann", "groups": ["crew"]})
}

#[tokio::test]
async fn someone_is_sent_there_and_believed_when_they_come_back() {
    let (provider, desk, issuer) = provider().await;
    let (address, begun) = provider.begin("/audit", NOW).await.unwrap();
    let url = Url::parse(&address).unwrap();
    let pairs: std::collections::HashMap<_, _> = url.query_pairs().into_owned().collect();
    assert!(address.starts_with(&format!("{issuer}/auth?tenant=1&response_type=code")), "{address}");
    assert_eq!(pairs["redirect_uri"], "http://localhost:7447/sign-in/provider/callback");
    assert_eq!(pairs["code_challenge_method"], "S256");
    assert_ne!(pairs["code_challenge"], begun.verifier);
    let key = Key::new("one");
    {
        let mut desk = desk.lock().unwrap();
        desk.keys = vec![key.jwk()];
        desk.token = key.sign(&claims(&issuer, &begun));
    }
    let vouched = provider.finish(&begun, &pairs["state"], Some(&issuer), "the code", NOW).await.unwrap();
    assert_eq!(
        (vouched.name.as_str(), vouched.subject.as_str(), vouched.roles.join(",")),
        ("ann", "4711", "finance".into())
    );
    let asked = desk.lock().unwrap().asked.join("\n");
    assert!(
        asked.contains(&format!("code_verifier={}", begun.verifier)) && asked.contains("code=the+code"),
        "{asked}"
    );
    // Whatever is wrong with the answer, nobody is let in.
    for (state, named) in
        [("", None), ("other", None), (pairs["state"].as_str(), Some("https://evil.example"))]
    {
        let refused = provider.finish(&begun, state, named, "the code", NOW).await;
        assert!(matches!(refused, Err(ProviderError::NotBelieved(_))), "{refused:?}");
    }
    let (_, other) = provider.begin("/", NOW).await.unwrap();
    let replayed = provider.finish(&other, &other.state, None, "the code", NOW).await;
    assert!(matches!(replayed, Err(ProviderError::NotBelieved(_))), "a token of another sign-in");
    desk.lock().unwrap().token = {
        let mut claims = claims(&issuer, &begun);
        claims["groups"] = json!(["strangers"]);
        key.sign(&claims)
    };
    let stranger = provider.finish(&begun, &begun.state, None, "c", NOW).await;
    assert_eq!(stranger, Err(ProviderError::NotAdmitted));
}

#[tokio::test]
async fn a_new_key_is_fetched_when_it_is_needed_and_not_more_often() {
    let (provider, desk, issuer) = provider().await;
    let (_, begun) = provider.begin("/", NOW).await.unwrap();
    let (old, new, foreign) = (Key::new("old"), Key::new("new"), Key::new("foreign"));
    let sign = |key: &Key, published: &[&Key]| {
        let mut desk = desk.lock().unwrap();
        desk.keys = published.iter().map(|key| key.jwk()).collect();
        desk.token = key.sign(&claims(&issuer, &begun));
    };
    let finish = |seconds: u64| {
        provider.finish(&begun, &begun.state, None, "c", NOW.after(Duration::from_secs(seconds)))
    };
    let fetched =
        || desk.lock().unwrap().asked.iter().filter(|request| request.starts_with("GET /keys")).count();
    sign(&old, &[&old]);
    assert!(finish(0).await.is_ok() && finish(1).await.is_ok());
    assert_eq!(fetched(), 1);
    sign(&new, &[&old, &new]);
    assert!(finish(20).await.is_ok(), "rotated");
    assert_eq!(fetched(), 2);
    sign(&foreign, &[&old, &new]);
    for _ in 0..3 {
        assert!(matches!(finish(21).await, Err(ProviderError::NotBelieved(_))));
    }
    assert_eq!(fetched(), 2, "garbage does not make us ask again and again");
    assert!(finish(40).await.is_err());
    assert_eq!(fetched(), 3);
}

#[tokio::test]
async fn a_provider_that_calls_itself_something_else_is_none() {
    let (provider, _, issuer) = provider().await;
    let file = format!(
        "version: 1\nprovider: {{label: L, issuer: '{issuer}/', client_id: b, roles_claim: g, admit: [{{value: x}}]}}"
    );
    let other = Provider::new(Config::parse("identity.yaml", &file).unwrap(), "http://localhost:7447");
    assert!(matches!(other.begin("/", NOW).await, Err(ProviderError::Unreachable(_))));
    drop(provider);
    let gone = "version: 1\nprovider: {label: L, issuer: 'http://127.0.0.1:9', client_id: b, roles_claim: g, admit: [{value: x}]}";
    let gone = Provider::new(Config::parse("identity.yaml", gone).unwrap(), "http://localhost:7447");
    assert!(matches!(gone.begin("/", NOW).await, Err(ProviderError::Unreachable(_))));
}

#[tokio::test]
async fn a_secret_is_told_in_the_way_that_the_provider_understands() {
    let (desk, issuer) = desk().await;
    let key = Key::new("one");
    let mut config = config(&issuer);
    config.client_secret = Some("s e/cret".into());
    for (methods, in_header) in [
        (Value::Null, true),
        (json!(["client_secret_post", "client_secret_basic"]), true),
        (json!(["client_secret_post"]), false),
    ] {
        let provider = Provider::new(config.clone(), "http://localhost:7447");
        desk.lock().unwrap().more = json!({"token_endpoint_auth_methods_supported": methods});
        let (_, begun) = provider.begin("/", NOW).await.unwrap();
        {
            let mut desk = desk.lock().unwrap();
            desk.keys = vec![key.jwk()];
            desk.token = key.sign(&claims(&issuer, &begun));
            desk.asked.clear();
        }
        provider.finish(&begun, &begun.state, None, "c", NOW).await.unwrap();
        let asked =
            desk.lock().unwrap().asked.iter().find(|asked| asked.starts_with("POST")).unwrap().clone();
        // banksman:s+e%2Fcret
        let header = asked.contains("authorization: Basic YmFua3NtYW46cytlJTJGY3JldA==\r\n");
        assert_eq!((header, asked.contains("client_secret=s+e%2Fcret")), (in_header, !in_header), "{asked}");
    }
}

#[tokio::test]
async fn what_discovery_names_may_not_be_read_on_the_way() {
    for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        for address in ["http://id.example/x", "ftp://localhost/x", "/x"] {
            let (provider, desk, _) = provider().await;
            desk.lock().unwrap().more = json!({name: address});
            let refused = provider.begin("/", NOW).await;
            assert!(
                matches!(&refused, Err(ProviderError::Unreachable(why)) if why.contains(address)),
                "{refused:?}"
            );
        }
    }
}
