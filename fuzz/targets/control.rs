//! Any bytes to a gateway's control socket: a line of text reaches whoever answers as it is, and comes back; anything else is
//! hung up on, and the next one is served.

#![no_main]

use gateway::control::{Control, ask};
use lab::gateway::Word;
use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::LazyLock;

/// One socket for all inputs, as a gateway has it.
static SOCKET: LazyLock<(tempfile::TempDir, Control)> = LazyLock::new(|| {
    let folder = natmeter_fuzz::folder();
    let control = Control::listen(&folder.path().join("g.sock")).expect("a socket");
    (folder, control)
});

/// Longest request.
const LONGEST: usize = 4096;

fuzz_target!(|bytes: &[u8]| {
    let (folder, control) = &*SOCKET;
    let path = folder.path().join("g.sock");
    let bytes = &bytes[..bytes.len().min(2 * LONGEST)];
    let mut stream = UnixStream::connect(&path).expect("it listens");
    stream.write_all(bytes).expect("room for a line");
    stream.shutdown(Shutdown::Write).expect("it is open");
    let mut heard = None;
    control.serve(|words| {
        heard = Some(words.to_owned());
        if let Err(why) = Word::read(words) {
            assert!(!why.is_empty());
        }
        format!("{words}\n")
    });
    let mut answer = Vec::new();
    // What was not read is reset when the other end hangs up.
    let whole = stream.read_to_end(&mut answer).is_ok();
    let line = bytes.split_inclusive(|b| *b == b'\n').next().unwrap_or(b"");
    let line = &line[..line.len().min(LONGEST)];
    match std::str::from_utf8(line) {
        Ok(text) => {
            assert_eq!(heard.as_deref(), Some(text.trim()));
            assert!(!whole || answer == format!("{}\n", text.trim()).as_bytes());
        }
        Err(_) => assert_eq!((heard, answer), (None, Vec::new())),
    }
    // Whatever that was, the next one is answered.
    let next = std::thread::scope(|s| {
        let asking = s.spawn(|| ask(&path, "status").expect("an answer"));
        while !asking.is_finished() {
            control.serve(|words| format!("{words} is fine"));
            std::thread::yield_now();
        }
        asking.join().expect("no panic")
    });
    assert_eq!(next, "status is fine");
});
