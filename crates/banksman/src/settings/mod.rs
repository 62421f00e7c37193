//! Hosts' settings files: what is added to them and taken out again, and nothing else touched.

mod file;
mod hooks;
mod splice;

pub(crate) use file::{backup_of, replace, resolve, write_private};
pub(crate) use hooks::{HookLine, with_hooks, without_hooks};
