//! The gallery of faults: each that a gateway can have, what a device of known truth does to have it, and the words by which the
//! tester must name it. Independent of the code that builds and judges frames.

use super::{DESTINATION_PORT, SOURCE_PORT, UDP_CHECKSUM, sum_after};
use plane::{DynFunction, Input, Packet, Side, Spare, Verdict, Wrapper};
use std::collections::{HashMap, VecDeque};

/// A fault of the gallery.
#[derive(Debug)]
pub struct KnownFault {
    /// By which scenarios name it.
    pub name: &'static str,
    /// What it concerns.
    pub kind: &'static str,
    /// Tables of a scenario with a device that can have it.
    pub device: &'static str,
    /// What the device does.
    pub does: &'static str,
    /// How a real gateway got it; empty if no public report is known.
    pub origin: &'static str,
    /// Words that the tester must print.
    pub prints: &'static str,
    /// Side of the frames that meet it; `None`: both.
    from: Option<Side>,
    act: fn(&mut Meeting<'_>) -> Fate,
}

/// A translated frame that meets a fault.
struct Meeting<'a> {
    /// As it is sent.
    frame: &'a mut Vec<u8>,
    /// As it came in.
    before: &'a [u8],
    /// Number of its flow from this side, in the order of their first frames.
    flow: usize,
    /// Frames of this flow from this side, with this one.
    nth: u64,
    /// Frames from this side, with this one.
    count: u64,
    /// Source ports after the translation, by flow.
    ports: &'a [u16],
}

enum Fate {
    Sent,
    Lost,
    /// Sent, and then this one.
    With(Vec<u8>),
    /// This one is sent to where it came from.
    Back(Vec<u8>),
    /// Sent after [`LATE`].
    Late,
    /// Sent after the next one.
    Reordered,
}

use Fate::{Back, Late, Lost, Reordered, Sent, With};
use Side::{Customer, Internet};

macro_rules! faults {
    ($($kind:literal of $device:ident {
        $($name:literal $from:expr, $does:literal, $origin:literal, $prints:literal, $act:expr;)+
    })+) => {
        &[$($(KnownFault {
            name: $name, kind: $kind, device: $device, does: $does, origin: $origin, prints: $prints, from: $from, act: $act
        },)+)+]
    };
}

const NAT44: &str = "[dut.known-truth]";
const NAT64: &str = r#"[technology.nat64]
pref64 = "2001:2:0:1000::/96"
pool = "198.19.0.1"
[dut.known-truth]"#;
const AFTR: &str = r#"[technology.ds-lite]
b4 = "2001:2:0:4000::1"
aftr = "2001:2:0:100::2"
pool = "198.19.0.1"
[dut.known-truth]
plays = "pe""#;
const LWB4: &str = r#"[technology.lw4o6]
lwaftr = "2001:2:0:100::2"
b4 = "2001:2:0:4000::1"
ipv4 = "198.19.0.1"
[dut.known-truth]
plays = "ce""#;
const MAP_E_CE: &str = r#"[technology.map-e]
br = "2001:2:0:100::2"
ipv6-prefix = "2001:db8:1::/53"
ipv4-prefix = "203.0.113.0/24"
ea-bits = 11
psid-offset = 0
ce = 3
[dut.known-truth]
plays = "ce""#;

const MAP_T_CE: &str = r#"[technology.map-t]
dmr = "2001:2:0:1000::/96"
ipv6-prefix = "2001:db8:1::/53"
ipv4-prefix = "203.0.113.0/24"
ea-bits = 11
psid-offset = 0
ce = 3
[dut.known-truth]
plays = "ce""#;

