//! Sessions in a simulated `/proc`: after killed runs, each session gets its own nice value back.

use super::*;
use std::fs;
use std::path::PathBuf;

/// A machine with sessions; `apply` is the kernel's part.
struct Machine {
    folder: tempfile::TempDir,
}

/// A session's leader is the process of the session's number.
fn stat(pid: u32, session: u32, started: u64) -> String {
    let fields = format!("S 1 {pid} {session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {started} 0");
    format!("{pid} (a ) name) {fields}\n")
}

impl Machine {
    /// With sessions whose leaders have started at these times.
    fn with(sessions: &[(u32, u64)]) -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        for &(session, started) in sessions {
            machine.session(session, started);
        }
        machine
    }
    fn dir(&self) -> RunDir {
        RunDir::at(self.folder.path().join("natmeter"))
    }
    fn proc(&self) -> PathBuf {
        self.folder.path().join("proc")
    }
    fn process(&self, name: &str, session: u32, started: u64) -> PathBuf {
        let folder = self.proc().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), stat(name.parse().unwrap_or(session + 1), session, started)).unwrap();
        fs::write(folder.join("autogroup"), format!("/autogroup-{session} nice 0\n")).unwrap();
        folder
    }
    /// A session whose leader started at `started`.
    fn session(&self, session: u32, started: u64) {
        self.process(&session.to_string(), session, started);
    }
    fn end(&self, session: u32) {
        fs::remove_dir_all(self.proc().join(session.to_string())).unwrap();
    }
    fn enter(&self, session: u32) {
        self.process("self", session, 7);
        Machine::set(&self.proc().join("self"), session, self.nice(session));
    }
    fn set(process: &Path, session: u32, nice: i32) {
        fs::write(process.join("autogroup"), format!("/autogroup-{session} nice {nice}\n")).unwrap();
    }
    fn nice(&self, session: u32) -> i32 {
        Session::of(&self.proc().join(session.to_string())).unwrap().nice
    }
    /// Like the kernel: the value applies to the whole session.
    fn apply(&self, to: &Session, process: &Path) -> bool {
        let session: u32 = Session::of(process).unwrap().group["/autogroup-".len()..].parse().unwrap();
        for process in [self.proc().join("self"), self.proc().join(session.to_string())] {
            if Session::of(&process).is_some_and(|s| s.group == to.group) {
                Machine::set(&process, session, to.nice);
            }
        }
        true
    }
    fn notes(&self) -> Notes {
        Notes::of(self.dir(), self.proc())
    }
    fn raise(&self) -> Option<Note> {
        raised(&self.notes(), |to, process| self.apply(to, process))
    }
    fn run_in(&self, session: u32) {
        self.enter(session);
        self.end_run(self.raise().unwrap());
    }
    /// Ends a run as dropping [`RaisedPriority`] does.
    fn end_run(&self, mut note: Note) {
        if note.is_ours_alone() {
            assert!(note.restore(|to, process| self.apply(to, process)));
            note.forget();
        }
    }
    /// A killed run: the kernel releases its lock.
    fn killed_in(&self, session: u32) {
        self.enter(session);
        drop(self.raise().unwrap());
        assert_eq!(self.nice(session), RAISED);
    }
    fn clean(&self) -> Vec<String> {
        restored(&self.notes(), |to, process| self.apply(to, process))
    }
    fn files(&self) -> usize {
        fs::read_dir(self.dir().path()).map_or(0, Iterator::count)
    }
}

#[test]
fn a_session_that_a_killed_run_raised_gets_its_value_back_though_another_session_ran_since() {
    let m = Machine::with(&[(31, 100), (32, 200)]);
    m.killed_in(31);
    m.run_in(32);
    assert_eq!((m.nice(31), m.nice(32)), (RAISED, 0));
    // From any session.
    assert_eq!(m.clean(), ["nice value of /autogroup-31: restored from -20 to 0"]);
    assert_eq!((m.nice(31), m.files()), (0, 0));
    assert!(m.clean().is_empty());
}

