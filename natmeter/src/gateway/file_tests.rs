//! A gateway between capture files: the fate of each packet, and complete counters.

use super::*;
use gateway::file::{Reader, Writer};
use std::fmt::Write;
use std::fs::File;
use wire::checksum::Sum;
use wire::header::put16;

const LEFT: &str = "020000000101 020000000102";
const RIGHT: &str = "020000000201 020000000202";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

/// A frame with IPv4: Ethernet addresses, protocol, flags and fragment offset, source, destination, payload.
fn ip4(to_from: &str, protocol: u8, fragment: u16, [src, dst]: [[u8; 4]; 2], payload: &[u8]) -> Vec<u8> {
    let mut f = hex(&format!("{to_from} 0800 45 00 0000 0009 0000 40 00 0000"));
    f[23] = protocol;
    put16(&mut f, 16, 20 + payload.len() as u16);
    put16(&mut f, 20, fragment);
    f.extend([src, dst].concat());
    let sum = Sum::default().bytes(&f[14..34]).checksum();
    f[24..26].copy_from_slice(&sum);
    f.extend(payload);
    f
}

fn ping(to_from: &str, ends: [[u8; 4]; 2]) -> Vec<u8> {
    let mut message = hex("0800 0000 1234 0001 6162636465666768");
    let sum = Sum::default().bytes(&message).checksum();
    message[2..4].copy_from_slice(&sum);
    ip4(to_from, 1, 0, ends, &message)
}

