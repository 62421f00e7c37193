//! Functions that call what they are given.

use super::value::{Taint, Value, What};

/// Functions that call what they are given with the arguments that follow it.
pub(super) const LATER: &[&str] = &[
    "Thread",
    "Process",
    "Timer",
    "submit",
    "apply",
    "apply_async",
    "run_in_executor",
    "to_thread",
    "register",
    "call_soon",
    "call_later",
    "start_new_thread",
    "setTimeout",
    "setInterval",
    "setImmediate",
    "nextTick",
    "run",
    "spawn",
    "promisify",
];
/// Functions of these that take the arguments as a list: `Timer(1, f, [x])`, `pool.apply(f, (x,))`.
pub(super) const WITH_LIST: &[&str] =
    &["Thread", "Process", "Timer", "apply", "apply_async", "start_new_thread"];

/// Functions of these that take a number before the arguments: `setTimeout(f, 0, x)`.
pub(super) const AFTER_DELAY: &[&str] = &["setTimeout", "setInterval"];

/// Functions that call what they are given with each element of a list.
pub(super) const FOR_EACH: &[&str] = &[
    "map",
    "filter",
    "forEach",
    "flatMap",
    "some",
    "every",
    "find",
    "starmap",
    "imap",
    "imap_unordered",
    "map_async",
    "reduce",
    "filterfalse",
    "takewhile",
    "from",
];

/// What a function is given that is called later, by someone else.
pub(super) fn later_arguments(function: &Value, taint: Taint) -> Vec<Value> {
    let count = match &function.what {
        What::Function(closure) => closure.function.parameters.len(),
        _ => 1,
    };
    vec![Value::unknown(taint); count]
}
