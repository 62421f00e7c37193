//! Step-up: a decision that a passkey has signed, so that it can be proved later who decided exactly this.

use serde::{Deserialize, Serialize};

use crate::{ActionId, Decision, Digest};

/// What a passkey signed, as the audit log keeps it. Everything is base64url.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assertion {
    /// The credential that signed.
    pub passkey: String,
    /// What made the challenge unlike any other.
    pub nonce: String,
    /// What the authenticator said: the site, and whether it saw and recognised a person.
    pub authenticator_data: String,
    /// What the browser said: the challenge and the origin.
    pub client_data: String,
    /// The signature over both.
    pub signature: String,
}

/// An assertion whose signature was found good, and the challenge that it is good for.
///
/// Whether that is the challenge of the decision at hand, [`crate::step`] decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepUp {
    /// What was signed.
    pub assertion: Assertion,
    /// The challenge in it.
    pub challenge: Digest,
}

/// What a decision is about, as a passkey signs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The action.
    pub action: ActionId,
    /// What would run. For an edit, what would run after it.
    pub digest: Digest,
    /// Its version. For an edit, the one that it makes.
    pub version: u32,
    /// The decision.
    pub decision: Decision,
    /// Whose decision it is.
    pub by: &'a str,
}

impl Signed<'_> {
    /// The WebAuthn challenge: the SHA-256 of all of it and a nonce.
    ///
    /// Every part is preceded by its length, so no two different decisions have the same encoding; and the first part says
    /// what this is, so no signature for anything else passes for one of these.
    #[must_use]
    pub fn challenge(&self, nonce: &str) -> Digest {
        let version = self.version.to_be_bytes();
        let action = self.action.to_bytes();
        let parts: [&[u8]; 7] = [
            b"banksman step-up 1",
            &action,
            self.digest.as_bytes(),
            &version,
            self.decision.as_str().as_bytes(),
            self.by.as_bytes(),
            nonce.as_bytes(),
        ];
        let mut bytes = Vec::with_capacity(192);
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        Digest::of(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_decision_changes_the_challenge() {
        let one = Signed {
            action: ActionId::from_parts(1, 1),
            digest: Digest::of(b"what"),
            version: 1,
            decision: Decision::Approve,
            by: "ann",
        };
        let others = [
            Signed { action: ActionId::from_parts(1, 2), ..one },
            Signed { digest: Digest::of(b"else"), ..one },
            Signed { version: 2, ..one },
            Signed { decision: Decision::Modify, ..one },
            Signed { by: "annn", ..one },
        ];
        let mut seen = vec![one.challenge("n"), one.challenge("m")];
        seen.extend(others.iter().map(|other| other.challenge("n")));
        // A letter that wanders from one part into the next makes another text all the same.
        seen.push(Signed { by: "an", ..one }.challenge("nn"));
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }
}
