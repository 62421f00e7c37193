//! `/v1/actions`

mod cancel;
mod claim;
mod decision;
mod forwarded;
mod list;
mod modify;
mod outcome;
mod propose;
mod race;
mod redaction;
mod show;
