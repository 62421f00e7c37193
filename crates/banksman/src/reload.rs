//! Follows the policy's files: a changed policy is loaded, a broken one keeps the old one in force.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use banksman_engine::Engine;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

use crate::folder::{policy_files, read_policy};
use crate::server::PolicyFile;

/// How often the files are looked at. Asking the file system costs a few microseconds, works on every kind of mount,
/// and needs nothing that could stop telling.
const EVERY: Duration = Duration::from_secs(2);

/// Follows a policy until it is dropped. SIGHUP looks at once.
pub(crate) async fn follow(engine: Arc<Engine>, file: PolicyFile) {
    // The first look reads it in any case: it may have changed since it was read.
    let mut follower = Follower { seen: Vec::new(), file };
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
        loop {
            ticks.tick().await;
            follower.look(&engine, false).await;
        }
    };
    loop {
        let asked = tokio::select! {
            _ = ticks.tick() => false,
            _ = hang_up.recv() => true,
        };
        follower.look(&engine, asked).await;
    }
}

struct Follower {
    file: PolicyFile,
    seen: Vec<Stamp>,
}

impl Follower {
    async fn look(&mut self, engine: &Engine, asked: bool) {
        let now = stamp(self.file.path());
        if now == self.seen && !asked {
            return;
        }
        // Whatever comes of it, the same bytes are not read and complained about twice.
        self.seen = now;
        let path = self.file.path().to_owned();
        let read = tokio::task::spawn_blocking(move || read_policy(&path)).await;
        let policy = match read {
            Ok(Ok(policy)) => policy,
            Ok(Err(error)) => {
                engine.refuse_policy(&format!("{error:#}"));
                tracing::error!("the changed policy is not used, the old one stays in force: {error:#}");
                return;
            }
            Err(error) => {
                engine.refuse_policy(&error.to_string());
                tracing::error!("the changed policy could not be read, the old one stays in force: {error}");
                return;
            }
        };
        let digest = policy.digest();
        if digest == self.file.in_force().digest() {
            engine.confirm_policy();
            if asked {
                tracing::info!(%digest, "the policy is unchanged");
            }
            return;
        }
        let policy = Arc::new(policy);
        let source = self.file.path().display().to_string();
        match engine.load_policy(Arc::clone(&policy) as _, &source).await {
            Ok(()) => {
                self.file.replace(policy);
                tracing::info!(%digest, "the changed policy is in force");
            }
            Err(error) => {
                // Not recorded, so not in force; the next look tries again.
                self.seen.clear();
                engine.refuse_policy(&format!("it could not be recorded: {error}"));
                tracing::error!(
                    "the changed policy could not be recorded, the old one stays in force: {error}"
                );
            }
        }
    }
}

/// What tells that a file may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    file: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
}

fn stamp(path: &Path) -> Vec<Stamp> {
    let files = policy_files(path).unwrap_or_default();
    files
        .into_iter()
        .map(|file| {
            let known = std::fs::metadata(&file).ok();
            let modified = known.as_ref().and_then(|known| known.modified().ok());
            Stamp { file, modified, length: known.map_or(0, |known| known.len()) }
        })
        .collect()
}
