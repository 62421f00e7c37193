//! Files that operators write, read strictly: whatever is not understood is an error, shown with its line.
//!
//! Policies, channels, upstreams and providers are YAML files of different languages that are read alike. A [`Source`]
//! is a text with a name; it is read into the types of whoever knows the language, and [`ConfigError`] says what is
//! wrong and where, in the words of whoever wrote it. What several languages have values of is here as well: time spans
//! ([`Seconds`]), times of day and week ([`TimeTest`]).
//!
//! Texts in, values out. That a file holds secrets is none of this crate's business: `banksman-secrets` reads them.

mod error;
mod mistake;
mod source;

mod calendar;
mod span;

pub use calendar::{Day, LocalTime, TimeOfDay, TimeTest, Zone, in_zone};
pub use error::{ConfigError, Place};
pub use mistake::Hint;
pub use source::Source;
pub use span::Seconds;
