//! `/v1`

mod actions;
mod audit;
mod batches;
mod delegations;
mod events;
mod freezes;
mod grants;
mod mode;
mod notifications;
mod policy;
mod resolutions;
mod ws;
