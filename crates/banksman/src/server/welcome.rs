//! What a server shows when it starts.

use std::path::{Path, PathBuf};

use banksman_core::{Actor, PrincipalKind};
use banksman_engine::{By, Engine, NewPerson, NewToken};
use serde::Serialize;

use crate::context::Context;

/// What a new installation gets, shown once.
#[derive(Serialize)]
pub(super) struct Welcome {
    pub(super) url: String,
    pub(super) data: PathBuf,
    pub(super) policy: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<FirstStart>,
}

#[derive(Serialize)]
pub(super) struct FirstStart {
    reviewer_token: String,
    agent_token: String,
    sign_in_link: String,
}

/// The person who installs it. All their credentials carry one name, so that they never count as two people.
fn operator() -> String {
    let user = std::env::var("USER").unwrap_or_default();
    let plain = !user.is_empty() && user.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if plain && user != "agent" { user } else { "operator".into() }
}

/// What there is to begin with, if nobody has begun before.
pub(super) async fn first_start(engine: &Engine, url: &str) -> anyhow::Result<Option<FirstStart>> {
    let token = |kind, name: String| NewToken { kind, name, owner: None, roles: Vec::new(), lifetime: None };
    let new = [token(PrincipalKind::Reviewer, operator()), token(PrincipalKind::Agent, "agent".into())];
    let issued = engine.issue_first_tokens(&new, &Actor::Operator).await?;
    let Some([reviewer, agent]) = issued.as_deref() else { return Ok(None) };
    let new =
        NewPerson { name: operator(), display_name: None, kind: PrincipalKind::Admin, roles: Vec::new() };
    let person = engine.add_person(By::Operator, new).await?;
    let link = engine.sign_in_link(person.id).await?;
    Ok(Some(FirstStart {
        reviewer_token: reviewer.secret.clone(),
        agent_token: agent.secret.clone(),
        sign_in_link: link.address(url),
    }))
}

pub(super) fn welcome(context: &Context, welcome: &Welcome) -> anyhow::Result<()> {
    if context.globals.json {
        return context.print_json(welcome);
    }
    let Welcome { url, data, policy, first } = welcome;
    let mut text =
        format!("Banksman listens on {url}\n  data    {}\n  policy  {}\n", data.display(), policy.display());
    if let Some(FirstStart { reviewer_token, agent_token, sign_in_link }) = first {
        let banksman = program();
        text.push_str(&format!(
            "\nNew here. These are shown only this once:\n\
             \x20 reviewer token  {reviewer_token}\n\
             \x20 agent token     {agent_token}\n\
             \x20 sign-in link    {sign_in_link}\n\
             \x20                 (works once, within 15 minutes)\n\
             \n\
             Try it. As the agent, ask for something; it will be held:\n\
             \n\
             \x20 curl -s {url}/v1/actions -H 'Authorization: Bearer {agent_token}' \\\n\
             \x20   -d '{{\"tool\": \"send_email\", \"args\": {{\"to\": \"ada@example.com\", \"subject\": \"Hello\"}}}}'\n\
             \n\
             As the reviewer, in another terminal, look and decide:\n\
             \n\
             \x20 export BANKSMAN_TOKEN={reviewer_token} BANKSMAN_URL={url}\n\
             \x20 {banksman} pending\n\
             \x20 {banksman} approve ID\n"
        ));
    }
    context.print(&text)
}

/// How the user called this program, so that the commands shown can be pasted.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let plain = Path::new(&called).file_name().is_some() && !called.contains(char::is_whitespace);
    if plain { called } else { "banksman".into() }
}
