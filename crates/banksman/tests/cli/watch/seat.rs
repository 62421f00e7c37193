//! A person before a real pseudo-terminal on which `banksman watch` runs: types keys, and sees a screen.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::installation::{PATIENCE, Server, program};

pub(super) const SMALL: (u16, u16) = (80, 24);
pub(super) const LARGE: (u16, u16) = (120, 40);

pub(super) const UP: &str = "\u{1b}[A";
pub(super) const DOWN: &str = "\u{1b}[B";
pub(super) const PAGE_DOWN: &str = "\u{1b}[6~";
pub(super) const ENTER: &str = "\r";
pub(super) const ESCAPE: &str = "\u{1b}";
pub(super) const CTRL_Z: &str = "\u{1a}";

/// What has come to the terminal so far: as it looks, and byte by byte.
struct Shown {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

pub(super) struct Seat {
    controller: File,
    shown: Arc<Mutex<Shown>>,
    child: Child,
}

impl Seat {
    /// Sits down and starts `banksman watch`.
    pub(super) fn watch(server: &Server, token: &str, size: (u16, u16)) -> Self {
        Self::start(command(server, token), size)
    }

    /// Sits down and starts something that has the terminal to itself, as after a login.
    pub(super) fn start(command: Command, (columns, rows): (u16, u16)) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let path = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(&controller, window(columns, rows)).unwrap();
        let terminal = || OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // Not the leader of a group yet, so `setsid` becomes the command itself and keeps its process id.
        let mut outer = Command::new("setsid");
        outer.arg("--ctty").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        outer.stdin(terminal()).stdout(Stdio::from(terminal())).stderr(Stdio::from(terminal()));
        let child = outer.spawn().unwrap();
        let controller = File::from(controller);
        let shown = Arc::new(Mutex::new(Shown {
            parser: vt100::Parser::new(some(rows), some(columns), 0),
            bytes: Vec::new(),
        }));
        let (mut eyes, sees) = (controller.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(count @ 1..) = eyes.read(&mut bytes) {
                let mut shown = sees.lock().unwrap();
                shown.parser.process(&bytes[..count]);
                shown.bytes.extend_from_slice(&bytes[..count]);
            }
        });
        Self { controller, shown, child }
    }

    pub(super) fn types(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// The screen as text.
    pub(super) fn screen(&self) -> String {
        self.shown.lock().unwrap().parser.screen().contents()
    }

    /// Every cell of the screen, row by row. The second half of a wide character is empty.
    pub(super) fn cells(&self) -> Vec<Vec<String>> {
        let shown = self.shown.lock().unwrap();
        let screen = shown.parser.screen();
        let (rows, columns) = screen.size();
        let text = |cell: &vt100::Cell| match cell {
            cell if cell.is_wide_continuation() => String::new(),
            cell if cell.has_contents() => cell.contents().to_owned(),
            _ => " ".to_owned(),
        };
        (0..rows.get())
            .map(|row| (0..columns.get()).filter_map(|column| screen.cell(row, column)).map(text).collect())
            .collect()
    }

    /// Every row of the screen, in full width.
    pub(super) fn rows(&self) -> Vec<String> {
        self.cells().iter().map(|cells| cells.concat()).collect()
    }

    /// Waits until all of a screen is drawn: nothing more has come for a while.
    pub(super) fn rests(&self) -> String {
        let began = Instant::now();
        let mut count = usize::MAX;
        while count != self.shown.lock().unwrap().bytes.len() && began.elapsed() < PATIENCE {
            count = self.shown.lock().unwrap().bytes.len();
            std::thread::sleep(Duration::from_millis(150));
        }
        self.screen()
    }

    /// The screen at rest, without what differs from run to run.
    pub(super) fn picture(&self) -> String {
        settled(&self.rests())
    }

    /// Everything that was written to the terminal.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.shown.lock().unwrap().bytes.clone()
    }

    /// Looks at the terminal's own state.
    pub(super) fn inspect<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shown.lock().unwrap().parser.screen())
    }

    /// Whether the terminal is as a shell expects it: lines are edited, keys are echoed, signals come from keys.
    pub(super) fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.controller).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits until the screen shows this, and gives it.
    pub(super) fn sees(&self, wanted: &str) -> String {
        self.waits_for(wanted, |screen| screen.contains(wanted));
        self.rests()
    }

    /// Waits until the screen no longer shows this.
    pub(super) fn sees_no_more(&self, unwanted: &str) -> String {
        self.waits_for(unwanted, |screen| !screen.contains(unwanted))
    }

    fn waits_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "waited for {what:?} in vain:\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Long enough to have read a question: sooner, no key counts as an answer.
    pub(super) fn reads(&self, wanted: &str) -> String {
        self.sees(wanted);
        std::thread::sleep(Duration::from_millis(400));
        self.screen()
    }

    pub(super) fn resizes(&self, columns: u16, rows: u16) {
        self.shown.lock().unwrap().parser.screen_mut().set_size(some(rows), some(columns));
        tcsetwinsize(&self.controller, window(columns, rows)).unwrap();
    }

    pub(super) fn process(&self) -> &Child {
        &self.child
    }

    /// Waits for the end; the exit code.
    pub(super) fn ends(&mut self) -> Option<i32> {
        crate::pty::end(&mut self.child).code()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // By its id, and only if it is still ours: a child that was waited for is not signalled.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `banksman watch` as someone with this token would start it.
pub(super) fn command(server: &Server, token: &str) -> Command {
    let mut command = program();
    command.arg("watch").env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", token);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("VISUAL").env_remove("EDITOR");
    command
}

fn some(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn window(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A screen without what differs from run to run, every column in its place.
fn settled(screen: &str) -> String {
    let mut text: String = screen.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    for (pattern, mask) in [
        (r"act_[0-9A-Z]{26}", "act_00000000000000000000000000"),
        (r"sha256:[0-9a-f]{64}", "sha256:0000000000000000000000000000000000000000000000000000000000000000"),
        (r"127\.0\.0\.1:\d{5}", "127.0.0.1:00000"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "0000-00-00T00:00:00Z"),
        (r"\d+ s ago", "0 s ago"),
        (r"tok_[0-9A-Z]{26}", "tok_00000000000000000000000000"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, mask).into_owned();
    }
    text
}
