//! The doctor on recorded machines and ports.

use super::*;
use crate::host::LocalHost;
use crate::journal;
use crate::lock::RunDir;
use crate::readings::tests::machine;
use std::path::Path;

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor";

fn laptop() -> tempfile::TempDir {
    machine(&[
        ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance"),
        (GOVERNOR, "powersave"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
        ("/sys/devices/system/cpu/smt/active", "1"),
        ("/sys/devices/system/cpu/online", "0-3,6"),
        ("/sys/devices/system/cpu/isolated", ""),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
        ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI"),
        ("/sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable"),
        ("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:     524288 kB"),
        ("/proc/loadavg", "3.50 2.00 1.00 1/200 4321"),
        ("/proc/pressure/cpu", "some avg10=12.50 avg60=0.45 avg300=0.96 total=11614558334"),
        ("/proc/1/comm", "systemd"),
        ("/proc/617/comm", "irqbalance"),
        ("/proc/sys/net/core/netdev_max_backlog", "1000"),
        ("/proc/sys/net/netfilter/nf_conntrack_max", "262144"),
        ("/proc/sys/net/netfilter/nf_conntrack_buckets", "65536"),
        ("/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "30"),
        ("/proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream", "120"),
        ("/proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024"),
        ("/proc/sys/net/ipv6/neigh/default/gc_thresh3", "512"),
        ("/proc/sys/net/ipv6/conf/eth1/accept_ra", "1"),
        ("/proc/sys/net/ipv6/conf/eth1/autoconf", "0"),
        ("/proc/sys/net/ipv6/conf/eth2/accept_ra", "1"),
    ])
}

fn server() -> tempfile::TempDir {
    machine(&[
        (GOVERNOR, "performance"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        ("/sys/devices/system/cpu/smt/active", "0"),
        ("/sys/devices/system/cpu/online", "0-7"),
        ("/sys/devices/system/cpu/isolated", "2-5"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
        ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected"),
        ("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB"),
        ("/proc/loadavg", "0.02 0.00 0.00 1/200 4321"),
        ("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5"),
        ("/proc/1/comm", "systemd"),
        ("/proc/sys/net/core/netdev_max_backlog", "250000"),
        ("/proc/sys/net/netfilter/nf_conntrack_max", "262144"),
        ("/proc/sys/net/netfilter/nf_conntrack_buckets", "262144"),
        ("/proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024"),
    ])
}

fn read(root: &tempfile::TempDir) -> Readings {
    Readings::below(root.path(), FILES)
}

fn in_lines(findings: &[Finding]) -> String {
    let line = |f: &Finding| {
        let boot = if f.at_boot { "at boot: " } else { "" };
        let mend: Vec<String> = f.mend.iter().map(|mend| format!("\n    {boot}{mend}")).collect();
        format!("{} {} | {} | {}{}\n", f.verdict.word(), f.at, f.name, f.value, mend.concat())
    };
    findings.iter().map(line).collect()
}

#[test]
fn each_setting_of_a_machine_has_a_verdict_and_a_mend() {
    insta::assert_snapshot!(in_lines(&tester(&read(&laptop()))));
}

#[test]
fn a_machine_that_is_ready_has_no_finding_to_mend() {
    let findings = tester(&read(&server()));
    assert_eq!(findings.len(), 14, "{}", in_lines(&findings));
    for finding in findings {
        assert_eq!((finding.verdict, finding.why, &finding.mend[..]), (Verdict::Ok, "", &[][..]), "{finding:?}");
    }
}

/// Output of ethtool 6.1 for an ixgbe card.
fn card() -> Port {
    let facts = LinkFacts {
        name: "eth1".to_owned(),
        mtu: 1280,
        rx_queues: 4,
        tx_queues: 4,
        rx_pause: Some(true),
        tx_pause: Some(false),
        gro: Some(true),
        lro: Some(false),
        rxvlan: Some(true),
        ..LinkFacts::default()
    };
    let rings = "Ring parameters for eth1:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t4096\n\
                 Current hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t4096\n";
    let hash = "UDP over IPV4 flows use these fields for computing Hash flow key:\nIP SA\nIP DA\nL4 bytes 0 & 1 [TCP/UDP src \
                port]\nL4 bytes 2 & 3 [TCP/UDP dst port]\n\nUDP over IPV6 flows use these fields for computing Hash flow \
                key:\nIP SA\nIP DA\n\n";
    let indirection = "RX flow hash indirection table for eth1 with 4 RX ring(s):\n    0:      0     1     2     0     1     \
                       2     0     1\n    8:      2     0     1     2     0     1     2     3\nRSS hash key:\n\
                       6d:5a:56:da:25:5b:0e:c2\n";
    let (rings, hash, indirection) = (rings.to_owned(), hash.to_owned(), indirection.to_owned());
    Port { side: "left", facts, queues: 4, is_xdp: false, rings, hash, indirection }
}

#[test]
fn each_setting_of_a_port_has_a_verdict_and_a_mend() {
    insta::assert_snapshot!(in_lines(&port(&read(&laptop()), &card())));
}

#[test]
fn a_port_that_is_ready_has_no_finding_to_mend() {
    let card = card();
    let facts =
        LinkFacts { mtu: 1500, rx_pause: Some(false), gro: Some(false), rxvlan: Some(false), ..card.facts.clone() };
    let even = "RX flow hash indirection table for eth1 with 4 RX ring(s):\n    0:      0     1     2     3\n";
    let hash = card.hash.split("UDP over IPV6").next().unwrap().to_owned();
    let port_ = Port { facts, hash, rings: card.rings.replace("512", "4096"), indirection: even.to_owned(), ..card };
    let findings = port(&read(&server()), &port_);
    assert_eq!(findings.len(), 9, "{}", in_lines(&findings));
    assert!(findings.iter().all(|finding| finding.verdict == Verdict::Ok), "{}", in_lines(&findings));
}

#[test]
fn too_few_queues_are_bad() {
    let card = Port { queues: 8, ..card() };
    let findings = port(&read(&server()), &card);
    let queues = findings.iter().find(|finding| finding.name == "queues").unwrap();
    assert_eq!((queues.verdict, queues.value.starts_with("50 % ")), (Verdict::Bad, true));
    for (queues, verdict, value) in
        [(1, Verdict::Bad, "3 of 4 that the card uses"), (4, Verdict::Ok, "0 of 4 that the card uses")]
    {
        let findings = port(&read(&server()), &Port { queues, is_xdp: true, ..card.clone() });
        let found = findings.iter().find(|finding| finding.name == "queues without a socket").unwrap();
        assert_eq!((found.verdict, found.value.as_str()), (verdict, value));
    }
}

#[test]
fn a_container_has_fewer_cores_and_less_memory_than_its_machine() {
    let root = machine(&[
        ("/proc/self/cgroup", "0::/"),
        ("/proc/self/status", "Name:\tnatmeter\nCpus_allowed_list:\t3"),
        ("/sys/devices/system/cpu/online", "0-7"),
        ("/sys/fs/cgroup/cpu.max", "150000 100000"),
        ("/sys/fs/cgroup/cpu.stat", "nr_periods 90\nnr_throttled 57"),
        ("/sys/fs/cgroup/memory.max", "2147483648"),
        ("/sys/fs/cgroup/memory.current", "1610612736"),
    ]);
    let found = limits(root.path());
    let words: Vec<_> = found.iter().map(|found| (found.verdict, found.value.as_str())).collect();
    let expected =
        [(Verdict::Bad, "1.5 cores, used up in 57 periods"), (Verdict::Look, "2048 MiB, 512 MiB of them free")];
    assert_eq!(words, expected);
    let cores = tester(&read(&root)).into_iter().find(|found| found.name == "cores").unwrap();
    assert_eq!((cores.verdict, cores.value.as_str()), (Verdict::Look, "1"));
}

#[test]
fn a_box_is_read_through_its_host() {
    struct Remote(tempfile::TempDir);
    impl Host for Remote {
        fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<crate::host::Output> {
            let Action::Command { program, args, .. } = action else { unreachable!() };
            let root = self.0.path().display().to_string();
            // The same script below the folder of the recorded machine.
            let args = args.iter().map(|arg| arg.replace(" /", &format!(" {root}/"))).collect();
            let output = LocalHost::new().perform(
                target,
                why,
                &Action::Command { program: program.clone(), args, stdin: None },
            )?;
            Ok(crate::host::Output { stdout: output.stdout.replace(&root, ""), ..output })
        }
        fn read(&mut self, _: Target, _: &str) -> io::Result<String> {
            unreachable!()
        }
    }
    let findings = of_box("dut", &mut Remote(laptop())).unwrap();
    let udp = findings.iter().find(|finding| finding.name.starts_with("timeouts")).unwrap();
    assert_eq!(udp.value, "nf_conntrack_udp_timeout 30, nf_conntrack_udp_timeout_stream 120");
    assert_eq!(udp.mend, ["echo 300 > /proc/sys/net/netfilter/nf_conntrack_udp_timeout"]);
    assert!(findings.iter().all(|finding| finding.at == "box dut"));
    assert_eq!(udp.settings.len(), 1);
}

fn governor(root: &Path) -> String {
    std::fs::read_to_string(root.join(&GOVERNOR[1..])).unwrap().trim().to_owned()
}

#[test]
fn settings_of_findings_are_changed_and_undone() {
    let root = laptop();
    let (dir, mut host) = (RunDir::at(root.path().join("run")), LocalHost::below(root.path()));
    let changed = fix(&dir, None, &mut host, &tester(&read(&root))).unwrap();
    assert_eq!(changed.iter().filter(|changed| changed.refused.is_some()).count(), 0, "{changed:?}");
    assert_eq!(governor(root.path()), "performance");
    let left: Vec<Finding> = tester(&read(&root)).into_iter().filter(|f| !f.settings.is_empty()).collect();
    assert_eq!(left, []);
    let undone = journal::undo_kept(&dir, None, &mut host).unwrap();
    assert_eq!((undone.len(), governor(root.path()).as_str()), (changed.len(), "powersave"));
    assert!(dir.is_empty());
}

#[test]
fn a_setting_that_is_refused_does_not_stop_the_others() {
    let root = laptop();
    let findings = tester(&read(&root));
    std::fs::remove_file(root.path().join(&GOVERNOR[1..])).unwrap();
    let (dir, mut host) = (RunDir::at(root.path().join("run")), LocalHost::below(root.path()));
    let changed = fix(&dir, None, &mut host, &findings).unwrap();
    let refused: Vec<String> =
        changed.iter().filter(|changed| changed.refused.is_some()).map(ToString::to_string).collect();
    assert!(
        refused.len() == 1 && refused[0].starts_with(&format!("{GOVERNOR}: not set to performance: ")),
        "{refused:?}"
    );
    assert!(changed.len() > 3);
}

/// Killed before a noted change was made, and in the middle of the changes.
#[test]
fn a_fix_that_is_killed_leaves_a_note_for_clean() {
    struct Dies(LocalHost, usize);
    impl Host for Dies {
        fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<crate::host::Output> {
            assert!(self.1 > 0, "killed");
            self.1 -= 1;
            self.0.perform(target, why, action)
        }
        fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
            self.0.read(target, path)
        }
    }
    for changes in 0..3 {
        let root = laptop();
        let before = tester(&read(&root));
        let dir = RunDir::at(root.path().join("run"));
        let mut host = Dies(LocalHost::below(root.path()), changes);
        let fixing = || fix(&dir, None, &mut host, &before);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fixing)).is_err());
        let cleaned = journal::clean(&dir, &mut LocalHost::below(root.path())).unwrap();
        assert_eq!(cleaned.len(), changes + 1, "the last one was noted, but not made");
        assert_eq!(in_lines(&tester(&read(&root))), in_lines(&before));
        assert!(dir.is_empty());
    }
}
