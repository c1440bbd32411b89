//! The gateway as a program, with real traffic of this kernel: ping, TCP with full-sized segments (so that path MTU
//! discovery must work), UDP up to several fragments. Customer edge and provider edge are two programs with an IPv6
//! link between them, so each speaks to hosts on one side and to the other edge on the other. Needs root.

/// Defines tests of one check each, with what they need.
macro_rules! checks {
    ($needs:literal; $($(#[$about:meta])* $name:ident: $check:expr;)*) => {$(
        $(#[$about])*
        #[test]
        #[ignore = $needs]
        fn $name() {
            $check;
        }
    )*};
}

mod bed_faults;
mod bed_procedures;
mod bed_runs;
mod bed_technologies;
mod beds;
mod cores;
mod device;
mod dns;
mod doctor;
mod guests;
#[path = "../../../dut/tests/lab/mod.rs"]
#[allow(dead_code, reason = "the suite of `dut` uses more of it")]
mod lab;
mod mistakes;
mod operation;
mod pages;
mod profile;
#[path = "../common/program.rs"]
#[allow(dead_code, reason = "the other test programs use more of it")]
mod program;
mod queues;
mod routers;
mod same_machine;
mod software;
mod street;
mod traffic;
mod try_box;
mod tun;
mod userspace;
mod vlan;

use port::Netns;
use port::netns::Sight;
use program::NATMETER;
use record::folder::{Calibration, Over};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use street::{End, LAN, LAN6, Street, WAN, WAN6, address_of_next_hop};
use traffic::traffic;

const PATIENCE: Duration = Duration::from_secs(20);

fn run(ns: &Netns, words: &str) {
    let mut parts = words.split(' ');
    let output = ns.command(parts.next().unwrap(), Sight::NetworkAndSysfs).args(parts).output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
}

fn said(ns: &Netns, program: &str, args: &[&str]) -> String {
    let output = ns.command(program, Sight::NetworkAndSysfs).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A cable between two namespaces, without checksum and segmentation offload.
fn cable(a: &Netns, name_a: &str, b: &Netns, name_b: &str) {
    run(a, &format!("ip link add {name_a} type veth peer name {name_b} netns {}", b.path().display()));
    plug(a, name_a);
    plug(b, name_b);
}

fn plug(ns: &Netns, name: &str) {
    run(ns, &format!("sysctl -qw net.ipv6.conf.{name}.accept_dad=0"));
    run(ns, &format!("ip link set {name} up"));
    run(ns, &format!("ethtool -K {name} tx off tso off gso off gro off"));
}

/// Removes the kernel's addresses from an end of a gateway's link.
fn bare(ns: &Netns, name: &str) {
    run(ns, &format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1"));
}

fn address(ns: &Netns, name: &str, address: &str) {
    run(ns, &format!("ip addr add {address} dev {name}"));
}

struct Running {
    child: Child,
    socket: PathBuf,
}

impl Running {
    fn start(ns: &Netns, folder: &Path, name: &str, text: &str) -> Running {
        Running::start_with(ns, folder, name, text, false)
    }

    fn start_with(ns: &Netns, folder: &Path, name: &str, text: &str, heard: bool) -> Running {
        let socket = folder.join(format!("{name}.sock"));
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, text.replace("SOCKET", &socket.display().to_string())).unwrap();
        let mut command = ns.command(NATMETER, Sight::Network);
        command.args(["gateway", "--quiet", "--config"]).arg(&file).stdout(Stdio::null());
        let child = command.stderr(if heard { Stdio::piped() } else { Stdio::inherit() }).spawn().unwrap();
        Running { child, socket }
    }

    /// Starts a customer edge and a provider edge, each in its own namespace, and waits until they answer.
    fn both_edges(folder: &Path, (ce, ce_file): (&Netns, &str), (pe, pe_file): (&Netns, &str)) -> [Running; 2] {
        let mut edges = [Running::start(ce, folder, "ce", ce_file), Running::start(pe, folder, "pe", pe_file)];
        edges.iter_mut().for_each(Running::wait);
        edges
    }

    fn ask(&self, word: &str) -> std::process::Output {
        let mut command = Command::new(NATMETER);
        command.args(["gateway", word, "--socket"]).arg(&self.socket).output().unwrap()
    }

    fn wait(&mut self) {
        let end = Instant::now() + PATIENCE;
        while !self.ask("status").status.success() {
            assert!(self.child.try_wait().unwrap().is_none(), "the gateway ended");
            assert!(Instant::now() < end, "the gateway does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn status(&self) -> String {
        String::from_utf8(self.ask("status").stdout).unwrap()
    }

    fn stop(mut self) {
        assert!(self.ask("stop").status.success());
        assert!(self.child.wait().unwrap().success(), "a clean end");
        assert!(!self.socket.exists(), "and nothing left behind");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn config(plays: &str, left: (&str, &str, &str), right: (&str, &str, &str), technology: &str) -> String {
    let side = |name: &str, (interface, address, next): (&str, &str, &str)| {
        format!("[gateway.{name}]\ninterface = \"{interface}\"\naddress = \"{address}\"\nnext-hop = \"{next}\"\n")
    };
    format!(
        "[gateway]\nplays = \"{plays}\"\nsocket = \"SOCKET\"\n{}{}{technology}",
        side("left", left),
        side("right", right)
    )
}

/// Sends traffic from a customer's host through one gateway to a server, which sees the host as `seen_as`.
fn passes(plays: &str, left: End, right: End, technology: &str, seen_as: &str) {
    let street = Street::new(1, left, right);
    let gateway = street.gateway(plays, "", technology);
    traffic(&street.host, &street.server, right.2, seen_as);
    let status = gateway.status();
    assert!(technology == SIIT || status.contains("\"sessions\":"), "{status}");
    gateway.stop();
}

/// Returns the namespaces of a host, a customer edge, a provider edge and a server, connected in this order. The edges
/// have no addresses.
fn hosts_and_edges() -> [Netns; 4] {
    let all: [Netns; 4] = std::array::from_fn(|_| Netns::new().unwrap());
    let [host, ce, pe, server] = &all;
    cable(host, "lan", ce, "g-lan");
    cable(ce, "g-access", pe, "g-access");
    cable(server, "wan", pe, "g-wan");
    for (ns, name) in [(ce, "g-lan"), (ce, "g-access"), (pe, "g-access"), (pe, "g-wan")] {
        bare(ns, name);
    }
    address_of_next_hop(host, "lan", LAN);
    address_of_next_hop(server, "wan", WAN);
    all
}

/// Sends traffic through two gateways, a customer edge and a provider edge, with IPv6 between them.
fn between_edges(technology: &str) {
    let folder = tempfile::tempdir().unwrap();
    let [host, ce, pe, server] = hosts_and_edges();
    let (at_ce, at_pe) = ("2001:2:0:100::1", "2001:2:0:100::2");
    let ce_file = config("ce", LAN, ("g-access", at_ce, at_pe), technology);
    let pe_file = config("pe", ("g-access", at_pe, at_ce), WAN, technology);
    let edges = Running::both_edges(folder.path(), (&ce, &ce_file), (&pe, &pe_file));
    traffic(&host, &server, "198.19.0.2", "198.19.0.2");
    edges.into_iter().for_each(Running::stop);
}

const NAT44: &str = "[technology.nat44]\ninside = \"192.168.0.0/16\"\npool = \"198.19.0.10\"\n";

const NAT64: &str = "[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.10\"\n";
const XLAT464: &str =
    "[technology.464xlat]\npref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.10\"\n";
const DS_LITE: &str =
    "[technology.ds-lite]\nb4 = \"2001:2:0:100::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.10\"\n";
const LW4O6: &str = "[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nipv4 = \"192.0.2.0/28\"\nb4 = \"2001:2:0:4000::1\"\n\
    psid-length = 4\npsid-offset = 6\nce = 37\n";
const MAP_E: &str = "[technology.map-e]\nbr = \"2001:2:0:100::2\"\nipv6-prefix = \"2001:2:0:8000::/52\"\n\
    ipv4-prefix = \"192.0.2.0/24\"\nea-bits = 12\npsid-offset = 6\nce = 283\n";
const MAP_T: &str = "[technology.map-t]\ndmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:2:0:8000::/52\"\n\
    ipv4-prefix = \"192.0.2.0/24\"\nea-bits = 12\npsid-offset = 0\nce = 283\n";

const SIIT: &str = "[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\"]\npref64 = \"2001:2:0:1000::/96\"\n";

const NAT46: &str = "[technology.nat46]\neam = [\"198.19.0.0/24 2001:2:0:3000::/120\"]\npool = \"2001:2:0:200::1\"\n";
const NAT66: &str = "[technology.nat66]\npool = \"2001:2:0:200::/124\"\n";

checks! { "needs root";
    nat44: passes("pe", LAN, WAN, NAT44, WAN.2);
    /// A host that has IPv6 only reaches an IPv4 server through a translator.
    nat64: passes("pe", LAN6, WAN, NAT64, "2001:2:0:1000::c613:2");
    siit: passes("pe", LAN6, WAN, SIIT, "2001:2:0:1000::c613:2");
    nat46: passes("pe", LAN, WAN6, NAT46, "198.19.0.2");
    nat66: passes("pe", LAN6, WAN6, NAT66, WAN6.2);
    xlat464_edges: between_edges(XLAT464);
    ds_lite_edges: between_edges(DS_LITE);
    lw4o6_edges: between_edges(LW4O6);
    map_e_edges: between_edges(MAP_E);
    map_t_edges: between_edges(MAP_T);
    xlat464_dual: passes("dual", LAN, WAN, XLAT464, WAN.2);
    ds_lite_dual: passes("dual", LAN, WAN, DS_LITE, WAN.2);
    lw4o6_dual: passes("dual", LAN, WAN, LW4O6, WAN.2);
    map_e_dual: passes("dual", LAN, WAN, MAP_E, WAN.2);
    map_t_dual: passes("dual", LAN, WAN, MAP_T, WAN.2);
}

/// Links with two queues and one worker at each. Packets may arrive at the other worker and must be handed over to the worker
/// that has their state.
#[test]
#[ignore = "needs root"]
fn nat44_with_two_workers() {
    for frames in with_two_workers("af-xdp-native") {
        assert!(frames.received > 20, "a worker idles: {frames:?}");
        assert!(frames.handed_over > 0, "every packet at its worker by chance: {frames:?}");
    }
}

/// The same with XDP in generic mode, in which veth gives all packets to the first queue: its worker hands over those of the
/// other.
#[test]
#[ignore = "needs root"]
fn nat44_with_two_workers_in_generic_mode() {
    let [first, second] = with_two_workers("af-xdp-generic");
    assert!(first.received + second.received > 100, "{first:?} {second:?}");
    assert!(first.handed_over + second.handed_over > 20, "{first:?} {second:?}");
    for frames in [first, second] {
        assert!(frames.sent > 20, "a worker idles: {frames:?}");
    }
}

/// Counters of a worker of the gateway.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Frames {
    received: u64,
    sent: u64,
    handed_over: u64,
    inbox_full: u64,
}

/// Traffic of many flows through a gateway of two workers on links of two queues.
fn with_two_workers(io: &str) -> [Frames; 2] {
    let street = Street::new(2, LAN, WAN);
    let gateway = street.gateway("pe", &format!("workers = 2\nio = \"{io}\""), NAT44);
    let Street { host, server, .. } = &street;
    for _ in 0..64 {
        round_trip(host, server);
    }
    traffic(host, server, WAN.2, WAN.2);
    let status: serde_json::Value = serde_json::from_str(&gateway.status()).unwrap();
    gateway.stop();
    [0, 1].map(|worker| {
        let frames: Frames = serde_json::from_value(status["workers"][worker]["frames"].clone()).unwrap();
        assert_eq!(frames.inbox_full, 0, "{status}");
        frames
    })
}

/// Sends one small datagram and its answer, from a new port. This link loses nothing, but the first datagram may wait for
/// address resolution.
fn round_trip(from: &Netns, to: &Netns) {
    let server = to.run_in(|| UdpSocket::bind("198.19.0.2:0")).unwrap().unwrap();
    let client = from.run_in(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    }
    let there = server.local_addr().unwrap();
    let mut buffer = [0; 16];
    let came_back = (0..5).any(|_| {
        client.send_to(b"there", there).unwrap();
        let Ok((n, peer)) = server.recv_from(&mut buffer) else { return false };
        assert_eq!((&buffer[..n], peer.ip().to_string().as_str()), (&b"there"[..], "198.19.0.10"));
        server.send_to(b"back", peer).unwrap();
        client.recv_from(&mut buffer).is_ok_and(|(n, peer)| &buffer[..n] == b"back" && peer == there)
    });
    assert!(came_back, "UDP from {}", client.local_addr().unwrap());
}

/// The tester ceiling over a cable of each kind is lower than over the in-process link, because the kernel takes part; and the
/// cable is removed afterwards.
#[test]
#[ignore = "needs root"]
fn ceilings_over_cables() {
    let process = natmeter::rig::RunContext::new();
    let measured = |link: &str| {
        let text = format!(
            "name = \"c\"\n[dut.nftables]\n{link}\n[traffic]\nsource-ports = \"1024-11023\"\n\
             destination-ports = \"1-10\"\n[sweep]\nconnections = [\"20k\"]\n[measure]\nmetrics = \"max_conn_est_rate\"\n\
             repetitions = 1\nduration = \"100 ms\"\n"
        );
        let parsed = scenario::parse("c.toml", &text, &scenario::Options::default(), tech::ALL);
        let scenario = parsed.unwrap_or_else(|e| panic!("{e:?}")).scenario;
        let point = record::plan::Plan::new(&scenario).measurements[0].point.clone();
        let mut known = Calibration::default();
        let found = natmeter::run::calibrate(&mut known, &scenario, &point, &process);
        let ceiling = found.unwrap_or_else(|e| panic!("{link}: {e}")).unwrap();
        let again = natmeter::run::calibrate(&mut known, &scenario, &point, &process).unwrap();
        assert_eq!(again, None, "it is measured once");
        ceiling
    };
    let before = interfaces();
    let alone = measured("[link.tap]");
    assert_eq!(alone.over, Over::Process, "a TAP has no cable");
    let kinds =
        [("af-packet", Over::AfPacket), ("af-xdp-generic", Over::AfXdpGeneric), ("af-xdp-native", Over::AfXdpNative)];
    for (io, over) in kinds {
        let ceiling = measured(&format!("[link.veth]\nio = \"{io}\""));
        println!("{io}: {ceiling:?}\nalone: {alone:?}");
        assert_eq!(ceiling.over, over);
        assert!(ceiling.frames.0 > 1_000 && ceiling.frames < alone.frames, "{io}: {ceiling:?} of {alone:?}");
        let (there, here) = (ceiling.set_up.unwrap(), alone.set_up.unwrap());
        assert!(there.0 > 1_000 && there < here, "{io}: {there} of {here}");
    }
    let commands = process.commands.take();
    assert!(commands.notes.is_empty(), "not undone: {:?}", commands.notes);
    assert_eq!(commands.commands.iter().filter(|c| c.command.contains("type veth")).count(), 3);
    assert_eq!(interfaces(), before, "nothing is left in the machine's own network");
    dut::lock::see_that_bed_is_free(&dut::RunDir::of_this_user()).unwrap();
    assert!(!dut::journal::is_left(&dut::RunDir::of_this_user()));
}

fn interfaces() -> String {
    let shown = Command::new("ip").args(["-br", "link"]).output().unwrap();
    String::from_utf8(shown.stdout).unwrap()
}
