//! `banksman audit verify`: whether a log is the one that was signed, and bears out what it says about passkeys. Needs no
//! server.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_core::Timestamp;
use banksman_core::audit::Event;
use banksman_core::wire::EventView;
use banksman_identity::{Evidence, Flaw};
use banksman_ledger::NoteKey;
use banksman_store::EventQuery;
use serde::Serialize;

use super::prove;
use super::sealed::Sealed;
use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::folder::Folder;
use crate::progress::Progress;
use crate::span::to_the_second;

/// How many events are read at once.
const PAGE: usize = 1000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// An exported log, one event a line, or - for standard input [default: the log in the data folder]
    file: Option<PathBuf>,
    /// It is a part without its beginning: check what can be checked without it
    #[arg(long)]
    part: bool,
    /// It has to hold everything up to this event, whose number is known from elsewhere
    #[arg(long, value_name = "SEQ")]
    up_to: Option<u64>,
    /// It has to be the log that this checkpoint was made of [default: that beside an exported file, and all in a database]
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    /// The key that checkpoints are signed with, from someone you trust: NAME+HASH+KEY [default: that in the data folder]
    #[arg(long, value_name = "KEY")]
    key: Option<NoteKey>,
    /// Check what `audit prove` wrote instead of a log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "part", "up_to", "checkpoint"])]
    proof: Option<PathBuf>,
}

/// What was found.
#[derive(Serialize)]
struct Report {
    events: u64,
    /// The first and the last of them.
    first: Option<u64>,
    last: Option<u64>,
    /// When the last one happened.
    last_at: Option<Timestamp>,
    /// Decisions whose passkey's signature holds.
    proved: u64,
    /// Decisions that rest on what came before this part of the log.
    unjudged: u64,
    /// Checkpoints that it comes to.
    checkpoints: u64,
    /// How far the last of them goes: up to there, nothing was changed since it was signed.
    signed_up_to: u64,
    /// Whether their signatures were checked too.
    signatures: bool,
    flaws: Vec<String>,
}

/// What is known so far, and who waits for it.
struct Reading {
    evidence: Evidence,
    sealed: Sealed,
    events: u64,
    last_at: Option<Timestamp>,
    flaws: Vec<String>,
    progress: Progress,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let key = match &args.key {
        Some(key) => Some(key.clone()),
        None => own_key(context)?,
    };
    if let Some(proof) = &args.proof {
        let key = key.ok_or_else(|| stop(Exit::Usage, "say with --key what it has to be signed with"))?;
        return prove::verify(proof, &key, context);
    }
    let evidence = if args.part { Evidence::of_part() } else { Evidence::default() };
    let mut reading = Reading {
        evidence,
        sealed: Sealed::with(key),
        events: 0,
        last_at: None,
        flaws: Vec::new(),
        progress: Progress::new(),
    };
    for path in checkpoints_of(args) {
        let note = std::fs::read_to_string(&path)
            .map_err(|error| stop(Exit::Usage, format!("cannot read {}: {error}", path.display())))?;
        reading.expect(&note, &path.display().to_string());
    }
    match &args.file {
        Some(file) => read_file(file, &mut reading)?,
        None => read_store(args, context, &mut reading)?,
    }
    let report = reading.end(args.up_to);
    let exit = if report.flaws.is_empty() { Exit::Done } else { Exit::Refused };
    if context.globals.json {
        context.print_json(&report)?;
    } else {
        context.print(&report.words(args))?;
    }
    Ok(exit.into())
}

impl Report {
    /// What it is worth that nothing was found.
    fn how_far(&self) -> String {
        let last = self.last.unwrap_or_default();
        if self.checkpoints == 0 {
            return "Events are numbered without a gap, and every passkey's signature holds. There is no checkpoint to \
                    hold it against, so a change to an event that no passkey signed is not detected.\n"
                .to_owned();
        }
        let checkpoints = if self.checkpoints == 1 {
            "1 checkpoint fits".to_owned()
        } else {
            format!("{} checkpoints fit", self.checkpoints)
        };
        let mut text = format!(
            "Nothing up to event {} was changed, removed or inserted: {checkpoints}.",
            self.signed_up_to
        );
        if !self.signatures {
            text.push_str(" Who signed them was not checked: say with --key whose signature it has to be.");
        }
        if last > self.signed_up_to {
            text.push_str(&format!(
                " No checkpoint covers what came after, up to {last}; numbers and passkeys hold."
            ));
        }
        text.push('\n');
        text
    }

