//! The journal on a simulated host: every change is undone, also after a kill at any point.

use super::*;
use crate::host::LocalHost;
use crate::step::Action;

pub(super) const MAX: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
const HASH: &str = "/proc/sys/net/netfilter/nf_conntrack_buckets";

fn at(path: &str) -> Setting {
    Setting::at(path).unwrap()
}

pub(super) struct Machine {
    pub root: tempfile::TempDir,
    pub host: LocalHost,
    pub dir: RunDir,
}

impl Machine {
    pub(super) fn new() -> Machine {
        // The tests flush often.
        let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let host = LocalHost::below(root.path());
        let dir = RunDir::at(root.path().join("run"));
        let machine = Machine { root, host, dir };
        machine.set(MAX, "262144");
        machine.set(HASH, "65536");
        machine
    }
    /// Whose run was killed after it had raised a setting.
    fn killed() -> Machine {
        let mut m = Machine::new();
        let mut journal = m.begin();
        m.write(&mut journal, MAX, "1000000");
        m.kill(journal);
        m
    }
    pub(super) fn set(&self, path: &str, value: &str) {
        let file = self.root.path().join(&path[1..]);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{value}\n")).unwrap();
    }
    pub(super) fn get(&mut self, path: &str) -> String {
        self.host.read(Target::Machine, path).unwrap()
    }
    pub(super) fn begin(&mut self) -> Journal {
        let (journal, restored) = Journal::begin(&self.dir, &mut self.host).unwrap();
        assert_eq!(restored, []);
        journal
    }
    pub(super) fn write(&mut self, journal: &mut Journal, path: &str, value: &str) -> Option<usize> {
        journal.write(&mut self.host, "", &at(path), value).unwrap().unwrap()
    }
    fn kill(&self, journal: Journal) {
        let text = fs::read(&journal.path).unwrap();
        let path = journal.path.clone();
        drop(journal);
        fs::create_dir_all(self.dir.path()).unwrap();
        fs::write(path, text).unwrap();
    }
    pub(super) fn clean(&mut self) -> Vec<Restoration> {
        clean(&self.dir, &mut self.host).unwrap()
    }
}

#[test]
fn settings_come_back_in_reverse_order_and_nothing_is_left() {
    let mut m = Machine::new();
    let mut journal = m.begin();
    for (path, value) in [(MAX, "1000000"), (HASH, "1000448"), (MAX, "4000000")] {
        m.write(&mut journal, path, value);
    }
    assert_eq!(m.get(MAX), "4000000");
    let restored = journal.restore(&mut m.host);
    assert_eq!(restored.len(), 3);
    assert!(restored.iter().all(|r| matches!(r, Restoration::Back { .. })), "{restored:?}");
    assert_eq!((m.get(MAX), m.get(HASH)), ("262144".into(), "65536".into()));
    drop(journal);
    assert!(m.dir.is_empty());
}

#[test]
fn what_a_killed_run_left_is_found_and_restored() {
    let mut m = Machine::killed();
    assert!(is_left(&m.dir));
    let restored = m.clean();
    assert_eq!(restored, [Restoration::Back { setting: at(MAX), from: "1000000".into(), to: "262144".into() }]);
    assert_eq!(m.get(MAX), "262144");
    assert_eq!(m.clean(), [], "the second call has nothing to do");
    assert!(m.dir.is_empty());
}

#[test]
fn a_run_killed_between_journal_and_change_changed_nothing() {
    let mut m = Machine::killed();
    m.set(MAX, "262144");
    assert_eq!(m.clean(), [Restoration::Already { setting: at(MAX), value: "262144".into() }]);
}

#[test]
fn an_incomplete_line_describes_a_change_that_was_not_made() {
    let mut m = Machine::killed();
    let path = m.dir.path().join(FILE);
    let mut text = fs::read_to_string(&path).unwrap();
    text += r#"{"change":{"path":"/proc/sys/ne"#;
    fs::write(&path, text).unwrap();
    assert_eq!(m.clean().len(), 1);
    assert_eq!(m.get(MAX), "262144");
}

#[test]
fn a_setting_that_another_program_changed_is_left_and_reported() {
    let mut m = Machine::new();
    let mut journal = m.begin();
    m.write(&mut journal, MAX, "1000000");
    m.write(&mut journal, HASH, "1000448");
    m.set(MAX, "777");
    let restored = journal.restore(&mut m.host);
    assert!(matches!(&restored[1], Restoration::LeftAlone { now, .. } if now == "777"), "{restored:?}");
    assert_eq!((m.get(MAX), m.get(HASH)), ("777".into(), "65536".into()));
    drop(journal);
    assert!(!is_left(&m.dir), "the entry is done");
}

