//! Refunds of 49 from many processes at once: the rolling sum admits exactly what it should.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use crate::installation::Installation;

const POLICY: &str = "version: 1
windows:
  refunded: {match: {tool: refund}, sum: args.amount, per: args.customer, over: 1h}
tools:
  refund: {tier: auto}
rules:
  - {id: enough, match: {tool: refund, window: {refunded: {gt: 100}}}, tier: approve}
";

/// An agent in a process of its own, which asks for a refund of 49 and prints the status of the answer.
fn ask(url: &str, token: &str, customer: usize, note: usize) -> Child {
    let address = url.strip_prefix("http://").unwrap();
    let (host, port) = address.split_once(':').unwrap();
    let body = format!(r#"{{"tool":"refund","args":{{"amount":49,"customer":{customer},"note":{note}}}}}"#);
    let request = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let script =
        r#"exec 3<>"/dev/tcp/$0/$1" && printf '%s' "$2" >&3 && read -r answer <&3 && echo "$answer""#;
    Command::new("bash").args(["-c", script, host, port, &request]).stdout(Stdio::piped()).spawn().unwrap()
}

/// How many got which answer: 200 is let through, 202 is held.
fn answers(url: &str, token: &str, customer: usize, count: usize) -> BTreeMap<String, usize> {
    let agents: Vec<Child> = (0..count).map(|note| ask(url, token, customer, note)).collect();
    let mut answers = BTreeMap::new();
    for agent in agents {
        let output = agent.wait_with_output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let status = line.split(' ').nth(1).unwrap_or("none").to_owned();
        *answers.entry(status).or_default() += 1;
    }
    answers
}

#[test]
fn of_many_refunds_at_once_exactly_two_are_let_through() {
    let installation = Installation::new();
    let path = installation.policy(POLICY);
    let server = installation.serve_with(&["--policy", path.to_str().unwrap()]);
    let token = &server.first().agent_token;
    for (customer, count) in [(1, 3), (2, 300)] {
        let answers = answers(server.url(), token, customer, count);
        let expected = BTreeMap::from([("200".to_owned(), 2), ("202".to_owned(), count - 2)]);
        assert_eq!(answers, expected, "{count} at once");
    }
}
