//! Who an identity provider vouches for: OpenID Connect, as the party that relies on it.
//!
//! Authorisation code with PKCE, nonce and state; the provider is found by discovery, its keys are fetched again when it signs
//! with one that is not known. What it says becomes rights only by the operator's own table ([`Config`]).

mod address;
mod claim;
mod config;
mod provider;
mod token;
mod transport;

pub use config::Config;
pub use provider::{Begun, Provider, ProviderError, Vouched};
