//! `banksman mode`: how far the whole installation trusts its agents.

use std::process::ExitCode;

use banksman_core::Mode;
use banksman_core::wire::{FallbackBody, ModeBody, ModeView};
use clap::Subcommand;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the mode
    Show,
    /// Change the mode, one step at a time: lab, shadow, production
    Set {
        /// The new mode
        mode: Mode,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Something went wrong: fall back from production to shadow, with the demands of both
    FallBack {
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    let mode = match &args.command {
        None | Some(Command::Show) => client.mode()?,
        Some(Command::Set { mode, reason }) => {
            client.set_mode(&ModeBody { mode: *mode, reason: reason.clone() })?
        }
        Some(Command::FallBack { reason }) => client.fall_back(&FallbackBody { reason: reason.clone() })?,
    };
    if context.globals.json {
        context.print_json(&mode)?;
    } else {
        context.print(&describe(&mode))?;
    }
    Ok(Exit::Done.into())
}

fn describe(mode: &ModeView) -> String {
    let mut text = format!("The mode is {}.\n", mode.mode);
    if let Some(before) = mode.fell_back_from {
        text.push_str(&format!(
            "It fell back from {before}, whose demands hold as well until someone sets the mode.\n"
        ));
    }
    if mode.observes {
        text.push_str(
            "WARNING: the policy only observes. What people would be asked about runs without asking.\n",
        );
    }
    if let Some(name) = &mode.solo_operator {
        let name = Visible(name);
        text.push_str(&format!("WARNING: {name} may approve what they or their own agents propose.\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unusual_is_said_loudly() {
        let plain =
            ModeView { mode: Mode::Production, fell_back_from: None, observes: false, solo_operator: None };
        assert_eq!(describe(&plain), "The mode is production.\n");
        let odd = ModeView {
            mode: Mode::Shadow,
            fell_back_from: Some(Mode::Production),
            observes: true,
            solo_operator: Some("a\u{1b}da".into()),
        };
        let text = describe(&odd);
        assert_eq!(text.matches("WARNING").count(), 2, "{text}");
        assert!(text.contains("fell back from production") && !text.contains('\u{1b}'), "{text}");
    }
}
