//! `natmeter serve`: a read-only web page over a folder of runs. Each connection has a thread; hyper speaks HTTP/1 on it. The
//! number of connections, the size of requests and every wait are limited. Pages work without scripts.

mod access;
mod answer;
mod confine;
mod connection;
mod live;
mod page;
mod query;
mod reports;
mod site;
mod slots;

pub use access::{Access, TokenError, new_token, token_of};
pub use confine::{ConfineError, confine};
pub use site::Site;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use slots::Slots;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Longest wait before the server checks whether it must stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };
/// Wait after a connection that could not be accepted, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// The answer to a connection without a slot.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n";

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens at an address; port 0 takes a free one.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Server { address: listener.local_addr()?, listener })
    }

    /// Returns the address with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` is set.
    ///
    /// # Errors
    /// If the server cannot wait for connections.
    pub fn run(&self, site: &Arc<Site>, stop: &Arc<AtomicBool>) -> io::Result<()> {
        let slots = Slots::default();
        while !stop.load(Ordering::Relaxed) {
            wait(&self.listener, PollFlags::IN)?;
            match self.listener.accept() {
                Ok((stream, from)) => Server::serve((stream, from.ip()), site, stop, &slots),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    /// Starts the thread of a connection, or refuses the connection.
    fn serve((mut stream, from): (TcpStream, IpAddr), site: &Arc<Site>, stop: &Arc<AtomicBool>, slots: &Slots) {
        let Some(slot) = slots.take(from) else {
            let _ = stream.set_nonblocking(true).and_then(|()| stream.write_all(BUSY));
            return;
        };
        let (site, stop) = (Arc::clone(site), Arc::clone(stop));
        let started = thread::Builder::new().name("http".into()).spawn(move || {
            let _slot = slot;
            connection::serve(&stream, &site, &stop);
        });
        // Without a thread, the stream is dropped, which closes the connection.
        drop(started);
    }
}

/// Waits until a socket is ready, at most a tick.
fn wait(socket: &impl std::os::fd::AsFd, flags: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(socket, flags)], Some(&TICK)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
