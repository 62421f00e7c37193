//! `cargo xtask CHORE`: everything that is done to this repository rather than with it.

mod bench;
mod browser;
mod check;
mod packages;
mod postgres;
mod test;
#[cfg(test)]
mod tidy;
mod torture;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask CHORE

  test [--long]           run every test, installing or starting what they need; --long waits for what takes minutes
  postgres COMMAND...     run a command beside a temporary PostgreSQL, such as `cargo nextest run -p banksman-store`
  browser [ARGUMENTS]     the review console in a real Chromium; pictures of every page are kept
  torture [OPTIONS]       break nodes, database and the lines between them under load, and check every answer
      --minutes N         for how long (default 10)
      --nodes K           how many nodes (default 3)
      --seed S            the plan of an earlier run, which printed it
  check                   formatting, clippy with warnings denied, house rules: what .ci/run runs besides tests
  bench cycle [OPTIONS]   propose -> decide -> claim -> outcome over HTTP, beside the machine's own limits
      --database KIND     sqlite (default) or postgres, a temporary one
      --nodes A,B         how many nodes share the PostgreSQL (default 1,2,4)
      --cycles N          cycles per run and client count (default 6000; a tenth of it for one client)
      --clients A,B,C     how many clients at a time (default 1,16,64)
      --rounds N          runs of each, of which the median counts (default 3)
      --binary PATH       measure this binary instead of building one
      --against PATH      measure this one too, in turns: the only way to compare builds on a machine that is not quiet
      --no-memory         leave out the measurement of memory per pending action
  bench console [OPTIONS] every page of the review console with many pending actions: server time and size
      --database KIND     sqlite (default) or postgres
      --pending N         how many actions are held (default 100000)
      --loads N           of each page (default 40)
      --binary PATH       measure this binary instead of building one
  bench gateway [OPTIONS] MCP calls through the gateway, beside a direct connection, a proxy that only forwards, a hop on
                          rmcp, and proxies and gateways from npm and PyPI
      --calls N           calls per run and client count (default 20000; a tenth of it for one client and for others,
                          who have four seconds for each client count)
      --no-peers          only ours
      --binary PATH       measure this binary instead of the one beside the benchmark
  bench hook [OPTIONS]    a coding agent's hook, a whole process, beside /bin/true and cat
      --runs N            of each, taking turns (default 200)
      --binary PATH       measure this binary instead of building one
  bench hold [OPTIONS]    many pending actions and many clients that wait: memory of each, and how soon they hear
      --database KIND     sqlite (default) or postgres
      --nodes N           how many nodes share the PostgreSQL (default 1); reviewers and clients are spread over them
      --pending N         how many actions are held (default 100000)
      --waiters N         how many clients wait, each for one of them (default 10000)
      --binary PATH       measure this binary instead of building one
  bench peers [OPTIONS]   the same cycle on LangGraph, DBOS and Restate, from PyPI and npm, beside ours
      --cycles N          cycles per run (default 400; a quarter of it for one client; ours runs ten times as many)
      --clients A,B,C     how many clients at a time (default 1,16,64)
      --binary PATH       measure this binary instead of building one
  bench policy            judging by 10 to 10,000 rules, beside cedar-policy in the same run
  bench risk [--corpora DIR]
                          judge labelled cases: recall, false alarms, time (default ../shared/corpora)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test", rest @ ..] => test::run(rest),
        ["postgres", command @ ..] => postgres::run(command),
        ["browser", rest @ ..] => browser::run(rest),
        ["torture", rest @ ..] => torture::run(rest),
        ["check"] => check::run(),
        ["bench", "risk", rest @ ..] => test::cargo(
            &[
                &["run", "--quiet", "--release", "--package", "banksman-risk", "--example", "corpora", "--"],
                rest,
            ]
            .concat(),
        ),
        ["bench", "policy"] => {
            test::cargo(&["run", "--quiet", "--release", "--manifest-path", "bench/Cargo.toml"])
        }
        ["bench", "gateway", rest @ ..] => bench::gateway::run(rest),
        // A benchmark of a limit that was compiled without optimisation would flatter us.
        ["bench", ..] if cfg!(debug_assertions) => test::cargo(
            &[&["run", "--quiet", "--release", "--package", "xtask", "--"], words.as_slice()].concat(),
        ),
        ["bench", "cycle", rest @ ..] => bench::cycle::run(rest),
        [bench, server, address, database] if [*bench, *server] == bench::bare_http::SERVE => {
            bench::bare_http::serve(address, database)
        }
        ["bench", "console", rest @ ..] => bench::console::run(rest),
        ["bench", "hook", rest @ ..] => bench::hook::run(rest),
        ["bench", "hold", rest @ ..] => bench::hold::run(rest),
        ["bench", "peers", rest @ ..] => bench::peers::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
