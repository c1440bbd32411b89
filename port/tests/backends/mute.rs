//! The tester's kernel is kept away from a port: it answers nothing and forwards nothing, while the tester's own frames
//! pass.

use crate::common::{quiet_namespace, sh};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Condition, Select, Width, XdpMode};
use port::netns::Sight;
use port::{Clock, Mute, Netns, Pool, PoolConfig, Port, burst};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

const HERE: [u8; 6] = [2, 0, 0, 0, 0, 0x10];
/// Ethernet address of the device at the other end of the cable.
const THERE: [u8; 6] = [2, 0, 0, 0, 0, 0x11];
const BROADCAST: [u8; 6] = [0xff; 6];
/// 2001:2::1 is the tester's, 2001:2::2 the device's.
const SIX_HERE: [u8; 16] = [0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SIX_THERE: [u8; 16] = [0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// A test bed: the tester's kernel with addresses, routes and forwarding between `xa` and `ya`, and a device whose ends
/// of the two cables are `xb` and `yb`.
struct Laboratory {
    tester: Netns,
    device: AfPacketPort,
    behind: AfPacketPort,
    pool: Pool,
}

impl Laboratory {
    fn new() -> Laboratory {
        // The kernel processes the frames of one core's queue in order.
        port::host::pin(port::host::cores()[0]).unwrap();
        let (tester, device) = (Netns::new().unwrap(), quiet_namespace());
        let far = device.path();
        let far = far.display();
        let hex = |mac: [u8; 6]| mac.map(|b| format!("{b:02x}")).join(":");
        let (here, there) = (hex(HERE), hex(THERE));
        sh(
            &tester,
            &format!(
                "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.icmp_ratelimit=0
                 sysctl -qw net.ipv6.icmp.ratelimit=0 net.ipv6.conf.default.router_solicitations=0
                 ip link add xa address {here} type veth peer name xb address {there} netns {far}
                 ip link add ya type veth peer name yb netns {far}
                 ip link set xa addrgenmode none; ip link set ya addrgenmode none
                 ip link set lo up; ip link set xa up; ip link set ya up
                 ip addr add 198.18.0.1/24 dev xa; ip addr add 198.19.0.1/24 dev ya
                 ip addr add 2001:2::1/64 dev xa nodad
                 ip neigh replace 198.18.0.2 lladdr {there} nud permanent dev xa
                 ip neigh replace 2001:2::2 lladdr {there} nud permanent dev xa
                 ip neigh replace 198.19.0.2 lladdr {there} nud permanent dev ya"
            ),
        );
        sh(&device, "ip link set xb up; ip link set yb up");
        let open = |name: &str| AfPacketPort::open(&device, &AfPacketConfig::named(name), Clock::calibrated()).unwrap();
        let (device, behind) = (open("xb"), open("yb"));
        Laboratory { tester, device, behind, pool: Pool::single(PoolConfig::umem(1, 4096)).unwrap() }
    }

    /// Returns the configuration of the interface as the commands show it.
    fn configuration(&self) -> String {
        let line = "ip -d link show xa; ip addr show dev xa; ip route show table all; ip -6 route show table all
                    tc qdisc show dev xa; tc filter show dev xa ingress; tc filter show dev xa egress; ip rule";
        let output = self.tester.command("sh", Sight::NetworkAndSysfs).args(["-c", line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Sends all requests, then one of the tester's own frames on each cable. Returns the reactions of the tester's
    /// kernel, in words.
    fn reactions(&mut self, own: &mut dyn Port) -> Vec<&'static str> {
        let requests = requests();
        send(&mut self.device, &mut self.pool, &requests);
        let seen = receive(own, &mut self.pool, |all| all.len() == requests.len());
        assert_eq!(seen, requests, "the tester's port sees every frame as it was sent");
        // The kernel has processed all frames but the last, which it ignores. Its answers are in the queue of this
        // core, and the tester's own frames follow them.
        let own_frame = ethernet(THERE, 0x88b5, &[0x55; 46]);
        let mut second = AfPacketPort::open(&self.tester, &AfPacketConfig::named("ya"), Clock::calibrated()).unwrap();
        let mut found = Vec::new();
        for (port, far) in [(own, &mut self.device), (&mut second, &mut self.behind)] {
            send(port, &mut self.pool, std::slice::from_ref(&own_frame));
            let mut left = receive(far, &mut self.pool, |all| all.last() == Some(&own_frame));
            assert_eq!(left.pop().as_ref(), Some(&own_frame), "the tester's own frame leaves");
            found.extend(left.iter().map(|frame| in_words(frame)));
        }
        // The kernel sends reports of its multicast groups at any time; some may have left before the kernel was muted.
        found.retain(|words| *words != REPORT);
        found.sort_unstable();
        found
    }

    fn packet_port(&self) -> AfPacketPort {
        AfPacketPort::open(&self.tester, &AfPacketConfig::named("xa"), Clock::calibrated()).unwrap()
    }
}

/// The kernel's report of its multicast groups, which it sends at any time.
const REPORT: &str = "multicast listener report";
/// The kernel's reactions without [`Mute`].
const ALL: [&str; 7] =
    ["advertisement", "arp reply", "echo reply", "echo reply 6", "forwarded", "reset", "unreachable"];

fn send(port: &mut dyn Port, pool: &mut Pool, frames: &[Vec<u8>]) {
    let mut burst = burst();
    for bytes in frames {
        let mut frame = pool.alloc(bytes.len()).unwrap();
        frame.bytes_mut().copy_from_slice(bytes);
        burst.push(frame);
    }
    assert_eq!(port.transmit(pool, &mut burst).unwrap().accepted, frames.len());
}

fn receive(port: &mut dyn Port, pool: &mut Pool, done: impl Fn(&[Vec<u8>]) -> bool) -> Vec<Vec<u8>> {
    let deadline = Instant::now() + Duration::from_secs(5);
    let (mut all, mut part) = (Vec::new(), burst());
    while !done(&all) && Instant::now() < deadline {
        port.receive(pool, &mut part).unwrap();
        all.extend(part.iter().map(|f| f.bytes().to_vec()));
        pool.free_all(&mut part);
    }
    all
}

fn ethernet(to: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    let from = if to == THERE { HERE } else { THERE };
    [&to[..], &from, &kind.to_be_bytes(), payload].concat()
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

fn ipv4(protocol: u8, to: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut head = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 0, 0, 0, 64, protocol, 0, 0, 198, 18, 0, 2];
    head.extend(to);
    let sum = checksum(&head);
    head[10..12].copy_from_slice(&sum);
    ethernet(HERE, 0x0800, &[&head[..], payload].concat())
}

fn ipv6(to_mac: [u8; 6], to: [u8; 16], message: &[u8]) -> Vec<u8> {
    let len = [0, message.len() as u8];
    let pseudo = [&SIX_THERE[..], &to, &[0, 0], &len, &[0, 0, 0, ICMPV6], message].concat();
    let mut message = message.to_vec();
    message[2..4].copy_from_slice(&checksum(&pseudo));
    let head = [&[0x60, 0, 0, 0][..], &len, &[ICMPV6, 255], &SIX_THERE, &to].concat();
    ethernet(to_mac, 0x86dd, &[head, message].concat())
}

/// Returns one frame for each reaction of [`ALL`], and a last frame that causes none.
fn requests() -> Vec<Vec<u8>> {
    let arp = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &THERE, &[198, 18, 0, 2], &[0; 6], &[198, 18, 0, 1]].concat();
    let mut ping = vec![8, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4];
    let sum = checksum(&ping);
    ping[2..4].copy_from_slice(&sum);
    let solicitation = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &SIX_HERE, &[1, 1], &THERE].concat();
    let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 1];
    let udp = [0x40, 0, 0x40, 0, 0, 12, 0, 0, 1, 2, 3, 4];
    let mut syn = vec![0x40, 0, 0x40, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0];
    let sum = checksum(&[&[198, 18, 0, 2, 198, 18, 0, 1, 0, TCP, 0, 20][..], &syn].concat());
    syn[16..18].copy_from_slice(&sum);
    vec![
        ethernet(BROADCAST, 0x0806, &arp),
        ipv6([0x33, 0x33, 0xff, 0, 0, 1], group, &solicitation),
        ipv4(ICMP, [198, 18, 0, 1], &ping),
        ipv6(HERE, SIX_HERE, &[128, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4]),
        ipv4(UDP, [198, 18, 0, 1], &udp),
        ipv4(TCP, [198, 18, 0, 1], &syn),
        ipv4(UDP, [198, 19, 0, 2], &udp),
        ethernet(HERE, 0x88b5, &[0x66; 46]),
    ]
}

fn in_words(frame: &[u8]) -> &'static str {
    match (&frame[12..14], frame[23], frame[20]) {
        ([8, 6], ..) if frame[20..22] == [0, 2] => "arp reply",
        ([8, 0], UDP, _) if frame[30..34] == [198, 19, 0, 2] => "forwarded",
        ([8, 0], ICMP, _) if frame[34] == 0 => "echo reply",
        ([8, 0], ICMP, _) if frame[34..36] == [3, 3] => "unreachable",
        ([8, 0], TCP, _) if frame[47] & 4 != 0 => "reset",
        ([0x86, 0xdd], _, ICMPV6) if frame[54] == 136 => "advertisement",
        ([0x86, 0xdd], _, ICMPV6) if frame[54] == 129 => "echo reply 6",
        // The message follows a hop-by-hop option.
        ([0x86, 0xdd], _, 0) if frame[62] == 143 => REPORT,
        _ => panic!("the tester's kernel sent {frame:02x?}"),
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_muted_kernel_says_nothing_and_the_port_sees_everything() {
    let mut laboratory = Laboratory::new();
    let mut own = laboratory.packet_port();
    let before = laboratory.configuration();
    assert!(
        before.contains("198.18.0.1/24") && before.contains("2001:2::1/64") && before.contains("qdisc"),
        "{before}"
    );
    assert_eq!(laboratory.reactions(&mut own), ALL);
    let mute = Mute::attach(&laboratory.tester, "xa", true).unwrap();
    // The promiscuous mode belongs to the socket of the mute; it is not a setting of the interface.
    assert_eq!(laboratory.configuration(), before.replacen("promiscuity 0", "promiscuity 1", 1));
    assert_eq!(laboratory.reactions(&mut own), [""; 0]);
    // The kernel's own packets do not leave either, although the neighbour is known.
    let socket = laboratory.tester.run_in(|| std::net::UdpSocket::bind("198.18.0.1:0").unwrap()).unwrap();
    let _ = socket.send_to(b"kernel", "198.18.0.2:9");
    assert_eq!(laboratory.reactions(&mut own), [""; 0]);
    drop(mute);
    assert_eq!(laboratory.configuration(), before);
    assert_eq!(laboratory.reactions(&mut own), ALL);
}

/// Without the ingress hook the kernel sends no answer on this interface, but still forwards to other interfaces.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn only_the_ingress_hook_ends_forwarding() {
    let mut laboratory = Laboratory::new();
    let mut own = laboratory.packet_port();
    let _mute = Mute::attach(&laboratory.tester, "xa", false).unwrap();
    assert_eq!(laboratory.reactions(&mut own), ["forwarded"]);
}

/// Frames of XDP sockets pass a muted interface, and frames that no socket selects do not reach the kernel.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn xdp_sockets_work_on_a_muted_interface() {
    for mode in [XdpMode::Generic, XdpMode::Native] {
        let mut laboratory = Laboratory::new();
        let mut pool = Pool::single(PoolConfig::umem(1, 4096)).unwrap();
        let open = |select: Select, pool: &mut Pool| {
            let config = AfXdpConfig { mode, ring: 512, ..AfXdpConfig::named("xa", select) };
            let pool = std::slice::from_mut(pool);
            AfXdpPort::open(&laboratory.tester, &config, Clock::calibrated(), pool).unwrap().remove(0)
        };
        // This socket selects only ARP.
        let arp = Condition::equals(12, Width::Two, 0x0806);
        let mut own = open(Select { any_of: vec![vec![arp]] }, &mut pool);
        let _mute = Mute::attach(&laboratory.tester, "xa", true).unwrap();
        send(&mut laboratory.device, &mut laboratory.pool, &requests());
        assert_eq!(receive(&mut own, &mut pool, |all| !all.is_empty()), requests()[..1]);
        let own_frame = ethernet(THERE, 0x88b5, &[0x55; 46]);
        send(&mut own, &mut pool, std::slice::from_ref(&own_frame));
        let mut left = receive(&mut laboratory.device, &mut laboratory.pool, |all| all.last() == Some(&own_frame));
        left.retain(|frame| *frame == own_frame || in_words(frame) != REPORT);
        assert_eq!(left, std::slice::from_ref(&own_frame), "{mode:?}");
        let mut second =
            AfPacketPort::open(&laboratory.tester, &AfPacketConfig::named("ya"), Clock::calibrated()).unwrap();
        send(&mut second, &mut laboratory.pool, std::slice::from_ref(&own_frame));
        let mut left = receive(&mut laboratory.behind, &mut laboratory.pool, |all| all.last() == Some(&own_frame));
        left.retain(|frame| *frame == own_frame || in_words(frame) != REPORT);
        assert_eq!(left, [own_frame], "nothing was forwarded");
    }
}

