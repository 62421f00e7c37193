//! How rules are written: the schema of the built-in catalogue and of the rules in policy files.

use std::collections::BTreeMap;
use std::fmt;

use banksman_core::{Kind, Risk};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::on_demand::Packed;
use super::pattern::TextPattern;
use crate::fact::{Access, Direction, Language};
use crate::path::Place;

/// Rules, and what has to be known of programs to read their arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReadingRules"))]
#[serde(deny_unknown_fields, default)]
pub struct RuleSet {
    /// How the arguments of programs are to be read, by name; `git commit` is a subcommand of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, ProgramSpec>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Built-in rules that do not apply, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disable: Vec<String>,
}

/// One rule: what it is about, what to think of it, and examples that prove it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReadingRule"))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, words joined by dots: `git.push.force`.
    pub id: String,
    /// How bad it is.
    pub level: Risk,
    /// Why, in plain words, for the person who decides.
    pub reason: String,
    /// What would be safer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Whether what it notices can be undone.
    pub reversible: bool,
    /// Takes the place of the built-in rule of the same id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// What it notices: any of these.
    pub when: Vec<Clause>,
    /// What it must notice, and what it must not.
    pub examples: Examples,
}

impl Packed for Rule {
    fn unpack(line: &'static str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Worse than any, so that nobody overlooks it; whatever might have met it does.
    fn unreadable() -> Self {
        Self {
            id: "unread.rule".to_owned(),
            level: Risk::Critical,
            reason: "A built-in rule could not be read: this program is broken.".to_owned(),
            advice: None,
            reversible: false,
            replace: false,
            when: Vec::new(),
            examples: Examples::default(),
        }
    }
}

/// Texts that prove a rule.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// What kind they are, unless an example says otherwise; a shell command if nothing is said.
    #[serde(default = "shell", skip_serializing_if = "is_shell")]
    pub kind: Kind,
    /// The rule must notice each of these.
    pub matches: Vec<Example>,
    /// It must not notice any of these.
    pub differs: Vec<Example>,
}

const fn shell() -> Kind {
    Kind::Shell
}

fn is_shell(kind: &Kind) -> bool {
    *kind == Kind::Shell
}

/// A text that proves a rule.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Example {
    /// A text of the usual kind.
    Text(String),
    /// A text of another kind.
    OfKind {
        /// Its kind.
        kind: Kind,
        /// The text.
        text: String,
    },
}

/// By hand, because there are thousands: what is untagged would be read twice, and its errors would not say why.
impl<'de> Deserialize<'de> for Example {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Example;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or {kind: ..., text: ...}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Example, E> {
                Ok(Example::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Example, A::Error> {
                let given = OfKind::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Example::OfKind { kind: given.kind, text: given.text })
            }
        }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct OfKind {
            kind: Kind,
            text: String,
        }

        deserializer.deserialize_any(Reader)
    }
}

/// What a rule notices: a fact of one sort that meets all the conditions given.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Clause {
    /// A program that runs.
    Command(CommandPattern),
    /// A function that is called.
    Call(CallPattern),
    /// A SQL statement.
    Statement(StatementPattern),
    /// A path that is used.
    Path(PathPattern),
    /// A URL or host that is talked to.
    Url(UrlPattern),
    /// A tool that is called.
    Tool(ToolPattern),
    /// A signal by name.
    Signal(String),
}

/// A program that runs.
///
/// A command that only asks for help is none of these. Flags are written as the user would: `-f` is also found in `-rf`; `--force` also as `--force=x` and, where the
/// program takes them, as the abbreviation `--forc`; `--no-force` after it takes it back. Operands are what is left of the arguments when options, their
/// values and subcommands are taken off.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandPattern {
    /// One of these programs.
    pub program: Vec<TextPattern>,
    /// One of these subcommands: `push`, `stash drop`. A `*` stands for anything in a word; `** delete` is `delete`
    /// after any number of words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subcommand: Vec<String>,
    /// At least one of these flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_flag: Vec<String>,
    /// One of each of these groups of flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_flags: Vec<Vec<String>>,
    /// None of these flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_flag: Vec<String>,
    /// Options with values: each of these options, with a value that one of the patterns knows. Spellings of one
    /// option are joined: `-X|--request`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub option: BTreeMap<String, Vec<TextPattern>>,
    /// At least one operand that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operand: Vec<TextPattern>,
    /// No operand that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_operand: Vec<TextPattern>,
    /// At least this many operands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_operands: Option<usize>,
    /// At most this many operands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_operands: Option<usize>,
    /// At least this many operands behind a `--`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_after_dashes: Option<usize>,
    /// At least one operand that is a path to one of these places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub place: Vec<Place>,
    /// At least one operand that is a path to none of these places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub place_other_than: Vec<Place>,
    /// Any argument at all, as it is written, that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argument: Vec<TextPattern>,
    /// No argument at all that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_argument: Vec<TextPattern>,
    /// Variables set for it (`*` stands for anything), each with a value that one of the patterns knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Vec<TextPattern>>,
}

