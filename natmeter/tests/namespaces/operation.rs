//! Operation of a running gateway: a next hop gets another Ethernet address, control clients are slow or many, an interface is
//! removed, signals stop it; and its privileges.

use super::program::NATMETER;
use super::street::{LAN, LAN6, Street, WAN, WAN6};
use super::{NAT44, NAT66, Running, config, round_trip, run};
use port::netns::Sight;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

fn street(queues: u32) -> Street {
    Street::new(queues, LAN, WAN)
}

fn next_hops(gateway: &Running) -> [String; 2] {
    let status: serde_json::Value = serde_json::from_str(&gateway.status()).unwrap();
    ["left", "right"].map(|side| status["next-hops"][side].as_str().unwrap().to_owned())
}

const NEW: &str = "02:00:00:00:0e:0e";

/// The gateway moves a next hop once it has asked for it, in less than a second.
#[track_caller]
fn moves(gateway: &Running, side: usize, to: &str) {
    let end = Instant::now() + Duration::from_secs(3);
    while next_hops(gateway)[side] != to {
        assert!(Instant::now() < end, "{:?}", next_hops(gateway));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The gateway learns the address from the server's ARP request.
fn learns_from_arp(queues: u32, keys: &str) {
    let street = street(queues);
    let gateway = street.gateway("pe", keys, NAT44);
    round_trip(&street.host, &street.server);
    run(&street.server, &format!("ip link set wan address {NEW}"));
    run(&street.server, "ping -c 1 -W 5 198.19.0.1");
    moves(&gateway, 1, NEW);
    // Each from another port, so that every worker has some.
    for _ in 0..16 {
        round_trip(&street.host, &street.server);
    }
    gateway.stop();
}

checks! { "needs root: run by ./check as root";
    a_new_ethernet_address_of_the_next_hop_is_learnt: learns_from_arp(1, "");
    all_workers_learn_a_new_ethernet_address: learns_from_arp(2, "workers = 2\nio = \"af-xdp-native\"");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_reload_asks_for_the_next_hop_again() {
    let street = street(1);
    let gateway = street.gateway("pe", "", NAT44);
    round_trip(&street.host, &street.server);
    run(&street.server, &format!("ip link set wan address {NEW}"));
    assert_eq!(String::from_utf8(gateway.ask("reload").stdout).unwrap(), "reloaded\n");
    assert_eq!(next_hops(&gateway)[1], NEW);
    round_trip(&street.host, &street.server);
    // The next hop is gone: the gateway reports it and keeps the known address.
    run(&street.server, "ip link set wan arp off");
    let said = String::from_utf8(gateway.ask("reload").stdout).unwrap();
    assert_eq!(said, "reloaded; next hop 198.19.0.2 does not answer, so its Ethernet address stays as it was\n");
    assert_eq!(next_hops(&gateway)[1], NEW);
    gateway.stop();
}

/// A Neighbor Solicitation of an IPv6-only host.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_new_ethernet_address_is_learnt_over_ipv6() {
    let street = Street::new(1, LAN6, WAN6);
    let gateway = street.gateway("pe", "", NAT66);
    run(&street.host, &format!("ip link set lan address {NEW}"));
    run(&street.host, "ping -c 1 -W 5 2001:2::1");
    moves(&gateway, 0, NEW);
    run(&street.server, &format!("ip link set wan address {NEW}"));
    assert_eq!(String::from_utf8(gateway.ask("reload").stdout).unwrap(), "reloaded\n");
    assert_eq!(next_hops(&gateway), [NEW, NEW]);
    gateway.stop();
}

fn signal(gateway: &Running, name: &str) {
    let id = gateway.child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

/// How a gateway ends, within this time.
fn ends(gateway: &mut Running, within: Duration) -> ExitStatus {
    let end = Instant::now() + within;
    loop {
        if let Some(status) = gateway.child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < end, "it still runs after {within:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn connect(gateway: &Running, words: &str) -> UnixStream {
    let mut stream = UnixStream::connect(&gateway.socket).unwrap();
    stream.write_all(words.as_bytes()).unwrap();
    stream
}

/// Regression: two silent clients blocked the socket for four seconds, and 200 clients behind them for half a minute.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn slow_clients_delay_neither_others_nor_the_end() {
    let street = street(1);
    let mut gateway = street.gateway("pe", "", NAT44);
    let _slow: Vec<_> = ["", "sta", "", "status"].into_iter().map(|words| connect(&gateway, words)).collect();
    let asked = Instant::now();
    let many: Vec<_> = (0..200).map(|_| connect(&gateway, "status\n")).collect();
    for mut stream in many {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains("\"workers\""), "{text}");
    }
    assert!(asked.elapsed() < Duration::from_secs(2), "the slowest of 200 waited {:?}", asked.elapsed());
    signal(&gateway, "TERM");
    assert!(ends(&mut gateway, Duration::from_secs(1)).success());
    assert!(!gateway.socket.exists());
}

/// The gateway waits for a file that never ends (a named pipe without a writer): the second signal ends it.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_second_signal_leaves_no_socket_behind() {
    let street = street(1);
    let maps = street.folder.path().join("maps.txt");
    std::fs::write(&maps, "198.19.0.0/24 2001:2:0:8000::/120\n").unwrap();
    let siit = format!("[technology.siit]\neam-file = \"{}\"\n", maps.display());
    let file = config("pe", (LAN.0, "2001:2::1", NEW), WAN, &siit);
    let mut gateway = Running::start(&street.middle, street.folder.path(), "gateway", &file);
    gateway.wait();
    // The file that it reads next never ends.
    std::fs::remove_file(&maps).unwrap();
    assert!(Command::new("mkfifo").arg(&maps).status().unwrap().success());
    let _waiting = connect(&gateway, "reload\n");
    std::thread::sleep(Duration::from_millis(100));
    signal(&gateway, "TERM");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(gateway.child.try_wait().unwrap().is_none(), "it waits for its file");
    signal(&gateway, "TERM");
    assert_eq!(ends(&mut gateway, Duration::from_secs(1)).code(), Some(5));
    assert!(!gateway.socket.exists());
}

/// `nohup natmeter gateway` survives a hang-up.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let street = street(1);
    let folder = street.folder.path();
    let (socket, file) = (folder.join("g.sock"), folder.join("g.toml"));
    let text = config("pe", LAN, WAN, NAT44).replace("SOCKET", &socket.display().to_string());
    std::fs::write(&file, text).unwrap();
    let mut command = street.middle.command("sh", Sight::Network);
    command.args(["-c", "trap '' HUP; exec \"$0\" gateway --quiet --config \"$1\"", NATMETER]);
    let mut gateway = Running { child: command.arg(&file).spawn().unwrap(), socket };
    gateway.wait();
    signal(&gateway, "HUP");
    assert!(gateway.ask("status").status.success());
    signal(&gateway, "TERM");
    assert!(ends(&mut gateway, Duration::from_secs(1)).success());
}

