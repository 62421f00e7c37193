//! `banksman user`: people, by whoever has the data folder. Works beside a running server.

use std::process::ExitCode;

use banksman_core::wire::{LinkView, List, PersonView};
use banksman_core::{PrincipalKind, Standing};
use banksman_engine::{By, Engine, EngineError, IssuedLink, NewPerson};
use banksman_store::Person;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::folder::Folder;
use crate::span::to_the_second;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, clap::Subcommand)]
enum UserCommand {
    /// Add someone, and print the invitation to send to them
    Add(AddArgs),
    /// List everyone
    List,
    /// Show one person
    Show(NameArgs),
    /// Change what someone may; their browsers are signed out, and their tokens give no more
    Roles(RolesArgs),
    /// Make another invitation for someone who cannot sign in yet
    Invite(NameArgs),
    /// Say that someone is a person of their own, whoever brought them in: then the two count as two
    Confirm(NameArgs),
    /// Lock someone out, at once: their browsers and tokens stop working
    Lock(NameArgs),
    /// Let someone in again
    Unlock(NameArgs),
    /// Remove someone for good; their name stays taken
    Remove(NameArgs),
    /// Take every way in from someone who lost theirs, tokens too, and invite them anew
    Reset(NameArgs),
    /// Make a link that signs someone in, once, within 15 minutes
    SignInLink(NameArgs),
}

#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Their name
    name: String,
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// Their name, for signing in, in votes and in the log
    name: String,
    /// What pages call them
    #[arg(long, value_name = "NAME")]
    display_name: Option<String>,
    /// Also lets them look after the house
    #[arg(long)]
    admin: bool,
    /// What they may approve; may be given several times
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct RolesArgs {
    /// Their name
    name: String,
    /// What they may approve, all of it; may be given several times
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// reviewer or admin [default: as they are]
    #[arg(long)]
    kind: Option<PrincipalKind>,
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
        perform(&args.command, &engine, context, &folder).await
    })?;
    Ok(Exit::Done.into())
}

async fn perform(
    command: &UserCommand,
    engine: &Engine,
    context: &Context,
    folder: &Folder,
) -> anyhow::Result<()> {
    let by = By::Operator;
    let print_link = async |person: &Person, link: &IssuedLink| {
        print_link(context, engine, &server(context, folder), person, link).await
    };
    match command {
        UserCommand::Add(new) => {
            let kind = if new.admin { PrincipalKind::Admin } else { PrincipalKind::Reviewer };
            let new = NewPerson {
                name: new.name.clone(),
                display_name: new.display_name.clone(),
                kind,
                roles: new.role.clone(),
            };
            let person = engine.add_person(by, new).await.map_err(usage)?;
            let link = engine.invite(by, person.id).await.map_err(usage)?;
            print_link(&person, &link).await
        }
        UserCommand::List => list(context, &engine.people(by).await?),
        UserCommand::Show(who) => {
            let person = find(engine, &who.name).await?;
            if context.globals.json {
                context.print_json(&person.view())
            } else {
                context.print(&sheet(&person.view()))
            }
        }
        UserCommand::Roles(RolesArgs { name, role, kind }) => {
            let person = find(engine, name).await?;
            let kind = kind.unwrap_or(person.kind);
            let changed = engine.change_rights(by, person.id, kind, role.clone()).await.map_err(usage)?;
            done(context, &changed, "has changed rights, and has to sign in again")
        }
        UserCommand::Invite(who) => {
            let person = find(engine, &who.name).await?;
            let link = engine.invite(by, person.id).await.map_err(usage)?;
            print_link(&person, &link).await
        }
        UserCommand::Reset(who) => {
            let person = find(engine, &who.name).await?;
            engine.reset_person(by, person.id).await.map_err(usage)?;
            let link = engine.invite(by, person.id).await.map_err(usage)?;
            print_link(&person, &link).await
        }
        UserCommand::SignInLink(who) => {
            let person = find(engine, &who.name).await?;
            let link = engine.sign_in_link(person.id).await.map_err(usage)?;
            print_link(&person, &link).await
        }
        UserCommand::Confirm(who) => {
            let person = find(engine, &who.name).await?;
            let confirmed = engine.confirm_person(by, person.id).await.map_err(usage)?;
            done(context, &confirmed, "counts as a person of their own")
        }
        UserCommand::Lock(who) => stand(engine, context, &who.name, Standing::Locked, "is locked out").await,
        UserCommand::Unlock(who) => {
            stand(engine, context, &who.name, Standing::Active, "may come in again").await
        }
        UserCommand::Remove(who) => stand(engine, context, &who.name, Standing::Removed, "is removed").await,
    }
}

