//! Follows Python and JavaScript as far as reading can: which function is called, with what.
//!
//! Both languages are lowered to one small [tree](tree), which a [machine](machine::Machine) then runs without
//! running anything: names stand for values, a value that is not known is a hole, both branches of an `if` are
//! taken, functions are entered with the values that they are called with, and those that nobody calls with
//! unknown ones. What a library function does is told by the language's own tables ([`dialect::Dialect`]).

pub(crate) mod decode;
pub(crate) mod dialect;
pub(crate) mod effect;
pub(crate) mod literal;
pub(crate) mod machine;
pub(crate) mod parser;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod value;

pub(crate) mod call;
mod callback;
mod evaluate;
mod execute;
pub(crate) mod sink;
