//! What a reviewer needs to see, before it becomes a page, a screen or a sentence.
//!
//! Pure, and without a word about how anything looks: the browser, the terminal and the command line each draw what
//! is worked out here, so that no two of them tell a reviewer different things about the same action.

mod approvals;
mod change;
mod claims;
mod hosts;
mod lookalike;
mod marks;
mod rows;
mod shown;

mod moments;
mod people;
mod told;
mod words;

#[cfg(feature = "sample")]
pub mod sample;

pub use approvals::Approvals;
pub use change::{Change, ChangedLine, Comparison};
pub use claims::{Claim, Said, claims, passed_on_to};
pub use lookalike::{Oddity, oddities, reads_like};
pub use marks::{Numbered, Stretch, numbered, stretches};
pub use moments::{relative, span, to_the_second};
pub use people::{chain, standing, step_taken};
pub use rows::{Row, rows};
pub use shown::{Shown, digest_of_shown};
pub use told::{Part, event_line, told};
pub use words::{decided, meaning, overtaken, result, undo};
