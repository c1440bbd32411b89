//! One connection, and one request on it: hyper over a blocking socket, which ends the connection of a slow client.

use super::site::Site;
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Most octets of request line and headers.
const REQUEST: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// Time for a request, and for an answer that makes no progress.
const IDLE: Duration = Duration::from_secs(10);
/// Time for an answer.
const LONGEST: Duration = Duration::from_secs(300);

pub(super) fn serve(stream: &TcpStream, site: &Site) {
    let end = Cell::new(Instant::now() + IDLE);
    let service = service_fn(|request: Request<Incoming>| {
        let answer = site.answer(request.method(), request.uri(), request.headers());
        end.set(Instant::now() + LONGEST);
        ready(Ok::<_, Infallible>(answer))
    });
    let mut builder = http1::Builder::new();
    // Half-closed, because hyper would else wait for the end of the client's octets before it writes the answer.
    builder.max_buf_size(REQUEST).max_headers(HEADERS).keep_alive(false).half_close(true);
    let mut connection = pin!(builder.serve_connection(Socket { stream, end: &end }, service));
    // The socket blocks, so that hyper is never pending for long.
    while connection.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
}

/// The socket, as hyper reads and writes it.
struct Socket<'a> {
    stream: &'a TcpStream,
    end: &'a Cell<Instant>,
}

impl Socket<'_> {
    /// The time that an operation may take.
    fn patience(&self) -> io::Result<Option<Duration>> {
        match self.end.get().saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(ErrorKind::TimedOut.into()),
            left => Ok(Some(left.min(IDLE))),
        }
    }

    fn read(&self, block: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.patience()?)?;
        (&mut &*self.stream).read(block)
    }

    fn write(&self, from: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.patience()?)?;
        (&mut &*self.stream).write(from)
    }
}

impl Read for Socket<'_> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, mut to: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut block = [0; 4096];
        let length = to.remaining().min(block.len());
        Poll::Ready(self.read(&mut block[..length]).map(|n| to.put_slice(&block[..n])))
    }
}

impl Write for Socket<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.write(from))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_client_loses_its_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let end = Cell::new(Instant::now() + LONGEST);
        let socket = Socket { stream: &stream, end: &end };
        assert_eq!(socket.patience().unwrap(), Some(IDLE));
        // The client sends nothing.
        end.set(Instant::now() + Duration::from_millis(20));
        assert!(socket.read(&mut [0]).is_err());
        assert_eq!(socket.patience().unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