/// A function that is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CallPattern {
    /// Only in this language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// One of these, by full name: `os.remove`, `requests.*`.
    pub function: Vec<TextPattern>,
    /// At least one positional argument that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argument: Vec<TextPattern>,
    /// Named arguments, each with a value that one of the patterns knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keyword: BTreeMap<String, Vec<TextPattern>>,
    /// None of these named arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_keyword: Vec<String>,
}

/// A SQL statement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatementPattern {
    /// One of these verbs: `delete`, `drop *`.
    pub verb: Vec<TextPattern>,
    /// All of these traits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<String>,
    /// None of these traits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_trait: Vec<String>,
    /// At least one object that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub object: Vec<TextPattern>,
}

/// A path that is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PathPattern {
    /// One of these uses; any if none is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Access>,
    /// In one of these places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub place: Vec<Place>,
    /// In none of these places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_place: Vec<Place>,
    /// Known to one of these, after normalisation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<TextPattern>,
}

/// A URL or host that is talked to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UrlPattern {
    /// One of these directions; any if none is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direction: Vec<Direction>,
    /// One of these methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    /// One of these schemes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheme: Vec<String>,
    /// A host that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<TextPattern>,
    /// A host of one of these sorts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<crate::address::Reach>,
    /// A host of none of these sorts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_reach: Vec<crate::address::Reach>,
    /// What is behind the host, known to one of these: as it is written, query included, or decoded, in lower case and
    /// without query, detours and doubled slashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<TextPattern>,
    /// A password stands in the URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub password: bool,
}

/// A tool that is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolPattern {
    /// A name that one of these knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name: Vec<TextPattern>,
    /// A name that has one of these words in it: `delete` is in `delete_user`, `deleteUser` and `user-delete`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub word: Vec<String>,
    /// Unless one of these words stands before it: in `list_delete_requests` nothing is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_after: Vec<String>,
    /// One of these hints of its server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hint: Vec<String>,
}

/// How the arguments of a program are to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ProgramSpec {
    /// Options that take a value as the next argument: `-C`, `--git-dir`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// How many leading operands name a subcommand (git 1, `docker container rm` 2).
    #[serde(skip_serializing_if = "is_zero")]
    pub subcommands: usize,
    /// How options are spelled.
    #[serde(skip_serializing_if = "is_default")]
    pub style: OptionStyle,
    /// What is done with its operands, as paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operands: Option<Operands>,
    /// Leading operands that are no paths (the pattern of `grep`).
    #[serde(skip_serializing_if = "is_zero")]
    pub skip: usize,
    /// Options whose values are paths that are read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Options whose values are paths that are written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Options that are followed by a command, up to a `;` or `+` (find).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Options end at the first operand; what follows is another program's (`docker run`, `ssh`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub options_first: bool,
    /// What makes it only tell how it is used, wherever it stands. If nothing is said: `--help` before any operand,
    /// `-h`, `-?`, `-V` and `--version` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub help: Vec<String>,
    /// The same as another program: `gsed` as `sed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_default(style: &OptionStyle) -> bool {
    *style == OptionStyle::default()
}

/// How options are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OptionStyle {
    /// `-rf`, `--force`, and `--forc` where that is not ambiguous.
    #[default]
    Gnu,
    /// `-rf` and `--force`, never abbreviated (Go and Rust programs).
    Plain,
    /// `-delete`, `-auto-approve`: one dash, whole words (find, terraform, java).
    Words,
    /// `-Recurse`, `-rec`: one dash, whole words, abbreviated at will, without case (PowerShell).
    Powershell,
    /// `if=`, `of=`: no dashes (dd).
    Assignments,
}

/// What is done with the operands of a program, as paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operands {
    /// All are read.
    Read,
    /// All are written.
    Write,
    /// What was in them is lost.
    Truncate,
    /// All are removed.
    Delete,
    /// All but the last are read, the last is written (cp).
    Copy,
    /// All but the last are removed, the last is written (mv).
    Move,
    /// Who may use them is changed.
    Permissions,
    /// The first runs as a program (`source x`).
    Execute,
}
