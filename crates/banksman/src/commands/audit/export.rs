//! `banksman audit export`: the log as a file that `audit verify` and others read.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_client::{AuditQuery, Client};
use banksman_core::wire::EventView;
use serde::Serialize;

use super::verify::beside;
use crate::context::Context;
use crate::display::VisibleJson;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::span::When;

/// How many events are fetched at a time.
const PAGE: u32 = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Not before this: a time such as 2026-11-15T10:00:00Z, or how long ago, such as 2h; then it is a part, which
    /// `audit verify --part` reads
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    since: Option<When>,
    /// Before this
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    until: Option<When>,
}

/// What was written.
#[derive(Debug, Default, Serialize)]
struct Written {
    events: u64,
    first: Option<u64>,
    last: Option<u64>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let Some(path) = &args.out else {
        let mut screen =
            Screened { out: BufWriter::new(io::stdout().lock()), visible: context.screen.is_terminal() };
        match export(args, context, &mut screen) {
            // `banksman audit export | head`: the reader has seen enough.
            Err(error) if is_closed_pipe(&error) => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        return Ok(Exit::Done.into());
    };
    // Before the events, so that they reach as far as it does.
    let whole = args.since.is_none() && args.until.is_none();
    let checkpoint =
        whole.then(|| context.client()?.checkpoint().map_err(anyhow::Error::from)).transpose()?;
    let written = to_file(path, |file| export(args, context, file))?;
    if let Some(checkpoint) = checkpoint {
        let path = beside(path);
        std::fs::write(&path, checkpoint.note).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.globals.json {
        context.print_json(&written)?;
    } else {
        let which = match (written.first, written.last) {
            (Some(first), Some(last)) => format!(", {first} to {last}"),
            (None, _) | (_, None) => String::new(),
        };
        context.print(&format!("{} events written{which}.\n", written.events))?;
    }
    Ok(Exit::Done.into())
}

/// Writes every event that was there when it began.
fn export(args: &Args, context: &Context, out: &mut dyn Write) -> anyhow::Result<Written> {
    let client = context.client()?;
    let mut written = Written::default();
    let Some(newest) = newest(&client)? else { return Ok(written) };
    let mut query = AuditQuery {
        since: args.since.map(|when| when.from(context.now)),
        until: args.until.map(|when| when.from(context.now)),
        oldest_first: true,
        limit: Some(PAGE),
        ..AuditQuery::default()
    };
    let mut progress = Progress::new();
    loop {
        let page = client.audit(&query)?;
        // A log that grows faster than it is read would have no end.
        for event in page.items.iter().filter(|event| event.seq <= newest) {
            write_line(out, event)?;
            written.events += 1;
            written.first.get_or_insert(event.seq);
            written.last = Some(event.seq);
        }
        let last = page.items.last().map_or(newest, |event| event.seq);
        progress.share(last, newest, "exported");
        query.cursor = page.next_cursor.filter(|_| last < newest);
        if query.cursor.is_none() {
            out.flush()?;
            return Ok(written);
        }
    }
}

fn newest(client: &Client) -> anyhow::Result<Option<u64>> {
    let page = client.audit(&AuditQuery { limit: Some(1), ..AuditQuery::default() })?;
    Ok(page.items.first().map(|event| event.seq))
}

fn write_line(out: &mut dyn Write, event: &EventView) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(())
}

/// Under another name until it is whole: half an export must not be taken for one.
fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<Written>,
) -> anyhow::Result<Written> {
    let cannot = || format!("cannot write {}", path.display());
    let mut unfinished = OsString::from(path);
    unfinished.push(".unfinished");
    let mut file = BufWriter::new(File::create(&unfinished).with_context(cannot)?);
    let written = write(&mut file).and_then(|written| {
        file.get_ref().sync_all().with_context(cannot)?;
        std::fs::rename(&unfinished, path).with_context(cannot)?;
        Ok(written)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Standard output. On a terminal, the same values in a spelling that a terminal does not obey.
struct Screened<W> {
    out: W,
    visible: bool,
}

impl<W: Write> Write for Screened<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.visible {
            let text = String::from_utf8_lossy(bytes);
            writeln!(self.out, "{}", VisibleJson(text.trim_end()))?;
            return Ok(bytes.len());
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
