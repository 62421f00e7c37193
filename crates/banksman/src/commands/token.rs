//! `banksman token`: credentials, by whoever has the data folder. Works beside a running server.

use std::process::ExitCode;
use std::time::Duration;

use banksman_core::wire::{List, TokenView};
use banksman_core::{Actor, PrincipalKind, TokenId};
use banksman_engine::{EngineError, NewToken};
use banksman_store::Credential;
use serde::Serialize;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::folder::Folder;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    /// Issue a credential; its secret is shown this once
    New(NewArgs),
    /// List credentials, without their secrets
    List,
    /// Revoke a credential, at once
    Revoke {
        /// Its id, as `token list` shows it
        id: TokenId,
    },
}

#[derive(Debug, clap::Args)]
struct NewArgs {
    /// agent (proposes), reviewer (decides) or admin (decides and looks after the house)
    #[arg(long)]
    kind: PrincipalKind,
    /// Whose it is; two credentials of one name are one person
    #[arg(long)]
    name: String,
    /// A role of this person; may be given several times
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// For an agent: the person whose agent it is, who then cannot approve its actions
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// For how long, such as 12h or 30d [default: until revoked]
    #[arg(long = "for", value_name = "TIME", value_parser = crate::span::parse_span)]
    lifetime: Option<Duration>,
}

/// What `token new --json` prints; scripts rely on it.
#[derive(Serialize)]
struct Issued {
    id: TokenId,
    token: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let folder = match args.database.shared()? {
        // A node's folder holds its key; it is made here if this comes before the first start.
        Some(_) => Folder::open_or_create(&context.globals.data)?,
        None => Folder::open(&context.globals.data)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let engine = folder.engine(args.database.open(&folder).await?).await?;
        match &args.command {
            TokenCommand::New(new) => {
                let new = NewToken {
                    kind: new.kind,
                    name: new.name.clone(),
                    owner: new.owner.clone(),
                    roles: new.role.clone(),
                    lifetime: new.lifetime,
                };
                let issued = engine.issue_token(new, Actor::Operator).await.map_err(usage)?;
                if context.globals.json {
                    context.print_json(&Issued { id: issued.id, token: issued.secret })
                } else {
                    context.print(&format!("{}\n", issued.secret))
                }
            }
            TokenCommand::List => list(context, &engine.tokens().await?),
            TokenCommand::Revoke { id } => {
                engine.revoke_token(*id, Actor::Operator).await.map_err(usage)?;
                if context.globals.json {
                    context.print_json(&serde_json::json!({"id": id}))
                } else {
                    context.print(&format!("{id} is revoked.\n"))
                }
            }
        }
    })?;
    Ok(Exit::Done.into())
}

fn usage(error: EngineError) -> anyhow::Error {
    match error {
        EngineError::Invalid(problem) => stop(Exit::Usage, problem),
        EngineError::NotFound => {
            stop(Exit::NotFound, "there is no credential by that id: see `banksman token list`")
        }
        other => other.into(),
    }
}

fn list(context: &Context, credentials: &[Credential]) -> anyhow::Result<()> {
    if context.globals.json {
        return context.print_json(&List { items: credentials.iter().map(view).collect::<Vec<_>>() });
    }
    if credentials.is_empty() {
        return context.print("There are no credentials: `banksman token new` makes one.\n");
    }
    let mut text = String::new();
    for credential in credentials {
        let state = if credential.is_live(context.now) { "" } else { "  (no longer valid)" };
        let roles = credential.roles.join(", ");
        let roles = if roles.is_empty() { String::new() } else { format!("  [{}]", Visible(&roles)) };
        text.push_str(&format!(
            "{}  {:<8}  {}{roles}{state}\n",
            credential.id,
            credential.kind,
            Visible(&credential.name)
        ));
    }
    context.print(&text)
}

fn view(credential: &Credential) -> TokenView {
    TokenView {
        id: credential.id,
        kind: credential.kind,
        name: credential.name.clone(),
        owner: credential.owner.clone(),
        roles: credential.roles.clone(),
        created_at: credential.created_at,
        revoked_at: credential.revoked_at,
    }
}
