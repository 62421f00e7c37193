//! Being told to stop.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

/// Becomes true when a signal says so. From the call on: a signal that comes while the server starts, or while it begins anew,
/// is not lost.
pub(crate) fn told_to_stop() -> std::io::Result<watch::Receiver<bool>> {
    let (tell, told) = watch::channel(false);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            tell.send_replace(true);
        }
    })?;
    Ok(told)
}
