//! Reads tool calls: their names, their hints, and the code, paths and URLs among their arguments.

use banksman_core::Action;

use crate::inspection::Inspection;

/// States what an action would do, whatever its kind.
pub(crate) fn inspect_action(_inspection: &mut Inspection<'_>, _action: &Action) {}

/// States what a tool would do, given as its name, or as JSON with `tool` and `args`.
pub(crate) fn inspect_text(_inspection: &mut Inspection<'_>, _text: &str) {}

/// The words of a tool's name, in lower case: `delete`, `user` of `delete_user`, `deleteUser`, `user-delete`.
pub(crate) fn words(_name: &str) -> impl Iterator<Item = String> {
    std::iter::empty()
}
