//! The `banksman` binary: configuration and one file per command.

use std::process::ExitCode;

use clap::Parser;

mod channels;
mod cli;
mod commands;
mod context;
mod exit;

mod database;
mod folder;
mod reload;
mod triage;

mod display;
mod pretty;
mod progress;
mod sheet;
mod snippet;
mod span;
mod table;

mod gate;
mod hook;
mod prompt;
mod run;
mod settings;

mod editor;
mod review;
mod select;

#[cfg(test)]
mod sample;

fn main() -> ExitCode {
    // Clap itself answers --help and mistakes, with the exit codes 0 and 2.
    let cli = cli::Cli::parse_from(cli::command_line());
    let context = context::Context::new(cli.globals);
    let done = match cli.command {
        Some(command) => commands::run(command, &context),
        None => commands::next::run(&context),
    };
    done.unwrap_or_else(|error| exit::report(&error, &context))
}
