//! Scheduling priority during a measurement. If the kernel groups tasks by session (autogroup,
//! sched(7)), a nice value counts only within the session, so natmeter also raises the nice value
//! of the session and restores it afterwards. A `note` keeps the old value, so that the next run in
//! the session, or `natmeter clean` in any session, can restore it if this run is killed.

mod note;

use dut::RunDir;
use note::{Note, Notes};
use std::path::Path;

/// Priority of a session in which natmeter measures.
const RAISED: i32 = -20;

/// A session as the kernel writes it: `/autogroup-31 nice 0`.
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

    /// `process` is a folder of `/proc`.
    fn of(process: &Path) -> Option<Session> {
        Session::parse(&std::fs::read_to_string(process.join("autogroup")).ok()?)
    }

    /// `process` is a folder of `/proc`.
    fn apply(&self, process: &Path) -> bool {
        std::fs::write(process.join("autogroup"), self.nice.to_string()).is_ok()
    }
}

/// Restores the session's nice value when dropped, unless another run in this session still measures.
pub struct RaisedPriority {
    note: Option<Note>,
}

/// Raises the priority if the kernel groups by session and permits it.
pub fn raise() -> RaisedPriority {
    RaisedPriority { note: raised(&Notes::of(RunDir::of_this_user(), "/proc"), Session::apply) }
}

/// Raises the priority. Without a note it changes nothing, and without a change it keeps no note.
fn raised(notes: &Notes, apply: impl Fn(&Session, &Path) -> bool) -> Option<Note> {
    notes.remove_ended_sessions();
    let own = notes.own_process();
    let (note, now) = notes.take()?;
    if apply(&Session { nice: RAISED, ..now }, &own) {
        return Some(note);
    }
    // A killed run may have raised it, so its note remains valid.
    if note.is_new {
        note.forget();
    }
    None
}

impl Drop for RaisedPriority {
    fn drop(&mut self) {
        let Some(mut note) = self.note.take() else { return };
        // The last run in the session restores it. If that fails, the note remains for `clean`.
        if note.is_ours_alone() && note.restore(Session::apply) {
            note.forget();
        }
    }
}

/// Restores the nice values after killed runs, and removes notes of sessions that have ended.
/// Returns the changes in words.
pub fn restore(dir: &RunDir) -> Vec<String> {
    restored(&Notes::of(dir.clone(), "/proc"), Session::apply)
}

fn restored(notes: &Notes, apply: impl Fn(&Session, &Path) -> bool) -> Vec<String> {
    notes.remove_ended_sessions();
    let mut done = Vec::new();
    for mut note in notes.all() {
        if !note.is_ours_alone() {
            // A live run restores it at its end.
            continue;
        }
        let Some((process, now)) = note.session() else { continue };
        let before = &note.before;
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
