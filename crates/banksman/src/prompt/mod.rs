//! Asking the person at a terminal: a box that shows what would run, a countdown, and no unless a key says yes.

mod card;
mod terminal;

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::display::{Screen, cut};
use terminal::{Key, Terminal};

pub(crate) use card::Card;

/// The terminal that this process belongs to, wherever its input and output lead.
const OWN: &str = "/dev/tty";

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Approve,
    Deny,
    /// Nobody answered. That is no, but nobody's no.
    TimedOut,
}

/// Asks at the terminal that this process belongs to; an error if there is none.
pub(crate) fn ask_here(card: &Card, patience: Duration) -> anyhow::Result<Choice> {
    ask_at(Path::new(OWN), card, patience)
}

/// Asks at a terminal.
pub(crate) fn ask_at(path: &Path, card: &Card, patience: Duration) -> anyhow::Result<Choice> {
    let mut terminal =
        Terminal::open(path).with_context(|| format!("{} is no terminal to ask at", path.display()))?;
    ask(&mut terminal, card, Instant::now() + patience).context("the terminal failed")
}

fn ask(terminal: &mut Terminal, card: &Card, until: Instant) -> io::Result<Choice> {
    let screen = terminal.screen();
    terminal.write_all(card.render(screen, false).as_bytes())?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            writeln!(terminal, "\r\x1b[KNobody answered: denied.\r")?;
            return Ok(Choice::TimedOut);
        }
        write!(terminal, "\r\x1b[K{}", question(screen, left))?;
        // Until the next whole second, when the countdown changes.
        let next = Duration::from_nanos(u64::from(left.subsec_nanos()).max(1_000_000)).min(left);
        match terminal.key(next)? {
            None | Some(Key::Other) => {}
            Some(Key::View) => {
                write!(terminal, "\r\x1b[K")?;
                terminal.write_all(card.render(screen, true).as_bytes())?;
            }
            Some(Key::Yes) => {
                writeln!(terminal, "\r\x1b[KApproved.\r")?;
                return Ok(Choice::Approve);
            }
            Some(Key::No) => {
                writeln!(terminal, "\r\x1b[KDenied.\r")?;
                return Ok(Choice::Deny);
            }
        }
    }
}

/// One line, whatever the width: a line that wraps could not be written over.
fn question(screen: Screen, left: Duration) -> String {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let text = format!("Approve? [a/D/v]  auto-deny in {seconds} s ");
    cut(&text, screen.columns().saturating_sub(1))
}
