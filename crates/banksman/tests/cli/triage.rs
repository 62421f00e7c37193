//! Triage by the means that people have: a program, a webhook, a model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use banksman_client::Proposal;
use banksman_core::Status;

use crate::installation::Installation;

/// Answers one request with a body, and gives back what was asked.
fn answering(status: &str, body: &str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut asked = vec![0; length];
        reader.read_exact(&mut asked).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        head + &String::from_utf8(asked).unwrap()
    });
    (url, thread)
}

/// What becomes of a payment under this triage: its status, the rule that decided, and what is shown of the answer.
fn outcome(triage: &str) -> (Status, String, String) {
    let installation = Installation::new();
    let path =
        installation.policy(&format!("version: 1\ntriage: {triage}\ntools: {{pay: {{tier: approve}}}}\n"));
    let server = installation.serve_with(&["--policy", path.to_str().unwrap()]);
    let agent = server.client(&server.first().agent_token);
    match agent.propose(&Proposal::new(r#"{"tool":"pay","args":{"amount":7}}"#)) {
        Ok(view) => {
            let triage = serde_json::to_string(&view.assessment.triage).unwrap();
            (view.status, view.verdict.rule.clone(), triage)
        }
        Err(error) => (Status::Blocked, error.code().unwrap_or_default().to_owned(), error.to_string()),
    }
}

#[test]
fn a_program_is_asked() {
    let says = |answer: &str| {
        format!("{{command: [sh, -c, 'cat > /dev/null; echo \"$0\"', '{answer}'], timeout: 20s}}")
    };
    let (status, rule, shown) =
        outcome(&says(r#"{"tier":"escalate","rationale":"two should look","priority":7}"#));
    assert_eq!((status, rule.as_str()), (Status::Pending, "triage.raised"));
    assert!(shown.contains("two should look") && shown.contains("7"), "{shown}");
    let (status, code, _) = outcome(&says(r#"{"deny":true}"#));
    assert_eq!((status, code.as_str()), (Status::Blocked, "blocked"));
    let (_, _, shown) = outcome("{command: [sh, -c, 'echo out of order >&2; exit 3'], timeout: 20s}");
    assert!(shown.contains("out of order"), "{shown}");
    let (status, _, shown) = outcome("{command: [no-such-program-anywhere]}");
    assert!(status == Status::Pending && shown.contains("cannot be started"), "{shown}");
    let (_, _, shown) = outcome("{command: [sh, -c, 'sleep 60'], timeout: 1s}");
    assert!(shown.contains("longer than 1 seconds"), "{shown}");
}

#[test]
fn a_program_does_not_see_our_environment() {
    let script = r#"cat > /dev/null; echo "{\"rationale\":\"$(compgen -e | xargs)\"}""#;
    let (_, _, shown) = outcome(&format!("{{command: [bash, -c, '{script}'], timeout: 20s}}"));
    assert!(shown.contains("PATH") && !shown.contains("CARGO"), "{shown}");
}

#[test]
fn a_webhook_is_asked() {
    let (url, asked) = answering("200 OK", r#"{"risk":"critical","rationale":"too much"}"#);
    let (status, _, shown) = outcome(&format!("{{webhook: {{url: '{url}/look'}}, timeout: 20s}}"));
    assert_eq!(status, Status::Pending);
    assert!(shown.contains("too much"), "{shown}");
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("POST /look ") && asked.contains(r#""tool":"pay""#), "{asked}");
    for (answer, body) in [("500 Oh dear", "{}"), ("302 Found", "{}"), ("200 OK", "what?")] {
        let (url, asked) = answering(answer, body);
        let (status, rule, shown) = outcome(&format!("{{webhook: {{url: '{url}'}}, timeout: 20s}}"));
        assert_eq!((status, rule.as_str()), (Status::Pending, "tools.pay"), "{shown}");
        assert!(shown.contains("problem"), "{shown}");
        asked.join().unwrap();
    }
}

#[test]
fn a_model_is_asked() {
    let content = r#"{\"tier\":\"escalate\",\"rationale\":\"unusual\",\"priority\":90}"#;
    let body = format!(r#"{{"choices":[{{"message":{{"role":"assistant","content":"{content}"}}}}]}}"#);
    let (url, asked) = answering("200 OK", &body);
    let triage = format!(
        "{{openai: {{url: '{url}/v1', model: small, instructions: 'Mind the budget.'}}, timeout: 20s}}"
    );
    let (status, rule, shown) = outcome(&triage);
    assert_eq!((status, rule.as_str()), (Status::Pending, "triage.raised"));
    assert!(shown.contains("unusual"), "{shown}");
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("POST /v1/chat/completions "), "{asked}");
    assert!(asked.contains("Mind the budget.") && asked.contains(r#""model":"small""#), "{asked}");
}
