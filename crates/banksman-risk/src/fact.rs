//! What analysers state and rules judge.

use std::borrow::Cow;

use banksman_core::Span;

/// A word or string whose value is known as far as reading can tell.
///
/// What cannot be known before it runs (`$X`, the output of a command, a function's result) is a hole, written
/// as [`Word::HOLE`]. No argument of a process can hold a NUL, so a hole is never mistaken for text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'s> {
    /// The value, holes included.
    pub text: Cow<'s, str>,
    /// Where it stands.
    pub span: Span,
    /// Whether the shell would expand it to file names (`*`, `?`, `[`, unquoted).
    pub glob: bool,
}

impl<'s> Word<'s> {
    /// Stands for a part that is not known.
    pub const HOLE: char = '\0';

    /// A word that is known to its end.
    pub fn known(text: impl Into<Cow<'s, str>>, span: Span) -> Self {
        Self { text: text.into(), span, glob: false }
    }

    /// A word of which nothing is known.
    #[must_use]
    pub fn hole(span: Span) -> Self {
        Self { text: Cow::Borrowed("\0"), span, glob: false }
    }

    /// Whether all of it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.text.contains(Self::HOLE)
    }

    /// The value, if all of it is known.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.is_known().then_some(&*self.text)
    }
}

/// A program that would run, after wrappers (`sudo`, `env`, `xargs`, `bash -c`) were taken off.
#[derive(Debug, Clone)]
pub struct Command<'s> {
    /// Its name without the folder, with the spelling tricks undone.
    pub program: Word<'s>,
    /// Its arguments.
    pub args: Vec<Word<'s>>,
    /// Variables that are set for it.
    pub env: Vec<(Cow<'s, str>, Word<'s>)>,
    /// The working directory that it runs in, where a `cd` made it known.
    pub base: Option<Cow<'s, str>>,
    /// Where the command stands.
    pub span: Span,
}

/// A function call in Python or JavaScript.
#[derive(Debug, Clone)]
pub struct Call<'s> {
    /// `python` or `javascript`.
    pub language: Language,
    /// The full dotted name after imports and aliases were resolved: `os.remove`, `child_process.exec`.
    pub function: Cow<'s, str>,
    /// Positional arguments; one that is not a known string is a hole.
    pub args: Vec<Word<'s>>,
    /// Named arguments (Python keywords, members of a JavaScript options object).
    pub keywords: Vec<(Cow<'s, str>, Word<'s>)>,
    /// Where the call stands.
    pub span: Span,
}

/// The language that a call is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python.
    Python,
    /// JavaScript, with Node's modules.
    Javascript,
}

/// A SQL statement, also one inside another (a data-changing CTE, `EXPLAIN ANALYZE`).
#[derive(Debug, Clone)]
pub struct Statement<'s> {
    /// What it does, in lower case: `delete`, `drop table`, `create user`.
    pub verb: Cow<'s, str>,
    /// Names for what is special about it: `unbounded`, `always_true`, `cascade`, `program`, ...
    pub traits: Vec<&'static str>,
    /// The tables or other objects that it names.
    pub objects: Vec<Cow<'s, str>>,
    /// Where it stands.
    pub span: Span,
}

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is made, or content is added to it.
    Write,
    /// What was in it is lost.
    Truncate,
    /// It is removed.
    Delete,
    /// It is removed with everything below it.
    DeleteTree,
    /// Who may use it is changed.
    Permissions,
    /// It runs as a program or script.
    Execute,
}

/// Something that is done with a path.
#[derive(Debug, Clone)]
pub struct PathUse<'s> {
    /// What is done.
    pub access: Access,
    /// The path as it would be used, before normalisation; holes where it is not known.
    pub path: Word<'s>,
    /// The working directory that it is relative to, where a `cd` made it known.
    pub base: Option<Cow<'s, str>>,
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Data comes in.
    Fetch,
    /// Data goes out (a body, an upload, a form).
    Send,
    /// A connection that can do both.
    Connect,
}