/// All faults, by kind. Offsets are those of the headers that the device sends.
pub const FAULTS: &[KnownFault] = faults! {
    "header" of NAT44 {
    "untranslated" Some(Customer), "sends frames on as they came, but for Ethernet addresses",
        "some packets left a host with their private source address (PurpleI2P/i2pd#1859)",
        "from outside the pool", untranslate;
    "first-frame-untranslated" Some(Customer), "sends the first frame of each flow on as it came", "",
        "from outside the pool", |m| if m.nth == 1 { untranslate(m) } else { Sent };
    "version-nibble" None, "writes IP version 5", "", "with a wrong header", |m| m.write(14, 0x55);
    "tos-changed" None, "sets the TOS to 0xb8",
        "a relay set the DSCP of all packets to 0 (coturn/coturn#9)", "with another TOS", |m| m.write16(14, 0x45b8);
    "df-turned" None, "sets DF where it is clear, and clears it where it is set", "", "with a wrong DF", |m| m.write16(20, m.read16(20) ^ 0x4000);
    "identification-constant" None, "sends the same identification in all packets",
        "translated packets have identification 0 with DF clear (yanet-platform/yanet2#1875)", "that all have the same identification", |m| m.write16(18, 7);
    "ttl-kept" None, "does not decrement the TTL",
        "a comparison with the wrong constant kept the TTL of all forwarded packets (xdp-project/xdp-tools#586)", "a router would have decremented it",
        |m| m.write16(22, m.read16(22) + 0x0100);
    "ttl-one" None, "sends all packets with TTL 1", "", "hop limit 1", |m| m.write16(22, 0x0111);
    "ttl-differs" None, "decrements the TTL of every second frame twice", "", "with another hop limit than most",
        |m| m.write16(22, m.read16(22) - 0x0100 * (m.count % 2) as u16);
    "destination-mac" None, "sends frames to another Ethernet address", "", "to another Ethernet address", |m| m.write(5, 0x77);
    "broadcast" None, "sends frames to all Ethernet addresses", "", "to another Ethernet address",
        |m| { m.frame[..6].fill(0xff); Sent };
    "protocol" None, "writes protocol TCP", "", "with a wrong header", |m| m.write16(22, m.read16(22) & 0xff00 | 6);
    "total-length" None, "writes a total length that is 1 too large", "", "with a wrong header", |m| m.raise_in_header(16);
    "udp-length" None, "writes a UDP length that is 1 too large", "", "with a wrong header", |m| m.raise(38);
    }
    "checksum" of NAT44 {
    "udp-checksum-unchanged" None, "does not update the UDP checksum",
        "translated TCP and UDP packets had wrong checksums on one processor (openwrt/packages#24689)", "with a bad checksum",
        |m| m.write16(UDP_CHECKSUM, u16::from_be_bytes([m.before[UDP_CHECKSUM], m.before[UDP_CHECKSUM + 1]]));
    "udp-checksum-zero" None, "sends UDP checksum 0",
        "a zero checksum passed a translator that must compute one (yanet-platform/yanet#303)", "with a bad checksum",
        |m| m.write16(UDP_CHECKSUM, 0);
    "udp-checksum-zero-for-ffff" None, "sends UDP checksum 0 where it computes 0xffff", "", "with a bad checksum",
        |m| if m.read16(UDP_CHECKSUM) == 0xffff { m.write16(UDP_CHECKSUM, 0) } else { Sent };
    "udp-checksum-carry" None, "loses a carry of the one's complement sum", "", "with a bad checksum",
        |m| m.write16(UDP_CHECKSUM, m.read16(UDP_CHECKSUM).wrapping_sub(1));
    "ip-checksum" None, "does not update the checksum of the IPv4 header", "", "with a bad checksum", |m| m.write(24, m.frame[24] ^ 1);
    "udp-checksum-one-in-fifty" None, "sends a wrong UDP checksum in every 50th frame", "", "with a bad checksum",
        |m| if m.count.is_multiple_of(50) { m.write16(UDP_CHECKSUM, m.read16(UDP_CHECKSUM) ^ 0x0100) } else { Sent };
    }
    "mapping" of NAT44 {
    "destination-port" None, "sends frames to the next port", "", "with a wrong port", |m| m.raise(DESTINATION_PORT);
    "port-zero" None, "sends frames to port 0", "ports became 0 in translated packets (NICMx/Jool#332)", "with a wrong port",
        |m| m.write_sum(DESTINATION_PORT, 0);
    "one-destination-port" None, "sends the frames of one connection to the next port", "", "with a wrong port",
        |m| if m.flow == 7 { m.raise(DESTINATION_PORT) } else { Sent };
    "source-port-back" Some(Internet), "sends answers from the next port", "", "with a wrong port", |m| m.raise(SOURCE_PORT);
    "destination-address" None, "sends frames to the next address", "", "with a wrong address", |m| m.raise(32);
    "source-address-back" Some(Internet), "sends answers from the next address", "", "with a wrong address", |m| m.raise(28);
    "port-80" Some(Customer), "translates to port 80", "", "from outside the pool", |m| m.write_sum(SOURCE_PORT, 80);
    "outside-pool" Some(Customer), "translates to an address that is not in its pool", "", "from outside the pool", |m| m.raise(28);
    "mapping-changes" Some(Customer), "has another outside port for every second frame of a connection",
        "SYN and SYN-ACK of one connection met different sessions (FDio/vpp#2749)", "with a wrong port",
        |m| if m.nth.is_multiple_of(2) { m.raise(SOURCE_PORT) } else { Sent };
    "mapping-shared" Some(Customer), "gives every second connection the outside port of the one before",
        "two connections got one four-tuple because the port was chosen by source alone (ironcore-dev/dpservice#208)",
        "with a wrong port", |m| m.write_sum(SOURCE_PORT, m.ports[m.flow & !1]);
    }
    "table" of NAT44 {
    "half-forgotten" Some(Internet), "forgets every second connection", "", "did not arrive",
        |m| if m.flow.is_multiple_of(2) { Lost } else { Sent };
    "table-of-100" Some(Customer), "has a table of 100 connections, and drops frames of others",
        "a full table took no new connection, because expired ones stayed (FDio/vpp#3258)", "did not arrive",
        |m| if m.flow >= 100 { Lost } else { Sent };
    "one-connection-lost" None, "drops all frames of one connection", "", "did not arrive",
        |m| if m.flow == 7 { Lost } else { Sent };
    "first-frame-lost" None, "drops the first frame of each flow", "", "did not arrive",
        |m| if m.nth == 1 { Lost } else { Sent };
    }
    "loss" of NAT44 {
    "drops-all" None, "drops all frames", "", "did not arrive", |_| Lost;
    "ten-in-a-row-lost" None, "drops ten of each hundred frames, in a row", "", "did not arrive",
        |m| if m.count % 100 < 10 { Lost } else { Sent };
    "drops-right-to-left" Some(Internet), "drops all frames right to left", "", "frames right to left were right", |_| Lost;
    "one-in-ten-lost" None, "drops every tenth frame", "", "did not arrive",
        |m| if m.count.is_multiple_of(10) { Lost } else { Sent };
    "policer-right-to-left" Some(Internet), "drops a third of the frames right to left", "", "frames right to left were right",
        |m| if m.count.is_multiple_of(3) { Lost } else { Sent };
    }
    "order" of NAT44 {
    "duplicated" None, "sends all frames twice", "", "duplicate", |m| With(m.frame.clone());
    "one-in-twenty-duplicated" None, "sends every 20th frame twice", "", "duplicate",
        |m| if m.count.is_multiple_of(20) { With(m.frame.clone()) } else { Sent };
    "reordered" None, "sends every 50th frame after the next one",
        "hardware offloading changed the order of UDP packets (openwrt/openwrt#18214)", "after a later frame",
        |m| if m.count % 50 == 25 { Reordered } else { Sent };
    }
    "time" of NAT44 {
    "late" None, "sends all frames 200 ms late", "", "of an earlier trial", |_| Late;
    "first-frame-late" Some(Customer), "sends the first frame of each flow 200 ms late", "", "of an earlier trial",
        |m| if m.nth == 1 { Late } else { Sent };
    }
    "size" of NAT44 {
    "trailer" None, "adds a trailer of four octets",
        "octets behind the packet were sent as part of the frame (OpenFastPath/ofp#197)", "with a trailer",
        |m| { m.frame.extend([0xde, 0xad, 0xbe, 0xef]); Sent };
    "mtu" None, "drops frames of more than 100 octets", "", "did not arrive",
        |m| if m.frame.len() > 100 { Lost } else { Sent };
    "truncated" None, "truncates frames by one octet", "", "of wrong length", |m| { m.frame.pop(); Sent };
    "truncated-to-60" None, "truncates frames to 60 octets", "", "of wrong length", |m| { m.frame.truncate(60); Sent };
    "payload-bit" None, "turns one bit of the last octet", "", "with a changed payload", |m| {
        if let Some(last) = m.frame.last_mut() { *last ^= 1; }
        Sent
    };
    "fragmented" None, "sends packets in two fragments", "", "fragments", fragment;
    }
    "ICMP" of NAT44 {
    "icmp-error" None, "drops frames, and sends an ICMP error about each", "", "ICMP errors", |m| Back(icmp_error(m.before));
    "icmp-error-of-some-flows" None, "drops frames of 2 % of the flows, and sends an ICMP error about each", "", "ICMP errors",
        |m| if m.flow.is_multiple_of(50) { Back(icmp_error(m.before)) } else { Sent };
    }
    "link" of NAT44 {
    "vlan-tag" None, "sends frames with a VLAN tag",
        "a packet that had a tag got a second one (ipdk-io/networking-recipe#374)", "with a wrong VLAN tag",
        |m| { m.frame.splice(12..12, [0x81, 0x00, 0x00, 0xc8]); Sent };
    "priority-tag" None, "sends frames with the tag of VLAN 0", "", "with a wrong VLAN tag",
        |m| { m.frame.splice(12..12, [0x81, 0, 0, 0]); Sent };
    "returned" Some(Customer), "sends frames back to where they came from",
        "a NAT64 sent copies of packets on the interface that they came from (FDio/vpp#3575)", "came back on the left",
        |m| Back(m.before.to_vec());
    }
    "NAT64" of NAT64 {
    "nat64-udp-checksum-zero" Some(Internet), "sends UDP checksum 0 over IPv6",
        "MAP border relays left a zero checksum as it was (ayourtch/nat46#18)", "with a bad checksum", |m| m.write16(60, 0);
    "nat64-udp-checksum-unchanged" Some(Customer), "keeps the UDP checksum over IPv6", "", "with a bad checksum",
        |m| m.write16(UDP_CHECKSUM, u16::from_be_bytes([m.before[60], m.before[61]]));
    "nat64-traffic-class" Some(Internet), "sets the traffic class to 0xb8",
        "a translator set the TOS of all packets to 0 (ayourtch/nat46#56)", "with another TOS or traffic class",
        |m| m.write16(14, 0x6b80);
    "nat64-flow-label" Some(Internet), "writes a flow label", "", "with a wrong flow label", |m| m.write16(16, 7);
    "nat64-hop-limit-kept" Some(Internet), "copies the TTL to the hop limit", "", "a router would have decremented it",
        |m| m.write(21, m.before[22]);
    "nat64-payload-length" Some(Internet), "writes a payload length that is 1 too large", "", "with a wrong header",
        |m| m.raise_in_header(18);
    "nat64-df" Some(Customer), "sets DF in small packets",
        "a translator set DF in all packets (apalrd/tayga#7)", "with another DF than RFC 7915", |m| m.write16(20, 0x4000);
    "nat64-prefix" Some(Internet), "embeds IPv4 addresses in another prefix", "", "with a wrong address",
        |m| m.raise_in_header(24);
    "nat64-atomic-fragment" Some(Internet), "adds a fragment header to packets that are whole",
        "packets with DF clear got a fragment header, as RFC 6145 wanted (NICMx/Jool#120)", "fragments",
        |m| {
            m.frame.splice(54..54, [17, 0, 0, 0, 0, 0, 0, 9]);
            m.frame[20] = 44;
            m.write16(18, m.read16(18) + 8)
        };
    "nat64-mtu" Some(Internet), "drops packets of more than 100 octets to IPv6", "", "frames right to left were right",
        |m| if m.frame.len() > 100 { Lost } else { Sent };
    }
    "tunnel" of AFTR {
    "outer-source" Some(Internet), "sends from the next outer address",
        "encapsulated packets came from the address :: (oxidecomputer/dendrite#323)", "with a wrong address", |m| m.raise_in_header(36);
    "outer-destination" Some(Internet), "sends to the next outer address", "", "with a wrong address", |m| m.raise_in_header(52);
    "outer-length" Some(Internet), "writes an outer payload length that is 1 too large", "", "with a wrong header",
        |m| m.raise_in_header(18);
    "outer-hop-limit" Some(Internet), "sends every fourth packet with another outer hop limit", "",
        "with another hop limit than most", |m| m.write(21, m.frame[21].wrapping_sub(m.count.is_multiple_of(4).into()));
    "outer-traffic-class" Some(Internet), "sets the outer traffic class", "", "with another TOS or traffic class",
        |m| m.write16(14, 0x6b80);
    "inner-ttl-kept" Some(Internet), "does not decrement the inner TTL", "", "a router would have decremented it",
        |m| m.write16(62, m.read16(62) + 0x0100);
    "inner-df" Some(Internet), "turns DF of the inner header", "", "with a wrong DF", |m| m.write16(60, m.read16(60) ^ 0x4000);
    "inner-checksum" Some(Internet), "sends a wrong checksum in the inner IPv4 header", "", "with a bad checksum",
        |m| m.write(64, m.frame[64] ^ 1);
    "inner-destination" Some(Internet), "sends to the next inner address", "", "with a wrong address", |m| m.raise(72);
    "not-encapsulated" Some(Internet), "sends packets without the outer header", "", "with a wrong header",
        |m| { m.frame.drain(14..54); m.frame[12..14].copy_from_slice(&[8, 0]); Sent };
    }
    "lw4o6" of LWB4 {
    "softwire-address" Some(Customer), "sends from the next softwire's address", "", "with a wrong address",
        |m| m.raise_in_header(36);
    "softwire-port" Some(Customer), "translates to ports of another softwire", "", "from outside the pool",
        |m| m.write_sum(74, m.read16(74) ^ 0x8000);
    }
    "MAP-E" of MAP_E_CE {
    "interface-identifier" Some(Customer), "sends with another interface identifier", "", "with a wrong address",
        |m| m.raise_in_header(36);
    "port-set" Some(Customer), "translates to ports of another set", "", "from outside the pool",
        |m| m.write_sum(74, m.read16(74) ^ 0x8000);
    }
    "MAP-T" of MAP_T_CE {
    "map-t-source" Some(Customer), "sends with another interface identifier", "", "with a wrong address",
        |m| m.raise(36);
    "map-t-dmr" Some(Customer), "embeds destinations in another prefix", "", "with a wrong address", |m| m.raise(48);
    "map-t-port-set" Some(Customer), "translates to ports of another set", "", "from outside the pool",
        |m| m.write_sum(54, m.read16(54) ^ 0x8000);
    "map-t-hop-limit-kept" Some(Customer), "copies the TTL to the hop limit", "", "a router would have decremented it",
        |m| m.write(21, m.before[22]);
    "map-t-udp-checksum-unchanged" Some(Customer), "keeps the UDP checksum over IPv6", "", "with a bad checksum",
        |m| m.write16(60, u16::from_be_bytes([m.before[UDP_CHECKSUM], m.before[UDP_CHECKSUM + 1]]));
    }
};

