//! A terminal that is read key by key, and left as it was found.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, isatty, tcflush, tcgetattr,
    tcsetattr,
};

use super::signals::Guard;
use crate::display::Screen;

/// Of a terminal that does not say how large it is.
const USUAL_COLUMNS: usize = 80;
const USUAL_ROWS: usize = 24;
/// As much as a terminal keeps of one line.
const LONGEST_LINE: usize = 4096;

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Yes,
    No,
    View,
    Other,
}

pub(super) struct Terminal {
    file: File,
    found: Termios,
    raw: Termios,
    _guard: Guard,
}

impl Terminal {
    /// Opens a terminal; whatever was typed before the question is no answer to it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let no_control = OFlags::NOCTTY.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(no_control).open(path)?;
        if !isatty(&file) {
            return Err(io::Error::other("not a terminal"));
        }
        let found = tcgetattr(&file)?;
        let mut raw = found.clone();
        // Not ISIG: Ctrl-C is a no like any other, and the terminal has to be put right afterwards.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Before the change, so that no signal can come in between.
        let guard = Guard::post(&file, &found)?;
        let terminal = Self { file, found, raw, _guard: guard };
        terminal.become_as(&terminal.raw)?;
        Ok(terminal)
    }

    /// Changes how the terminal behaves, and forgets what was typed before.
    fn become_as(&self, modes: &Termios) -> io::Result<()> {
        tcsetattr(&self.file, OptionalActions::Now, modes)?;
        tcflush(&self.file, QueueSelector::IFlush)?;
        Ok(())
    }

    pub(super) fn screen(&self) -> Screen {
        let columns = terminal_size::terminal_size_of(&self.file)
            .map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0));
        Screen { terminal_columns: Some(columns), colours: crate::display::wants_colours() }
    }

    pub(super) fn rows(&self) -> usize {
        terminal_size::terminal_size_of(&self.file).map_or(USUAL_ROWS, |(_, height)| usize::from(height.0))
    }

    /// The next key, if one is pressed in time.
    pub(super) fn key(&mut self, patience: Duration) -> io::Result<Option<Key>> {
        if !self.has_input(patience)? {
            return Ok(None);
        }
        let mut bytes = [0; 64];
        let count = self.file.read(&mut bytes)?;
        Ok(Some(meaning(bytes.get(..count).unwrap_or_default())))
    }

    /// A line, typed with the terminal's own editing. None if it is blank, broken off, or not there in time.
    pub(super) fn line(&mut self, asked: &str, until: Instant) -> io::Result<Option<String>> {
        let mut typing = self.found.clone();
        typing.local_modes |= LocalModes::ICANON | LocalModes::ECHO;
        typing.local_modes -= LocalModes::ISIG;
        self.become_as(&typing)?;
        // Not before: what is typed while the terminal changes is lost.
        let typed = self.write_all(asked.as_bytes()).and_then(|()| self.typed(until));
        self.become_as(&self.raw)?;
        typed
    }

    fn typed(&mut self, until: Instant) -> io::Result<Option<String>> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if self.has_input(left)? {
                let mut bytes = [0; LONGEST_LINE];
                let count = self.file.read(&mut bytes)?;
                return Ok(words(bytes.get(..count).unwrap_or_default()));
            }
        }
    }

    /// Whether something was typed before patience ended, or a signal came.
    fn has_input(&self, patience: Duration) -> io::Result<bool> {
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// What someone typed, if it is words: Ctrl-C and Escape are among the characters, and mean that it is not.
fn words(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// A yes is one key, pressed alone: what is pasted, or typed for something else, is no answer.
fn meaning(bytes: &[u8]) -> Key {
    match bytes {
        b"a" | b"A" | b"y" | b"Y" => Key::Yes,
        b"v" | b"V" => Key::View,
        // Nothing at all: the terminal is gone. Enter is the default. Escape alone, Ctrl-C, Ctrl-D.
        b"" | b"d" | b"D" | b"n" | b"N" | b"q" | b"Q" | b"\r" | b"\n" | b"\x1b" | b"\x03" | b"\x04" => {
            Key::No
        }
        _ => Key::Other,
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.file, OptionalActions::Now, &self.found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_is_one_key_alone() {
        for yes in ["a", "A", "y", "Y"] {
            assert_eq!(meaning(yes.as_bytes()), Key::Yes);
        }
        for other in ["aa", "ya", "yes\n", "a\n", "x", " ", "\u{1b}[A", "\u{1b}a"] {
            assert_eq!(meaning(other.as_bytes()), Key::Other, "{other:?}");
        }
        for no in ["", "d", "n", "\r", "\n", "\u{3}", "\u{4}", "\u{1b}", "q"] {
            assert_eq!(meaning(no.as_bytes()), Key::No, "{no:?}");
        }
    }

    #[test]
    fn a_reason_is_words() {
        assert_eq!(words(b" checked with ops \n").as_deref(), Some("checked with ops"));
        for none in [&b""[..], b"\n", b"  \n", b"ok\x03\n", b"\x1b\n", b"\xff\n"] {
            assert_eq!(words(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_file_is_no_terminal() {
        assert!(Terminal::open(Path::new("/dev/null")).is_err());
        assert!(Terminal::open(Path::new("/no/such/terminal")).is_err());
    }
}
