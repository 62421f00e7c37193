//! Where the server is at this moment, and asking it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use banksman_client::{Client, ClientError};

use super::book::Book;

/// How soon someone who reached nobody tries again.
const AGAIN: Duration = Duration::from_millis(1);

/// The place that everyone works at: a server that comes and goes, and the book.
pub(super) struct Site {
    url: Mutex<Option<String>>,
    closing: AtomicBool,
    book: Mutex<Book>,
}

impl Site {
    pub(super) fn at(url: &str) -> Self {
        Self {
            url: Mutex::new(Some(url.to_owned())),
            closing: AtomicBool::new(false),
            book: Mutex::default(),
        }
    }

    pub(super) fn went_down(&self) {
        *self.url.lock().unwrap() = None;
    }

    /// Each server gets a port of its own: while none listens, another process could take a fixed one.
    pub(super) fn came_up(&self, url: &str) {
        *self.url.lock().unwrap() = Some(url.to_owned());
    }

    /// Everyone finishes what they are at and begins nothing new.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    pub(super) fn write(&self, entry: impl FnOnce(&mut Book)) {
        entry(&mut self.book.lock().unwrap());
    }

    pub(super) fn into_book(self: Arc<Self>) -> Book {
        std::mem::take(&mut self.book.lock().unwrap())
    }
}

/// What came of asking.
pub(super) enum Answer<T> {
    /// The server did it.
    Given(T),
    /// It did not, by this code.
    Refused(String),
    /// The connection broke. It may have done it or not.
    Lost,
    /// There was no server any more.
    Nobody,
}

/// One person's way to the server.
pub(super) struct Line {
    pub(super) site: Arc<Site>,
    token: String,
    client: Option<Client>,
}

impl Line {
    pub(super) fn new(site: &Arc<Site>, token: &str) -> Self {
        Self { site: Arc::clone(site), token: token.to_owned(), client: None }
    }

    /// Asks whichever server is up, and waits for one if none is: what was certainly not seen is sent again.
    pub(super) fn ask<T>(&mut self, call: impl Fn(&Client) -> Result<T, ClientError>) -> Answer<T> {
        loop {
            match self.connect().map(&call) {
                Some(Ok(answer)) => return Answer::Given(answer),
                Some(Err(ClientError::Problem(problem))) => return Answer::Refused(problem.code),
                Some(Err(ClientError::NoAnswer { .. })) => return Answer::Lost,
                Some(Err(ClientError::Unreachable { .. })) | None => {
                    if self.site.is_closing() {
                        return Answer::Nobody;
                    }
                    std::thread::sleep(AGAIN);
                }
                Some(Err(error)) => {
                    // Half an answer, or one that is none, is worse than none.
                    self.site.write(|book| book.broken.push(format!("an answer that cannot be: {error}")));
                    return Answer::Lost;
                }
            }
        }
    }

    /// The same, again and again until there is an answer: for what may be sent twice.
    pub(super) fn insist<T>(
        &mut self,
        call: impl Fn(&Client) -> Result<T, ClientError>,
        lost: impl Fn(&mut Book),
    ) -> Result<Option<T>, String> {
        loop {
            match self.ask(&call) {
                Answer::Given(answer) => return Ok(Some(answer)),
                Answer::Refused(code) => return Err(code),
                Answer::Lost => self.site.write(&lost),
                Answer::Nobody => return Ok(None),
            }
        }
    }

    fn connect(&mut self) -> Option<&Client> {
        let url = self.site.url.lock().unwrap().clone()?;
        if self.client.as_ref().is_none_or(|client| client.url() != url) {
            self.client = Some(Client::new(&url, &self.token).unwrap());
        }
        self.client.as_ref()
    }
}
