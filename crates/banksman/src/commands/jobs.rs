//! `banksman jobs`: calls of agents whose actions were resolved.

use std::process::ExitCode;

use banksman_client::PostQuery;
use banksman_core::JobStatus;
use banksman_core::wire::JobView;
use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::span::relative;
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Only what stands here: waiting, done, dead, dropped
    #[arg(long, value_name = "STATUS")]
    status: Option<JobStatus>,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Show everything, however long
    #[arg(long)]
    wide: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call the agent's side again
    Retry {
        /// The job's number, as `banksman jobs` shows it
        id: i64,
    },
    /// Give a job up
    Drop {
        /// The job's number, as `banksman jobs` shows it
        id: i64,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    let told = |job: JobView, words: &str| {
        if context.globals.json {
            return context.print_json(&job);
        }
        context.print(&format!("{words}: {}, for {}.\n", job.id, job.action))
    };
    match &args.command {
        None => list(args, context),
        Some(Command::Retry { id }) => told(client.retry_job(*id)?, "To be called again"),
        Some(Command::Drop { id }) => told(client.drop_job(*id)?, "Given up"),
    }?;
    Ok(Exit::Done.into())
}

fn list(args: &Args, context: &Context) -> anyhow::Result<()> {
    let query = PostQuery {
        status: args.status.map(|status| status.as_str().to_owned()),
        limit: Some(args.limit),
        ..PostQuery::default()
    };
    let jobs = context.client()?.jobs(&query)?;
    if context.globals.json {
        return context.print_json(&jobs);
    }
    if jobs.items.is_empty() {
        return context.print("No agent has to be called.\n");
    }
    let mut table = Table::new(vec![
        Column { heading: "NUMBER", most: 20 },
        Column { heading: "ACTION", most: 30 },
        Column { heading: "STATUS", most: 8 },
        Column { heading: "TRIES", most: 5 },
        Column { heading: "SINCE", most: 12 },
        Column { heading: "WHY", most: 40 },
    ]);
    for job in &jobs.items {
        table.row(vec![
            Cell::new(&job.id.to_string()),
            Cell::new(&job.action.to_string()),
            Cell::new(job.status.as_str()),
            Cell::new(&job.attempt.to_string()),
            Cell::new(&relative(context.now, job.updated_at)),
            Cell::new(job.error.as_deref().unwrap_or_default()),
        ]);
    }
    context.print(&table.render(context.screen, if args.wide { TooWide::GoOn } else { TooWide::Cut }))
}