    fn words(&self, args: &Args) -> String {
        let mut text: String = self.flaws.iter().map(|flaw| format!("{}\n", Visible(flaw))).collect();
        if let (Some(first), Some(last)) = (self.first, self.last) {
            let at = self.last_at.map(|at| format!(" of {}", to_the_second(at))).unwrap_or_default();
            text.push_str(&format!("{} events read, {first} to {last}, the last{at}. ", self.events));
            text.push_str(&format!("{} decisions proved by a passkey. ", self.proved));
        }
        if args.part {
            text.push_str(&format!(
                "This is a part: {} decisions rest on what came before it and were not judged. ",
                self.unjudged
            ));
        }
        text.push_str(&match self.flaws.len() {
            0 if args.part => "What can be judged holds: numbers and passkeys.\n".to_owned(),
            0 => self.how_far(),
            1 => "1 flaw.\n".to_owned(),
            many => format!("{many} flaws.\n"),
        });
        if let (Some(last), None, Some(_)) = (self.last, args.up_to, &args.file) {
            text.push_str(&format!(
                "Whether anything came after event {last} cannot be seen in the file: compare with the server's newest \
                 (`banksman audit query --limit 1`), or say with --up-to what has to be in it.\n"
            ));
        }
        text
    }
}

impl Reading {
    /// What the log has to come to.
    fn expect(&mut self, note: &str, whence: &str) {
        if let Err(problem) = self.sealed.expect(note) {
            self.flaws.push(format!("{whence}: {problem}"));
        }
    }

    fn take(&mut self, seq: u64, body: &str) {
        self.events += 1;
        let taken = match Event::from_bytes(body.as_bytes()) {
            Ok(event) => {
                self.last_at = Some(event.at);
                self.evidence.take(seq, &event)
            }
            Err(error) => {
                let unread = Flaw { seq, problem: format!("it cannot be read: {error}") };
                self.evidence.follow(seq).and(Err(unread))
            }
        };
        if let Err(flaw) = taken {
            self.flaws.push(flaw.to_string());
        }
        let unfit = self.sealed.take(seq, body);
        self.flaws.extend(unfit);
        self.progress.count(self.events, "events read");
    }

    /// Nothing more comes: was it enough?
    fn end(self, up_to: Option<u64>) -> Report {
        let Self { evidence, sealed, events, last_at, mut flaws, progress: _ } = self;
        flaws.extend(sealed.end());
        match (evidence.last(), up_to) {
            (None, _) => flaws.push("there is no event in it: that proves nothing".to_owned()),
            (Some(last), Some(wanted)) if last < wanted => {
                flaws.push(format!(
                    "it ends with event {last}, and has to reach {wanted}: its end is missing"
                ));
            }
            (Some(_), _) => {}
        }
        Report {
            events,
            first: evidence.first(),
            last: evidence.last(),
            last_at,
            proved: evidence.proved(),
            unjudged: evidence.unjudged(),
            checkpoints: sealed.held,
            signed_up_to: sealed.up_to,
            signatures: sealed.checks_signatures(),
            flaws,
        }
    }
}

/// The key of the data folder, if there is one.
fn own_key(context: &Context) -> anyhow::Result<Option<NoteKey>> {
    match Folder::open(&context.globals.data) {
        Ok(folder) if folder.key().exists() => Ok(Some(folder.signer()?.note_key())),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Those that were named, and the one that an export leaves beside its file.
fn checkpoints_of(args: &Args) -> Vec<PathBuf> {
    let mut found = args.checkpoint.clone();
    if let Some(file) = &args.file {
        found.extend(Some(beside(file)).filter(|path| !args.part && path.exists()));
    }
    found
}

/// Where an export leaves the checkpoint that it comes to.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".checkpoint");
    name.into()
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
        let store = args.database.open_to_read(&folder).await?;
        let mut after = 0;
        reading.sealed.expect_pages(store.ledger_pages(0).await?);
        if let Some(last) = store.last_checkpoint().await? {
            reading.expect(&last.note, "the newest checkpoint");
        }
        loop {
            let page = store.events(EventQuery::following(after, PAGE)).await?;
            let reached = page.last().map_or(after, |last| last.seq);
            for signed in store.checkpoints(after, PAGE).await?.iter().filter(|signed| signed.size <= reached)
            {
                reading.expect(&signed.note, &format!("the checkpoint of {} events", signed.size));
            }
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