/// Exit code and message of a gateway after this `ip` command on an interface.
fn after_ip(words: &str, keys: &str) -> (Option<i32>, String) {
    let street = street(1);
    let file = config("pe", LAN, WAN, NAT44).replace("[gateway]", &format!("[gateway]\n{keys}"));
    let mut gateway = Running::start_with(&street.middle, street.folder.path(), "gateway", &file, true);
    gateway.wait();
    run(&street.middle, words);
    let code = ends(&mut gateway, Duration::from_secs(1)).code();
    let mut text = String::new();
    gateway.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(!gateway.socket.exists());
    (code, text)
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn an_interface_that_goes_away_ends_the_gateway_at_once() {
    for keys in ["", "io = \"af-xdp-generic\""] {
        let (code, text) = after_ip("ip link del g-wan", keys);
        let gone = "error: interface g-wan is gone: it was deleted, renamed or moved to another namespace";
        assert_eq!((code, text.lines().next().unwrap()), (Some(7), &*format!("{gone}; the gateway has stopped")));
        let (code, text) = after_ip("ip link set g-lan down", keys);
        assert_eq!((code, &*text), (Some(7), "error: interface g-lan was switched off; the gateway has stopped\n"));
    }
}

/// A line of the status of each thread.
fn threads(gateway: &Running, key: &str) -> Vec<String> {
    let tasks = Path::new("/proc").join(gateway.child.id().to_string()).join("task");
    let line = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let value = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(":\t")).unwrap();
        value.to_owned()
    };
    std::fs::read_dir(tasks).unwrap().map(line).collect()
}

