//! Priority while something is measured. Threads ask for the best nice value themselves; but where the kernel groups tasks by
//! session (autogroup, sched(7)), a nice value counts only within the session, so the session's own value is raised too, and
//! restored afterwards. A note says meanwhile what it was ([`note`]), so that the next run in the session or `natmeter clean`
//! in any session can restore it when this run is killed.

mod note;

use dut::RunDir;
use note::{Note, Notes};
use std::path::Path;

/// What a session has while natmeter measures in it.
const RAISED: i32 = -20;

/// A session's group and its nice value, as the kernel writes them: `/autogroup-31 nice 0`.
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

    /// That of the process in this folder of `/proc`.
    fn of(process: &Path) -> Option<Session> {
        Session::parse(&std::fs::read_to_string(process.join("autogroup")).ok()?)
    }

    /// Give the session of the process in this folder of `/proc` this nice value.
    fn apply(&self, process: &Path) -> bool {
        std::fs::write(process.join("autogroup"), self.nice.to_string()).is_ok()
    }
}

/// Restores the session's nice value when dropped, unless another run in this session still measures.
pub struct Raised {
    note: Option<Note>,
}

/// Raise the priority of this session above other sessions, where the kernel groups by session and permits it.
pub fn raise() -> Raised {
    Raised { note: raised(&Notes::of(RunDir::of_this_user(), "/proc"), Session::apply) }
}

/// Note what the session is, then raise it with `apply`. What cannot be noted is not changed, and what could not be changed
/// is not noted.
fn raised(notes: &Notes, apply: impl Fn(&Session, &Path) -> bool) -> Option<Note> {
    notes.forget_sessions_that_are_gone();
    let own = notes.own_process();
    let now = Session::of(&own)?;
    let note = notes.take(&now)?;
    if apply(&Session { nice: RAISED, ..now }, &own) {
        return Some(note);
    }
    // A run that was killed may have raised it: what that one noted still holds.
    if note.is_new() {
        note.forget();
    }
    None
}

impl Drop for Raised {
    fn drop(&mut self) {
        let Some(mut note) = self.note.take() else { return };
        // The last run in the session restores it. Where that fails the note stays, for `clean`.
        if note.is_ours_alone() && note.before().apply(&note.own_process()) {
            note.forget();
        }
    }
}

/// Restore the nice value of each session in which a run was killed; forget sessions that are gone. Returns what was restored,
/// in words.
pub fn restore(dir: &RunDir) -> Vec<String> {
    restored(&Notes::of(dir.clone(), "/proc"), Session::apply)
}

fn restored(notes: &Notes, apply: impl Fn(&Session, &Path) -> bool) -> Vec<String> {
    notes.forget_sessions_that_are_gone();
    let mut done = Vec::new();
    for mut note in notes.all() {
        if !note.is_ours_alone() {
            // A run is alive in that session, and restores it at its end.
            continue;
        }
        let Some((process, now)) = note.session() else { continue };
        let before = note.before();
        // Otherwise the run was killed before it raised anything, or the user has changed the value since.
        let is_raised = now.nice == RAISED && before.nice != RAISED;
        if is_raised && !apply(before, &process) {
            continue;
        }
        if is_raised {
            done.push(format!("nice value of {}: restored from {RAISED} to {}", before.group, before.nice));
        }
        note.forget();
    }
    done
}

#[cfg(test)]
mod tests;
