//! What a program says, on its way to one reader: bounded by number and by bytes, with a place for the answer that
//! nothing else takes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

/// Messages on their way to one reader. A reader that does not read holds up nobody else.
const QUEUE: usize = 64;

/// So many bytes wait at the most; one message alone may be longer. The answer is not counted.
const QUEUE_BYTES: usize = 4 * 1024 * 1024;

/// Where messages are put. Once it is gone, nothing comes any more.
pub(crate) struct Post(Arc<Shared>);

/// Where they are taken from.
pub(crate) struct Mailbox {
    shared: Arc<Shared>,
    /// What is done when its reader goes.
    farewell: Option<Box<dyn FnOnce() + Send + Sync>>,
}

struct Shared {
    inside: Mutex<Inside>,
    news: Notify,
}

#[derive(Default)]
struct Inside {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// The last message.
    answer: Option<Bytes>,
    /// Nothing comes any more.
    ended: bool,
    /// Nobody reads any more.
    left: bool,
    /// Whoever reads wants nothing but the answer.
    answer_only: bool,
    hears_questions: Questions,
}

/// By what a mailbox is told that its reader wants nothing but the answer.
pub(crate) struct Hush(Arc<Shared>);

impl Hush {
    /// When its reader can answer what is asked.
    pub(crate) fn hears_questions(&self, when: Questions) {
        self.0.inside().hears_questions = when;
    }

    pub(crate) fn only_answer(&self) {
        self.0.inside().answer_only = true;
    }
}

/// A place for messages, from both its sides.
pub(crate) fn mailbox(wants: Wants) -> (Post, Mailbox) {
    let inside = Inside { answer_only: wants == Wants::Answer, ..Inside::default() };
    let shared = Arc::new(Shared { inside: Mutex::new(inside), news: Notify::new() });
    (Post(Arc::clone(&shared)), Mailbox { shared, farewell: None })
}

/// When a reader can answer what is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Questions {
    #[default]
    Now,
    /// Once it is back.
    Later,
    Never,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    Taken,
    /// Its reader would want it, and has not read enough of what came before.
    Full,
    /// Nobody reads here, or nothing but the answer.
    Unwanted,
}

impl Offered {
    pub(crate) fn is_taken(self) -> bool {
        self == Self::Taken
    }
}

/// What a reader is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Whatever is said until there is an answer.
    Everything,
    /// The answer alone; what else is said or asked is for others.
    Answer,
}

impl Shared {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post {
    /// Puts a message there, if its reader wants it and has room for it.
    pub(crate) fn offer(&self, message: &Bytes) -> Offered {
        let mut inside = self.0.inside();
        if inside.left || inside.ended || inside.answer_only {
            return Offered::Unwanted;
        }
        let has_room = inside.waiting.len() < QUEUE
            && (inside.waiting.is_empty() || inside.bytes + message.len() <= QUEUE_BYTES);
        if !has_room {
            return Offered::Full;
        }
        inside.bytes += message.len();
        inside.waiting.push_back(message.clone());
        drop(inside);
        self.0.news.notify_one();
        Offered::Taken
    }

    /// Whether somebody waits here who answers nothing.
    pub(crate) fn is_never_to_be_asked(&self) -> bool {
        let inside = self.0.inside();
        !inside.left && (inside.answer_only || inside.hears_questions == Questions::Never)
    }

    /// Puts a question there, if its reader can answer one then.
    pub(crate) fn ask(&self, question: &Bytes, when: Questions) -> Offered {
        if self.0.inside().hears_questions == when { self.offer(question) } else { Offered::Unwanted }
    }

    /// Puts the answer there: it has room, however much its reader has not read yet. Nothing comes after it.
    pub(crate) fn answer(&self, message: Bytes) {
        let mut inside = self.0.inside();
        inside.answer = Some(message);
        inside.ended = true;
        drop(inside);
        self.0.news.notify_one();
    }

