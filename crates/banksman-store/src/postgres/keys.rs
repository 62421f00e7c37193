//! Names of any length as keys of one length, which an index takes whatever an agent calls itself.

use banksman_core::Digest;

use crate::IdempotencyKey;
use crate::encode::CaseRow;

/// What two proposals share if the second joins the first.
pub(crate) fn join(agent: &str, digest: Digest) -> Digest {
    pair(agent.as_bytes(), digest.as_bytes())
}

/// The same for an action, as long as it can be joined.
pub(super) fn join_of(row: &CaseRow) -> Option<Digest> {
    row.case.state.is_joinable().then(|| join(&row.case.agent, row.case.submission.digest))
}

pub(super) fn idempotency_of(key: &IdempotencyKey) -> Digest {
    idempotency(&key.agent, &key.key)
}

pub(crate) fn idempotency(agent: &str, key: &str) -> Digest {
    pair(agent.as_bytes(), key.as_bytes())
}

/// What a provider told us, by channel.
pub(crate) fn seen(channel: &str, event: &str) -> Digest {
    pair(channel.as_bytes(), event.as_bytes())
}

/// The digest of the first has a fixed length, so that no two pairs run into each other.
fn pair(first: &[u8], second: &[u8]) -> Digest {
    let mut both = Digest::of(first).as_bytes().to_vec();
    both.extend_from_slice(second);
    Digest::of(&both)
}
