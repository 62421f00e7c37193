//! What a command works with: where the server is, who is asking, and where to write.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use banksman_client::Client;
use banksman_core::Timestamp;
use banksman_core::wire::List;
use serde::Serialize;

use crate::cli::{DEFAULT_URL, Globals};
use crate::display::{Screen, Visible, VisibleJson};
use crate::exit::{Exit, stop};

pub(crate) struct Context {
    pub(crate) globals: Globals,
    /// When the command was given.
    pub(crate) now: Timestamp,
    /// Where people read the result.
    pub(crate) screen: Screen,
}

impl Context {
    pub(crate) fn new(globals: Globals) -> Self {
        Self { globals, now: now(), screen: Screen::of_stdout() }
    }

    /// Whether someone said which server, rather than nobody.
    pub(crate) fn names_server(&self) -> bool {
        let url = self.globals.url.trim();
        let named = std::env::var_os("BANKSMAN_URL").is_some_and(|url| !url.is_empty());
        !url.is_empty() && (named || url != DEFAULT_URL)
    }

    /// A client with the configured server and token; nothing is sent yet.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let url = match self.globals.url.trim() {
            // BANKSMAN_URL= in an environment file means unset.
            "" => DEFAULT_URL,
            url => url,
        };
        Client::new(url, &self.token()?).map_err(|error| stop(Exit::Usage, error.to_string()))
    }

    /// The token that was given. It is not looked for in the data folder: whatever can read a token there, an
    /// agent on the same machine included, could approve with it.
    fn token(&self) -> anyhow::Result<String> {
        match self.globals.token.as_ref().filter(|token| !token.reveal().is_empty()) {
            Some(token) => Ok(token.reveal().to_owned()),
            None => Err(stop(
                Exit::NotAllowed,
                "no token: set BANKSMAN_TOKEN, or pass --token\n\
                 The server printed one when it first started. Get another on its machine with\n\
                 \x20   banksman token new --kind reviewer --name you --data DIR",
            )),
        }
    }

    /// Writes text for people. Whatever others wrote in it has been made visible by now.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        write_to(io::stdout(), text)
    }

    /// Writes what goes with the result, but is not it: to standard error if a program reads the result.
    pub(crate) fn remark(&self, text: &str) -> anyhow::Result<()> {
        if self.globals.json { write_to(io::stderr(), text) } else { self.print(text) }
    }

    /// Writes something for the person beside a program that owns standard output. What others wrote in it is made
    /// visible here.
    pub(crate) fn complain(&self, text: &str) -> anyhow::Result<()> {
        write_to(io::stderr(), &format!("{}\n", Visible(text)))
    }

    /// Writes the one document that a program reads.
    pub(crate) fn print_json(&self, document: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string(document)?;
        if self.screen.is_terminal() {
            // The same value, but in a spelling that a terminal does not obey.
            self.print(&format!("{}\n", VisibleJson(&text)))
        } else {
            self.print(&format!("{text}\n"))
        }
    }

    /// Writes a list of the server's: all of it for programs, and for people a table, or that there is nothing.
    pub(crate) fn print_list<T: Serialize>(
        &self,
        list: &List<T>,
        nothing: &str,
        table: impl FnOnce(&[T]) -> String,
    ) -> anyhow::Result<()> {
        if self.globals.json {
            self.print_json(list)
        } else if list.items.is_empty() {
            self.print(&format!("{nothing}\n"))
        } else {
            self.print(&table(&list.items))
        }
    }

    /// Says that something is over. The API answers with nothing; programs still get a document.
    pub(crate) fn print_over(&self, how: &str, id: impl Display + Serialize) -> anyhow::Result<()> {
        #[derive(Serialize)]
        struct Over<I> {
            id: I,
        }
        if self.globals.json { self.print_json(&Over { id }) } else { self.print(&format!("{how}: {id}.\n")) }
    }

    /// Whether someone is there to answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal()
    }

    /// Asks a question and reads one line; no line (end of input) is an empty answer.
    pub(crate) fn ask(&self, question: &str) -> anyhow::Result<String> {
        write_to(io::stderr(), &format!("{question} "))?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }

    /// Asks a question whose answer is no unless it is clearly yes.
    pub(crate) fn confirm(&self, question: &str) -> anyhow::Result<bool> {
        let answer = self.ask(&format!("{question} [y/N]"))?;
        Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

fn write_to(mut target: impl Write, text: &str) -> anyhow::Result<()> {
    match target.write_all(text.as_bytes()).and_then(|()| target.flush()) {
        // `banksman pending | head -1`: the reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write the result"),
    }
}

/// What the clock says.
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(0).after(since_1970)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn context(data: &Path) -> Context {
        let data = data.to_str().unwrap();
        let mut globals =
            Cli::parse_from(["banksman", "--url", "http://127.0.0.1:1", "--data", data]).globals;
        globals.token = None;
        Context::new(globals)
    }

    #[test]
    fn without_a_token_the_way_to_one_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = context(folder.path());
        for given in [None, Some(" ".parse().unwrap())] {
            context.globals.token = given;
            let error = context.client().unwrap_err();
            assert!(error.to_string().contains("banksman token new --kind reviewer --name you"), "{error}");
        }
        context.globals.token = Some("tok-given\n".parse().unwrap());
        assert_eq!(context.token().unwrap(), "tok-given");
    }
}
