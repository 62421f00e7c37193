//! `banksman watch` on a real pseudo-terminal: the real binary, a real server, and what a person would see.

mod deciding;
mod hostile;
mod house;
mod live;
mod seat;
mod terminal;

use banksman_client::{Client, Proposal};
use banksman_core::wire::ActionView;
use serde_json::{Value, json};

use crate::installation::{Installation, Server};

/// Deadlines are days away, so that a screen looks the same however slow the machine is.
const POLICY: &str = "\
version: 1
defaults: {timeout: 3d}
tools:
  process_refund: {risk: high, tier: escalate}
  send_email: {risk: medium, tier: approve}
  delete_customer: {risk: critical, tier: approve, require_reason: true}
  brief: {risk: low, tier: approve, timeout: 3s}
";

/// A server, an agent and two people.
struct Office {
    installation: Installation,
    server: Server,
    agent: Client,
    /// Who sits at the terminal.
    token: String,
    /// Someone else.
    other: Client,
}

impl Office {
    fn open() -> Self {
        let installation = Installation::new();
        let policy = installation.policy(POLICY);
        let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
        let agent = server.client(&installation.token("agent", "support-bot").token);
        let token = installation.token("reviewer", "ann").token;
        let other = server.client(&installation.token("reviewer", "bob").token);
        Self { installation, server, agent, token, other }
    }

    fn proposes(&self, body: &Value) -> ActionView {
        self.agent.propose(&Proposal::new(&body.to_string())).unwrap()
    }

    fn mail(&self, to: &str) -> ActionView {
        self.proposes(&json!({"tool": "send_email", "args": {"to": to, "subject": "Hi"}}))
    }

    fn refund(&self) -> ActionView {
        self.proposes(&json!({
            "tool": "process_refund",
            "args": {"order_id": "78291", "amount": 899},
            "description": "Refund order 78291",
            "rationale": "The customer asked twice.",
            "rollback_plan": "Charge the card again.",
            "affected_systems": ["billing", "ledger"],
            "estimate": {"cost_usd": 0.5},
        }))
    }

    fn watch(&self, size: (u16, u16)) -> seat::Seat {
        seat::Seat::watch(&self.server, &self.token, size)
    }

    fn stands(&self, action: &ActionView) -> ActionView {
        self.other.action(action.id).unwrap()
    }

    /// Waits until an action stands like this.
    fn becomes(&self, action: &ActionView, status: banksman_core::Status) -> ActionView {
        let began = std::time::Instant::now();
        loop {
            let now = self.stands(action);
            if now.status == status {
                return now;
            }
            assert!(began.elapsed() < crate::installation::PATIENCE, "{} is {}", action.id, now.status);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// A decision by someone else, in time.
fn decides(client: &Client, action: &ActionView, decision: banksman_core::Decision) -> ActionView {
    let request = banksman_core::wire::DecisionRequest {
        decision,
        version: action.version,
        digest: action.digest,
        reason: Some("I was first".into()),
        args: None,
        message: None,
        remember: None,
    };
    client.decide(action.id, &request).unwrap()
}
