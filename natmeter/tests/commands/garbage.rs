//! A server outlives clients that send garbage, and clients that hold connections.

use crate::server::{Server, two_runs};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};

const REQUESTS: u64 = 10_000;
const CLIENTS: u64 = 4;

/// A generator of equal garbage in each test (splitmix64).
struct Garbage(u64);

impl Garbage {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn octets(&mut self, at_most: u64) -> Vec<u8> {
        let length = self.next() % at_most;
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// A request that is wrong in one of many ways, or only nonsense.
    fn request(&mut self) -> Vec<u8> {
        let garbage = self.octets(200);
        let text = String::from_utf8_lossy(&garbage).replace(['\r', '\n', ' '], "%");
        match self.next() % 9 {
            0 => garbage,
            1 => format!("GET /{text} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes(),
            2 => [b"GET / HTTP/1.1\r\n", garbage.as_slice(), b"\r\n\r\n"].concat(),
            3 => b"GET / HTTP/9.9\r\n\r\n".to_vec(),
            4 => format!("POST /compare HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{text}")
                .into_bytes(),
            5 => format!("GET /run/{text}/live?from={text} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes(),
            6 => b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
            7 => b"GET /run/simulated/ HTTP/1.1\r\nHo".to_vec(),
            _ => format!("GET /?q={text}&state={text}&first={text} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes(),
        }
    }
}

#[test]
fn ten_thousand_garbage_requests_do_no_harm() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    let (answered, good) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for client in 0..CLIENTS {
            let (server, answered, good) = (&server, &answered, &good);
            threads.spawn(move || {
                let mut garbage = Garbage(client);
                for _ in 0..REQUESTS / CLIENTS {
                    let mut stream = server.connect();
                    // The server may refuse a request before it has read all of it.
                    let _ = stream.write_all(&garbage.request()).and_then(|()| stream.shutdown(Shutdown::Write));
                    let mut answer = [0; 12];
                    let _ = stream.read(&mut answer);
                    answered.fetch_add(answer.starts_with(b"HTTP/1.1 ").into(), Ordering::Relaxed);
                    good.fetch_add((answer == *b"HTTP/1.1 200").into(), Ordering::Relaxed);
                }
            });
        }
    });
    // A ninth of the requests is right but for the words of the filter; two ninths end too early for an answer.
    let counts = [&answered, &good].map(|count| count.load(Ordering::Relaxed));
    assert!(counts[0] > REQUESTS / 2 && counts[1] > REQUESTS / 12, "{counts:?}");
    assert_eq!(server.get("/").status, 200);
    assert_eq!(server.get("/run/simulated/report/json").status, 200);
}

#[test]
fn connections_beyond_the_limit_are_refused_until_others_end() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    let mut held: Vec<_> = (0..64).map(|_| server.connect()).collect();
    let status = |text: &[u8]| String::from_utf8_lossy(text).split(' ').nth(1).map(str::to_owned);
    let mut refused = Vec::new();
    server.connect().read_to_end(&mut refused).unwrap();
    assert_eq!(status(&refused).as_deref(), Some("503"));
    // A connection that is held serves requests all the same.
    let last = held.last_mut().unwrap();
    last.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = [0; 64];
    let read = last.read(&mut answer).unwrap();
    assert_eq!(status(&answer[..read]).as_deref(), Some("200"));
    drop(held);
    let answers = std::iter::repeat_with(|| server.get("/").status);
    assert!(answers.take(1_000).any(|status| status == 200));
}
