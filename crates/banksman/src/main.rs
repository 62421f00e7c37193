//! The `banksman` binary: configuration and one file per command.

use std::process::ExitCode;

mod channels;
mod cli;
mod commands;
mod context;
mod exit;

mod database;
mod folder;
mod reload;
mod server;
mod triage;

mod display;
mod pretty;
mod progress;
mod sheet;
mod snippet;
mod span;
mod table;

mod environment;
mod gate;
mod hook;
mod prompt;
mod run;
mod settings;

mod editor;
mod review;
mod select;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod sample;

fn main() -> ExitCode {
    let words = cli::command_line();
    let cli = match cli::parse(&words) {
        Ok(cli) => cli,
        Err(error) => return exit::misunderstood(&error, &words),
    };
    let context = context::Context::new(cli.globals);
    let done = match cli.command {
        Some(command) => commands::run(command, &context),
        None => commands::next::run(&context),
    };
    done.unwrap_or_else(|error| exit::report(&error, &context))
}