/// The gateway has dropped the privileges for opening its ports, and still works.
fn is_limited(queues: u32, keys: &str) {
    let street = street(queues);
    let gateway = street.gateway("pe", keys, NAT44);
    let all = |key: &str, value: &str| {
        let values = threads(&gateway, key);
        assert!(values.len() > queues as usize + 1, "main thread, workers, signals");
        assert!(values.iter().all(|v| v == value), "{key}: {values:?}");
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        all(set, "0000000000000000");
    }
    all("NoNewPrivs", "1");
    all("Seccomp", "2");
    for _ in 0..32 {
        round_trip(&street.host, &street.server);
    }
    assert_eq!(String::from_utf8(gateway.ask("reload").stdout).unwrap(), "reloaded\n");
    for word in ["metrics", "sessions", "clear"] {
        let output = gateway.ask(word);
        assert!(output.status.success(), "{word}: {output:?}");
    }
    round_trip(&street.host, &street.server);
    gateway.stop();
}

checks! { "needs root: run by ./check as root";
    a_gateway_keeps_no_privileges: is_limited(1, "");
    a_gateway_on_xdp_sockets_keeps_no_privileges: is_limited(2, "workers = 2\nio = \"af-xdp-native\"");
    a_gateway_that_polls_keeps_no_privileges: is_limited(1, "io = \"af-xdp-generic\"\nbusy = true");
}

const UNIT: &str = include_str!("../../../release/natmeter-gateway@.service");

/// A setting of the systemd unit.
fn unit(key: &str) -> &'static str {
    UNIT.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap()
}

/// The capabilities of the systemd unit are enough to start, for a user who is not root.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_capabilities_of_the_systemd_unit_are_enough() {
    let street = street(1);
    let folder = street.folder.path();
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let (socket, file, program) = (folder.join("g.sock"), folder.join("g.toml"), folder.join("natmeter"));
    std::fs::copy(NATMETER, &program).unwrap();
    assert_eq!(unit("AmbientCapabilities"), unit("CapabilityBoundingSet"));
    let some: Vec<_> = unit("AmbientCapabilities").split(' ').map(|c| format!(",+{}", c[4..].to_lowercase())).collect();
    // A test may not raise the limit of locked memory, so it uses this capability instead.
    assert_eq!(unit("LimitMEMLOCK"), "infinity");
    let some = format!("-all,+ipc_lock{}", some.concat());
    for io in ["af-packet", "af-xdp-generic", "af-xdp-native"] {
        let text = config("pe", LAN, WAN, NAT44).replace("[gateway]", &format!("[gateway]\nio = \"{io}\""));
        std::fs::write(&file, text.replace("SOCKET", &socket.display().to_string())).unwrap();
        let mut command = street.middle.command("setpriv", Sight::Network);
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        for set in ["--inh-caps", "--ambient-caps", "--bounding-set"] {
            command.args([set, &some]);
        }
        let child = command.arg(&program).args(["gateway", "--quiet", "--config"]).arg(&file).spawn().unwrap();
        let mut gateway = Running { child, socket: socket.clone() };
        gateway.wait();
        round_trip(&street.host, &street.server);
        assert!(threads(&gateway, "CapEff").iter().all(|set| set == "0000000000000000"), "{io}");
        gateway.stop();
    }
}
