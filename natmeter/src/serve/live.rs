//! The live view of a run: the lines that its terminal shows, derived from the events in its folder. What was read is kept, so
//! that each page reads only what is new.

use crate::console::{Live, line_of, plain};
use crate::event::Event;
use record::merge::is_merged;
use record::plan::Plan;
use record::read::header;
use record::runs::{Stamp, check_files, stamp};
use record::store::{Dir, EVENTS, HEADER};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest run that is followed, in octets of its files.
const RUN_AT_MOST: u64 = 512 << 20;
/// Longest line of events, octets. A longer one ends the view.
const LINE_AT_MOST: u64 = 8 << 20;
/// Lines on a page.
const LOG: usize = 100;
/// Columns and lines of a terminal that shows everything.
const TERMINAL: (usize, usize) = (120, 24);
/// Views that are kept.
const KEPT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct LiveViews(Mutex<HashMap<PathBuf, LiveView>>);

/// The events of one run so far.
#[derive(Debug, Default)]
pub(super) struct LiveView {
    plan: Plan,
    /// The state of the header, which never changes.
    header: Stamp,
    /// Place after the last complete line.
    at: u64,
    lines: Live,
    pub(super) log: VecDeque<String>,
    /// Whether the last event was the end of the run.
    pub(super) has_ended: bool,
}

impl LiveViews {
    pub(super) fn print(&self, run: &Path, print: impl FnOnce(&mut LiveView) -> String) -> Result<String, String> {
        check_files(run, RUN_AT_MOST)?;
        let stamp = stamp(run, &[HEADER]);
        let kept = self.kept().remove(run);
        let mut view = match kept.filter(|view| view.header == stamp) {
            Some(view) => view,
            None => LiveView { plan: plan(run)?, header: stamp, ..LiveView::default() },
        };
        view.catch_up(run).map_err(|error| format!("{EVENTS} cannot be read: {}", error.kind()))?;
        let text = print(&mut view);
        let mut kept = self.kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(run.to_path_buf(), view);
        Ok(text)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<PathBuf, LiveView>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn plan(run: &Path) -> Result<Plan, String> {
    if is_merged(run) {
        return Err("it joins several runs, and only a single run has a live view".to_owned());
    }
    let header = header(run, tech::ALL);
    Ok(header.map_err(|_| "the header or the scenario of the run cannot be read".to_owned())?.plan)
}

impl LiveView {
    /// Reads the complete lines after those that it knows.
    fn catch_up(&mut self, run: &Path) -> io::Result<()> {
        let file = Dir::open(run).and_then(|run| run.read(EVENTS, RUN_AT_MOST)).map_err(io::Error::other)?;
        let mut events = BufReader::new(file.ok_or(io::ErrorKind::NotFound)?.into_inner());
        events.seek(SeekFrom::Start(self.at))?;
        let mut line = Vec::new();
        while (&mut events).take(LINE_AT_MOST).read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.at += line.len() as u64;
            self.learn(&line);
            line.clear();
        }
        Ok(())
    }

    fn learn(&mut self, line: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Value>(line) else { return };
        self.has_ended = event["event"] == "finished";
        let Ok(event) = Event::deserialize(event) else { return };
        self.lines.learn(&event);
        let line = line_of(&event).map(|line| plain(&line));
        self.log.extend(line.map(|line| match &event {
            Event::RunStarted { folder, .. } | Event::Finished { folder, .. } => line[folder.len() + 2..].to_owned(),
            _ => line,
        }));
        self.log.drain(..self.log.len().saturating_sub(LOG));
    }

    pub(super) fn lines(&mut self) -> Vec<String> {
        let left = self.plan.measurements.iter().filter(|m| !self.lines.is_done(&m.key()));
        let left_ns = left.fold(0, |sum: u64, m| sum.saturating_add(m.predicted.0));
        self.lines.expect(left_ns / 1_000_000_000);
        self.lines.lines(TERMINAL.0, TERMINAL.1).iter().map(|line| plain(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_terminal_follow_recorded_events() {
        let mut view = LiveView::default();
        for line in [
            r#"{"event":"run-started","folder":"/x/y","measurements":8,"done":2,"predicted_s":9}"#,
            r#"{"event":"dut-preparing","dut":"nat","connections":1000,"cores":2}"#,
            r#"{"event":"measurement-started","number":3,"of":8,"measurement":{"metric":"throughput","repetition":1,
               "predicted":0,"point":{"dut":0,"dut_name":"nat","connections":1000,"cores":2}}}"#,
            r#"{"event":"trial","seq":1,"measurement":"m","rate":2000000,"verdict":"pass","reason":"","sent":1,"received":1}"#,
            r#"{"event":"trial","seq":2,"measurement":"m","rate":4000000,"verdict":"fail","reason":"","sent":10,"received":9}"#,
            "not JSON",
            r#"{"event":"of a later version"}"#,
        ] {
            view.learn(line.as_bytes());
        }
        let lines = [
            "[3/8]  throughput  repetition 1  nat, 1 k connections, 2 cores",
            "  rate  4 M/s  2 M passed, 4 M failed",
            "  last: fail, 10 % lost",
            "  2 of 8 done  about 0 s left",
        ];
        assert_eq!(view.lines(), lines);
        assert_eq!(view.log, ["6 of 8 measurements to do, about 9 s", "nat, 1 k connections, 2 core(s)"]);
        // Natmeter 0.1.0 wrote no `not_needed`.
        view.learn(br#"{"event":"finished","folder":"x","seconds":7}"#);
        assert!(view.has_ended);
    }

    #[test]
    fn complete_lines_are_read_once_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let events = dir.path().join(EVENTS);
        let mut view = LiveView::default();
        let mut log_of = |text: &str| {
            std::fs::write(&events, text).unwrap();
            view.catch_up(dir.path()).unwrap();
            Vec::from(view.log.clone())
        };
        let doubt = |text: &str| format!("{{\"event\":\"doubt\",\"text\":\"{text}\"}}\n");
        assert_eq!(log_of(&doubt("a")), ["note: a"]);
        // `resume` removes an incomplete line.
        assert_eq!(log_of(&format!("{}{{\"event\":\"do", doubt("a"))), ["note: a"]);
        assert_eq!(log_of(&(doubt("a") + &doubt("b"))), ["note: a", "note: b"]);
        let link = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(&events, link.path().join(EVENTS)).unwrap();
        assert!(view.catch_up(link.path()).is_err());
    }
}