impl KnownFault {
    /// The fault of this name.
    pub fn named(name: &str) -> Option<&'static KnownFault> {
        FAULTS.iter().find(|fault| fault.name == name)
    }
}

impl Meeting<'_> {
    fn read16(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.frame[at], self.frame[at + 1]])
    }

    fn write(&mut self, at: usize, octet: u8) -> Fate {
        self.frame[at] = octet;
        Sent
    }

    /// The checksum of an IPv4 header around it follows.
    fn write16(&mut self, at: usize, new: u16) -> Fate {
        let old = self.read16(at);
        self.frame[at..at + 2].copy_from_slice(&new.to_be_bytes());
        let udp = udp_at(self.frame).unwrap_or(0);
        if (udp.saturating_sub(20)..udp).contains(&at) && self.frame[udp - 20] == 0x45 {
            let sum = sum_in_header(sum_after(self.read16(udp - 10), old, new));
            self.frame[udp - 10..udp - 8].copy_from_slice(&sum.to_be_bytes());
        }
        Sent
    }

    /// As [`Meeting::write16`]; the UDP checksum follows, too.
    fn write_sum(&mut self, at: usize, new: u16) -> Fate {
        if let Some(udp) = udp_at(self.frame) {
            let sum = sum_after(self.read16(udp + 6), self.read16(at), new);
            self.write16(udp + 6, sum);
        }
        self.write16(at, new)
    }

    fn raise_in_header(&mut self, at: usize) -> Fate {
        self.write16(at, self.read16(at).wrapping_add(1))
    }

    /// One higher: a port, or the low half of an address.
    fn raise(&mut self, at: usize) -> Fate {
        self.write_sum(at, self.read16(at).wrapping_add(1))
    }
}

