//! Serving: sockets, and an orderly end.

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::{App, router};

/// Serves until `stopping` becomes true; then lets requests that are under way finish.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    app: App,
    mut stopping: watch::Receiver<bool>,
) -> std::io::Result<()> {
    // Answers are small and wanted now: waiting to fill a packet only delays them.
    let listener = listener.tap_io(|socket| {
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    });
    axum::serve(listener, router(app))
        .with_graceful_shutdown(async move {
            // If the sender is gone, so is everyone who could want the server.
            let _ = stopping.wait_for(|stop| *stop).await;
        })
        .await
}
