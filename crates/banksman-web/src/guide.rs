//! The first steps, for someone who has never seen this.

use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::parts::hidden;

/// A longer log is that of a house that runs: whoever comes there finds the guide in the settings.
const NEW_HOUSE: u64 = 300;

/// The guide above the inbox, until it is put away or the house is no longer new.
pub(crate) fn in_inbox(frame: &Frame<'_>) -> Markup {
    html! {
        @if !frame.preferences.guide_done && frame.house.newest < NEW_HOUSE {
            section.panel.guide aria-labelledby="guide-title" {
                div.title {
                    h2 #guide-title { "New here? Four steps" }
                    form method="post" action="/guide/dismiss" { (hidden("csrf", frame.viewer.csrf)) button.plain { "Put this away for good" } }
                }
                details { summary { "Show the steps" } (steps(frame)) }
            }
        }
    }
}

/// The guide as a page.
#[must_use]
pub fn guide(frame: &Frame<'_>, url: &str) -> String {
    let body = html! {
        h1 { "First steps" }
        p.lead { "Banksman holds what an agent wants to do until a person gives the signal. Ten minutes are enough to see all of it." }
        section.panel.guide { h2 { "Four steps" } (steps(frame)) (commands(url)) }
    };
    frame.page(Place::Settings, "First steps", &body)
}

fn steps(frame: &Frame<'_>) -> Markup {
    html! {
        ol.steps {
            li {
                h3 { "Decide something" }
                p { "Make a sample: an email that no one will send. See what an action looks like, then approve, deny or edit it." }
                form method="post" action="/guide/sample" { (hidden("csrf", frame.viewer.csrf)) button.strong { "Make a sample action" } }
            }
            li {
                h3 { "Let an agent ask" }
                p { "One HTTP call asks; a hook stands before a coding agent; a gateway before MCP servers. " a href="/guide" { "Commands to copy" } }
            }
            li {
                h3 { "Say what may run" }
                p { "At first everything is held. The " a href="/policy" { "policy" } " says what runs at once, what needs whom, and what never runs. Ask it about an action there." }
            }
            li {
                h3 { "Know the switch" }
                p { "If something goes wrong, " a href="/freezes" { "freeze" } " an agent, a tool or everything. It holds at once." }
            }
        }
    }
}

fn commands(url: &str) -> Markup {
    // Without them a command would go to the address that a server usually has, or ask the policy at hand.
    let here = |whose: &str, command: &str| {
        format!("export BANKSMAN_URL={url} BANKSMAN_TOKEN=…   # {whose}\n{command}")
    };
    let ask = format!(
        "curl -s {url}/v1/actions -H \"Authorization: Bearer $AGENT_TOKEN\" \\\n  -d '{{\"tool\": \"send_email\", \"args\": {{\"to\": \"ada@example.com\"}}}}'"
    );
    let commands = [
        (
            "A token for an agent, on the server's machine",
            "banksman token new --kind agent --name my-agent --data DIR".to_owned(),
        ),
        ("Ask, as the agent would", ask),
        ("Before a coding agent", here("the agent's", "banksman setup claude-code")),
        ("Decide at a terminal", here("a reviewer's", "banksman pending\nbanksman approve ID")),
        ("What policy would say", "banksman policy explain ACTION.json --policy POLICY.yaml".to_owned()),
    ];
    html! {
        h2 { "Commands to copy" }
        @for (name, command) in &commands {
            div.command {
                h3 { (name) }
                pre tabindex="0" data-command { (command) }
                button.plain.small.scripted type="button" data-copy { "Copy" span.away { " the command: " (name) } }
            }
        }
    }
}
