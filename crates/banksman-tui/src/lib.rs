//! Banksman's terminal inbox: what waits, live, decided by keyboard.
//!
//! Inside it is pure: [`model`] is what is known, [`update`] is what a message does to it and which effects it asks
//! for, [`view`] is how it looks. Time comes in with each message. Outside are the [`desk`], which speaks to the
//! server, the [`feed`] of what happens there, the [`screen`], which is always left as it was found, and the loop in
//! [`run`].
//!
//! Whatever others wrote reaches the screen only through [`paint::foreign`] or [`sheet`], which spell what would act,
//! hide or draw a frame; and [`steady`] sees to it that no character, however wide a terminal draws it, moves another.

mod input;
mod paint;
mod sheet;

mod document;
mod inbox;
mod subject;

mod deciding;
mod freezing;
mod several;
mod tail;

mod message;
mod model;

mod update;
mod view;

mod desk;
mod feed;
mod screen;
mod steady;

mod run;

#[cfg(test)]
mod tests;

pub use run::{Ending, Setup, WatchError, watch};
