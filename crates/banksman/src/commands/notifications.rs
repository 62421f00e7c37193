//! `banksman notifications`: who was told of what, and whether it arrived.

use std::process::ExitCode;

use banksman_client::{Client, PostQuery};
use banksman_core::DeliveryStatus;
use banksman_core::wire::{DeliveryView, TestMessageBody};
use clap::Subcommand;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::Exit;
use crate::select;
use crate::span::relative;
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Only about this action: its id, or at least 4 characters that a pending one begins or ends with
    #[arg(value_name = "ACTION")]
    action: Option<String>,
    /// Only what stands here: queued, retrying, sent, delivered, failed, skipped
    #[arg(long, value_name = "STATUS", conflicts_with = "action")]
    status: Option<DeliveryStatus>,
    /// Only by this channel
    #[arg(long, value_name = "NAME", conflicts_with = "action")]
    channel: Option<String>,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Show everything, however long, with the next try and the provider's id of each message
    #[arg(long)]
    wide: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send failed messages again
    Retry {
        /// The message's number, as `banksman notifications` shows it
        #[arg(required_unless_present = "failed")]
        id: Option<i64>,
        /// All that failed
        #[arg(long, conflicts_with = "id")]
        failed: bool,
    },
    /// Send a test message, to see whether a channel works
    Test {
        /// The channel, as channels.yaml names it
        channel: String,
        /// To whom, as channels.yaml names them [default: you]
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list(args, context),
        Some(Command::Retry { id, .. }) => retry(*id, context),
        Some(Command::Test { channel, to }) => test(channel, to.as_deref(), context),
    }?;
    Ok(Exit::Done.into())
}

fn list(args: &Args, context: &Context) -> anyhow::Result<()> {
    let client = context.client()?;
    let found = match &args.action {
        Some(text) => client.notifications_of(select::resolve(&client, text)?)?,
        None => client.notifications(&PostQuery {
            status: args.status.map(|status| status.as_str().to_owned()),
            channel: args.channel.clone(),
            limit: Some(args.limit),
            ..PostQuery::default()
        })?,
    };
    if context.globals.json {
        return context.print_json(&found);
    }
    if found.items.is_empty() {
        let all = args.action.is_none() && args.status.is_none() && args.channel.is_none();
        return context.print(if all {
            "Nobody was told of anything by a channel.\n"
        } else {
            "Nothing matches.\n"
        });
    }
    context.print(&table(&found.items, if args.wide { TooWide::GoOn } else { TooWide::Cut }, context))
}

fn retry(id: Option<i64>, context: &Context) -> anyhow::Result<()> {
    let client = context.client()?;
    let ids = match id {
        Some(id) => vec![id],
        None => all_failed(&client)?,
    };
    let retried = ids.into_iter().map(|id| client.retry_notification(id)).collect::<Result<Vec<_>, _>>()?;
    if context.globals.json {
        return context.print_json(&retried);
    }
    match retried.as_slice() {
        [] => context.print("Nothing has failed.\n"),
        [one] => context.print(&format!("To be sent again: {} to {}.\n", one.id, Visible(&one.recipient))),
        many => context.print(&format!("To be sent again: {} messages.\n", many.len())),
    }
}

/// Most that the server lists at a time.
const PAGE: u32 = 500;

/// All that failed, newest first. Listed before any is sent again: one that fails at once would be listed for ever.
fn all_failed(client: &Client) -> anyhow::Result<Vec<i64>> {
    let mut found: Vec<i64> = Vec::new();
    loop {
        let query = PostQuery {
            status: Some(DeliveryStatus::Failed.as_str().to_owned()),
            before: found.last().copied(),
            limit: Some(PAGE),
            ..PostQuery::default()
        };
        let page = client.notifications(&query)?.items;
        if page.is_empty() {
            return Ok(found);
        }
        found.extend(page.iter().map(|delivery| delivery.id));
    }
}

