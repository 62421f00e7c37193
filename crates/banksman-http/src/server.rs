//! Serving: sockets, and an orderly end.

mod connection;
mod line;
mod seat;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};

use self::connection::House;
pub(crate) use self::seat::Seat;
use crate::App;

/// Who is at the other end of the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// How many may have connected and not been taken yet. A whole fleet of agents that comes back at once should not have to
/// knock a second time.
const AT_THE_DOOR: u32 = 4096;

/// How long to wait when no connection can be taken, because too many are open.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Listens there, for [`serve`].
///
/// # Errors
/// If the address is taken, or not ours.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Otherwise the address stays taken for a minute after a restart.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(AT_THE_DOOR)
}

/// Serves until `stopping` becomes true; then lets requests that are under way finish.
pub async fn serve(listener: TcpListener, app: App, mut stopping: watch::Receiver<bool>) {
    let (engine, attending) = (Arc::clone(&app.engine), app.attending.clone());
    let house = Arc::new(House::new(app));
    // Every connection holds a sender; when the last is gone, so are they.
    let (open, mut all_closed) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // If the sender is gone, so is everyone who could want the server.
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        let (socket, peer) = match accepted {
            Ok((socket, peer)) => (socket, Peer(peer.ip())),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(AFTER_FAILURE).await;
                continue;
            }
        };
        // Answers are small and wanted now: waiting to fill a packet only delays them.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let (house, open, stopping) = (Arc::clone(&house), open.clone(), stopping.clone());
        tokio::spawn(async move {
            house.serve(socket, peer, stopping).await;
            drop(open);
        });
    }
    drop(listener);
    drop(open);
    engine.stop_queueing();
    let _ = all_closed.recv().await;
    attending.finish().await;
}
