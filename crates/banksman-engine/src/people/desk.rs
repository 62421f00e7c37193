//! What checking people takes: keys, and room to hash passwords.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{Digest, PersonId};
use banksman_identity::{Challenges, Decoy, TotpSecret, open, password_matches, seal};
use banksman_store::Hidden;
use tokio::sync::{OnceCell, Semaphore};

use crate::{EngineError, Signer, ids};

/// How many passwords are hashed at once: each takes 19 MiB and a core for tens of milliseconds.
const AT_ONCE: usize = 2;

/// How long someone waits for that, before they are told to come again.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct IdentityDesk {
    pub(crate) challenges: Challenges,
    totp_key: [u8; 32],
    hashing: Arc<Semaphore>,
    decoy: OnceCell<Decoy>,
}

impl IdentityDesk {
    pub(crate) fn new(signer: &Signer) -> Self {
        Self {
            challenges: Challenges::new(&signer.derived_key("challenges for passkeys")),
            totp_key: signer.derived_key("secrets of authenticator apps"),
            hashing: Arc::new(Semaphore::new(AT_ONCE)),
            decoy: OnceCell::new(),
        }
    }

    /// Runs what takes long beside everything else, a few at a time.
    pub(crate) async fn hash<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.hashing).acquire_owned());
        let turn = turn.await.map_err(|_| EngineError::TooManyAttempts)?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(|error| EngineError::Internal(error.to_string()))
    }

    /// Whether a password is the one that was kept. Without one, it takes as long and is no.
    pub(crate) async fn matches(&self, kept: Option<Hidden>, password: String) -> Result<bool, EngineError> {
        let decoy = self
            .decoy
            .get_or_try_init(|| async {
                let mut random = [0; 16];
                ids::fill(&mut random)?;
                self.hash(move || Decoy::new(random)).await?.map_err(EngineError::Internal)
            })
            .await?;
        let is_real = kept.is_some();
        let kept = kept.map_or_else(|| decoy.kept().to_owned(), |kept| kept.0);
        Ok(self.hash(move || password_matches(&kept, &password)).await? && is_real)
    }

    pub(crate) fn seal_totp(&self, owner: PersonId, secret: &TotpSecret) -> Result<Hidden, EngineError> {
        let mut nonce = [0; 12];
        ids::fill(&mut nonce)?;
        seal(&self.totp_key, nonce, &owner.to_string(), secret.as_bytes())
            .map(Hidden)
            .map_err(|error| EngineError::Internal(error.to_string()))
    }

    pub(crate) fn open_totp(&self, owner: PersonId, sealed: &Hidden) -> Result<TotpSecret, EngineError> {
        let secret = open(&self.totp_key, &owner.to_string(), &sealed.0);
        let secret = secret.map_err(|error| EngineError::Internal(error.to_string()))?;
        TotpSecret::from_bytes(&secret).map_err(|error| EngineError::Internal(error.to_string()))
    }
}

/// A new secret of this many random bytes, with a prefix that says what it is, and its hash.
pub(crate) fn secret<const N: usize>(prefix: &str) -> Result<(String, Digest), EngineError> {
    let mut random = [0; N];
    ids::fill(&mut random)?;
    let secret = format!("{prefix}{}", banksman_identity::to_base64url(&random));
    let hash = Digest::of(secret.as_bytes());
    Ok((secret, hash))
}
