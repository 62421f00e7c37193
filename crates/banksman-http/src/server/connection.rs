//! One client's connection, from the first byte to the last.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{Method, Version};
use axum::response::{IntoResponse as _, Response};
use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::Service as _;

use super::Peer;
use super::line::Line;
use super::seat::{Seat, Waiting};
use crate::prefer::PREFER;
use crate::{App, hosts};

/// A client that takes longer than this for the head of a request is let go, so that slow ones cannot use up all
/// connections. It does not limit how long an answer may take.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// What a new connection reads first when there is an answer to give: it answers whatever is asked.
const GIVE_THE_ANSWER: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// What all connections share.
#[derive(Clone)]
pub(super) struct House {
    app: App,
    router: Router,
}

impl House {
    pub(super) fn new(app: App) -> Self {
        Self { router: crate::router::router(app.clone()), app }
    }

    /// Answers one request.
    async fn answer(
        &self,
        seat: Seat,
        peer: Peer,
        mut request: Request<Incoming>,
    ) -> Result<Response, Infallible> {
        if let Some(problem) = hosts::refuse(&self.app, request.headers()) {
            return Ok(problem.into_response());
        }
        if may_wait_apart(&request) {
            request.extensions_mut().insert(seat);
        }
        // Only whoever wants to come in is asked where from; nothing else pays for knowing it.
        if ["/sign-in", "/join"].iter().any(|door| request.uri().path().starts_with(door)) {
            request.extensions_mut().insert(peer);
        }
        self.router.clone().call(request).await
    }

    /// Serves a client until it goes, or the server ends.
    pub(super) async fn serve(&self, mut socket: TcpStream, peer: Peer, mut stopping: watch::Receiver<bool>) {
        let mut before = Bytes::new();
        let mut answer = None;
        loop {
            // Buffers come with the first byte: those who are only connected cost little. Both on the heap, so that
            // whoever waits does not hold room for them.
            if before.is_empty() && !Box::pin(asks(&socket, &mut stopping)).await {
                return;
            }
            let conversation = Box::pin(self.converse(socket, peer, before, answer, &mut stopping));
            let waiting;
            (waiting, socket, before) = match conversation.await {
                Left::Waiting(waiting, socket, further) => (waiting, socket, further),
                Left::Gone => return,
            };
            answer = tokio::select! {
                answer = waiting => Some(answer),
                () = gone(&socket) => return,
            };
            before = [GIVE_THE_ANSWER, &before].concat().into();
        }
    }

    /// Serves it until it is gone, or has nothing to do but wait.
    async fn converse(
        &self,
        socket: TcpStream,
        peer: Peer,
        before: Bytes,
        answer: Option<Response>,
        stopping: &mut watch::Receiver<bool>,
    ) -> Left {
        let seat = Seat::default();
        let answer = Mutex::new(answer);
        let service = service_fn(|request| {
            let answer = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
            let seat = seat.clone();
            async move {
                match answer {
                    Some(answer) => Ok(answer),
                    None => self.answer(seat, peer, request).await,
                }
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
        let line = Line::new(socket, before, seat.clone());
        // On the heap, so that whoever waits apart from it does not hold room for it.
        let mut connection = Box::new(http.serve_connection(line, service).with_upgrades());
        let mut working = poll_fn(|context| match Pin::new(&mut *connection).poll(context) {
            Poll::Ready(ended) => Poll::Ready(Ok(ended)),
            Poll::Pending => seat.take().map_or(Poll::Pending, |waiting| Poll::Ready(Err(waiting))),
        });
        let ended = tokio::select! {
            // The connection first: an answer that is there is given before the server ends.
            biased;
            ended = &mut working => ended,
            () = async { drop(stopping.wait_for(|stop| *stop).await) } => {
                Pin::new(&mut *connection).graceful_shutdown();
                Ok(connection.as_mut().await)
            }
        };
        match ended {
            Err(waiting) => match connection.into_parts() {
                // A copy, mostly of nothing: the bytes themselves would keep all of the buffer that they are in.
                Some(parts) => {
                    let further = Bytes::copy_from_slice(&parts.read_buf);
                    Left::Waiting(waiting, parts.io.into_socket(), further)
                }
                None => Left::Gone,
            },
            Ok(ended) => {
                if let Err(error) = ended {
                    // Clients go away all the time; that is theirs to do.
                    tracing::debug!(%error, "a connection ended early");
                }
                Left::Gone
            }
        }
    }
}

/// How a conversation was left.
enum Left {
    /// With an answer to come, the socket to send it to, and what the client said further.
    Waiting(Waiting, TcpStream, Bytes),
    Gone,
}

/// Whether this request leaves nothing behind in its connection when it waits apart from it: neither a part of its body
/// nor a wish that the connection should end.
fn may_wait_apart(request: &Request<Incoming>) -> bool {
    let headers = request.headers();
    let is_whole = match *request.method() {
        Method::GET => request.body().is_end_stream(),
        // Handlers wait only after they have read it to its end.
        Method::POST => headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING),
        _ => false,
    };
    is_whole
        && headers.contains_key(PREFER)
        && request.version() == Version::HTTP_11
        && headers.get_all(CONNECTION).iter().all(|wish| wish.as_bytes().eq_ignore_ascii_case(b"keep-alive"))
}

/// Waits until the client says something, and whether it does before its time is over and the server ends.
async fn asks(socket: &TcpStream, stopping: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        said = tokio::time::timeout(HEAD_WITHIN, says(socket)) => matches!(said, Ok(Ok(1))),
        // If the sender is gone, so is everyone who could want the server.
        _ = stopping.wait_for(|stop| *stop) => false,
    }
}

/// Ends when the client has closed its side. What it says further stays where it is.
async fn gone(socket: &TcpStream) {
    match says(socket).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

/// Waits until the client has said a byte, which stays where it is, or no more will come.
///
/// Peeking rather than waiting until the socket is readable, which it may seem to be when it is new.
fn says(socket: &TcpStream) -> impl Future<Output = io::Result<usize>> {
    poll_fn(|context| socket.poll_peek(context, &mut ReadBuf::new(&mut [0])))
}