#[test]
fn the_value_of_a_killed_run_is_not_taken_for_the_old_one() {
    let m = Machine::with(&[(31, 100), (32, 200)]);
    m.killed_in(31);
    m.run_in(32);
    m.killed_in(31);
    m.run_in(31);
    assert_eq!((m.nice(31), m.files()), (0, 0));
}

#[test]
fn the_note_of_an_ended_session_is_removed() {
    let m = Machine::with(&[(31, 100)]);
    m.killed_in(31);
    m.end(31);
    m.session(32, 200);
    m.enter(32);
    assert_eq!(m.files(), 1);
    assert!(m.clean().is_empty());
    assert_eq!(m.files(), 0);
    // After a reboot, leader and group may have the same numbers.
    m.killed_in(32);
    m.session(32, 201);
    Machine::set(&m.proc().join("32"), 32, RAISED);
    assert!(m.clean().is_empty());
    assert_eq!((m.nice(32), m.files()), (RAISED, 0), "that one is its user's");
}

#[test]
fn a_leader_that_ended_leaves_its_session() {
    let m = Machine::with(&[(31, 100)]);
    m.killed_in(31);
    let member = m.process("77", 31, 300);
    for process in [member, m.proc().join("self")] {
        Machine::set(&process, 31, RAISED);
    }
    m.end(31);
    let note = m.raise().unwrap();
    assert!(!note.is_new && note.before.nice == 0, "the note of before its leader ended");
}

#[test]
fn the_last_of_two_runs_in_a_session_restores_it() {
    let m = Machine::with(&[(31, 100)]);
    m.enter(31);
    let (first, second) = (m.raise().unwrap(), m.raise().unwrap());
    assert_eq!(m.files(), 1);
    m.end_run(first);
    assert_eq!(m.nice(31), RAISED);
    assert!(m.clean().is_empty(), "a run is alive");
    assert_eq!(m.nice(31), RAISED);
    m.end_run(second);
    assert_eq!((m.nice(31), m.files()), (0, 0));
}

#[test]
fn a_value_that_the_user_has_set_since_is_kept() {
    let m = Machine::with(&[(31, 100)]);
    m.killed_in(31);
    Machine::set(&m.proc().join("31"), 31, 5);
    m.run_in(31);
    assert_eq!((m.nice(31), m.files()), (5, 0));
    m.killed_in(31);
    Machine::set(&m.proc().join("31"), 31, 3);
    m.enter(31);
    assert!(m.clean().is_empty());
    assert_eq!((m.nice(31), m.files()), (3, 0));
}

#[test]
fn a_session_that_may_not_be_raised_leaves_no_note_of_its_own() {
    let m = Machine::with(&[(31, 100)]);
    m.enter(31);
    assert!(raised(&m.notes(), |_, _| false).is_none());
    assert!(m.dir().is_empty());
    m.killed_in(31);
    assert!(raised(&m.notes(), |_, _| false).is_none());
    assert_eq!(m.files(), 1, "what the killed run noted still holds");
}

#[test]
fn the_note_of_version_0_1_0_is_honoured() {
    let m = Machine::with(&[(31, 100)]);
    m.enter(31);
    Machine::set(&m.proc().join("31"), 31, RAISED);
    m.dir().make().unwrap();
    fs::write(m.dir().path().join("session-priority"), "/autogroup-31 nice 4\n").unwrap();
    assert_eq!(m.clean(), ["nice value of /autogroup-31: restored from -20 to 4"]);
    assert_eq!(m.files(), 0);
}

#[test]
fn a_note_that_others_could_have_written_is_ignored() {
    use std::os::unix::fs::PermissionsExt;
    let m = Machine::with(&[(31, 100)]);
    m.killed_in(31);
    let note = fs::read_dir(m.dir().path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&note).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&note, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(m.clean().is_empty());
    assert_eq!(m.nice(31), RAISED);
    Machine::set(&m.proc().join("31"), 31, 0);
    m.enter(31);
    assert!(m.raise().is_none(), "it has the name that a note would have");
}
