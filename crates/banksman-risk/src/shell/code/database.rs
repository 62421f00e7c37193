//! Database clients: the SQL that they are given.

use super::super::program::How;
use super::super::run::{Invocation, Runner};
use super::super::value::{HOLE, Text};
use super::super::wrap::{option_value, options_end};
use crate::inspection::Code;
use crate::origin::Origin;

/// A client that takes SQL in an option, as an operand, or as its input.
struct Client {
    names: &'static [&'static str],
    options: &'static [&'static str],
    /// Whether an operand after the first is SQL.
    operand: bool,
}

const CLIENTS: &[Client] = &[
    Client {
        names: &["psql", "pgcli", "usql", "cockroach", "vsql", "gsql"],
        options: &["-c", "--command", "-e", "--execute"],
        operand: false,
    },
    Client {
        names: &["mysql", "mariadb", "mycli", "tidb", "mysqlsh"],
        options: &["-e", "--execute", "--init-command"],
        operand: false,
    },
    Client {
        names: &["sqlite3", "sqlite", "duckdb", "litecli"],
        options: &["-c", "-cmd", "--cmd", "-s"],
        operand: true,
    },
    Client { names: &["sqlcmd", "mssql-cli", "isql", "tsql"], options: &["-Q", "-q"], operand: false },
    Client {
        names: &["clickhouse-client", "clickhouse", "clickhouse-local", "snowsql", "impala-shell", "cqlsh"],
        options: &["-q", "--query", "-e", "--execute"],
        operand: false,
    },
    Client {
        names: &["hive", "beeline", "trino", "presto", "spark-sql", "sqlplus"],
        options: &["-e", "--execute"],
        operand: false,
    },
    Client { names: &["bq"], options: &[], operand: true },
];

pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    if matches!(name, "mongosh" | "mongo") {
        if let Some(code) = option_value(arguments, &["--eval"]) {
            hand_over(runner, Code::Javascript, &code.as_text(), code.origin);
        } else {
            from_input(runner, Code::Javascript, invocation);
        }
        return None;
    }
    let client = CLIENTS.iter().find(|client| client.names.contains(&name))?;
    let mut given = false;
    for (at, field) in arguments.iter().enumerate() {
        for option in client.options {
            let value = match field.text.strip_prefix(option) {
                Some("") => arguments.get(at + 1).cloned(),
                Some(value) if option.starts_with("--") => {
                    value.strip_prefix('=').map(|value| field.with_text(value))
                }
                // `-eDROP`, but not `-execute`.
                Some(value) if value.contains(' ') => Some(field.with_text(value)),
                _ => None,
            };
            if let Some(code) = value {
                given = true;
                sql(runner, &code.as_text(), code.origin);
            }
        }
    }
    if client.operand {
        let start = options_end(
            arguments,
            &["-separator", "-newline", "-nullvalue", "-init", "--project_id", "--format", "-cmd", "-c"],
        );
        for field in arguments.iter().skip(start + 1).filter(|field| !field.text.starts_with('-')) {
            given = true;
            sql(runner, &field.as_text(), field.origin);
        }
    }
    if !given {
        let stdin = invocation.stdin.clone();
        let known = stdin.text.trim_matches([HOLE, '\n', ' ']);
        if !known.is_empty() {
            sql(runner, &stdin, Origin::of_span(invocation.span));
        } else {
            runner.note_code(&stdin, Origin::of_span(invocation.span), How::File);
        }
    }
    None
}

/// SQL, without the commands of the client itself.
fn sql(runner: &mut Runner<'_, '_>, code: &Text, origin: Origin) {
    let mut has_own = false;
    for line in code.text.lines() {
        let line = line.trim();
        let shell =
            [r"\!", ".shell ", ".system ", "system ", "!!"].iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(command) = shell.or_else(|| piped(line)) {
            runner.evaluate(&Text::known(command.trim()), origin, &Text::default());
        }
        has_own |= line.starts_with(['\\', '.']);
    }
    if has_own {
        let kept: Vec<&str> =
            code.text.lines().filter(|line| !line.trim_start().starts_with(['\\', '.'])).collect();
        hand_over(runner, Code::Sql, &Text::known(kept.join("\n")), origin);
    } else {
        hand_over(runner, Code::Sql, code, origin);
    }
}

/// What a command of the client itself runs: `\copy t from program 'x'`, `\o |x`, `.once |x`, `pager x`.
fn piped(line: &str) -> Option<&str> {
    if let Some(pager) = line.strip_prefix("pager ").or_else(|| line.strip_prefix(r"\P ")) {
        return Some(pager);
    }
    let own = line.strip_prefix(['\\', '.'])?;
    let lower = own.to_ascii_lowercase();
    if let Some(at) = lower.find(" program ") {
        let code = own.get(at + " program ".len()..)?.trim();
        return Some(code.trim_start_matches('\'').rsplit_once('\'').map_or(code, |(code, _)| code));
    }
    if let Some((_, code)) = own.split_once('`') {
        return Some(code.split('`').next().unwrap_or(code));
    }
    own.split_once('|').map(|(_, code)| code.trim_end_matches(['\'', '"']))
}

fn from_input(runner: &mut Runner<'_, '_>, language: Code, invocation: &Invocation) {
    let stdin = invocation.stdin.clone();
    if !stdin.text.trim_matches([HOLE, '\n', ' ']).is_empty() {
        hand_over(runner, language, &stdin, Origin::of_span(invocation.span));
    }
}

fn hand_over(runner: &mut Runner<'_, '_>, language: Code, code: &Text, origin: Origin) {
    if code.text.trim_matches([HOLE, '\n', ' ']).is_empty() {
        return;
    }
    // What is not known could be any value: a name is the least that parses.
    let text = code.text.replace(HOLE, "x");
    runner.inspection.read(language, &text, origin);
}
