use super::Hook::{Alive, Clear, Cores, Count, Failover, Memory, Prepare, Reset, Restore};
use super::*;
use crate::Holder;
use crate::step::no_sink;
use std::fs;
use std::sync::{Arc, Mutex};

struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(bed.folder()).unwrap();
        bed
    }
    fn folder(&self) -> PathBuf {
        self.dir.path().join("my bed")
    }
    fn run_dir(&self) -> RunDir {
        RunDir::at(self.dir.path().join("run"))
    }
    fn file(&self, name: &str, mode: u32, text: &str) {
        let path = self.folder().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap_or_default()
    }
    fn config(&self, hooks: Hooks) -> ExternalConfig {
        let values = vec![("connections".into(), "1000".into())];
        ExternalConfig { values, ..ExternalConfig::of("box", On::Local, hooks, &self.folder()) }
    }
    fn prepare(&self, hooks: Hooks) -> Result<External, DutError> {
        External::prepare(&self.config(hooks), &self.run_dir(), &no_sink())
    }
}

fn hooks(lines: &[(Hook, &str)]) -> Hooks {
    lines.iter().map(|(hook, line)| (*hook, (*line).to_owned())).collect()
}

fn refusal(result: Result<External, DutError>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is refused"),
    }
}

#[test]
fn hooks_run_in_the_folder_of_the_bed_and_restore_runs_once() {
    let bed = Bed::new();
    bed.file("set", 0o755, "#!/bin/sh\necho \"set $1\" >>log\n");
    let hooks = hooks(&[
        (Prepare, "./set {connections}"),
        (Clear, "echo clear >>log && echo {{}} >>log"),
        (Count, "echo 'entries: 7 of 1000'; echo 8 >&2"),
        (Restore, "echo restore >>log"),
        (Alive, "echo alive >>log"),
    ]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listening = Arc::clone(&told);
    let sink: Sink = Arc::new(move |event| listening.lock().unwrap().push(event.clone()));
    let mut external = External::prepare(&bed.config(hooks), &bed.run_dir(), &sink).unwrap();
    assert_eq!(external.clear().unwrap().unwrap().how, "echo clear >>log && echo {} >>log");
    assert_eq!(external.count().unwrap(), Some(1000), "the last number of standard output");
    assert_eq!(external.is_alive().unwrap(), Some(true));
    let facts = external.facts();
    let fact = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap().value.clone();
    assert_eq!((fact("device"), fact("host"), fact("hook cores")), ("box".into(), "local".into(), "none".into()));
    assert_eq!(fact("hook prepare"), "./set 1000");
    let undone = external.teardown();
    assert_eq!((undone.done, undone.left), (vec!["restored by `echo restore >>log`".to_owned()], vec![]));
    assert_eq!(bed.read("log"), "alive\nset 1000\nclear\n{}\nalive\nrestore\n");
    assert!(bed.run_dir().is_empty(), "no note is left");
    let told = told.lock().unwrap();
    let commands: Vec<&str> = told.iter().filter_map(command).collect();
    assert_eq!(commands[1..3], ["sh -c 'echo alive >>log'", "sh -c './set 1000'"]);
}

fn command(event: &Event) -> Option<&str> {
    if let Event::Executed(executed) = event { Some(&executed.command) } else { None }
}

#[test]
fn without_hooks_nothing_is_known_and_nothing_is_left() {
    let bed = Bed::new();
    let mut external = bed.prepare(Hooks::new()).unwrap();
    assert_eq!(
        (external.clear().unwrap(), external.count().unwrap(), external.is_alive().unwrap()),
        (None, None, None)
    );
    assert_eq!(external.teardown(), UndoResult::default());
    assert!(bed.run_dir().is_empty());
}

#[test]
fn a_hook_that_fails_shows_its_last_lines_and_the_device_is_restored() {
    let bed = Bed::new();
    let hooks = hooks(&[(Prepare, "seq 1 30; echo no room >&2; exit 3"), (Restore, "echo restore >>log")]);
    let text = refusal(bed.prepare(hooks));
    assert!(
        text.starts_with("hook `prepare` (local): `seq 1 30; echo no room >&2; exit 3` exited with code 3"),
        "{text}"
    );
    assert!(
        text.contains("output:\n    12\n    13\n") && text.contains("    30\n    no room\nafterwards: restored"),
        "{text}"
    );
    assert_eq!(bed.read("log"), "restore\n");
    assert!(bed.run_dir().is_empty());
}

#[test]
fn a_hook_that_hangs_is_killed() {
    let bed = Bed::new();
    let hooks = hooks(&[(Clear, "sleep 1000"), (Restore, "echo restore >>log")]);
    let mut external = bed.prepare(hooks).unwrap();
    external.place.limits.time = Duration::from_millis(20);
    // The time limit is for `clear`, not for the restoring.
    external.config.hooks.remove(&Restore);
    let text = external.clear().unwrap_err().to_string();
    assert!(
        text.contains("`sleep 1000` ran longer than its time limit, 0.02 s, and was killed: raise `timeout`"),
        "{text}"
    );
}

#[test]
fn a_device_that_is_dead_is_not_changed() {
    let bed = Bed::new();
    let hooks =
        hooks(&[(Alive, "echo no link; false"), (Prepare, "echo prepare >>log"), (Restore, "echo restore >>log")]);
    let error = bed.prepare(hooks).err().unwrap();
    assert!(matches!(&error, DutError::Dead(text) if text.contains("no link")), "{error}");
    assert_eq!(bed.read("log"), "");
    assert!(bed.run_dir().is_empty());
}

#[test]
fn a_count_without_a_number_is_shown() {
    let bed = Bed::new();
    let mut external = bed.prepare(hooks(&[(Count, "echo table eth0 is 12.5 %")])).unwrap();
    let text = external.count().unwrap_err().to_string();
    assert!(text.contains("printed no whole number") && text.contains("    table eth0 is 12.5 %"), "{text}");
    for (text, number) in [
        ("12", Some(12)),
        ("net.netfilter.nf_conntrack_count = 34", Some(34)),
        ("34 entries in eth0.", Some(34)),
        ("count=5;", Some(5)),
        ("It is 6.", Some(6)),
        ("1,234", None),
        ("-7", None),
        ("none", None),
        ("", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(last_number(text), number, "{text}");
    }
}

#[test]
fn wrong_hooks_are_refused_before_anything_runs() {
    let bed = Bed::new();
    bed.file("plain", 0o644, "");
    let refused = |line: &str| {
        let hooks = hooks(&[(Prepare, "echo prepare >>log"), (Restore, line)]);
        refusal(bed.prepare(hooks))
    };
    let text = refused("./no-such-file x");
    assert!(
        text.starts_with("hook `restore` of the DUT box: ") && text.contains("my bed/./no-such-file: No such"),
        "{text}"
    );
    let text = refused("true && ./plain");
    assert!(text.contains("./plain is not an executable file: run `chmod +x"), "{text}");
    let text = refused("true {cores}");
    assert!(text.contains("{cores} is not a placeholder; known are {connections}"), "{text}");
    assert_eq!(bed.read("log"), "");
}

#[test]
fn a_plan_lists_the_copies_and_the_hooks() {
    let bed = Bed::new();
    bed.file("set", 0o755, "");
    let hooks = hooks(&[(Prepare, "./set {connections}"), (Clear, "conntrack -F")]);
    let config = ExternalConfig { on: On::Ssh("root@p095".into()), ..bed.config(hooks) };
    let orders: Vec<String> = plan(&config).unwrap().iter().map(|order| order.action.to_string()).collect();
    assert_eq!(
        orders,
        ["ssh root@p095 'cat >FOLDER/set'", "ssh root@p095 './set 1000'", "ssh root@p095 'conntrack -F'"]
    );
}

#[test]
fn a_restore_that_fails_is_noted_and_tried_again() {
    let bed = Bed::new();
    let with_restore = || hooks(&[(Restore, "test -e ready && echo restored >>log")]);
    let external = bed.prepare(with_restore()).unwrap();
    let busy = bed.prepare(with_restore()).err().unwrap();
    assert!(matches!(&busy, DutError::Busy { what, holder: Holder::Process { .. } } if what == "the DUT box (local)"));
    assert!(matches!(clean(&bed.run_dir(), &no_sink()), Err(DutError::Busy { .. })));
    let undone = external.teardown();
    assert!(undone.done.is_empty() && undone.left[0].ends_with("`natmeter clean` tries again"), "{undone:?}");
    assert!(is_left(&bed.run_dir()));

    let text = refusal(bed.prepare(with_restore()));
    assert!(text.starts_with("the DUT box (local) is still as an earlier run left it: hook `restore`"), "{text}");
    let undone = clean(&bed.run_dir(), &no_sink()).unwrap();
    assert!(undone.done.is_empty() && undone.left.len() == 1, "{undone:?}");
    assert!(is_left(&bed.run_dir()));

    bed.file("ready", 0o644, "");
    let undone = clean(&bed.run_dir(), &no_sink()).unwrap();
    assert_eq!(undone.done, ["box (local): restored by `test -e ready && echo restored >>log`"]);
    assert_eq!(bed.read("log"), "restored\n");
    assert!(bed.run_dir().is_empty());
    assert_eq!(clean(&bed.run_dir(), &no_sink()).unwrap(), UndoResult::default());
}

#[test]
fn a_note_that_others_could_have_written_is_refused() {
    let bed = Bed::new();
    let hooks = hooks(&[(Restore, "test -e ready && echo restored >>log")]);
    bed.prepare(hooks).unwrap().teardown();
    let dir = bed.run_dir();
    let note = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&note).unwrap();
    bed.file("ready", 0o644, "");
    fs::set_permissions(&note, fs::Permissions::from_mode(0o666)).unwrap();
    let undone = clean(&dir, &no_sink()).unwrap();
    assert!(undone.left[0].contains("other users can write it"), "{undone:?}");
    fs::set_permissions(&note, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&note, text.replace(r#""copies":null"#, r#""copies":"/etc""#)).unwrap();
    let undone = clean(&dir, &no_sink()).unwrap();
    assert!(undone.left[0].contains("a folder that natmeter did not make"), "{undone:?}");
    assert_eq!(bed.read("log"), "");
    // A crash truncates the note after any octet.
    for length in 0..text.len() {
        fs::write(&note, &text[..length]).unwrap();
        assert_eq!(clean(&dir, &no_sink()).unwrap(), UndoResult::default());
        assert!(dir.is_empty());
    }
    assert_eq!(bed.read("log"), "");
}

#[test]
fn a_table_is_emptied_on_the_clock_of_the_host() {
    let bed = Bed::new();
    let mut external = bed.prepare(hooks(&[(Clear, "sleep 0.05; exit 0 # done")])).unwrap();
    let cleared = external.clear_timed().unwrap().unwrap();
    assert_eq!((cleared.how.as_str(), cleared.by_own_clock), ("sleep 0.05; exit 0 # done", true));
    assert!((50_000_000..20_000_000_000).contains(&cleared.nanos), "{}", cleared.nanos);
}

#[test]
fn a_table_that_is_not_emptied_has_no_time() {
    let bed = Bed::new();
    let mut external = bed.prepare(hooks(&[(Clear, "echo no >&2; exit 3")])).unwrap();
    let error = external.clear_timed().unwrap_err().to_string();
    assert!(error.contains("clear") && error.contains("code 3") && error.contains("no"), "{error}");
    drop(external);
    assert_eq!(bed.prepare(Hooks::new()).unwrap().clear_timed().unwrap(), None);
}

/// What the hook `cores` prints when it is asked for 4 cores, and what of its doubt is said.
#[test]
fn the_hook_cores_is_believed_if_it_prints_the_number() {
    let table = [
        ("echo set: {cores}", None),
        ("echo 2 # {cores}", Some("was asked for 4 cores: it printed 2")),
        ("true {cores}", Some("was asked for 4 cores: nothing shows the number of cores in use")),
        ("true", None),
    ];
    for (line, doubt) in table {
        let bed = Bed::new();
        let values = vec![("cores".to_owned(), "4".to_owned())];
        let config = ExternalConfig { values, ..bed.config(hooks(&[(Cores, line)])) };
        let facts = External::prepare(&config, &bed.run_dir(), &no_sink()).unwrap().facts();
        let said = facts.iter().find_map(|fact| fact.doubt.clone());
        assert_eq!(said.is_some(), doubt.is_some(), "{line}: {said:?}");
        assert!(said.unwrap_or_default().contains(doubt.unwrap_or_default()), "{line}");
    }
}

/// What a hook printed that was asked for 4 cores, and what its box has online.
#[test]
fn what_the_hook_cores_prints_must_agree_with_the_box() {
    let table = [
        ((Some(4), Some(4)), None),
        ((None, Some(4)), None),
        ((Some(4), Some(16)), Some("it printed 4, but 16 are online")),
        ((Some(16), Some(16)), Some("it printed 16")),
        ((None, Some(2)), Some("the box has 2 online")),
        ((None, Some(16)), Some("nothing shows the number of cores in use; let the hook print it")),
    ];
    for ((printed, online), doubt) in table {
        assert_eq!(proof::doubt_of_cores(4, printed, online).as_deref(), doubt, "{printed:?} {online:?}");
    }
}

/// The table has 2 entries of others.
#[test]
fn a_restore_that_leaves_the_connections_is_named() {
    for (restore, is_named) in [("true", true), ("echo 2 >entries", false)] {
        let bed = Bed::new();
        bed.file("entries", 0o644, "2");
        let lines = [(Prepare, "echo 1002 >entries"), (Count, "cat entries"), (Restore, restore)];
        let mut external = bed.prepare(hooks(&lines)).unwrap();
        assert_eq!(external.count().unwrap(), Some(1002));
        let left = external.teardown().left.concat();
        assert_eq!(
            left.contains("after `restore` the table has 1002 entries; before `prepare` it had 2"),
            is_named,
            "{left}"
        );
    }
}

#[test]
fn hooks_of_a_disruption_run_or_are_not_there() {
    let bed = Bed::new();
    let hooks = hooks(&[(Reset, "echo reset >>log"), (Memory, "echo used: 4096")]);
    let mut external = bed.prepare(hooks).unwrap();
    assert!(external.disrupt(Reset).unwrap());
    assert!(!external.disrupt(Failover).unwrap());
    assert_eq!(
        (bed.read("log").as_str(), external.memory().unwrap().map(|memory| memory.octets)),
        ("reset\n", Some(4096))
    );
    assert!(external.proc_stat().unwrap().is_some_and(|stat| stat.starts_with("cpu")));
}

/// Linux does not pass such a line to a program.
#[test]
fn a_line_longer_than_an_argument_runs_without_an_input() {
    let bed = Bed::new();
    let long = "x".repeat(1 << 20);
    let line = format!("cat; printf %s {long} | wc -c >length; pwd >where; exit 0");
    let external = bed.prepare(hooks(&[(Prepare, &line)])).unwrap();
    assert_eq!(bed.read("length").trim(), long.len().to_string());
    assert_eq!(bed.read("where").trim(), bed.folder().display().to_string());
    drop(external);
    let failing = format!("echo {long} >/dev/null; echo no >&2; exit 3");
    let text = refusal(bed.prepare(hooks(&[(Prepare, &failing)])));
    assert!(text.contains("exited with code 3") && text.contains("no"), "{text}");
}
