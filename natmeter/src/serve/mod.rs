//! `natmeter serve`: read-only web pages over a folder of runs. Each connection has a thread, on which hyper speaks HTTP/1.

mod access;
mod answer;
mod connection;
mod live;
mod page;
mod query;
mod reports;
mod site;
mod slots;

pub(crate) use access::{Access, new_token, token_of};
pub(crate) use site::Site;

use slots::Slots;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Wait after a connection that could not be accepted, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// Answer to a connection without a slot.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n";

pub(crate) fn serve(listener: &TcpListener, site: &Arc<Site>) {
    let mut slots = Slots::default();
    loop {
        let Ok((mut stream, from)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        let Some(slot) = slots.take(from.ip()) else {
            let _ = stream.write_all(BUSY);
            continue;
        };
        let site = Arc::clone(site);
        // Without a thread, the stream is dropped, which closes the connection.
        let _ = thread::Builder::new().name("http".into()).spawn(move || {
            connection::serve(&stream, &site);
            drop(slot);
        });
    }
}
