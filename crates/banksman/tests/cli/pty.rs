//! A real pseudo-terminal, and a command that believes in it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::installation::PATIENCE;

/// A terminal's other side: what a person sees and types.
pub(crate) struct Person {
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// The terminal's path.
    pub(crate) path: String,
}

impl Person {
    pub(crate) fn sit_down() -> Self {
        let controller: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let path = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let keyboard = File::from(controller);
        let mut eyes = keyboard.try_clone().unwrap();
        let (tell, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                match eyes.read(&mut bytes) {
                    Ok(count) if count > 0 => {
                        if tell.send(bytes[..count].to_vec()).is_err() {
                            return;
                        }
                    }
                    // Nobody has the terminal open at the moment.
                    _ => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Self { keyboard, screen, seen: String::new(), path }
    }

    /// Waits until this was shown since it was last waited for, and gives what was.
    pub(crate) fn sees(&mut self, wanted: &str) -> String {
        let began = Instant::now();
        loop {
            if let Some(at) = self.seen.find(wanted) {
                let rest = self.seen.split_off(at + wanted.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.screen.recv_timeout(Duration::from_millis(50)) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(error) => panic!("{error}"),
            }
            assert!(began.elapsed() < PATIENCE, "never saw {wanted:?}, but {:?}", self.seen);
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }
}

/// Runs a command whose controlling terminal is this person's, as a login would.
pub(crate) fn start_at(person: &Person, command: &Command) -> Child {
    // `setsid --ctty` takes standard input for the terminal; the command gets its own afterwards.
    let mut outer = Command::new("setsid");
    outer.args(["--wait", "--ctty"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(&person.path).unwrap();
    outer.stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    outer.spawn().unwrap()
}

/// Waits for the end, but not for ever.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}
