//! Reads shell: parses it, then walks through it as the shell would, without running anything.
//!
//! What is known (literals, variables set in the script, the output of `echo`) is followed; what is not is a hole.
//! Wrappers are taken off until the program that really runs is found, and that is stated. Texts carry where they
//! came from, so that "downloaded, then run" and "a secret, then sent" are seen over any number of steps.

mod brace;
mod builtin;
mod code;
mod decode;
mod environment;
mod expand;
mod network;
mod parameter;
mod paths;
mod program;
mod redirect;
mod run;
mod scope;
mod stream;
mod syntax;
mod value;
mod wrap;

use value::{Taint, Text};

use crate::inspection::Inspection;
use crate::origin::Origin;

/// States what a text would do.
pub(crate) fn inspect(inspection: &mut Inspection<'_>, text: &str, origin: Origin) {
    run::Runner::new(inspection, origin).text(text, &Text::unknown(Taint::NONE));
}
