//! An action and a context for the tests beside the code.

pub(crate) use banksman_review::sample::{NOW, action, json, seconds};
use clap::Parser;

use crate::cli::Cli;
use crate::context::Context;
use crate::display::Screen;

/// Written to a file of 80 columns.
pub(crate) fn context() -> Context {
    let globals = Cli::parse_from(["banksman", "--url", "http://127.0.0.1:1", "--token", "t"]).globals;
    Context { globals, now: NOW, screen: Screen { terminal_columns: None, colours: false } }
}
