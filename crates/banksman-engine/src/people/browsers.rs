//! Browsers that someone has signed in with before.
//!
//! Strangers who guess at a password make the next attempt wait. They must not keep its owner out with that: a browser that
//! was signed in once keeps a mark of ours, and attempts that bring it are counted apart.

use std::time::Duration;

use banksman_core::{Digest, Principal, Timestamp};
use banksman_store::Person;

use crate::{Engine, EngineError, ids};

/// How long a browser is known.
const LIFETIME: Duration = Duration::from_secs(180 * 24 * 3600);

/// A mark for a browser to keep.
#[derive(Debug, Clone)]
pub struct BrowserMark {
    /// What it keeps.
    pub mark: String,
    /// For how long.
    pub lifetime: Duration,
}

/// Bound to the password: with a new one, every browser is a stranger again.
fn purpose(person: &Person) -> Option<String> {
    let password = person.password.as_ref()?;
    Some(format!("a browser of {}, {}", person.id, Digest::of(password.0.as_bytes())))
}

impl Engine {
    /// A mark for the browser of someone who signed in; nothing if they have no password that anyone could guess at.
    ///
    /// # Errors
    /// If the store cannot be read, or the machine has no entropy.
    pub async fn browser_mark(&self, principal: &Principal) -> Result<Option<BrowserMark>, EngineError> {
        let person = self.oneself(principal).await?;
        let Some(purpose) = person.as_ref().and_then(purpose) else { return Ok(None) };
        let mut random = [0; 16];
        ids::fill(&mut random)?;
        let mark = self.identity.challenges.issue(&purpose, random, self.clock.now().after(LIFETIME));
        Ok(Some(BrowserMark { mark, lifetime: LIFETIME }))
    }

    /// Whether someone has signed in before with the browser that brings this mark.
    pub(super) fn knows_browser(&self, person: &Person, mark: Option<&str>, now: Timestamp) -> bool {
        let known = |(purpose, mark): (String, &str)| self.identity.challenges.recognise(&purpose, mark, now);
        purpose(person).zip(mark).and_then(known).is_some()
    }
}
