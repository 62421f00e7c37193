//! What an action could do, found by reading it.
//!
//! An action is parsed as what it is: a shell command, Python, JavaScript, SQL, a path, a URL, a tool call. The
//! analysers never judge. They state [facts](fact::Fact): this command runs with these flags, this call is made
//! with these arguments, this statement changes that table, this path is written, this text is run as code. The
//! [`Catalogue`] judges: rules in data, each with its level, its reason and examples that must and must not match.
//! So a rule for `rm` sees the `rm` inside `sudo env X=1 bash -c "find . -exec rm -rf {} +"` as well, and users
//! write rules of their own against the same facts.
//!
//! Everything here is pure and bounded: no I/O, no clock; depth, size and work have limits, and whatever goes over
//! one is high, because what was not read cannot be called harmless.
//!
//! Modules are in the order of an action's way: what is asked, how it is taken apart, what was found, who judges.

mod assessor;
mod inspection;
mod limits;
mod origin;

pub mod fact;

mod address;
mod code;
mod javascript;
mod path;
mod python;
mod shell;
mod sql;
mod tool;

mod catalogue;
mod severity;

pub use address::Reach;
pub use assessor::Assessor;
pub use catalogue::{
    CallPattern, Catalogue, CatalogueError, Clause, CommandPattern, Disproof, Example, Examples, Expression,
    Operands, OptionStyle, PathPattern, ProgramSpec, Rule, RuleSet, StatementPattern, TextPattern,
    ToolPattern, UrlPattern,
};
pub use limits::Limits;
pub use path::Place;
pub use severity::{FailureReport, action_type_severity, severity_of, spelled};