/// Offset of UDP behind IPv4, IPv6, or IPv4 in IPv6.
fn udp_at(frame: &[u8]) -> Option<usize> {
    let at = match (frame.get(12..14)?, frame.get(20)?) {
        ([8, 0], _) => 34,
        ([0x86, 0xdd], 4) => 74,
        ([0x86, 0xdd], _) => 54,
        _ => return None,
    };
    (frame.len() >= at + 8).then_some(at)
}

fn untranslate(m: &mut Meeting<'_>) -> Fate {
    m.frame.truncate(14);
    m.frame.extend(&m.before[14..]);
    Sent
}

/// Payload of the first fragment.
const PIECE: usize = 16;

fn fragment(m: &mut Meeting<'_>) -> Fate {
    let mut second = m.frame[..34].to_vec();
    second.extend(&m.frame[34 + PIECE..]);
    m.frame.truncate(34 + PIECE);
    for (frame, offset) in [(&mut *m.frame, 0x2000), (&mut second, PIECE as u16 / 8)] {
        let len = frame.len() - 14;
        frame[16..18].copy_from_slice(&(len as u16).to_be_bytes());
        frame[20..22].copy_from_slice(&u16::to_be_bytes(offset));
        sum_up(frame, 14..34, 24);
        frame.resize(frame.len().max(60), 0);
    }
    With(second)
}

