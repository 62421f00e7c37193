//! `banksman` alone: what to do next.

use std::process::ExitCode;

use crate::context::Context;
use crate::exit::Exit;

const TEXT: &str = "\
Banksman holds what AI agents want to do until a human gives the signal.

What to do next:
  banksman serve            start the server; it prints a command to try
  banksman watch            see what waits, live, and decide by keyboard
  banksman pending          the same as a list
  banksman show ID          see everything about one action
  banksman approve ID       let it run, exactly as shown
  banksman deny ID          do not
  banksman freeze --everything
                            stop all agents, at once

In front of an agent that you have:
  banksman setup claude-code
                            or codex: its tool calls are judged before they run
  banksman exec -- CMD      judge one command, then run exactly it
  banksman mcp scan -- CMD  a policy to start from, for an MCP server

`banksman help` lists all commands.
";

pub(crate) fn run(context: &Context) -> anyhow::Result<ExitCode> {
    context.remark(TEXT)?;
    Ok(Exit::Done.into())
}