#[test]
fn a_setting_that_cannot_be_restored_keeps_the_journal() {
    let mut m = Machine::new();
    let mut journal = m.begin();
    m.write(&mut journal, MAX, "1000000");
    m.write(&mut journal, HASH, "1000448");
    m.kill(journal);
    fs::remove_file(m.root.path().join(&MAX[1..])).unwrap();
    let error = clean(&m.dir, &mut m.host).unwrap_err().to_string();
    assert!(error.contains("nf_conntrack_max: not restored to 262144"), "{error}");
    assert_eq!(m.get(HASH), "65536", "the other setting is restored");
    m.set(MAX, "1000000");
    assert_eq!(m.clean().len(), 1, "only the failed entry is left to restore");
    assert_eq!(m.get(MAX), "262144");
}

#[test]
fn a_value_that_is_there_already_is_not_a_change() {
    let mut m = Machine::new();
    let mut journal = m.begin();
    assert_eq!(m.write(&mut journal, MAX, "262144"), None);
    assert!(!is_left(&m.dir));
}

#[test]
fn the_setting_is_untouched_when_the_journal_cannot_be_written() {
    let mut m = Machine::new();
    let mut journal = m.begin();
    journal.path = m.root.path().join("no-such-folder/journal");
    assert!(journal.write(&mut m.host, "", &at(MAX), "1000000").is_err());
    assert_eq!(m.get(MAX), "262144");
}

#[test]
fn a_second_run_and_clean_refuse_while_one_is_alive() {
    let mut m = Machine::new();
    let _journal = m.begin();
    let error = clean(&m.dir, &mut m.host).unwrap_err();
    assert!(error.to_string().contains(&format!("in use by process {} (", std::process::id())), "{error}");
}

/// A host that rounds written values up, and records the length of the journal and all settings before and after each
/// write.
struct Rounding {
    pub host: LocalHost,
    to: u64,
    journal: PathBuf,
    seen: Vec<(usize, [String; 2])>,
}

impl Rounding {
    fn of(m: &Machine, to: u64) -> Rounding {
        Rounding { host: m.host.clone(), to, journal: m.dir.path().join(FILE), seen: Vec::new() }
    }
    fn note(&mut self) {
        let octets = fs::metadata(&self.journal).map_or(0, |m| m.len() as usize);
        let settings = [MAX, HASH].map(|path| self.host.read(Target::Machine, path).unwrap());
        self.seen.push((octets, settings));
    }
}

impl Host for Rounding {
    fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<crate::host::Output> {
        let Action::Set { setting, value } = action else { panic!("only settings") };
        let value = value.parse::<u64>().unwrap().next_multiple_of(self.to).to_string();
        self.note();
        let done = self.host.perform(target, why, &Action::set(setting, value));
        self.note();
        done
    }
    fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        self.host.read(target, path)
    }
}

#[test]
fn a_value_that_the_kernel_rounded_is_recognised() {
    let mut m = Machine::new();
    let heads = rustix::param::page_size() as u64 / 8;
    // The known rounding to pages, and an unforeseen one.
    for to in [heads, 3 * heads] {
        let mut host = Rounding::of(&m, to);
        let mut journal = m.begin();
        journal.write(&mut host, "", &at(HASH), "1000000").unwrap().unwrap();
        assert_eq!(m.get(HASH), 1_000_000u64.next_multiple_of(heads).next_multiple_of(to).to_string());
        m.kill(journal);
        assert!(matches!(m.clean()[0], Restoration::Back { .. }));
        assert_eq!(m.get(HASH), "65536");
    }
}

/// The journal before it was removed, and every state of the settings with its length.
fn whole_run() -> (Vec<u8>, Vec<(usize, [String; 2])>) {
    let mut m = Machine::new();
    let mut host = Rounding::of(&m, 1);
    let mut journal = m.begin();
    let mut last = None;
    for (path, value) in [(HASH, "1000000"), (MAX, "1000000"), (HASH, "4000000"), (MAX, "4000000")] {
        last = journal.write(&mut host, "", &at(path), value).unwrap().unwrap();
    }
    // Undoing the first change would remove the file.
    for number in (1..=last.unwrap()).rev() {
        journal.undo(&mut host, number);
    }
    let mut text = fs::read(&journal.path).unwrap();
    journal.undo(&mut host, 0);
    host.note();
    text.extend(serde_json::to_vec(&Line::Done { change: 0 }).unwrap());
    text.push(b'\n');
    host.seen.last_mut().unwrap().0 = text.len();
    host.seen.insert(0, (0, host.seen[0].1.clone()));
    (text, host.seen)
}

