//! The command line from outside, as scripts and people meet it.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic like tests do")]

mod help;
mod offline;
