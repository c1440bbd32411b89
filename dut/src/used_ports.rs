//! Source ports of connections that a box may still hold, in a file that outlives a killed run.

use crate::lock::RunDir;
use crate::{DutError, private_file};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wire::PortRange;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    ports: PortRange,
    /// End of the trial in milliseconds since 1970, if it ended.
    end: Option<u64>,
}

#[derive(Debug)]
pub struct UsedPorts {
    path: PathBuf,
    /// Time-out of an idle connection.
    keeps: Duration,
    uses: Vec<Use>,
}

impl UsedPorts {
    /// Ports of a killed run count as used until `now`. Fails if another user could have written the file.
    pub fn of_box(dir: &RunDir, name: &str, keeps: Duration, now: SystemTime) -> Result<UsedPorts, DutError> {
        dir.make()?;
        let path = dir.path().join(format!("ports-{name}.json"));
        let failed = |source| DutError::Journal { doing: "reading", path: path.clone(), source };
        let mut text = String::new();
        private_file::open_or_create(&path).and_then(|mut file| file.read_to_string(&mut text)).map_err(failed)?;
        // A truncated file of a killed run is useless.
        let mut uses: Vec<Use> = serde_json::from_str(&text).unwrap_or_default();
        for used in &mut uses {
            used.end = Some(used.end.unwrap_or(u64::MAX).min(millis(now)));
        }
        Ok(UsedPorts { path, keeps, uses })
    }

    /// The range whose connections time out first, and when.
    pub fn first_free(&self, ranges: &[PortRange], now: SystemTime) -> Option<(PortRange, Duration)> {
        let free_at = |range: &PortRange| {
            let shared =
                self.uses.iter().filter(|used| used.ports.first <= range.last && range.first <= used.ports.last);
            shared.map(|used| used.end.unwrap_or(millis(now)).saturating_add(self.keeps.as_millis() as u64)).max()
        };
        let first = ranges.iter().min_by_key(|range| free_at(range).unwrap_or(0))?;
        Some((*first, Duration::from_millis(free_at(first).unwrap_or(0).saturating_sub(millis(now)))))
    }

    /// Begins a trial with these ports, and ends the one before.
    pub fn take(&mut self, ports: PortRange, now: SystemTime) -> Result<(), DutError> {
        self.end(now);
        self.uses.push(Use { ports, end: None });
        self.write()
    }

    /// Ends the last trial.
    pub fn leave(&mut self, now: SystemTime) -> Result<(), DutError> {
        self.end(now);
        self.write()
    }

    /// Ends the last trial, and forgets timed-out connections.
    fn end(&mut self, now: SystemTime) {
        let now = millis(now);
        for used in &mut self.uses {
            used.end = used.end.or(Some(now));
        }
        let keeps = self.keeps.as_millis() as u64;
        self.uses.retain(|used| used.end.is_some_and(|end| end.saturating_add(keeps) > now));
    }

    fn write(&self) -> Result<(), DutError> {
        let text = serde_json::to_string(&self.uses).unwrap_or_default();
        let written = private_file::open_or_create(&self.path)
            .and_then(|mut file| file.set_len(0).and_then(|()| file.write_all(text.as_bytes())));
        written.map_err(|source| DutError::Journal { doing: "writing", path: self.path.clone(), source })
    }
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEPS: Duration = Duration::from_secs(100);

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    fn range(first: u16, last: u16) -> PortRange {
        PortRange { first, last }
    }

    fn kept() -> (tempfile::TempDir, impl Fn(u64) -> UsedPorts) {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::at(folder.path().join("natmeter"));
        (folder, move |now| UsedPorts::of_box(&dir, "02-00", KEEPS, at(now)).unwrap())
    }

    #[test]
    fn ports_are_fresh_until_all_were_used() {
        let (_folder, read) = kept();
        let (mut used, ranges) = (read(0), [range(1, 10), range(11, 20)]);
        assert_eq!(used.first_free(&ranges, at(0)), Some((ranges[0], Duration::ZERO)));
        used.take(ranges[0], at(0)).unwrap();
        assert_eq!(used.first_free(&ranges, at(30)), Some((ranges[1], Duration::ZERO)));
        used.take(ranges[1], at(30)).unwrap();
        assert_eq!(used.first_free(&ranges, at(50)), Some((ranges[0], Duration::from_secs(80))));
        assert_eq!(used.first_free(&ranges, at(130)), Some((ranges[0], Duration::ZERO)));
    }

    #[test]
    fn a_later_run_knows_the_ports_also_with_other_ranges() {
        let (_folder, read) = kept();
        let mut used = read(0);
        used.take(range(1, 10), at(0)).unwrap();
        used.leave(at(20)).unwrap();
        let others = [range(5, 14), range(15, 24)];
        assert_eq!(read(40).first_free(&others, at(40)), Some((others[1], Duration::ZERO)));
        assert_eq!(read(40).first_free(&others[..1], at(40)), Some((others[0], Duration::from_secs(80))));
    }

    #[test]
    fn ports_of_a_run_that_was_killed_are_used_until_now() {
        let (_folder, read) = kept();
        read(0).take(range(1, 10), at(0)).unwrap();
        assert_eq!(read(60).first_free(&[range(1, 10)], at(60)), Some((range(1, 10), KEEPS)));
    }

    #[test]
    fn connections_that_have_timed_out_are_forgotten() {
        let (_folder, read) = kept();
        let mut used = read(0);
        used.take(range(1, 10), at(0)).unwrap();
        used.leave(at(0)).unwrap();
        used.take(range(11, 20), at(200)).unwrap();
        assert_eq!(used.uses.len(), 1);
    }
}