/// Every truncation of the journal, with every state of the settings that is possible at that length.
fn every_kill() -> impl Iterator<Item = (Vec<u8>, [String; 2])> {
    let (text, seen) = whole_run();
    let mut kills = Vec::new();
    for pair in seen.windows(2) {
        kills.extend((pair[0].0..=pair[1].0).map(|cut| (cut, pair[0].1.clone())));
    }
    kills.push(seen.last().cloned().unwrap());
    kills.into_iter().map(move |(cut, settings)| (text[..cut].to_vec(), settings))
}

fn after(journal: &[u8], settings: &[String; 2]) -> Machine {
    let m = Machine::new();
    m.set(MAX, &settings[0]);
    m.set(HASH, &settings[1]);
    drop(Lock::take(&m.dir, lock::SETTINGS).unwrap());
    fs::create_dir_all(m.dir.path()).unwrap();
    fs::write(m.dir.path().join(FILE), journal).unwrap();
    m
}

#[test]
fn a_kill_at_any_octet_is_restored() {
    let mut tried = 0;
    for (journal, settings) in every_kill() {
        let mut m = after(&journal, &settings);
        let restored = m.clean();
        let text = String::from_utf8_lossy(&journal);
        assert_eq!((m.get(MAX), m.get(HASH)), ("262144".into(), "65536".into()), "{settings:?}\n{text}");
        assert!(restored.iter().all(|r| !matches!(r, Restoration::LeftAlone { .. })), "{restored:?}\n{text}");
        assert!(m.dir.is_empty(), "nothing is left: {text}");
        tried += 1;
    }
    assert!(tried > 400, "{tried}");
}

#[test]
fn a_kill_at_any_octet_and_then_a_change_by_another_program() {
    for (journal, settings) in every_kill() {
        let mut m = after(&journal, &settings);
        m.set(MAX, "777");
        m.clean();
        let text = String::from_utf8_lossy(&journal);
        assert_eq!((m.get(MAX), m.get(HASH)), ("777".into(), "65536".into()), "{settings:?}\n{text}");
    }
}

#[test]
fn a_second_kill_during_restoring_is_restored_too() {
    for (journal, settings) in every_kill() {
        let mut m = after(&journal, &settings);
        // The first call fails at a setting that cannot be read.
        let file = m.root.path().join(&MAX[1..]);
        fs::rename(&file, m.root.path().join("away")).unwrap();
        let _ = clean(&m.dir, &mut m.host);
        fs::rename(m.root.path().join("away"), &file).unwrap();
        m.clean();
        let text = String::from_utf8_lossy(&journal);
        assert_eq!((m.get(MAX), m.get(HASH)), ("262144".into(), "65536".into()), "{settings:?}\n{text}");
    }
}

#[test]
fn an_invalid_line_is_shown_and_no_setting_is_changed() {
    let mut m = after(b"{\"change\":{\"path\":\"/proc\n", &["1000000".into(), "65536".into()]);
    let error = clean(&m.dir, &mut m.host).unwrap_err().to_string();
    assert!(error.contains("line 1 is refused, so nothing was restored"), "{error}");
    assert_eq!(m.get(MAX), "1000000");
    assert!(is_left(&m.dir));
}

/// They are in a journal of their own; `clean` undoes those of the run first.
#[test]
fn changes_that_stay_survive_a_run_and_are_undone_by_clean() {
    let mut m = Machine::new();
    let mut kept = Journal::keep(&m.dir, None).unwrap();
    m.write(&mut kept, MAX, "500000");
    drop(kept);
    let mut run = m.begin();
    m.write(&mut run, MAX, "1000000");
    drop(run.restore(&mut m.host));
    drop(run);
    assert_eq!(m.get(MAX), "500000", "the run restores what it found");
    let mut run = m.begin();
    m.write(&mut run, MAX, "1000000");
    m.kill(run);
    assert_eq!(m.clean().len(), 2);
    assert_eq!(m.get(MAX), "262144");
    assert!(m.dir.is_empty());
}

#[test]
fn changes_that_stay_are_undone_once() {
    let mut m = Machine::new();
    let mut kept = Journal::keep(&m.dir, None).unwrap();
    m.write(&mut kept, MAX, "500000");
    m.kill(kept);
    let mut kept = Journal::keep(&m.dir, None).unwrap();
    m.write(&mut kept, HASH, "131072");
    drop(kept);
    assert_eq!(undo_kept(&m.dir, None, &mut m.host).unwrap().len(), 2);
    assert_eq!((m.get(MAX), m.get(HASH)), ("262144".into(), "65536".into()));
    assert_eq!(undo_kept(&m.dir, None, &mut m.host).unwrap(), []);
    assert!(m.dir.is_empty());
}
