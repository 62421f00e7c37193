//! What a reviewer sees is what executes.

use banksman_core::wire::ActionView;
use banksman_core::{Digest, action_digest, forwarded_digest};

/// The digest of what is shown, whatever the server, or something between it and us, says that it is.
#[must_use]
pub fn digest_of_shown(action: &ActionView) -> Digest {
    match &action.context.server {
        Some(server) if action.context.forwarded => {
            forwarded_digest(server, &action.tool, action.kind, &action.args)
        }
        Some(_) | None => action_digest(&action.tool, action.kind, &action.args),
    }
}
