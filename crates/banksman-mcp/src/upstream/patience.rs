//! How long we wait for a server that others stand beside, and what we remember of those that let us wait.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

/// What a server answers about itself and what it offers, it answers within this time. Clients give up after 60 seconds.
const OVER_HTTP: Duration = Duration::from_secs(10);

/// A program may have to be fetched first.
const OF_A_PROGRAM: Duration = Duration::from_secs(30);

/// A server that let us wait lately gets no more than this.
const ONCE_BITTEN: Duration = Duration::from_millis(500);

/// So long is lately.
const LATELY: Duration = Duration::from_secs(30);

/// How a server has kept us waiting.
#[derive(Debug, Clone, Copy, Default)]
enum Standing {
    /// It answers.
    #[default]
    Well,
    /// It does not, but says so at once.
    Out,
    /// It let us wait in vain.
    Late(Instant),
}

/// What is known of how a server answers.
#[derive(Debug)]
pub(crate) struct Patience {
    usual: Duration,
    standing: Mutex<Standing>,
}

impl Patience {
    pub(crate) fn over_http() -> Self {
        Self { usual: OVER_HTTP, standing: Mutex::default() }
    }

    pub(crate) fn of_a_program() -> Self {
        Self { usual: OF_A_PROGRAM, standing: Mutex::default() }
    }

    fn standing(&self) -> Standing {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_stands(&self, standing: Standing) -> Standing {
        std::mem::replace(&mut self.standing.lock().unwrap_or_else(PoisonError::into_inner), standing)
    }

    /// Whether it let us wait lately.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.standing(), Standing::Late(since) if since.elapsed() < LATELY)
    }

    pub(crate) fn left(&self) -> Duration {
        if self.is_short() { ONCE_BITTEN } else { self.usual }
    }

    /// What comes of it, if it comes in time. That a server is out is told once, and that it is back.
    pub(crate) async fn wait<T, E: ToString>(
        &self,
        server: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, String> {
        let (left, before) = (self.left(), self.standing());
        let done = timeout(left, work).await;
        let (done, standing) = match done {
            Ok(Ok(done)) => (Ok(done), Standing::Well),
            Ok(Err(error)) => match self.standing() {
                // It was not even asked again.
                late @ Standing::Late(_) => (Err(error.to_string()), late),
                Standing::Well | Standing::Out => (Err(error.to_string()), Standing::Out),
            },
            Err(_) => {
                // That it takes longer than the little time it had says nothing new: with all of it, it may answer.
                let since = match before {
                    Standing::Late(since) if left == ONCE_BITTEN => since,
                    Standing::Late(_) | Standing::Well | Standing::Out => Instant::now(),
                };
                (Err("it does not answer in time".to_owned()), Standing::Late(since))
            }
        };
        match (self.now_stands(standing), &done) {
            (Standing::Well, Err(error)) => {
                tracing::warn!(upstream = server, %error, "an MCP server is left out until it answers");
            }
            (Standing::Out | Standing::Late(_), Ok(_)) => {
                tracing::info!(upstream = server, "an MCP server answers again");
            }
            (Standing::Well, Ok(_)) | (Standing::Out | Standing::Late(_), Err(_)) => {}
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_answers_in_no_more_than_a_second_is_not_out_for_ever() {
        let patience = Patience::over_http();
        let almost = LATELY - Duration::from_millis(300);
        patience.now_stands(Standing::Late(Instant::now().checked_sub(almost).unwrap()));
        let slowly = || async {
            tokio::time::sleep(ONCE_BITTEN + Duration::from_millis(100)).await;
            Ok::<_, String>(())
        };
        assert!(patience.wait("slow", slowly()).await.is_err());
        assert!(patience.wait("slow", slowly()).await.is_ok());
    }

    #[tokio::test]
    async fn who_let_us_wait_gets_less_time_until_it_answers() {
        let patience = Patience { usual: Duration::from_millis(20), ..Patience::over_http() };
        let never = || std::future::pending::<Result<(), String>>();
        assert!(patience.wait("slow", never()).await.is_err());
        assert_eq!(patience.left(), ONCE_BITTEN);
        // Nothing is learned from what fails because it is not even asked.
        assert!(patience.wait("slow", async { Err::<(), _>("not asked") }).await.is_err());
        assert_eq!(patience.left(), ONCE_BITTEN);
        assert!(patience.wait("slow", async { Ok::<_, String>(()) }).await.is_ok());
        assert_eq!(patience.left(), patience.usual);
        assert!(patience.wait("slow", async { Err::<(), _>("refused") }).await.is_err());
        assert_eq!(patience.left(), patience.usual);
    }
}
