//! The one way out: whoever is first answers, and a thread that sleeps until the deadline makes sure that someone is.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Answer, Form, Host};

/// Blocks in every host, if the document should not get through.
const BLOCKS: u8 = 2;

/// Where the answer goes.
#[derive(Clone)]
pub(crate) struct Outlet {
    host: Host,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy)]
enum State {
    /// What is asked is not known yet.
    Unread,
    /// This is asked.
    Asked(Form),
    /// Nothing is asked that could be answered.
    Unasked,
}

impl Outlet {
    pub(crate) fn new(host: Host) -> Self {
        Self { host, state: Arc::new(Mutex::new(State::Unread)) }
    }

    /// From now on it is known what is asked.
    pub(crate) fn asked(&self, form: Option<Form>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = form.map_or(State::Unasked, State::Asked);
    }

    /// Says no when time is up, whatever else goes on in this process.
    pub(crate) fn watch(&self, deadline: Duration) {
        let outlet = self.clone();
        thread::spawn(move || {
            thread::sleep(deadline);
            outlet.give_up(&format!(
                "Banksman: no answer within {} s, so no. It was not executed.",
                deadline.as_secs_f32()
            ));
        });
    }

    /// Answers and ends the process.
    pub(crate) fn answer(&self, answer: &Answer, form: Form) -> ! {
        // Held until the end: of an answer and a watchdog only one gets to speak.
        let _alone = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let code = match answer.render(self.host, form) {
            Some(document) => print(&document),
            None => 0,
        };
        std::process::exit(i32::from(code))
    }

    /// Says no in whatever form is likeliest to be heard, and ends the process.
    pub(crate) fn give_up(&self, reason: &str) -> ! {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::Unasked => {
                complain(reason);
                std::process::exit(0)
            }
            State::Asked(form) => {
                let document = Answer::deny(reason).render(self.host, form).unwrap_or_default();
                std::process::exit(i32::from(print(&document)))
            }
            State::Unread => self.refuse_unread(reason, Form::PreToolUse),
        }
    }

    /// Says no to what could not be read: the document, and the exit code that blocks without one.
    pub(crate) fn refuse(&self, reason: &str, likely: Form) -> ! {
        let _alone = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.refuse_unread(reason, likely)
    }

    fn refuse_unread(&self, reason: &str, likely: Form) -> ! {
        if let Some(document) = Answer::deny(reason).render(self.host, likely) {
            print(&document);
        }
        complain(reason);
        std::process::exit(i32::from(BLOCKS))
    }

    /// Ends the process without an answer, where none is expected.
    pub(crate) fn silence(&self) -> ! {
        let _alone = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::process::exit(0)
    }
}

/// Nothing else is ever printed on standard output. The exit code says whether it got there.
fn print(document: &str) -> u8 {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{document}").and_then(|()| stdout.flush());
    match written {
        Ok(()) => 0,
        Err(error) => {
            complain(&format!("Banksman: the answer cannot be written ({error}), so no"));
            BLOCKS
        }
    }
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", crate::display::Visible(text));
}
