//! `banksman watch`: what waits, live, decided by keyboard.

use std::io::IsTerminal;
use std::process::ExitCode;

use banksman_tui::{Ending, Setup, WatchError, watch};

use crate::context::Context;
use crate::display::wants_colours;
use crate::editor;
use crate::exit::{Exit, stop};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    refuse_without_a_terminal(context)?;
    let edit = |text: &str| editor::edit(text).map_err(|error| format!("{error:#}"));
    let setup = Setup { client: context.client()?, colours: wants_colours(), edit: &edit };
    match watch(setup) {
        Ok(Ending::Quit) => Ok(Exit::Done.into()),
        // As shells say it: ended by a signal.
        Ok(Ending::Signal(number)) => Ok(u8::try_from(128 + number).unwrap_or(u8::MAX).into()),
        Err(WatchError::Client(error)) => Err(error.into()),
        Err(error @ WatchError::Terminal(_)) => Err(error.into()),
    }
}

/// It paints the whole screen and reads single keys: that takes a terminal on both sides, and one that can.
fn refuse_without_a_terminal(context: &Context) -> anyhow::Result<()> {
    let instead = "use `banksman pending`, `approve` and `deny` instead; they also work in scripts";
    if context.globals.json {
        return Err(stop(Exit::Usage, format!("watch is for people and prints no JSON: {instead}")));
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(stop(
            Exit::Usage,
            format!("watch needs a terminal to show things and read keys: {instead}"),
        ));
    }
    if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        return Err(stop(
            Exit::Usage,
            format!("this terminal (see TERM) cannot show a full screen: {instead}"),
        ));
    }
    Ok(())
}