async fn find(engine: &Engine, name: &str) -> anyhow::Result<Person> {
    let people = engine.people(By::Operator).await?;
    people.into_iter().find(|person| person.name == name).ok_or_else(|| {
        let words = format!("there is no person by the name of {}: see `banksman user list`", Visible(name));
        stop(Exit::NotFound, words)
    })
}

async fn stand(
    engine: &Engine,
    context: &Context,
    name: &str,
    standing: Standing,
    words: &str,
) -> anyhow::Result<()> {
    let person = find(engine, name).await?;
    let changed = engine.change_standing(By::Operator, person.id, standing).await.map_err(usage)?;
    done(context, &changed, words)
}

fn done(context: &Context, person: &Person, words: &str) -> anyhow::Result<()> {
    if context.globals.json {
        context.print_json(&person.view())
    } else {
        context.print(&format!("{} {words}.\n", Visible(&person.name)))
    }
}

/// The server that was named; else the one that runs on this folder.
fn server(context: &Context, folder: &Folder) -> String {
    if context.names_server() {
        return context.globals.url.clone();
    }
    folder.noted_address().unwrap_or_else(|| context.globals.url.clone())
}

async fn print_link(
    context: &Context,
    engine: &Engine,
    server: &str,
    person: &Person,
    link: &IssuedLink,
) -> anyhow::Result<()> {
    let address = link.address(&reachable(server));
    if context.globals.json {
        let person = engine.person(By::Operator, person.id).await?.view();
        return context.print_json(&LinkView { person, link: address, expires_at: link.expires_at });
    }
    let until = to_the_second(link.expires_at);
    context.print(&format!(
        "{address}\nFor {}. It works once, until {until}, and is shown only now.\n",
        Visible(&person.name)
    ))
}

/// Browsers give passkeys to `localhost`, not to its number.
pub(crate) fn reachable(url: &str) -> String {
    url.replacen("://127.0.0.1:", "://localhost:", 1)
}

fn usage(error: EngineError) -> anyhow::Error {
    match error {
        EngineError::Invalid(problem) | EngineError::NotYours(problem) => stop(Exit::Usage, problem),
        EngineError::NotFound => stop(Exit::NotFound, "there is no such person: see `banksman user list`"),
        other => other.into(),
    }
}

fn ways(person: &PersonView) -> String {
    let mut ways = Vec::new();
    if person.has_password {
        ways.push(format!("password and app, {} recovery codes", person.recovery_codes));
    }
    ways.extend(person.passkeys.iter().map(|label| format!("passkey {}", Visible(label))));
    ways.extend(person.provider.iter().map(|issuer| format!("provider {}", Visible(issuer))));
    if ways.is_empty() { "no way to sign in yet".to_owned() } else { ways.join("; ") }
}

/// Who brought them in, while that matters.
fn brought(person: &PersonView) -> String {
    let brought = person.brought_by.iter();
    brought.map(|by| format!("; brought in by {}, not confirmed", Visible(by))).collect()
}

fn list(context: &Context, people: &[Person]) -> anyhow::Result<()> {
    let views: Vec<PersonView> = people.iter().map(Person::view).collect();
    if context.globals.json {
        return context.print_json(&List { items: views });
    }
    if views.is_empty() {
        return context.print("There is nobody yet: `banksman user add NAME --admin` begins.\n");
    }
    let mut text = String::new();
    for person in &views {
        let roles = person.roles.join(", ");
        let roles = if roles.is_empty() { String::new() } else { format!("  [{}]", Visible(&roles)) };
        let standing = if person.standing == Standing::Active {
            String::new()
        } else {
            format!("  ({})", person.standing)
        };
        text.push_str(&format!(
            "{:<8}  {}{roles}{standing}  {}{}\n",
            person.kind,
            Visible(&person.name),
            ways(person),
            brought(person)
        ));
    }
    context.print(&text)
}

fn sheet(person: &PersonView) -> String {
    let mut text = format!("{}\n  id        {}\n", Visible(&person.name), person.id);
    if let Some(name) = &person.display_name {
        text.push_str(&format!("  called    {}\n", Visible(name)));
    }
    let roles = if person.roles.is_empty() {
        "none".to_owned()
    } else {
        Visible(&person.roles.join(", ")).to_string()
    };
    text.push_str(&format!(
        "  kind      {}\n  roles     {roles}\n  standing  {}\n  since     {}\n  signs in  {}{}\n",
        person.kind,
        person.standing,
        to_the_second(person.created_at),
        ways(person),
        brought(person)
    ));
    if let Some(until) = person.link_expires_at {
        text.push_str(&format!("  link      works until {}\n", to_the_second(until)));
    }
    text
}
