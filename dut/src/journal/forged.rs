//! Forged journals: natmeter must refuse each, name it in the error, keep the file, and change no setting.

use super::tests::{MAX, Machine};
use super::*;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};

const RAISED: &str = "1000000";

/// A killed run left a setting raised; with the line of its journal.
fn killed() -> (Machine, String) {
    let m = Machine::new();
    m.set(MAX, RAISED);
    fs::DirBuilder::new().mode(0o755).create(m.dir.path()).unwrap();
    (m, format!(r#"{{"change":{{"path":"{MAX}","old":"262144","new":"{RAISED}"}}}}"#))
}

/// The same with its journal.
fn killed_with_journal() -> Machine {
    let (m, line) = killed();
    fs::write(journal(&m), format!("{line}\n")).unwrap();
    m
}

fn journal(m: &Machine) -> PathBuf {
    m.dir.path().join(FILE)
}

fn is_refused(mut m: Machine, words: &str) {
    let error = clean(&m.dir, &mut m.host).unwrap_err().to_string();
    assert!(error.contains(words), "{words:?} is missing: {error}");
    assert_eq!(m.get(MAX), RAISED, "{error}");
    assert!(is_left(&m.dir), "{error}");
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn one_entry_without_a_setting_refuses_the_whole_journal() {
    for entry in [
        r#"{"change":{"path":"/some/file","old":"X","new":"old"}}"#,
        r#"{"change":{"path":"/etc/passwd","old":"root::0:0::/:/bin/sh","new":"x"}}"#,
        r#"{"change":{"path":"/proc/sys/net/../../etc/passwd","old":"x","new":"y"}}"#,
        r#"{"change":{"path":"/proc/sys/kernel/core_pattern","old":"|/tmp/x","new":"core"}}"#,
        r#"{"change":{"path":"/proc/sysrq-trigger","old":"b","new":""}}"#,
        r#"{"change":{"path":"/sys/class/net/lo/../../../kernel/uevent_helper","old":"/tmp/x","new":""}}"#,
        r#"{"change":{"path":"proc/sys/net/core/netdev_max_backlog","old":"1","new":"2"}}"#,
        r#"{"change":{"path":"/proc/sys/net/core/netdev_max_backlog","old":"1\n2","new":"2"}}"#,
        r#"{"change":{"setting":{"sysctl":{"name":"kernel/core_pattern"}},"old":"|/tmp/x","new":"core"}}"#,
        r#"{"change":{"setting":{"command":{"program":"sh"}},"old":"x","new":"y"}}"#,
        r#"{"change":{"setting":{"ethtool":{"interface":"lo","feature":"gso"}},"old":"on; reboot","new":"off"}}"#,
        r#"{"change":{"setting":{"ethtool":{"interface":"--flash","feature":"gso"}},"old":"on","new":"off"}}"#,
        r#"{"command":{"undo":"rm -rf /"}}"#,
        r#"{"became":{"value":"7"},"change":{}}"#,
        r#"{"done":{"change":7}}"#,
        "rm -rf /",
        "\u{1b}]0;title\u{7}",
    ] {
        let (m, own) = killed();
        fs::write(journal(&m), format!("{own}\n{entry}\n")).unwrap();
        let shown = entry.replace(char::is_control, " ");
        is_refused(m, "line 2 is refused, so nothing was restored: ");
        let (m, _) = killed();
        fs::write(journal(&m), format!("{entry}\n")).unwrap();
        is_refused(m, &format!("The line is `{shown}`"));
    }
}

#[test]
fn files_that_others_could_have_written_are_refused() {
    type Forge = fn(&Path, &str);
    let cases: [(&str, Forge); 6] = [
        ("other users can write it (mode 666)", |file, text| {
            fs::write(file, text).unwrap();
            mode(file, 0o666);
        }),
        ("other users can write it (mode 620)", |file, text| {
            fs::write(file, text).unwrap();
            mode(file, 0o620);
        }),
        ("reading", |file, text| {
            let target = file.with_file_name("target");
            fs::write(&target, text).unwrap();
            symlink(target, file).unwrap();
        }),
        ("reading", |file, _| symlink("/nowhere", file).unwrap()),
        ("it is not a regular file", |file, _| {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
            rustix::fs::mknodat(rustix::fs::CWD, file, kind, mode, 0).unwrap();
        }),
        ("reading", |file, _| fs::create_dir(file).unwrap()),
    ];
    for (words, forge) in cases {
        let (m, line) = killed();
        forge(&journal(&m), &format!("{line}\n"));
        is_refused(m, words);
    }
}

#[test]
fn folders_that_others_could_have_written_are_refused() {
    for writable in [0o775, 0o757, 0o777] {
        let m = killed_with_journal();
        mode(m.dir.path(), writable);
        is_refused(m, "not a folder that only this user can write to");
    }
    let m = killed_with_journal();
    let elsewhere = m.root.path().join("elsewhere");
    fs::rename(m.dir.path(), &elsewhere).unwrap();
    symlink(&elsewhere, m.dir.path()).unwrap();
    is_refused(m, "not a folder that only this user can write to");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn files_and_folders_of_another_user_are_refused() {
    let m = killed_with_journal();
    chown(journal(&m), Some(12345), None).unwrap();
    is_refused(m, "it belongs to user 12345");
    let m = killed_with_journal();
    chown(m.dir.path(), Some(12345), None).unwrap();
    is_refused(m, "not a folder that only this user can write to");
}

#[test]
fn a_setting_that_leads_elsewhere_is_not_written_and_the_others_are_restored() {
    let (mut m, own) = killed();
    let secret = m.root.path().join("secret");
    fs::write(&secret, "new\n").unwrap();
    symlink(&secret, m.root.path().join("proc/sys/net/netfilter/evil")).unwrap();
    let evil = r#"{"change":{"setting":{"sysctl":{"name":"net/netfilter/evil"}},"old":"X","new":"new"}}"#;
    fs::write(journal(&m), format!("{own}\n{evil}\n")).unwrap();
    let error = clean(&m.dir, &mut m.host).unwrap_err().to_string();
    assert!(error.contains("/proc/sys/net/netfilter/evil: not restored to X"), "{error}");
    assert!(error.contains("which is not the folder of such a setting"), "{error}");
    assert_eq!(fs::read_to_string(secret).unwrap(), "new\n");
    assert_eq!(m.get(MAX), "262144");
    assert!(is_left(&m.dir));
}

#[test]
fn a_journal_of_version_0_1_0_is_replayed() {
    let (mut m, line) = killed();
    let text = format!("{line}\n{{\"became\":{{\"value\":\"{RAISED}\"}}}}\n");
    fs::write(journal(&m), text).unwrap();
    mode(&journal(&m), 0o644);
    assert!(matches!(&m.clean()[..], [Restoration::Back { to, .. }] if to == "262144"));
    assert!(m.dir.is_empty());
}

#[test]
fn journal_and_locks_are_private_to_the_user() {
    use std::os::unix::fs::MetadataExt;
    let mut m = Machine::new();
    let mut journal = m.begin();
    m.write(&mut journal, MAX, RAISED);
    for file in [FILE, "machine.lock"] {
        assert_eq!(fs::metadata(m.dir.path().join(file)).unwrap().mode() & 0o777, 0o600, "{file}");
    }
    assert!(fs::read_to_string(&journal.path).unwrap().contains(r#""setting":{"sysctl":{"name":"net/netfilter/"#));
}