fn test(channel: &str, to: Option<&str>, context: &Context) -> anyhow::Result<()> {
    let body = TestMessageBody { channel: channel.to_owned(), recipient: to.map(str::to_owned) };
    let sent = context.client()?.test_channel(&body)?;
    if context.globals.json {
        return context.print_json(&sent);
    }
    let words = if sent.delivered { "It arrived." } else { "The provider took it: look whether it arrived." };
    context.print(&format!("{words}\n"))
}

pub(crate) fn table(deliveries: &[DeliveryView], too_wide: TooWide, context: &Context) -> String {
    let mut columns = vec![
        // Whole, because retrying needs it whole.
        Column { heading: "NUMBER", most: 20 },
        Column { heading: "PURPOSE", most: 9 },
        Column { heading: "CHANNEL", most: 12 },
        Column { heading: "TO", most: 14 },
        Column { heading: "STATUS", most: 9 },
        Column { heading: "TRIES", most: 5 },
        Column { heading: "SINCE", most: 12 },
        Column { heading: "WHY", most: 40 },
    ];
    let wide = too_wide == TooWide::GoOn;
    if wide {
        columns.push(Column { heading: "NEXT TRY", most: 12 });
        columns.push(Column { heading: "PROVIDER'S ID", most: 40 });
    }
    let mut table = Table::new(columns);
    for delivery in deliveries {
        let mut cells = vec![
            Cell::new(&delivery.id.to_string()),
            Cell::new(delivery.purpose.as_str()),
            Cell::new(&delivery.channel),
            Cell::new(&delivery.recipient),
            Cell::new(delivery.status.as_str()),
            Cell::new(&delivery.attempt.to_string()),
            Cell::new(&relative(context.now, delivery.updated_at)),
            Cell::new(delivery.error.as_deref().unwrap_or_default()),
        ];
        if wide {
            let next = delivery.next_at.map(|at| relative(context.now, at));
            cells.push(Cell::new(&next.unwrap_or_default()));
            cells.push(Cell::new(delivery.provider_id.as_deref().unwrap_or_default()));
        }
        table.row(cells);
    }
    table.render(context.screen, too_wide)
}

#[cfg(test)]
mod tests {
    use banksman_core::Purpose;
    use banksman_core::wire::List;
    use banksman_faults::{Conduct, Service};

    use super::*;
    use crate::sample;

    fn failed(id: i64) -> DeliveryView {
        DeliveryView {
            id,
            action: "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
            version: 1,
            purpose: Purpose::Ask,
            channel: "slack".into(),
            recipient: "a\u{202e}nn".into(),
            status: DeliveryStatus::Failed,
            attempt: 3,
            next_at: Some(sample::seconds(90)),
            provider_id: Some("C1:17\u{202e}".into()),
            error: Some("\u{1b}[31mno".into()),
            created_at: sample::seconds(-60),
            updated_at: sample::seconds(-60),
        }
    }

    #[test]
    fn all_that_failed_are_found_however_many_there_are() {
        let server = Service::start(|heard, _| {
            let before = heard.path.split(['?', '&']).find_map(|part| part.strip_prefix("before="));
            let before: i64 = before.map_or(1201, |before| before.parse().unwrap());
            let items: Vec<_> = (1..before).rev().take(500).map(failed).collect();
            Conduct::answer(200, serde_json::to_vec(&List { items }).unwrap())
        })
        .unwrap();
        let found = all_failed(&Client::new(&server.url(), "token").unwrap()).unwrap();
        assert_eq!(found, (1..=1200).rev().collect::<Vec<i64>>());
    }

    #[test]
    fn messages_are_listed_with_whole_numbers_and_nothing_hostile() {
        let delivery = failed(9_007_199_254_740_993);
        let brief = table(std::slice::from_ref(&delivery), TooWide::Cut, &sample::context());
        assert!(!brief.contains("C1:17"), "{brief}");
        let text = table(&[delivery], TooWide::GoOn, &sample::context());
        assert!(text.contains("C1:17") && text.contains("in 1 min"), "{text}");
        assert!(text.contains("9007199254740993  ask "), "{text}");
        assert!(text.contains("failed") && !text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
    }
}