/// Administratively prohibited, from the destination of the packet that it is about (RFC 792, RFC 1812, section 5.2.7.1).
fn icmp_error(about: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 70];
    frame[..6].copy_from_slice(&about[6..12]);
    frame[6..12].copy_from_slice(&about[..6]);
    frame[12..24].copy_from_slice(&[0x08, 0, 0x45, 0, 0, 56, 0, 1, 0, 0, 64, 1]);
    frame[26..30].copy_from_slice(&about[30..34]);
    frame[30..34].copy_from_slice(&about[26..30]);
    frame[34..36].copy_from_slice(&[3, 13]);
    frame[42..].copy_from_slice(&about[14..42]);
    sum_up(&mut frame, 14..34, 24);
    sum_up(&mut frame, 34..70, 36);
    frame
}

/// Zero is the checksum of a header where it would be that of no UDP datagram.
fn sum_in_header(sum: u16) -> u16 {
    if sum == 0xffff { 0 } else { sum }
}

/// Writes the checksum of these octets among them (RFC 1071).
fn sum_up(frame: &mut [u8], octets: std::ops::Range<usize>, at: usize) {
    frame[at..at + 2].fill(0);
    let words = frame[octets].chunks(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let sum = sum_in_header(words.fold(0xffff, |sum, word| sum_after(sum, 0, word)));
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// A function with one fault.
pub struct Faulty {
    fault: &'static KnownFault,
    /// One of so many frames meets the fault.
    every: u64,
    met: u64,
    count: [u64; 2],
    /// Number of each flow, by side, addresses and ports, and its frames.
    flows: [HashMap<Vec<u8>, (usize, u64)>; 2],
    ports: Vec<u16>,
    held: VecDeque<Held>,
}

struct Held {
    /// Not before this time, or `None`: after the next frame.
    due: Option<u64>,
    to: Side,
    frame: Vec<u8>,
}

/// Nanoseconds.
const LATE: u64 = 200_000_000;

impl Faulty {
    /// One of `every` frames that can meet the fault does.
    pub fn new(fault: &'static KnownFault, every: u64) -> Faulty {
        let flows = [HashMap::new(), HashMap::new()];
        Faulty { fault, every: every.max(1), met: 0, count: [0; 2], flows, ports: Vec::new(), held: VecDeque::new() }
    }

    /// `frame` is as it is sent, and `before` as it came in.
    fn fate(&mut self, from: Side, frame: &mut Vec<u8>, before: &[u8]) -> Fate {
        let (Some(udp), Some(udp_before)) = (udp_at(frame), udp_at(before)) else { return Sent };
        if self.fault.from.is_some_and(|s| s != from) {
            return Sent;
        }
        let side = usize::from(from == Internet);
        self.count[side] += 1;
        let known = self.flows[side].len();
        let (flow, nth) = self.flows[side].entry(before[udp_before - 8..udp_before + 4].to_vec()).or_insert((known, 0));
        *nth += 1;
        if from == Customer && *nth == 1 {
            self.ports.push(u16::from_be_bytes([frame[udp], frame[udp + 1]]));
        }
        self.met += 1;
        if !self.met.is_multiple_of(self.every) {
            return Sent;
        }
        let (flow, nth, count) = (*flow, *nth, self.count[side]);
        (self.fault.act)(&mut Meeting { frame, before, flow, nth, count, ports: &self.ports })
    }

    fn let_go<P: Packet>(&mut self, is_due: impl Fn(&Held) -> bool, spare: &mut dyn Spare<P>) {
        // More would overflow the queue behind.
        let due = self.held.iter().take(port::BATCH).take_while(|held| is_due(held)).count();
        for held in self.held.drain(..due) {
            emit(held.to, &held.frame, spare);
        }
    }
}

fn emit<P: Packet>(to: Side, frame: &[u8], spare: &mut dyn Spare<P>) {
    if let Some(mut packet) = spare.fresh(frame.len()) {
        packet.bytes_mut().copy_from_slice(frame);
        spare.emit(to, packet);
    }
}

impl Wrapper for Faulty {
    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { now, from, packets, verdicts } = input;
        self.let_go(|held| held.due.is_some_and(|due| due <= now), spare);
        for (packet, verdict) in packets.iter_mut().zip(verdicts) {
            let before = packet.bytes().to_vec();
            let (packets, verdicts) = (std::slice::from_mut(packet), std::slice::from_mut(verdict));
            function.process(Input::new(now, from, packets, verdicts), spare);
            let Verdict::Forward(to) = *verdict else { continue };
            let mut frame = packet.bytes().to_vec();
            let fate = self.fate(from, &mut frame, &before);
            // Emitted packets follow the batch; the frames of a fault keep their order only if all are emitted.
            *verdict = Verdict::Drop;
            match fate {
                Lost => {}
                Back(frame) => emit(from, &frame, spare),
                Late => self.held.push_back(Held { due: Some(now + LATE), to, frame }),
                Reordered => self.held.push_back(Held { due: None, to, frame }),
                Sent | With(_) => {
                    emit(to, &frame, spare);
                    if let With(second) = fate {
                        emit(to, &second, spare);
                    }
                    self.let_go(|held| held.due.is_none(), spare);
                }
            }
        }
    }

    fn clear(&mut self) {
        self.count = [0; 2];
        self.flows.iter_mut().for_each(HashMap::clear);
        self.ports.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_a_name_of_its_own_and_changes_frames() {
        let mut names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAULTS.len());
        for fault in FAULTS {
            let from = fault.from.unwrap_or(Customer);
            let [ipv4, ipv6] = [[8, 0, 0x45], [0x86, 0xdd, 0x60]];
            let is_ipv6_inside = [NAT64, AFTR].contains(&fault.device);
            let (came, left) = match (fault.device == NAT44, is_ipv6_inside == (from == Customer)) {
                (true, _) => (ipv4, ipv4),
                (false, true) => (ipv6, ipv4),
                (false, false) => (ipv4, ipv6),
            };
            let mut before = vec![0x11; 130];
            before[12..15].copy_from_slice(&came);
            before[20..22].fill(0);
            before[UDP_CHECKSUM..UDP_CHECKSUM + 2].fill(0x12);
            let mut faulty = Faulty::new(fault, 1);
            let changes = (0..300u16).any(|n| {
                for source_port in [34, 54] {
                    before[source_port..source_port + 2].copy_from_slice(&(n / 2 % 150).to_be_bytes());
                }
                let mut sent = before.clone();
                sent[12..15].copy_from_slice(&left);
                sent[34] ^= 0x80;
                sent[UDP_CHECKSUM..UDP_CHECKSUM + 2].fill(if n % 2 == 0 { 0x91 } else { 0xff });
                let right = sent.clone();
                !matches!(faulty.fate(from, &mut sent, &before), Sent) || sent != right
            });
            assert!(changes, "{}", fault.name);
        }
    }
}
