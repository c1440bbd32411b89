//! One connection: hyper over a non-blocking socket. The thread polls hyper, then waits until the socket is ready. A connection
//! ends if its client is slow: a request must arrive within ten seconds, and an answer must make progress.

use super::answer::{Body, is_refusal, is_stream};
use super::site::Site;
use super::wait;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use rustix::event::PollFlags;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Octets of a request: line and headers.
const REQUEST: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// Time for a request, and for an answer that makes no progress.
const IDLE: Duration = Duration::from_secs(10);
/// Time of a connection.
const LONGEST: Duration = Duration::from_secs(300);
/// Time of a connection with events. A browser opens it again.
const LONGEST_STREAM: Duration = Duration::from_secs(3600);
/// Octets that are read at once.
const BLOCK: usize = 4096;

/// Answers the requests of a connection until it ends.
pub(super) fn serve(stream: &TcpStream, site: &Arc<Site>, stop: &AtomicBool) {
    if stream.set_nonblocking(true).is_err() {
        return;
    }
    let watch = Rc::new(Watch::new());
    let service = service_fn(|request: Request<Incoming>| {
        let response = site.answer(request.method(), request.uri(), request.headers());
        watch.note_answer(&response);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let mut builder = http1::Builder::new();
    builder.max_buf_size(REQUEST).max_headers(HEADERS);
    let mut connection = pin!(builder.serve_connection(Socket { stream, watch: Rc::clone(&watch) }, service));
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    while !stop.load(Ordering::Relaxed) && !watch.is_over(Instant::now()) {
        woken.0.store(false, Ordering::Relaxed);
        watch.waits_for.set(PollFlags::empty());
        if connection.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return;
        }
        if !woken.0.load(Ordering::Relaxed) && wait(stream, watch.waits_for.get()).is_err() {
            return;
        }
    }
}

/// Whether hyper asked to be polled again at once.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The state of a connection.
struct Watch {
    opened: Instant,
    /// Time of the last answer, or of the last octet written.
    active: Cell<Instant>,
    /// What the socket was not ready for.
    waits_for: Cell<PollFlags>,
    streams: Cell<bool>,
    /// Whether a request had no access. Answers to such requests give the connection no more time.
    refused: Cell<bool>,
}

impl Watch {
    fn new() -> Watch {
        let now = Instant::now();
        Watch {
            opened: now,
            active: Cell::new(now),
            waits_for: Cell::new(PollFlags::empty()),
            streams: Cell::new(false),
            refused: Cell::new(false),
        }
    }

    fn note_answer(&self, response: &Response<Body>) {
        self.streams.set(is_stream(response));
        self.refused.set(is_refusal(response));
        self.note_progress();
    }

    fn note_progress(&self) {
        if !self.refused.get() {
            self.active.set(Instant::now());
        }
    }

    /// Whether the time of the connection has passed.
    fn is_over(&self, now: Instant) -> bool {
        // A stream of events writes at least a comment within half of this time.
        let (idle, longest) = if self.streams.get() { (IDLE * 2, LONGEST_STREAM) } else { (IDLE, LONGEST) };
        now.duration_since(self.active.get()) > idle || now.duration_since(self.opened) > longest
    }

    /// The result of an operation on the socket, as hyper wants it.
    fn ready<T>(&self, done: io::Result<T>, flag: PollFlags) -> Poll<io::Result<T>> {
        match done {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                self.waits_for.set(self.waits_for.get() | flag);
                Poll::Pending
            }
            done => Poll::Ready(done),
        }
    }
}

/// The socket, as hyper reads and writes it.
struct Socket<'a> {
    stream: &'a TcpStream,
    watch: Rc<Watch>,
}

impl Read for Socket<'_> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, mut to: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut block = [0; BLOCK];
        let length = to.remaining().min(BLOCK);
        let mut stream = self.stream;
        let read = stream.read(&mut block[..length]);
        self.watch.ready(read.map(|n| to.put_slice(&block[..n])), PollFlags::IN)
    }
}

impl Write for Socket<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let mut stream = self.stream;
        let written = stream.write(from);
        if written.as_ref().is_ok_and(|n| *n > 0) {
            self.watch.note_progress();
        }
        self.watch.ready(written, PollFlags::OUT)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The client may have closed it already.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::answer::{Kind, with_status};
    use hyper::StatusCode;

    #[test]
    fn a_slow_client_loses_its_connection() {
        let watch = Watch::new();
        let after = |seconds| watch.opened + Duration::from_secs(seconds);
        assert!(!watch.is_over(after(9)) && watch.is_over(after(11)));
        // An answer that makes progress has more time, up to a limit.
        watch.active.set(after(299));
        assert!(!watch.is_over(after(299)) && watch.is_over(after(301)));
        watch.streams.set(true);
        assert!(!watch.is_over(after(318)) && watch.is_over(after(320)));
        watch.active.set(after(3600));
        assert!(watch.is_over(after(3601)));
    }

    #[test]
    fn a_refusal_gives_a_connection_no_more_time() {
        let answer = |status| with_status(status, Kind::Text, Body::Whole(None));
        for (status, renews) in [
            (StatusCode::OK, true),
            (StatusCode::NOT_FOUND, true),
            (StatusCode::UNAUTHORIZED, false),
            (StatusCode::MISDIRECTED_REQUEST, false),
        ] {
            let watch = Watch::new();
            let then = watch.active.get();
            std::thread::sleep(Duration::from_millis(1));
            watch.note_answer(&answer(status));
            watch.note_progress();
            assert_eq!(watch.active.get() > then, renews, "{status}");
        }
    }
}
