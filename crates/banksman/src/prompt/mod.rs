//! Asking the person at a terminal: a box that shows what would run, a countdown, and no unless a key says yes.

mod card;
mod pages;
mod signals;
mod terminal;

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::display::{Screen, Visible, cut};
use pages::Pages;
use terminal::{Key, Terminal};

pub(crate) use card::Card;

/// The terminal that this process belongs to, wherever its input and output lead.
const OWN: &str = "/dev/tty";

/// Who else may answer, and so what silence means.
#[derive(Clone, Copy)]
pub(crate) enum Asking<'a> {
    /// Without a server nobody else does: silence is no.
    Alone,
    /// A server holds it: silence changes nothing, and someone else may come first.
    Held {
        /// Says what became of it elsewhere, once something did.
        elsewhere: &'a dyn Fn() -> Option<String>,
    },
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Approve {
        reason: Option<String>,
    },
    Deny {
        reason: Option<String>,
    },
    /// Nobody answered. Without a server that is no, but nobody's no.
    TimedOut,
    /// It was answered elsewhere, or is no longer what was shown: in these words.
    Elsewhere(String),
}

/// Asks at the terminal that this process belongs to; an error if there is none.
pub(crate) fn ask_here(card: &Card, asking: Asking<'_>, patience: Duration) -> anyhow::Result<Choice> {
    ask_at(Path::new(OWN), card, asking, patience)
}

/// Asks at a terminal.
pub(crate) fn ask_at(
    path: &Path,
    card: &Card,
    asking: Asking<'_>,
    patience: Duration,
) -> anyhow::Result<Choice> {
    let mut terminal = Terminal::open(path).with_context(|| {
        format!("{} is no terminal to ask at: `tty` there prints its name", path.display())
    })?;
    ask(&mut terminal, card, asking, Instant::now() + patience).context("the terminal failed")
}

fn ask(terminal: &mut Terminal, card: &Card, asking: Asking<'_>, until: Instant) -> io::Result<Choice> {
    let screen = terminal.screen();
    let (first, mut pages) = Pages::of(card, screen, terminal.rows());
    terminal.write_all(first.as_bytes())?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return timed_out(terminal, asking);
        }
        if let Asking::Held { elsewhere } = asking
            && let Some(words) = elsewhere()
        {
            writeln!(terminal, "\r\x1b[K{}\r", Visible(&words))?;
            return Ok(Choice::Elsewhere(words));
        }
        write!(terminal, "\r\x1b[K{}", question(screen, asking, &pages, left))?;
        // Until the next whole second, when the countdown changes.
        let next = Duration::from_nanos(u64::from(left.subsec_nanos()).max(1_000_000)).min(left);
        match terminal.key(next)? {
            None | Some(Key::Other) => {}
            Some(Key::View) => {
                write!(terminal, "\r\x1b[K")?;
                terminal.write_all(pages.turn().as_bytes())?;
            }
            Some(Key::Yes) if !pages.were_seen() => {
                let more = "Not all of it has been shown: press v until the end of the box, then a.";
                writeln!(terminal, "\r\x1b[K{}\r", cut(more, screen.columns().saturating_sub(1)))?;
            }
            Some(Key::Yes) => {
                if let Some(reason) = why(terminal, card.wants_reason(), until)? {
                    writeln!(terminal, "\r\x1b[K{}\r", answered(asking, "Approved."))?;
                    return Ok(Choice::Approve { reason });
                }
            }
            Some(Key::No) => {
                // Where no record is kept, a no needs no reason to hold.
                let recorded = matches!(asking, Asking::Held { .. });
                if let Some(reason) = why(terminal, recorded && card.wants_reason(), until)? {
                    writeln!(terminal, "\r\x1b[K{}\r", answered(asking, "Denied."))?;
                    return Ok(Choice::Deny { reason });
                }
            }
        }
    }
}

/// What is said of an answer. Where a server decides, it says itself what came of it.
fn answered<'a>(asking: Asking<'_>, final_word: &'a str) -> &'a str {
    match asking {
        Asking::Alone => final_word,
        Asking::Held { .. } => "Sending your answer.",
    }
}

fn timed_out(terminal: &mut Terminal, asking: Asking<'_>) -> io::Result<Choice> {
    let words = match asking {
        Asking::Alone => "Nobody answered: denied.",
        Asking::Held { .. } => "Nobody answered: nothing was decided.",
    };
    writeln!(terminal, "\r\x1b[K{words}\r")?;
    Ok(Choice::TimedOut)
}

/// The reason, if one is wanted. `None` if one is, and none was given: then nothing is answered yet.
fn why(terminal: &mut Terminal, wanted: bool, until: Instant) -> io::Result<Option<Option<String>>> {
    if !wanted {
        return Ok(Some(None));
    }
    match terminal.line("\r\x1b[KPolicy wants a reason: ", until)? {
        Some(reason) => Ok(Some(Some(reason))),
        None => {
            writeln!(terminal, "\r\x1b[KWithout a reason nothing is answered.\r")?;
            Ok(None)
        }
    }
}

/// One line, whatever the width: a line that wraps could not be written over.
fn question(screen: Screen, asking: Asking<'_>, pages: &Pages, left: Duration) -> String {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let keys =
        if pages.were_seen() { "Approve? [a/D/v]" } else { "There is more: [v] to see it, [D] to deny" };
    let end = match asking {
        Asking::Alone => "auto-deny in",
        Asking::Held { .. } => "closes in",
    };
    cut(&format!("{keys}  {end} {seconds} s "), screen.columns().saturating_sub(1))
}
