//! Priority while something is measured. Threads ask for the best nice value themselves; but where the kernel
//! groups tasks by session (autogroup), a nice value counts only within the session, so the session's own
//! value is raised too, and put back afterwards. What it was is noted in a file meanwhile, so that the next run
//! or `natmeter clean` in the same session puts it back when this run is killed.

use dut::RunDir;
use std::path::PathBuf;

const AUTOGROUP: &str = "/proc/self/autogroup";

/// The session's group and its nice value, as the kernel writes them: `/autogroup-31 nice 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Session {
    group: String,
    nice: i32,
}

impl Session {
    fn parse(text: &str) -> Option<Session> {
        let mut words = text.split_ascii_whitespace();
        let (group, _, nice) = (words.next()?, words.next()?, words.next()?);
        Some(Session { group: group.to_owned(), nice: nice.parse().ok()? })
    }

    fn read(path: impl AsRef<std::path::Path>) -> Option<Session> {
        Session::parse(&std::fs::read_to_string(path).ok()?)
    }

    /// What this one was before a run raised it that could not put it back.
    fn before(&self, noted: Option<Session>) -> Session {
        noted.filter(|noted| noted.group == self.group).unwrap_or_else(|| self.clone())
    }

    fn apply(&self) -> bool {
        std::fs::write(AUTOGROUP, self.nice.to_string()).is_ok()
    }
}

/// Puts the session's priority back when dropped.
pub struct Raised {
    dir: RunDir,
    old: Option<Session>,
}

fn note(dir: &RunDir) -> PathBuf {
    dir.path().join("session-priority")
}

/// Raise the priority of this session above other sessions, where the kernel groups by session and lets us.
pub fn raise() -> Raised {
    let dir = RunDir::of_this_user();
    let old = Session::read(AUTOGROUP).map(|now| now.before(Session::read(note(&dir))));
    // What cannot be noted is not changed.
    let noted = |old: &Session| {
        dir.make().is_ok() && std::fs::write(note(&dir), format!("{} nice {}\n", old.group, old.nice)).is_ok()
    };
    let old = old.filter(|old| noted(old) && Session { nice: -20, ..old.clone() }.apply());
    Raised { dir, old }
}

impl Drop for Raised {
    fn drop(&mut self) {
        let Some(old) = &self.old else { return };
        // Nobody to tell; at worst this session stays a little faster than others, and `clean` knows.
        if old.apply() {
            let _ = std::fs::remove_file(note(&self.dir));
            self.dir.tidy();
        }
    }
}

/// Put back what a killed run left raised, as far as it is this session: no other can be reached. Says what was done.
pub fn restore(dir: &RunDir) -> Option<String> {
    let noted = Session::read(note(dir))?;
    let now = Session::read(AUTOGROUP);
    // Of another session: it is gone, or whoever works in it can say `clean` there.
    if now.as_ref().map(|now| &now.group) != Some(&noted.group) || !noted.apply() {
        return None;
    }
    let _ = std::fs::remove_file(note(dir));
    dir.tidy();
    Some(format!("priority of this session: {} again", noted.nice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_a_killed_run_raised_gets_its_own_value_back() {
        let session = |text| Session::parse(text).unwrap();
        let now = session("/autogroup-31 nice -20\n");
        assert_eq!(now, Session { group: "/autogroup-31".into(), nice: -20 });
        assert_eq!(now.before(Some(session("/autogroup-31 nice 5\n"))).nice, 5);
        assert_eq!(now.before(Some(session("/autogroup-32 nice 5\n"))).nice, -20, "that was another session");
        assert_eq!(now.before(None).nice, -20);
        assert_eq!(Session::parse("autogroup"), None);
    }
}
