//! A terminal that is put right before a signal ends the process.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::termios::{OptionalActions, Termios, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::{flag, low_level};

/// Signals that end a process and leave it time to clear up.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// On duty until it is dropped; from then on signals do again what they always do.
pub(super) struct Guard {
    handle: Handle,
    off_duty: Arc<AtomicBool>,
    waiting: Option<JoinHandle<()>>,
}

impl Guard {
    /// Watches over a terminal that is about to be changed, and knows how it was found.
    pub(super) fn post(terminal: &File, found: &Termios) -> io::Result<Self> {
        let off_duty = Arc::new(AtomicBool::new(false));
        for signal in ENDING {
            flag::register_conditional_default(signal, Arc::clone(&off_duty))?;
        }
        let mut signals = Signals::new(ENDING)?;
        let handle = signals.handle();
        let (terminal, found) = (terminal.try_clone()?, found.clone());
        let waiting = std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in &mut signals {
                let _ = tcsetattr(&terminal, OptionalActions::Now, &found);
                let _ = low_level::emulate_default_handler(signal);
            }
        })?;
        Ok(Self { handle, off_duty, waiting: Some(waiting) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.off_duty.store(true, Ordering::SeqCst);
        self.handle.close();
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
    }
}
