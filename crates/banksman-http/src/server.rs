//! Serving: sockets, and an orderly end.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tower::Service;

use crate::router::router;
use crate::{App, hosts};

/// Who is at the other end of the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// A client that takes longer than this for the head of a request is let go, so that slow ones cannot use up all
/// connections. It does not limit how long an answer may take.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long to wait when no connection can be taken, because too many are open.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Serves until `stopping` becomes true; then lets requests that are under way finish.
pub async fn serve(listener: TcpListener, app: App, mut stopping: watch::Receiver<bool>) {
    let router = router(app.clone());
    let engine = Arc::clone(&app.engine);
    // In front of the router rather than a layer of it: axum would wrap, and for each request clone, every route.
    let service = service_fn(move |request: Request<Incoming>| {
        let refused = hosts::refuse(&app, request.headers());
        let mut router = router.clone();
        async move {
            match refused {
                Some(problem) => Ok::<_, Infallible>(problem.into_response()),
                None => router.call(request).await,
            }
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
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
        let service = service.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            hyper::service::Service::call(&service, request)
        });
        let connection = http.serve_connection(TokioIo::new(socket), service).with_upgrades();
        let (open, mut stopping) = (open.clone(), stopping.clone());
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = async { drop(stopping.wait_for(|stop| *stop).await) } => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                // Clients go away all the time; that is theirs to do.
                tracing::debug!(%error, "a connection ended early");
            }
            drop(open);
        });
    }
    drop(listener);
    drop(open);
    engine.stop_queueing();
    let _ = all_closed.recv().await;
}