/// Classic pcap, written by hand: time in seconds, frame.
fn pcap(path: &Path, frames: &[(u32, Vec<u8>)]) {
    let header: [u32; 6] = [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = header.iter().flat_map(|w| w.to_le_bytes()).collect();
    for (seconds, frame) in frames {
        let len = frame.len() as u32;
        bytes.extend([*seconds, 0, len, len].iter().flat_map(|w| w.to_le_bytes()));
        bytes.extend(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

/// Packets that left on both sides, and the counters as JSON.
struct Outcome {
    left: Vec<Vec<u8>>,
    right: Vec<Vec<u8>>,
    told: serde_json::Value,
}

impl Outcome {
    fn count(&self, name: &str) -> u64 {
        self.told[name].as_u64().or(self.told["events"][name].as_u64()).unwrap_or(0)
    }
}

/// Runs a gateway with this file (`FOLDER` stands for a new folder) and these packets, and simulates one more minute.
fn pass_files(file: &str, left: &[(u32, Vec<u8>)], right: &[(u32, Vec<u8>)]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("softwires.txt"), "2001:db8:b4::1 192.0.2.1 5/6\n").unwrap();
    std::fs::write(at("g.toml"), file.replace("FOLDER", &folder.path().display().to_string())).unwrap();
    let gateway = scenario::gateway::read(&at("g.toml"), tech::ALL).unwrap_or_else(|e| panic!("{e}"));
    pcap(&at("left.pcap"), left);
    pcap(&at("right.pcap"), right);
    let mut files = Files {
        inputs: ["left.pcap", "right.pcap"].map(|name| Some(Reader::open(&at(name)).unwrap())),
        outputs: ["to-left.pcap", "to-right.pcap"]
            .map(|name| Some(Writer::new(File::create(at(name)).unwrap(), &at(name)).unwrap())),
    };
    let told = replay(&gateway, &mut files, 1, 60_000_000_000, true).unwrap();
    drop(files);
    let read = |name: &str| {
        let mut reader = Reader::open(&at(name)).unwrap();
        std::iter::from_fn(|| reader.read().unwrap()).map(|packet| packet.bytes).collect()
    };
    Outcome { left: read("to-left.pcap"), right: read("to-right.pcap"), told: serde_json::from_str(&told).unwrap() }
}

fn file(left: &str, right: &str, technology: &str) -> String {
    let mut text = String::new();
    for (name, keys, last) in [("left", left, 1), ("right", right, 2)] {
        let _ = writeln!(text, "[gateway.{name}]\n{keys}\nnext-hop = \"02:00:00:00:0{last}:02\"");
    }
    text + technology
}

const LW4O6: &str = "[technology.lw4o6]\nlwaftr = \"2001:db8:af::1\"\nsoftwires = \"FOLDER/softwires.txt\"\n";
const NAT44: &str = "[technology.nat44]\ninside = \"10.0.0.0/8\"\npool = \"198.51.100.10\"\n";
const AFTR_SIDE: &str = "address = \"2001:db8:af::1\"";
const INSIDE: &str = "address = \"10.0.0.1\"";
const OUTSIDE: &str = "address = \"198.51.100.1\"";

/// Two fragments of a UDP datagram from 203.0.113.9 port 53 to 192.0.2.1 port 5200.
fn fragments() -> [Vec<u8>; 2] {
    let ends = [[203, 0, 113, 9], [192, 0, 2, 1]];
    let datagram = [hex("0035 1450 0198 0000"), vec![b'y'; 400]].concat();
    [ip4(RIGHT, 17, 0x2000, ends, &datagram[..200]), ip4(RIGHT, 17, 200 / 8, ends, &datagram[200..])]
}

/// RFC 7596, section 8.2: a later fragment waits for the first. Regression: it was counted as dropped.
#[test]
fn a_fragment_that_waits_is_not_dropped() {
    let [first, second] = fragments();
    let outcome = pass_files(&file(AFTR_SIDE, OUTSIDE, LW4O6), &[], &[(0, second.clone()), (1, first)]);
    let counted = ["received", "sent", "dropped", "fragment-held"].map(|name| outcome.count(name));
    assert_eq!((counted, outcome.left.len()), ([2, 2, 0, 1], 2), "{}", outcome.told);
    let outcome = pass_files(&file(AFTR_SIDE, OUTSIDE, LW4O6), &[], &[(0, second)]);
    let counted = ["received", "sent", "dropped", "fragment-held", "fragment-late"].map(|name| outcome.count(name));
    assert_eq!(counted, [1, 0, 1, 1, 1], "its first fragment never came: {}", outcome.told);
}

/// RFC 2473, section 7.2: fragments of a tunnel packet leave as the reassembled packet.
#[test]
fn a_fragment_that_is_reassembled_is_not_dropped() {
    let payload = [hex("1450 0035 0590 0000"), vec![b'x'; 1416]].concat();
    let inner = ip4(LEFT, 17, 0, [[192, 0, 2, 1], [203, 0, 113, 9]], &payload)[14..].to_vec();
    let part = |offset: usize, more: u16, b: &[u8]| {
        let mut f = hex(&format!("{LEFT} 86dd 60000000 0000 2c 40"));
        put16(&mut f, 18, 8 + b.len() as u16);
        f.extend(hex("20010db800b400000000000000000001 20010db800af00000000000000000001 04 00 0000 00000007"));
        put16(&mut f, 56, offset as u16 | more);
        f.extend(b);
        f
    };
    let parts = [(0, part(0, 1, &inner[..1232])), (1, part(1232, 0, &inner[1232..]))];
    let outcome = pass_files(&file(AFTR_SIDE, OUTSIDE, LW4O6), &parts, &[]);
    let counted = ["received", "sent", "dropped", "reassembled"].map(|name| outcome.count(name));
    assert_eq!((counted, outcome.right.len()), ([2, 1, 0, 1], 1), "{}", outcome.told);
    assert_eq!(outcome.right[0].len(), 14 + inner.len());
}

/// Octets of the headers between the MTU of the narrower link and a segment (RFC 791, 8200, 2473, 9293).
#[test]
fn the_mss_that_hosts_announce_fits_both_links() {
    let nat64 = "[technology.nat64]\npref64 = \"2001:db8:64::/96\"\npool = \"198.51.100.10\"\n";
    let xlat =
        "[technology.464xlat]\npref64 = \"2001:db8:64::/96\"\nclat = \"2001:db8:1::/96\"\npool = \"198.51.100.10\"\n";
    let nat66 = "[technology.nat66]\npool = \"2001:db8:2::/120\"\n";
    let side = |mtu: u16, ip: &str| format!("address = \"{ip}\"\nmtu = {mtu}");
    let [v4, v6, other4, other6] = ["10.0.0.1", "2001:db8:af::1", "198.51.100.1", "2001:db8:bf::1"];
    for (technology, plays, [left, right], clamped) in [
        (NAT44, "pe", [side(1500, v4), side(1400, other4)], 1400 - 40),
        (NAT44, "pe", [side(1300, v4), side(1400, other4)], 1300 - 40),
        (nat64, "pe", [side(1500, v6), side(1500, other4)], 1500 - 60),
        (nat64, "pe", [side(1500, v6), side(1450, other4)], 1450 - 40),
        (xlat, "ce", [side(1500, v4), side(1492, other6)], 1492 - 60),
        (xlat, "dual", [side(1500, v4), side(1492, other4)], 1492 - 40),
        (nat66, "pe", [side(1500, v6), side(1400, other6)], 1400 - 60),
        (LW4O6, "pe", [side(1500, v6), side(1500, other4)], 1500 - 80),
    ] {
        let largest = |mss: &str| {
            let text = format!("[gateway]\nplays = \"{plays}\"\n{mss}\n{}", file(&left, &right, technology));
            scenario::gateway::parse("g.toml", &text, tech::ALL).map(|g| g.largest_mss).map_err(|e| e.to_string())
        };
        assert_eq!(largest("tcp-mss = \"clamp\""), Ok(Some(clamped)), "{technology}");
        assert_eq!((largest("tcp-mss = 1220"), largest("")), (Ok(Some(1220)), Ok(None)));
        assert!(largest("tcp-mss = 535").is_err_and(|e| e.contains("write \"clamp\", or ")));
    }
    let syn = hex("1388 0050 00000001 00000000 6002 ffff 0000 0000 0204 05b4");
    let syn = ip4(LEFT, 6, 0, [[10, 0, 0, 2], [203, 0, 113, 9]], &syn);
    let text = format!("[gateway]\ntcp-mss = 1220\n{}", file(INSIDE, OUTSIDE, NAT44));
    let outcome = pass_files(&text, &[(0, syn)], &[]);
    assert_eq!((&outcome.right[0][54..], outcome.count("mss-lowered")), (&hex("0204 04c4")[..], 1), "{}", outcome.told);
}

/// A pool's addresses are the customers': a query from outside that no customer began finds no mapping and is filtered (RFC 4787,
/// section 5; RFC 5508, section 3.1 lets those of customers pass). The gateway's own addresses are a host's (RFC 1122, section
/// 3.2.2.6).
#[test]
fn pings_to_the_gateway_are_answered_and_those_to_its_pool_are_not() {
    let outside = [203, 0, 113, 9];
    let pings = [(0, ping(RIGHT, [outside, [198, 51, 100, 1]])), (1, ping(RIGHT, [outside, [198, 51, 100, 10]]))];
    let outcome = pass_files(&file(INSIDE, OUTSIDE, NAT44), &[], &pings);
    let counted = ["answered", "dropped", "no-session", "sent"].map(|name| outcome.count(name));
    assert_eq!((counted, outcome.right.len()), ([1, 1, 1, 1], 1), "{}", outcome.told);
    assert_eq!(outcome.right[0][26..34], [198, 51, 100, 1, 203, 0, 113, 9]);
}

/// 60,000 sessions, and as many again when their ports have rested, but not a minute later.
#[test]
fn between_files_no_session_ends_late() {
    let flow = |net: u8, i: u32| {
        let [.., high, low] = (2000 + i % 30_000).to_be_bytes();
        let ends = [[10, net, 0, (2 + i / 30_000) as u8], [203, 0, 113, 9]];
        ip4(LEFT, 17, 0, ends, &[high, low, 0x0f, 0xa0, 0, 12, 0, 0, 1, 2, 3, 4])
    };
    let all = |at: u32, net: u8| (0..60_000).map(move |i| (at + i / 30_000, flow(net, i)));
    let technology = format!("{NAT44}udp-timeout = \"120 s\"\nsession-quota = \"none\"\n");
    let left: Vec<_> = all(0, 1).chain(all(2 + 120 + 241, 2)).collect();
    let outcome = pass_files(&file(INSIDE, OUTSIDE, &technology), &left, &[]);
    let counted = ["sent", "no-port", "session-expired"].map(|name| outcome.count(name));
    assert_eq!(counted, [120_000, 0, 60_000], "{}", outcome.told);
}

#[test]
fn a_side_in_a_vlan_receives_and_sends_frames_with_its_tag() {
    let tagged = |tag: [u8; 4], f: &[u8]| [&f[..12], &tag, &f[12..]].concat();
    let from_customer = |port: u8| {
        let ends = [[10, 0, 0, 2], [203, 0, 113, 9]];
        ip4(LEFT, 17, 0, ends, &[&[0x13, port, 0x0f, 0xa0, 0, 12, 0, 0][..], b"test"].concat())
    };
    let left = [
        (0, tagged([0x81, 0, 0x20, 100], &from_customer(1))),
        (1, tagged([0x81, 0, 0, 101], &from_customer(2))),
        (2, from_customer(3)),
    ];
    let inside = format!("{INSIDE}\nvlan = 100");
    let outcome = pass_files(&file(&inside, OUTSIDE, NAT44), &left, &[]);
    let counted = ["received", "sent", "dropped", "other-vlan"].map(|name| outcome.count(name));
    assert_eq!(counted, [3, 1, 0, 2], "{}", outcome.told);
    assert_eq!(outcome.right[0][12..14], [8, 0], "the other side has no VLAN");
    let outside = format!("{OUTSIDE}\nvlan = 4094");
    let outcome = pass_files(&file(&inside, &outside, NAT44), &left, &[]);
    assert_eq!(outcome.right[0][12..18], [0x81, 0, 0x0f, 0xfe, 8, 0]);
}

#[test]
fn neighbours_are_answered_inside_the_vlan() {
    let arp =
        "ffffffffffff 020000000102 8100 0064 0806 0001 0800 06 04 0001 020000000102 0a000002 000000000000 0a000001";
    let inside = format!("{INSIDE}\nvlan = 100");
    let outcome = pass_files(&file(&inside, OUTSIDE, NAT44), &[(0, hex(arp))], &[]);
    let reply = hex("020000000102 020000000101 8100 0064 0806 0001 0800 06 04 0002 020000000101 0a000001");
    assert_eq!(outcome.left[0][..reply.len()], reply);
}
