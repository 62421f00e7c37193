//! The server as a process: what its files say, and one time of serving after another.

mod closed;
mod configured;
mod memory;
mod round;
mod signals;
mod welcome;

pub(crate) use self::configured::{Configured, PolicyFile};
pub(crate) use self::round::{Ended, Round};
pub(crate) use self::signals::told_to_stop;