/// A URL or host that is talked to.
#[derive(Debug, Clone)]
pub struct UrlUse<'s> {
    /// Which way data goes.
    pub direction: Direction,
    /// The HTTP method, in upper case, if there is one.
    pub method: Option<Cow<'s, str>>,
    /// The URL or host.
    pub url: Word<'s>,
}

/// A tool that is called by name.
#[derive(Debug, Clone)]
pub struct ToolUse<'s> {
    /// Its name.
    pub name: Cow<'s, str>,
    /// What its server says of it: `destructive`, `open_world`, `not_idempotent`. Hints only ever raise.
    pub hints: Vec<&'static str>,
}

/// One thing that would happen.
#[derive(Debug, Clone)]
pub enum Fact<'s> {
    /// A program runs.
    Command(Command<'s>),
    /// A function is called.
    Call(Call<'s>),
    /// A SQL statement runs.
    Statement(Statement<'s>),
    /// A path is used.
    Path(PathUse<'s>),
    /// A URL or host is talked to.
    Url(UrlUse<'s>, Span),
    /// A tool is called.
    Tool(ToolUse<'s>),
    /// Something that takes more than one of these to see, by name; [`SIGNALS`] lists them.
    Signal(&'static str, Span),
}

/// Every signal that an analyser can give, and what it means. A rule that names another is refused.
pub const SIGNALS: &[(&str, &str)] = &[
    ("input_too_long", "a text is longer than what is read"),
    ("too_deep", "code inside code inside code, deeper than what is followed"),
    ("too_much_work", "reading it takes more steps than allowed"),
    ("unreadable", "the action does not hold what its kind says it holds"),
    ("shell_syntax", "the command cannot be parsed"),
    ("python_syntax", "the Python cannot be parsed"),
    ("javascript_syntax", "the JavaScript cannot be parsed"),
    ("sql_syntax", "the SQL cannot be parsed in any dialect"),
    ("computed_program", "which program runs is only known when it runs"),
    ("computed_code", "code is run that is only known when it runs"),
    ("download_run", "what was downloaded is run"),
    ("decode_run", "what was decoded or decrypted is run"),
    ("pipe_run", "the output of another command is run as code"),
    ("secret_sent", "a secret is read and sent away"),
    ("file_sent", "the content of a local file is sent away"),
    ("secret_env", "the environment, which holds secrets, is printed or sent away"),
    ("fork_bomb", "a function that starts itself without end"),
    ("reverse_shell", "a shell is connected to the network"),
    ("unknown_tool", "a tool of which nothing is known"),
    ("unsandboxed", "a coding agent is asked to run a command outside of its sandbox"),
    ("type_s1", "an action type whose failure Tinman would call S1"),
    ("type_s2", "an action type that Tinman reviews in production"),
    ("type_s4", "an action type that Tinman always blocks"),
    ("predicted_s1", "the agent expects a failure of severity S1"),
    ("predicted_s2", "the agent expects a failure of severity S2"),
    ("predicted_s3", "the agent expects a failure of severity S3"),
    ("predicted_s4", "the agent expects a failure of severity S4"),
    ("shell_built", "a program puts a shell command together from parts that are only known when it runs"),
    ("file_deleted", "a program deletes a file that was not made to be thrown away"),
    ("environment_printed", "a program prints the whole environment"),
    ("token_sent", "a variable of the environment that is named like a secret is sent away"),
    ("files_encrypted", "files are read, encrypted and written back, one after the other"),
    ("endless_growth", "a loop that never ends takes more and more memory"),
    ("inner_objects", "the insides of Python's objects are used to reach what was kept out of reach"),
    ("library_changed", "a function of the language or its library is replaced"),
    ("prototype_changed", "what all JavaScript objects inherit from is changed"),
    ("reduce_defined", "an object is made that runs a function when it is loaded"),
    ("unsafe_load", "stored objects are loaded in a way that can run code in them"),
];