    /// Whether anybody reads more than the answer here.
    pub(crate) fn is_wanted(&self) -> bool {
        let inside = self.0.inside();
        !inside.left && !inside.answer_only
    }

    /// Whether nobody reads what is put here.
    pub(crate) fn is_left(&self) -> bool {
        self.0.inside().left
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.0.inside().ended = true;
        self.0.news.notify_one();
    }
}

impl Mailbox {
    /// The same, with something to do when its reader goes, whether there was an answer or not.
    pub(super) fn with_farewell(self, farewell: impl FnOnce() + Send + Sync + 'static) -> Self {
        let mut mailbox = self;
        mailbox.farewell = Some(Box::new(farewell));
        mailbox
    }

    /// The next message, the answer last; `None` if there is none any more.
    pub(crate) async fn recv(&mut self) -> Option<Bytes> {
        loop {
            {
                let mut inside = self.shared.inside();
                if let Some(message) = inside.waiting.pop_front() {
                    inside.bytes = inside.bytes.saturating_sub(message.len());
                    return Some(message);
                }
                if inside.ended {
                    return inside.answer.take();
                }
            }
            // One that was notified meanwhile does not wait: the note is kept.
            self.shared.news.notified().await;
        }
    }

    /// From now on its reader wants nothing but the answer.
    pub(crate) fn only_answer(&self) {
        self.hush().only_answer();
    }

    /// By what that can be said while somebody reads.
    pub(crate) fn hush(&self) -> Hush {
        Hush(Arc::clone(&self.shared))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        if let Some(farewell) = self.farewell.take() {
            farewell();
        }
        let mut inside = self.shared.inside();
        inside.left = true;
        inside.waiting.clear();
        inside.answer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(length: usize) -> Bytes {
        vec![b'x'; length].into()
    }

    #[tokio::test]
    async fn an_answer_has_its_place_however_full_the_box_is() {
        let (post, mut mailbox) = mailbox(Wants::Everything);
        let taken = (0..1000).filter(|_| post.offer(&note(1)) == Offered::Taken).count();
        assert_eq!(taken, QUEUE);
        post.answer(note(QUEUE_BYTES));
        assert_eq!(post.offer(&note(1)), Offered::Unwanted, "nothing comes after it");
        for _ in 0..QUEUE {
            assert_eq!(mailbox.recv().await.unwrap().len(), 1);
        }
        assert_eq!(mailbox.recv().await.unwrap().len(), QUEUE_BYTES);
        assert!(mailbox.recv().await.is_none());
    }

    #[tokio::test]
    async fn long_messages_do_not_add_up() {
        let (post, mut mailbox) = mailbox(Wants::Everything);
        assert_eq!(post.offer(&note(2 * QUEUE_BYTES)), Offered::Taken, "one may be long");
        assert_eq!(post.offer(&note(1)), Offered::Full);
        assert!(mailbox.recv().await.is_some());
        assert_eq!(post.offer(&note(QUEUE_BYTES / 2)), Offered::Taken);
        assert_eq!(post.offer(&note(QUEUE_BYTES / 2)), Offered::Taken);
        assert_eq!(post.offer(&note(1)), Offered::Full);
        drop(post);
        assert!(mailbox.recv().await.is_some() && mailbox.recv().await.is_some());
        assert!(mailbox.recv().await.is_none());
    }

    #[tokio::test]
    async fn who_wants_the_answer_alone_leaves_the_rest_to_others() {
        let (post, mut mailbox) = mailbox(Wants::Answer);
        assert_eq!(post.offer(&note(1)), Offered::Unwanted);
        post.answer(note(2));
        assert_eq!(mailbox.recv().await.unwrap().len(), 2);
        let (post, mailbox) = super::mailbox(Wants::Everything);
        assert_eq!(post.offer(&note(1)), Offered::Taken);
        mailbox.only_answer();
        assert_eq!(post.offer(&note(1)), Offered::Unwanted);
        assert!(!post.is_left());
        drop(mailbox);
        assert!(post.is_left());
    }
}
