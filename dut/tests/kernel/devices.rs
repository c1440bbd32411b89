//! Devices on the real kernel: each forwards, translates, counts and is emptied, and the host's settings are restored,
//! also after a kill. Needs root for machine-wide settings.

use crate::common::{Case, Io, Standing, case, forwards_counts_and_is_emptied};
use crate::held;
use dut::host::{Host, LocalHost};
use dut::journal::{self, Journal, Restoration};
use dut::software::{self, Pool, conntrack};
use dut::step::no_sink;
use dut::{Event, RunDir, Setting, Sink, Step, Target};
use port::backend::af_xdp::XdpMode;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

/// One test at a time may use the machine-wide settings.
static MACHINE: Mutex<()> = Mutex::new(());

struct HostState {
    before: String,
    dir: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl HostState {
    fn remember() -> HostState {
        let alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        HostState { before: HostState::now(), dir: tempfile::tempdir().unwrap(), _alone: alone }
    }
    fn now() -> String {
        let sh = "ip -br link; ip netns list; nft list ruleset; iptables-legacy -S; \
                  sysctl net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_buckets \
                  net.netfilter.nf_conntrack_udp_timeout net.core.netdev_max_backlog net.ipv4.ip_forward \
                  net.ipv6.conf.all.disable_ipv6 net.ipv4.conf.all.rp_filter";
        let output = Command::new("sh").args(["-c", sh]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
    fn dir(&self) -> RunDir {
        RunDir::at(self.dir.path().join("natmeter"))
    }
    fn check(self) {
        assert_eq!(HostState::now(), self.before);
        assert!(self.dir().is_empty(), "lock or journal left");
    }
}

/// Prepares, uses and tears down a device; the host must be as before.
fn comes_works_and_goes(case: &Case) {
    let state = HostState::remember();
    forwards_counts_and_is_emptied(case, &state.dir());
    state.check();
}

fn prepare(case: &Case, state: &HostState) -> Standing {
    Standing::prepare(case, &state.dir(), &no_sink()).unwrap_or_else(|e| panic!("{e}"))
}

fn listener() -> (Sink, Arc<Mutex<Vec<Event>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listening = Arc::clone(&told);
    (Arc::new(move |event| listening.lock().unwrap().push(event.clone())), told)
}

macro_rules! over_tap {
    ($($name:ident: $software:literal;)*) => {$(
        #[test]
        #[ignore = "needs root: run by ./check as root"]
        fn $name() {
            comes_works_and_goes(&case($software, Io::Tap));
        }
    )*};
}

over_tap! {
    plain_forwarding: "linux-forwarding";
    nftables: "nftables";
    iptables_with_the_kernels_own_tables: "iptables-legacy";
    iptables_on_nftables: "iptables-nft";
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn every_software_on_cables() {
    for software in software::KNOWN {
        for io in [Io::AfPacket, Io::AfXdp(XdpMode::Generic), Io::AfXdp(XdpMode::Native)] {
            comes_works_and_goes(&case(software.name, io));
        }
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_pool_with_a_port_range() {
    let [first, last] = [10, 13].map(|host| Ipv4Addr::new(198, 19, 0, host));
    let pool = Pool { first, last, first_port: 4096, last_port: 5119 };
    for software in software::KNOWN.iter().filter(|s| s.stateful) {
        let mut case = case(software.name, Io::Tap);
        case.configuration.config.pool = pool;
        comes_works_and_goes(&case);
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_device_pinned_to_a_core() {
    for io in [Io::Tap, Io::AfPacket] {
        let mut case = case("nftables", io);
        case.configuration.cores = vec![*port::host::cores().last().unwrap()];
        comes_works_and_goes(&case);
    }
}

fn setting(path: &str) -> u64 {
    LocalHost::new().read(Target::Machine, path).unwrap().parse().unwrap()
}

fn larger_than_now() -> Case {
    let mut case = case("nftables", Io::Tap);
    case.configuration.config.connections = setting(conntrack::MAX) + 10_000;
    case
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_table_grows_with_the_connections_and_is_restored() {
    let state = HostState::remember();
    let (max, case) = (setting(conntrack::MAX), larger_than_now());
    let standing = prepare(&case, &state);
    assert!(setting(conntrack::MAX) > max + 10_000);
    assert!(setting(conntrack::BUCKETS) > max + 10_000);
    let facts = standing.device.facts();
    let fact = |name: &str| facts.iter().find(|f| f.name == name).unwrap().value.clone();
    assert_eq!(fact("nf_conntrack_max"), setting(conntrack::MAX).to_string());
    assert_eq!(fact("nf_conntrack_udp_timeout_stream"), "10000");
    let second = Standing::prepare(&case, &state.dir(), &no_sink()).err().unwrap();
    assert!(second.to_string().contains(&format!("in use by process {} (", std::process::id())), "{second}");
    drop(standing);
    state.check();
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_command_that_fails_shows_its_output_and_everything_is_undone() {
    let state = HostState::remember();
    let mut case = larger_than_now();
    // The last step of all is the one that the kernel refuses.
    case.configuration.config.udp_timeout = 1 << 40;
    let (sink, told) = listener();
    let error = Standing::prepare(&case, &state.dir(), &sink).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("nf_conntrack_udp_timeout` ") && text.contains("Invalid argument"), "{text}");
    assert!(text.contains("undone afterwards (4)"), "two table sizes, the rule and forwarding: {text}");
    let failed = told.lock().unwrap().iter().filter(|e| matches!(e, Event::Executed(x) if !x.ok)).count();
    assert_eq!(failed, 1, "one action failed, and its record says so");
    state.check();
}

/// The next test kills it.
#[test]
#[ignore = "started by a_killed_run_leaves_a_journal_that_clean_replays"]
fn hold_a_device() {
    let Some(dir) = held::given() else { return };
    let standing = Standing::prepare(&larger_than_now(), &RunDir::at(dir), &no_sink());
    let _standing = standing.unwrap_or_else(|e| panic!("{e}"));
    held::wait();
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_killed_run_leaves_a_journal_that_clean_replays() {
    let state = HostState::remember();
    let (max, buckets) = (setting(conntrack::MAX), setting(conntrack::BUCKETS));
    let mut child = held::start("devices::hold_a_device", state.dir().path());
    let busy = journal::clean(&state.dir(), &mut LocalHost::new()).unwrap_err();
    assert!(busy.to_string().contains(&format!("in use by process {} (", child.id())), "{busy}");

    child.kill().unwrap();
    child.wait().unwrap();
    assert!(setting(conntrack::MAX) > max, "SIGKILL leaves the setting behind");
    assert!(journal::is_left(&state.dir()));
    let restored = journal::clean(&state.dir(), &mut LocalHost::new()).unwrap();
    assert!(restored.iter().all(|r| matches!(r, Restoration::Back { .. })) && restored.len() == 2, "{restored:?}");
    assert_eq!((setting(conntrack::MAX), setting(conntrack::BUCKETS)), (max, buckets));
    assert!(state.dir().is_empty(), "the files of the child's locks are gone too");
    drop(prepare(&case("linux-forwarding", Io::Tap), &state));
    state.check();
}

/// In a new network namespace, so that no interface of this machine is changed.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_feature_that_ethtool_switched_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::at(folder.path().join("natmeter"));
    let feature = Setting::Ethtool { interface: "lo".into(), feature: "generic-segmentation-offload".into() };
    let switch_off_and_die = || {
        let (mut journal, _) = Journal::begin(&dir, &mut LocalHost::new()).unwrap();
        journal.write(&mut LocalHost::new(), "", &feature, "off").unwrap().unwrap().expect("it was on");
        assert_eq!(LocalHost::new().read_setting(&feature).unwrap(), "off");
        // A killed process drops neither; the kernel releases the lock.
        let text = std::fs::read(dir.path().join("machine.journal")).unwrap();
        drop(journal);
        std::fs::create_dir_all(dir.path()).unwrap();
        std::fs::write(dir.path().join("machine.journal"), text).unwrap();
    };
    let restored = port::netns::Netns::new().unwrap().run_in(|| {
        switch_off_and_die();
        let restored = journal::clean(&dir, &mut LocalHost::new()).unwrap();
        assert_eq!(LocalHost::new().read_setting(&feature).unwrap(), "on");
        restored
    });
    let [restored] = &restored.unwrap()[..] else { panic!("one change") };
    assert_eq!(restored.to_string(), "feature generic-segmentation-offload of interface lo: restored from off to on");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_next_run_restores_settings_of_a_killed_run_and_reports_them() {
    let state = HostState::remember();
    let max = setting(conntrack::MAX);
    // What a killed run leaves: the changed setting, and a journal that no process has locked.
    std::fs::create_dir(state.dir().path()).unwrap();
    let line = format!(r#"{{"change":{{"path":"{}","old":"{max}","new":"{}"}}}}"#, conntrack::MAX, max + 1);
    std::fs::write(state.dir().path().join("machine.journal"), format!("{line}\n")).unwrap();
    let raise = Step::machine("", &conntrack::max(), max + 1);
    LocalHost::new().perform(Target::Machine, "", &raise.action).unwrap();

    let (sink, told) = listener();
    let standing = Standing::prepare(&case("nftables", Io::Tap), &state.dir(), &sink);
    drop(standing.unwrap_or_else(|e| panic!("{e}")));
    assert!(told.lock().unwrap().iter().any(|e| matches!(e, Event::Cleaned { what } if what.contains("restored"))));
    state.check();
}
