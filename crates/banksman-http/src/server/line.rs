//! A socket that can be taken from one connection and given to the next.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::seat::Seat;

/// A socket, and what is to be read before what it brings.
pub(super) struct Line {
    socket: TokioIo<TcpStream>,
    before: Bytes,
    seat: Seat,
}

impl Line {
    pub(super) fn new(socket: TcpStream, before: Bytes, seat: Seat) -> Self {
        Self { socket: TokioIo::new(socket), before, seat }
    }

    pub(super) fn into_socket(self) -> TcpStream {
        self.socket.into_inner()
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.socket).poll_read(context, into);
        }
        let count = self.before.len().min(into.remaining());
        into.put_slice(&self.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.seat.set_unsent(true);
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.seat.set_unsent(true);
        Pin::new(&mut self.socket).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// hyper flushes once it has written all that it had.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        self.seat.set_unsent(!matches!(flushed, Poll::Ready(Ok(()))));
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
