//! `banksman audit verify`: whether the log bears out what it says about passkeys. Needs no server.

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_core::audit::Event;
use banksman_core::wire::EventView;
use banksman_identity::{Evidence, Flaw};
use banksman_store::EventQuery;
use serde::Serialize;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::exit::{Exit, stop};
use crate::folder::Folder;
use crate::progress::Progress;

/// How many events are read at once.
const PAGE: usize = 1000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// An exported log from its beginning, one event a line, or - for standard input [default: the log in the data folder]
    file: Option<PathBuf>,
}

/// What was found.
#[derive(Serialize)]
struct Report {
    events: u64,
    /// Decisions whose passkey's signature holds.
    proved: u64,
    flaws: Vec<String>,
}

/// What is known so far, and who waits for it.
struct Reading {
    evidence: Evidence,
    report: Report,
    progress: Progress,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let report = Report { events: 0, proved: 0, flaws: Vec::new() };
    let mut reading = Reading { evidence: Evidence::default(), report, progress: Progress::new() };
    match &args.file {
        Some(file) => read_file(file, &mut reading)?,
        None => read_store(args, context, &mut reading)?,
    }
    let Reading { evidence, mut report, progress } = reading;
    drop(progress);
    report.proved = evidence.proved();
    let exit = if report.flaws.is_empty() { Exit::Done } else { Exit::Refused };
    if context.globals.json {
        context.print_json(&report)?;
    } else {
        for flaw in &report.flaws {
            context.print(&format!("{flaw}\n"))?;
        }
        let words = match report.flaws.len() {
            0 => "all of it holds".to_owned(),
            1 => "1 flaw".to_owned(),
            many => format!("{many} flaws"),
        };
        context.print(&format!(
            "{} events read, {} decisions proved by a passkey: {words}.\n",
            report.events, report.proved
        ))?;
    }
    Ok(exit.into())
}

impl Reading {
    fn take(&mut self, seq: u64, body: &str) {
        self.report.events += 1;
        let taken = match Event::from_bytes(body.as_bytes()) {
            Ok(event) => self.evidence.take(seq, &event),
            Err(error) => Err(Flaw { seq, problem: format!("it cannot be read: {error}") }),
        };
        if let Err(flaw) = taken {
            self.report.flaws.push(flaw.to_string());
        }
        self.progress.count(self.report.events, "events read");
    }
}

fn read_file(file: &PathBuf, reading: &mut Reading) -> anyhow::Result<()> {
    let input: Box<dyn BufRead> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let open = std::fs::File::open(file);
        let open =
            open.map_err(|error| stop(Exit::Usage, format!("cannot read {}: {error}", file.display())))?;
        Box::new(std::io::BufReader::new(open))
    };
    for (number, line) in input.lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", file.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let view: EventView = serde_json::from_str(&line).map_err(|error| {
            stop(
                Exit::Usage,
                format!("{}:{}: not an event of an export: {error}", file.display(), number + 1),
            )
        })?;
        reading.take(view.seq, view.event.get());
    }
    Ok(())
}

fn read_store(args: &Args, context: &Context, reading: &mut Reading) -> anyhow::Result<()> {
    let folder = match args.database.shared()? {
        Some(_) => Folder::open_or_create(&context.globals.data)?,
        None => Folder::open(&context.globals.data)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = args.database.open(&folder).await?;
        let mut after = 0;
        loop {
            let page = store.events(EventQuery::following(after, PAGE)).await?;
            for stored in &page {
                reading.take(stored.seq, &stored.body);
                after = stored.seq;
            }
            if page.len() < PAGE {
                return Ok(());
            }
        }
    })
}
