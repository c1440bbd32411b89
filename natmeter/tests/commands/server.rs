//! A server in a process of its own over a folder of recorded runs, and a client that sends octets as they are.

use crate::program;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Timeout of the client, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/record").join(name)
}

pub(crate) fn copy(name: &str, runs: &Path, to: &str) -> PathBuf {
    let path = runs.join(to);
    fs::create_dir(&path).unwrap();
    for file in fs::read_dir(recorded(name)).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), path.join(file.file_name())).unwrap();
    }
    path
}

pub(crate) fn two_runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy("version1/map-t", dir.path(), "map-t");
    copy("rules2/simulated", dir.path(), "simulated");
    dir
}

pub(crate) struct Server {
    child: Child,
    pub url: String,
    pub address: SocketAddr,
}

impl Server {
    pub(crate) fn over(runs: &Path) -> Server {
        Server::with(runs, &["--listen", "127.0.0.1:0"])
    }

    pub(crate) fn with(runs: &Path, options: &[&str]) -> Server {
        let mut command = program::command(runs, &["serve", "--json", "--quiet"]);
        command.arg(runs).args(options);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let url = said["url"].as_str().unwrap().to_owned();
        let authority = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
        let port = authority.parse::<SocketAddr>().unwrap().port();
        Server { child, address: SocketAddr::from(([127, 0, 0, 1], port)), url }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a GET request with further headers, each with its line feed.
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", self.address))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// Sends a request as it is, and reads until the server closes the connection.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = Vec::new();
        // A server that refuses a request may close the connection before it has read all of it.
        let _ = stream.read_to_end(&mut text);
        Answer::of(&String::from_utf8_lossy(&text))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn of(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}
