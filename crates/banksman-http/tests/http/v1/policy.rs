//! `/v1/policy` and what `/metrics` says of it.

use banksman_policy::Policy;

use crate::client::Request;
use crate::server::Server;

async fn metric(server: &Server, name: &str) -> f64 {
    let answer = server.send(Request::get("/metrics").by(&server.ann)).await;
    assert_eq!(answer.status, 200);
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let line = text.lines().find(|line| line.starts_with(name) && !line.starts_with('#'));
    let value = line.and_then(|line| line.rsplit_once(' ')).map(|(_, value)| value.to_owned());
    value.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
}

#[tokio::test]
async fn a_policy_that_was_refused_is_seen_until_one_is_taken_up() {
    let server = Server::start().await;
    let policy = || server.send(Request::get("/v1/policy").by(&server.ann));
    let first = policy().await.ok(200);
    assert!(first.get("refused").is_none(), "{first}");
    assert_eq!(metric(&server, "banksman_policy_refused").await, 0.0);

    server.engine.refuse_policy("policy.yaml:3:7: no such tier");
    let refused = policy().await.ok(200);
    assert_eq!(refused["digest"], first["digest"]);
    assert_eq!(refused["refused"]["problem"], "policy.yaml:3:7: no such tier");
    assert_eq!(metric(&server, "banksman_policy_refused").await, 1.0);
    assert_eq!(metric(&server, "banksman_policy_refusals_total").await, 1.0);

    let better = Policy::parse("better", "version: 1\n").unwrap();
    let digest = better.digest().to_string();
    server.engine.load_policy(std::sync::Arc::new(better), "better.yaml").await.unwrap();
    let now = policy().await.ok(200);
    assert_eq!((&now["digest"], &now["source"]), (&digest.into(), &"better.yaml".into()));
    assert!(now.get("refused").is_none(), "{now}");
    assert_eq!(metric(&server, "banksman_policy_refused").await, 0.0);
    assert_eq!(metric(&server, "banksman_policy_refusals_total").await, 1.0);
}

#[tokio::test]
async fn going_back_to_the_text_in_force_ends_the_refusal() {
    let server = Server::start().await;
    server.engine.refuse_policy("broken");
    server.engine.confirm_policy();
    let policy = server.send(Request::get("/v1/policy").by(&server.ann)).await.ok(200);
    assert!(policy.get("refused").is_none(), "{policy}");
}

#[tokio::test]
async fn agents_learn_neither_policy_nor_numbers() {
    let server = Server::start().await;
    for path in ["/v1/policy", "/metrics"] {
        server.send(Request::get(path).by(&server.riley)).await.problem(403, "wrong_credential");
    }
}
