//! The pages in headless Chromium: it shows their content, and it reports no error. `./check web-pages` runs these tests, or says
//! that Chromium is not installed.

use crate::server::{Server, two_runs};
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Loads a page, and returns its document after its scripts have run, and what the browser logged.
fn load(url: &str) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--timeout=5000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--dump-dom", url])
        .output()
        .expect("chromium starts");
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn console(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("CONSOLE")).collect()
}

#[test]
#[ignore = "needs chromium: run by ./check web-pages"]
fn browser_shows_every_page_without_an_error() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    for (path, part) in [
        ("", "Runs in "),
        ("run/simulated/", "In short"),
        ("run/simulated/report/html", "<svg"),
        ("compare?run=simulated&run=map-t", "Two runs side by side"),
    ] {
        let (document, log) = load(&format!("{}{path}", server.url));
        assert!(document.contains(part), "{path}: {document}");
        assert_eq!(console(&log), [""; 0], "{path}");
    }
}

#[test]
#[ignore = "needs chromium: run by ./check web-pages"]
fn browser_follows_a_run() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    let events = runs.path().join("simulated").join(record::store::EVENTS);
    let begun = std::fs::read_to_string(&events).unwrap();
    let open = r#"{"event":"run-started","folder":"x","measurements":4,"done":4,"predicted_s":1}"#;
    std::fs::write(&events, format!("{begun}{open}\n")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        // News until the browser has printed the document: whenever it begins to listen, some are still to come.
        threads.spawn(|| {
            let mut file = std::fs::OpenOptions::new().append(true).open(&events).unwrap();
            // For 30 seconds at most: without Chromium there is no document.
            for _ in (0..150).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                writeln!(file, r#"{{"event":"doubt","text":"news for the browser"}}"#).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        });
        let (document, log) = load(&format!("{}run/simulated/live", server.url));
        is_over.store(true, Ordering::Relaxed);
        assert!(document.contains("note: news for the browser"), "{document}");
        assert_eq!(console(&log), [""; 0]);
    });
}
