//! Where the servers are at this moment, and asking them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use banksman_client::{Client, ClientError};

use super::book::{Book, Call, Reply, Wish};
use crate::chance::Chance;

/// How soon someone who reached nobody tries again.
const AGAIN: Duration = Duration::from_millis(1);

/// How long someone waits whom a server told that it cannot reach its store.
const LATER: Duration = Duration::from_millis(10);

/// The place that everyone works at: servers that come and go, and the book.
pub(crate) struct Site {
    servers: Mutex<Vec<Option<String>>>,
    /// How long an answer may take.
    patience: Duration,
    closing: AtomicBool,
    began: Instant,
    book: Mutex<Book>,
}

impl Site {
    /// A place with so many servers, none of which is up yet.
    pub(crate) fn new(servers: usize, patience: Duration) -> Self {
        Self {
            servers: Mutex::new(vec![None; servers]),
            patience,
            closing: AtomicBool::new(false),
            began: Instant::now(),
            book: Mutex::default(),
        }
    }

    pub(crate) fn went_down(&self, server: usize) {
        self.servers.lock().unwrap()[server] = None;
    }

    /// Each server gets a port of its own: while none listens, another process could take a fixed one.
    pub(crate) fn came_up(&self, server: usize, url: &str) {
        self.servers.lock().unwrap()[server] = Some(url.to_owned());
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

    pub(crate) fn book(&self) -> Book {
        self.book.lock().unwrap().clone()
    }

    /// In short, for whoever watches.
    pub(crate) fn progress(&self) -> String {
        let book = self.book.lock().unwrap();
        let yes = book.calls.iter().filter(|call| call.granted().is_some()).count();
        let lost: u64 = book.calls.iter().map(|call| call.lost).sum();
        format!("{yes} acknowledged, {lost} without an answer, {} unavailable", book.unavailable)
    }
}

/// What came of asking.
pub(super) enum Answer<T> {
    /// The server did it.
    Given(T),
    /// It did not, by this code.
    Refused(String),
    /// The connection broke, or the server does not know itself. It may have done it or not.
    Lost,
    /// There was no server any more.
    Nobody,
}

/// One person's way to the servers.
pub(super) struct Line {
    pub(super) site: Arc<Site>,
    token: String,
    clients: Vec<Option<Client>>,
    chance: Chance,
}

/// A wish that is in the book and has no answer yet.
#[derive(Clone, Copy)]
pub(super) struct Asked(usize);

impl Line {
    pub(super) fn new(site: &Arc<Site>, token: &str, chance: Chance) -> Self {
        let servers = site.servers.lock().unwrap().len();
        let clients = (0..servers).map(|_| None).collect();
        Self { site: Arc::clone(site), token: token.to_owned(), clients, chance }
    }

    /// Writes down what is about to be asked, before anyone can have heard of it.
    pub(super) fn wish(&self, by: &'static str, wish: Wish) -> Asked {
        let asked = self.site.began.elapsed();
        let mut book = self.site.book.lock().unwrap();
        book.calls.push(Call { by, wish, asked, answer: None, lost: 0 });
        Asked(book.calls.len() - 1)
    }

    /// Writes down the answer.
    pub(super) fn told(&self, asked: Asked, reply: Reply) {
        let at = self.site.began.elapsed();
        self.site.write(|book| book.calls[asked.0].answer = Some((at, reply)));
    }

    pub(super) fn unheard(&self, asked: Asked) {
        self.site.write(|book| book.calls[asked.0].lost += 1);
    }

    /// Asks any server that is up, and waits for one if none is: what was certainly not seen is sent again.
    pub(super) fn ask<T>(&mut self, call: impl Fn(&Client) -> Result<T, ClientError>) -> Answer<T> {
        loop {
            match self.connect().map(&call) {
                Some(Ok(answer)) => return Answer::Given(answer),
                Some(Err(ClientError::Problem(problem))) if problem.code == "unavailable" => {
                    self.site.write(|book| book.unavailable += 1);
                    std::thread::sleep(LATER);
                    return Answer::Lost;
                }
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
        asked: Option<Asked>,
        call: impl Fn(&Client) -> Result<T, ClientError>,
    ) -> Result<Option<T>, String> {
        loop {
            match self.ask(&call) {
                Answer::Given(answer) => return Ok(Some(answer)),
                Answer::Refused(code) => return Err(code),
                Answer::Lost => {
                    if let Some(asked) = asked {
                        self.unheard(asked);
                    }
                }
                Answer::Nobody => return Ok(None),
            }
        }
    }

    /// One of the servers that are up.
    fn connect(&mut self) -> Option<&Client> {
        let servers = self.site.servers.lock().unwrap().clone();
        let up: Vec<usize> = (0..servers.len()).filter(|place| servers[*place].is_some()).collect();
        let place = self.chance.one_of(&up)?;
        let (url, client) = (servers[place].as_ref()?, &mut self.clients[place]);
        if client.as_ref().is_none_or(|client| client.url() != url) {
            let fresh = Client::new(url, &self.token).unwrap();
            *client = Some(fresh.answered_within(self.site.patience));
        }
        client.as_ref()
    }
}