/// The process that the next test starts. Run as a test, it does nothing.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn holds_until_it_is_killed() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let _mute = Mute::attach(&Netns::current().unwrap(), "xa", true).unwrap();
    std::io::stderr().write_all(b"!").unwrap();
    // Nothing is ever written to this pipe.
    let _ = std::io::stdin().read(&mut [0]);
}

const HOLD: &str = "NATMETER_TEST_HOLDS_A_MUTE";

#[test]
#[ignore = "needs root: run by ./check as root"]
fn after_a_kill_the_kernel_is_as_before() {
    let mut laboratory = Laboratory::new();
    let mut own = laboratory.packet_port();
    let before = laboratory.configuration();
    let mut holder = laboratory.tester.command(std::env::current_exe().unwrap(), Sight::Network);
    holder.args(["--ignored", "--exact", "--nocapture", "mute::holds_until_it_is_killed"]).env(HOLD, "1");
    holder.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut sign = [0];
    holder.stderr.as_mut().unwrap().read_exact(&mut sign).unwrap();
    assert_eq!(sign, *b"!");
    assert_eq!(laboratory.reactions(&mut own), [""; 0]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(laboratory.configuration(), before);
    assert_eq!(laboratory.reactions(&mut own), ALL);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn an_interface_that_is_not_there_is_an_error() {
    let error = Mute::attach(&quiet_namespace(), "xa", true).unwrap_err().to_string();
    assert!(error.contains("xa") && error.contains("no interface has this name"), "{error}");
}
