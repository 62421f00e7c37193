//! A thin layer between SQLite and the file system that gathers what is written to the write-ahead log.
//!
//! SQLite writes each page of a transaction with two system calls: 24 bytes of header, then the page. A group of commits
//! is some forty of them, which was a fifth of the time that a whole cycle took. This layer keeps what is written in a
//! row and hands it on at once, when SQLite asks for it to be synced, or reads, or does anything else with the file.
//!
//! Only the log is touched; the database, its locks and its shared memory are SQLite's own files. What is kept back is
//! seen by nobody: with `synchronous=FULL` a transaction is published to readers after its log was synced, and syncing
//! begins here with handing on. A write that fails therefore fails the sync, and with it the commit.
//! With a weaker `synchronous` it must not be used; who does not want to wait for the disk says so for single commits
//! ([`lazily`]).

mod file;
mod lazily;
mod register;

pub use file::syncs;
pub use lazily::lazily;
pub use register::vfs;

#[cfg(test)]
mod tests;
