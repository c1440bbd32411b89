//! Server-sent events of a run, as its folder grows.

use crate::server::{Server, two_runs};
use record::store::EVENTS;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

/// Messages of a stream, without chunk sizes and comments.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(server: &Server, path: &str, headers: &str) -> Stream {
        let mut stream = server.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        Stream(reader)
    }

    /// Reads until a message of this kind, and returns its id and its data.
    fn next(&mut self, event: &str) -> (u64, String) {
        let (mut id, mut is_it) = (0, false);
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended before `{event}`");
            let line = line.trim_end();
            match line.split_once(": ") {
                Some(("id", text)) => id = text.parse().unwrap(),
                Some(("event", text)) => is_it = text == event,
                Some(("data", text)) if is_it => return (id, text.to_owned()),
                _ => {}
            }
        }
    }
}

fn append(run: &Path, line: &str) {
    let mut file = OpenOptions::new().append(true).open(run.join(EVENTS)).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[test]
fn appended_events_arrive_while_the_stream_is_open() {
    let runs = two_runs();
    let run = runs.path().join("simulated");
    append(&run, r#"{"event":"run-started","folder":"x","measurements":4,"done":4,"predicted_s":1}"#);
    let server = Server::over(runs.path());
    let page = server.get("/run/simulated/live").body;
    let (_, rest) = page.split_once("data-events=\"").unwrap();
    let (from, _) = rest.split_once('"').unwrap();
    let mut stream = Stream::open(&server, &format!("/run/simulated/{from}"), "");
    let (begin, state) = stream.next("state");
    assert_eq!(from, format!("events?from={begin}"));
    assert!(state.contains("\"done\":\"") && !state.contains("9 k entries"), "{state}");
    append(&run, r#"{"event":"doubt","text":"the <host> is busy"}"#);
    let (place, line) = stream.next("line");
    assert_eq!(line, "\"note: the <host> is busy\"");
    append(&run, r#"{"event":"trial","rate":1500000,"verdict":"fail","sent":1000,"received":990,"entries":9000}"#);
    let (_, state) = loop {
        let (id, state) = stream.next("state");
        if state.contains("9 k entries") {
            break (id, state);
        }
    };
    assert!(state.contains("\"rate\":\"1.5 M/s\"") && state.contains("fail, 1 % lost"), "{state}");
    append(&run, r#"{"event":"finished","folder":"x","seconds":9}"#);
    assert_eq!(stream.next("line").1, "\"done in 9 s\"");
    stream.next("end");
    // A browser that was interrupted after the first line gets the rest.
    let mut again = Stream::open(&server, "/run/simulated/events?from=0", &format!("Last-Event-ID: {place}\r\n"));
    assert_eq!(again.next("line").1, "\"done in 9 s\"");
}

#[test]
fn a_run_without_events_has_no_stream() {
    let runs = two_runs();
    std::fs::remove_file(runs.path().join("simulated").join(EVENTS)).unwrap();
    let server = Server::over(runs.path());
    let answer = server.get("/run/simulated/events");
    assert!(answer.status == 503 && answer.body.contains("the events cannot be read"), "{answer:?}");
    assert_eq!(server.get("/run/simulated/live").status, 404);
}
