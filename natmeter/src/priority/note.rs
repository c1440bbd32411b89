//! Notes of the nice values that sessions had before a run raised them: one file for each session,
//! named by the session's id and the start time of its leader. The runs of a session hold a shared
//! lock (flock) on their note, which the kernel releases when they end, so a note without a lock
//! belongs to a killed run.

use super::{RAISED, Session};
use dut::{RunDir, private_file};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Version 0.1.0 had one file of this name for all sessions.
const PREFIX: &str = "session-priority";

/// Other runs may start and end meanwhile, and a foreign file may have the name of a note.
const ATTEMPTS: u32 = 100;

#[derive(Clone)]
pub(super) struct Notes {
    dir: RunDir,
    proc: PathBuf,
}

pub(super) struct Note {
    notes: Notes,
    path: PathBuf,
    file: File,
    pub(super) before: Session,
    /// No other run had a note of this session.
    pub(super) is_new: bool,
}

/// A session, from the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SessionKey {
    session: u32,
    /// Start of the leader in clock ticks since boot; 0 if it had ended.
    leader_started: u64,
}

impl Notes {
    pub(super) fn of(dir: RunDir, proc: impl Into<PathBuf>) -> Notes {
        Notes { dir, proc: proc.into() }
    }

    pub(super) fn own_process(&self) -> PathBuf {
        self.proc.join("self")
    }

    pub(super) fn all(&self) -> Vec<Note> {
        let entries = fs::read_dir(self.dir.path()).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
        names.filter_map(|entry| self.open(entry.path())).collect()
    }

    pub(super) fn remove_ended_sessions(&self) {
        for mut note in self.all() {
            // Checks the session first, so that no run that ends in a live session finds its note locked.
            if note.session().is_none() && note.is_ours_alone() {
                note.forget();
            }
        }
    }

    /// Takes the note of this session, which other runs in the session may share. Writes a new note
    /// if there is none, or if it is out of date.
    pub(super) fn take(&self) -> Option<(Note, Session)> {
        for _ in 0..ATTEMPTS {
            // Another run may have restored it since the last attempt.
            let now = Session::of(&self.own_process())?;
            let found = self.all().into_iter().find(|note| note.is_about(&now));
            let Some(mut note) = found else {
                match self.create(&now) {
                    Ok(note) => return Some((note, now)),
                    Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                    Err(_) => return None,
                }
            };
            if now.nice != RAISED && note.is_ours_alone() {
                // The user has changed the value since a run was killed.
                note.forget();
                continue;
            }
            flock(&note.file, FlockOperation::LockShared).ok()?;
            // The run that held the note may have removed it since it was opened.
            if is_at(&note.file, &note.path) {
                return Some((note, now));
            }
        }
        None
    }

    /// Fails with [`ErrorKind::AlreadyExists`] if another run was faster.
    fn create(&self, now: &Session) -> io::Result<Note> {
        self.dir.make().map_err(io::Error::other)?;
        let key = SessionKey::of(&self.proc, &self.own_process()).ok_or(ErrorKind::NotFound)?;
        let path = self.dir.path().join(format!("{PREFIX}-{}-{}", key.session, key.leader_started));
        // The note appears complete and locked, by hard link.
        let draft = self.dir.path().join(format!("draft-{}", std::process::id()));
        // A draft of a killed process with the same PID.
        let _ = fs::remove_file(&draft);
        let mut file = private_file::create(&draft)?;
        flock(&file, FlockOperation::LockShared)?;
        let written = writeln!(file, "{} nice {}", now.group, now.nice).and_then(|()| fs::hard_link(&draft, &path));
        let _ = fs::remove_file(&draft);
        written.map(|()| self.note(path, file, now.clone(), true))
    }

    fn open(&self, path: PathBuf) -> Option<Note> {
        let mut file = private_file::open(&path).ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let before = Session::parse(&text)?;
        Some(self.note(path, file, before, false))
    }

    fn note(&self, path: PathBuf, file: File, before: Session, is_new: bool) -> Note {
        Note { notes: self.clone(), path, file, before, is_new }
    }
}

impl Note {
    pub(super) fn restore(&self, apply: impl Fn(&Session, &Path) -> bool) -> bool {
        apply(&self.before, &self.notes.own_process())
    }

    fn is_about(&self, session: &Session) -> bool {
        self.before.group == session.group && self.session().is_some()
    }

    /// A process of the session and its state; `None` if the session has ended.
    pub(super) fn session(&self) -> Option<(PathBuf, Session)> {
        let key = self.path.file_name().and_then(|name| SessionKey::parse(name.to_str()?));
        // Group numbers restart at boot; a note may be older.
        if key.is_some_and(|key| key.is_of_another_session(&self.notes.proc)) {
            return None;
        }
        let processes = fs::read_dir(&self.notes.proc).ok()?.flatten().map(|entry| entry.path());
        let of_it = |process: PathBuf| {
            let now = Session::of(&process).filter(|now| now.group == self.before.group)?;
            key.is_none_or(|key| stat(&process).is_some_and(|s| s.session == key.session)).then_some((process, now))
        };
        processes.filter(|process| is_numbered(process)).find_map(of_it)
    }

    pub(super) fn is_ours_alone(&mut self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok() && is_at(&self.file, &self.path)
    }

    /// Removes the note, after its value was restored.
    pub(super) fn forget(self) {
        // If this fails, `clean` finds a note of a value that is already restored.
        let _ = fs::remove_file(&self.path);
    }
}

impl SessionKey {
    fn of(proc: &Path, process: &Path) -> Option<SessionKey> {
        let session = stat(process)?.session;
        let leader = stat(&proc.join(session.to_string()));
        Some(SessionKey { session, leader_started: leader.map_or(0, |leader| leader.started) })
    }

    fn parse(name: &str) -> Option<SessionKey> {
        let (session, started) = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split_once('-')?;
        Some(SessionKey { session: session.parse().ok()?, leader_started: started.parse().ok()? })
    }

    /// A later session has the same id.
    fn is_of_another_session(self, proc: &Path) -> bool {
        let leader = stat(&proc.join(self.session.to_string()));
        leader.is_some_and(|leader| self.leader_started != 0 && leader.started != self.leader_started)
    }
}

/// Fields of `/proc/PID/stat`.
struct Stat {
    session: u32,
    started: u64,
}

fn stat(process: &Path) -> Option<Stat> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // Counted from the end of the name, which is in parentheses and may contain any text (proc_pid_stat(5)).
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    Some(Stat { session: fields.get(3)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

fn is_numbered(process: &Path) -> bool {
    process.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |m: fs::Metadata| (m.dev(), m.ino());
    file.metadata().is_ok_and(|open| fs::symlink_metadata(path).is_ok_and(|there| identity(open) == identity(there)))
}
