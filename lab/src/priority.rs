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
    let old = Session::read(AUTOGROUP).and_then(|now| noted_and_raised(&dir, &now, Session::apply));
    Raised { dir, old }
}

/// Note what the session was, then raise it with `apply`; what it was, if that was possible. What cannot be noted is not
/// changed, and what could not be changed is not noted.
fn noted_and_raised(dir: &RunDir, now: &Session, apply: impl Fn(&Session) -> bool) -> Option<Session> {
    let noted = Session::read(note(dir)).filter(|noted| noted.group == now.group);
    let left_by_another = noted.is_some();
    let old = now.before(noted);
    let is_noted =
        dir.make().is_ok() && std::fs::write(note(dir), format!("{} nice {}\n", old.group, old.nice)).is_ok();
    let is_raised = is_noted && apply(&Session { nice: -20, ..old.clone() });
    // A run that was killed did raise it: what it noted still holds.
    if !is_raised && !left_by_another {
        forget(dir);
    }
    is_raised.then_some(old)
}

/// There is nothing to put back any more.
fn forget(dir: &RunDir) {
    // At worst `clean` finds a note of what is so already.
    let _ = std::fs::remove_file(note(dir));
    dir.tidy();
}

impl Drop for Raised {
    fn drop(&mut self) {
        let Some(old) = &self.old else { return };
        // Nobody to tell; at worst this session stays a little faster than others, and `clean` knows.
        if old.apply() {
            forget(&self.dir);
        }
    }
}

/// Put back what a killed run left raised, as far as it is this session: no other can be reached. Says what was done.
pub fn restore(dir: &RunDir) -> Option<String> {
    let noted = Session::read(note(dir))?;
    let now = Session::read(AUTOGROUP)?;
    // Of another session: it is gone, or whoever works in it can say `clean` there.
    if now.group != noted.group {
        return None;
    }
    // It was killed before it had raised anything.
    let is_so_already = now == noted;
    if !is_so_already && !noted.apply() {
        return None;
    }
    forget(dir);
    (!is_so_already).then(|| format!("priority of this session: {} again", noted.nice))
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

    #[test]
    fn a_session_that_may_not_be_raised_leaves_no_note() {
        let parent = tempfile::tempdir().unwrap();
        let dir = RunDir::at(parent.path().join("natmeter"));
        let now = Session { group: "/autogroup-31".into(), nice: 5 };
        assert_eq!(noted_and_raised(&dir, &now, |_| false), None);
        assert!(!dir.path().exists());

        let raised = noted_and_raised(&dir, &now, |to| {
            assert_eq!(Session::read(note(&dir)), Some(now.clone()), "noted before it is raised");
            to.nice == -20
        });
        assert_eq!(raised, Some(now.clone()));
        // That run was killed. One that may not raise it leaves the note, one that may believes it.
        let raised = Session { nice: -20, ..now.clone() };
        assert_eq!(noted_and_raised(&dir, &raised, |_| false), None);
        assert_eq!(Session::read(note(&dir)), Some(now.clone()));
        assert_eq!(noted_and_raised(&dir, &raised, |_| true), Some(now.clone()));
        forget(&dir);
        assert!(!dir.path().exists());
    }
}
