//! The Ethernet address of each side's next hop, learnt from its ARP and Neighbor Discovery
//! messages and checked (`watch`). Functions keep the address that they were made with; workers
//! rewrite it in frames.

use super::message::said;
use plane::{Packet, Side};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::Mac;

/// A next hop, named by its IP address.
#[derive(Debug)]
pub struct NextHop {
    address: IpAddr,
    own: Mac,
    built: AtomicU64,
    current: AtomicU64,
    /// Messages from the current address.
    answers: AtomicU64,
    /// Another address that messages announce, or 0, and the number of these messages.
    claim: AtomicU64,
    claims: AtomicU64,
    /// Messages that announce our own address.
    ours: AtomicU64,
}

fn word(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

fn mac(word: u64) -> Mac {
    let [_, _, a, b, c, d, e, f] = word.to_be_bytes();
    Mac([a, b, c, d, e, f])
}

impl NextHop {
    /// A next hop that is known to be at `mac`, beside our own address.
    pub fn new(address: IpAddr, own: Mac, mac: Mac) -> NextHop {
        let (word, none) = (word(mac), || AtomicU64::new(0));
        let (answers, claim, claims, ours) = (none(), none(), none(), none());
        NextHop { address, own, built: word.into(), current: word.into(), answers, claim, claims, ours }
    }

    /// IP address of the next hop.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Ethernet address.
    pub fn mac(&self) -> Mac {
        mac(self.current.load(Ordering::Acquire))
    }

    /// Messages from the Ethernet address.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Acquire)
    }

    /// Messages that say that the next hop has our own Ethernet address: a loop, or a duplicate.
    pub fn ours(&self) -> u64 {
        self.ours.load(Ordering::Acquire)
    }

    /// Another Ethernet address that messages announce, and the number of these messages.
    pub fn claim(&self) -> Option<(Mac, u64)> {
        let claim = self.claim.load(Ordering::Acquire);
        (claim != 0).then(|| (mac(claim), self.claims.load(Ordering::Acquire)))
    }

    pub(super) fn forget_claim(&self) {
        self.claim.store(0, Ordering::Release);
    }

    /// The next hop has this Ethernet address from now on.
    pub(super) fn moves(&self, mac: Mac) {
        self.current.store(word(mac), Ordering::Release);
        self.forget_claim();
    }

    /// Functions build frames to this address from now on.
    pub fn built_with(&self, mac: Mac) {
        self.built.store(word(mac), Ordering::Release);
    }

    pub(super) fn hear(&self, frame: &[u8]) {
        let Some(mac) = said(frame, self.address) else { return };
        let counter = if mac == self.own {
            &self.ours
        } else if mac == self.mac() {
            &self.answers
        } else {
            self.claim.store(word(mac), Ordering::Release);
            &self.claims
        };
        counter.fetch_add(1, Ordering::AcqRel);
    }

    #[inline]
    fn readdress<P: Packet>(&self, frames: &mut [P]) {
        let (built, current) = (self.built.load(Ordering::Relaxed), self.current.load(Ordering::Relaxed));
        if built != current {
            let (built, current) = (mac(built).0, mac(current).0);
            for b in frames.iter_mut().map(P::bytes_mut) {
                if b.get(..6) == Some(&built) {
                    b[..6].copy_from_slice(&current);
                }
            }
        }
    }
}

/// Next hops; none where the file gives an Ethernet address, or the link has none.
#[derive(Debug, Default)]
pub struct NextHops {
    /// Customers' side.
    pub customer: Option<NextHop>,
    /// Internet's side.
    pub internet: Option<NextHop>,
}

impl NextHops {
    /// Next hop on one side.
    pub fn on(&self, side: Side) -> Option<&NextHop> {
        match side {
            Side::Customer => self.customer.as_ref(),
            Side::Internet => self.internet.as_ref(),
        }
    }

    /// Learns from a frame for the machine itself.
    pub fn hear(&self, side: Side, frame: &[u8]) {
        if let Some(next_hop) = self.on(side) {
            next_hop.hear(frame);
        }
    }

    /// Sets the present address in leaving frames.
    #[inline]
    pub fn readdress<P: Packet>(&self, side: Side, frames: &mut [P]) {
        if let Some(next_hop) = self.on(side) {
            next_hop.readdress(frames);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::file::Heap;
    use crate::icmp6::seal6;
    use crate::own::Own;
    use testbed::hex;
    use wire::Prefix6;

    pub(crate) const OWN: Mac = Mac([2, 0, 0, 0, 2, 1]);
    pub(crate) const OLD: Mac = Mac([2, 0, 0, 0, 2, 2]);
    pub(crate) const NEW: Mac = Mac([2, 0, 0, 0, 2, 9]);

    /// The reply of 198.51.100.2 from an Ethernet address.
    pub(crate) fn arp(from: Mac) -> Vec<u8> {
        let mut b =
            hex("020000000201 000000000000 0806 0001 0800 06 04 0002 000000000000 c6336402 020000000201 c6336401");
        b[6..12].copy_from_slice(&from.0);
        b[22..28].copy_from_slice(&from.0);
        b
    }

    /// The address of the next hop if a frame is confirmed, and whether it was a message about it.
    fn after(address: &str, frame: &[u8]) -> (Mac, bool) {
        let next_hop = NextHop::new(address.parse().unwrap(), OWN, OLD);
        next_hop.hear(frame);
        assert_eq!(next_hop.mac(), OLD, "nothing is believed at once");
        (next_hop.claim().map_or(OLD, |c| c.0), next_hop.answers() > 0 || next_hop.claim().is_some())
    }

    /// ARP exactly as in RFC 826; gratuitous requests and replies are RFC 5227, section 3.
    #[test]
    fn arp_of_the_next_hop_is_believed() {
        let told = |frame: &str| after("198.51.100.2", &hex(frame));
        let arp = |to: &str, op: &str, sender: &str, sender_ip: &str, target_ip: &str| {
            told(&format!("{to} 020000000209 0806 0001 0800 06 04 {op} {sender} {sender_ip} 000000000000 {target_ip}"))
        };
        let (all, ours) = ("ffffffffffff", "020000000201");
        assert_eq!(arp(all, "0001", "020000000209", "c6336402", "c6336401"), (NEW, true), "request for us");
        assert_eq!(arp(ours, "0002", "020000000209", "c6336402", "c6336401"), (NEW, true), "reply");
        assert_eq!(arp(all, "0001", "020000000209", "c6336402", "c6336402"), (NEW, true), "gratuitous request");
        assert_eq!(arp(all, "0002", "020000000209", "c6336402", "c6336402"), (NEW, true), "gratuitous reply");
        assert_eq!(arp(all, "0001", "020000000209", "00000000", "c6336402"), (OLD, false), "a probe");
        assert_eq!(arp(all, "0001", "020000000209", "c6336403", "c6336402"), (OLD, false), "another host");
        assert_eq!(arp(all, "0001", "ffffffffffff", "c6336402", "c6336401"), (OLD, false), "a broadcast address");
        assert_eq!(arp(all, "0001", "010000000209", "c6336402", "c6336401"), (OLD, false), "a group address");
        assert_eq!(arp(all, "0001", "000000000000", "c6336402", "c6336401"), (OLD, false), "no address");
        assert_eq!(arp(all, "0003", "020000000209", "c6336402", "c6336401"), (OLD, false), "reverse ARP");
        assert_eq!(arp(ours, "0002", "020000000202", "c6336402", "c6336401"), (OLD, true), "its answer");
        assert_eq!(arp(ours, "0002", "020000000201", "c6336402", "c6336401"), (OLD, false), "our own address");
    }

    /// A solicitation or an advertisement about 2001:2::2 from 02:00:00:00:02:09.
    fn discovery(kind: u8, flags: u8, source: &str, destination: &str, option: &str) -> Vec<u8> {
        let len = if option.is_empty() { "0018" } else { "0020" };
        let mut frame = hex(&format!(
            "020000000201 020000000209 86dd 60000000 {len} 3a ff {source} {destination}
             {kind:02x} 00 0000 {flags:02x}000000 20010002000000000000000000000002 {option}"
        ));
        seal6(&mut frame);
        frame
    }

    const IT: &str = "20010002000000000000000000000002";
    const US: &str = "20010002000000000000000000000001";
    const ALL_NODES: &str = "ff020000000000000000000000000001";
    const OTHER: &str = "20010002000000000000000000000009";

    /// RFC 4861, sections 7.1.1, 7.1.2, 7.2.3, 7.2.5 and 7.2.6.
    #[test]
    fn neighbor_discovery_of_the_next_hop_is_believed() {
        let (sender, target) = ("0101020000000209", "0201020000000209");
        let told = |frame: &[u8]| after("2001:2::2", frame);
        let advertised = |flags, destination, option| told(&discovery(136, flags, IT, destination, option));
        assert_eq!(advertised(0x60, US, target), (NEW, true), "solicited, with override");
        assert_eq!(advertised(0x20, ALL_NODES, target), (NEW, true), "unsolicited, with override");
        assert_eq!(advertised(0x40, US, target), (NEW, true), "without override the known address is asked, too");
        assert_eq!(advertised(0x60, US, ""), (NEW, true), "without option");
        assert_eq!(advertised(0x60, US, "0201020000000201"), (OLD, false), "our own address");
        assert_eq!(advertised(0x40, US, "0201020000000202"), (OLD, true), "its answer");
        assert_eq!(advertised(0x60, ALL_NODES, target), (OLD, false), "solicited, but to a group");
        assert_eq!(advertised(0x60, US, "0200020000000209"), (OLD, false), "an option without length");
        assert_eq!(advertised(0x60, US, "0201030000000209"), (OLD, false), "a group address");
        assert_eq!(told(&discovery(135, 0, IT, US, sender)), (NEW, true), "it asks for another");
        assert_eq!(told(&discovery(135, 0, OTHER, US, sender)), (OLD, false), "another host asks for it");
        let right = discovery(136, 0x60, IT, US, target);
        for (at, what) in [(21, "hop limit"), (55, "code"), (56, "checksum"), (77, "target")] {
            let mut wrong = right.clone();
            wrong[at] ^= 1;
            assert_eq!(told(&wrong), (OLD, false), "{what}");
        }
        assert!((0..right.len()).all(|n| told(&right[..n]) == (OLD, false)), "shortened anywhere");
    }

    /// Another gateway learns from the answers of this one.
    #[test]
    fn our_own_advertisement_is_believed() {
        let it =
            Own { mac: NEW, ipv6: vec![Prefix6 { addr: "2001:2::2".parse().unwrap(), len: 128 }], ..Own::default() };
        let question =
            super::super::request(Mac([2, 0, 0, 0, 2, 1]), "2001:2::1".parse().unwrap(), it.ipv6[0].addr.into());
        let mut packet = Heap::new(&question);
        assert!(it.answer(&mut packet));
        assert_eq!(after("2001:2::2", packet.bytes()), (NEW, true));
    }

    #[test]
    fn frames_follow_the_next_hop_until_functions_are_made_anew() {
        let next_hop = NextHop::new("198.51.100.2".parse().unwrap(), OWN, OLD);
        let next_hops = NextHops { internet: Some(next_hop), ..NextHops::default() };
        let sent_to = |side, to: Mac| {
            let mut frames = [Heap::new(&[&to.0[..], &[0; 54]].concat())];
            next_hops.readdress(side, &mut frames);
            Mac(frames[0].bytes()[..6].try_into().unwrap())
        };
        let other = Mac([2, 0, 0, 0, 2, 7]);
        assert_eq!(sent_to(Side::Internet, OLD), OLD);
        next_hops.hear(
            Side::Internet,
            &hex("ffffffffffff 020000000209 0806 0001 0800 06 04 0001 020000000209 c6336402 000000000000 c6336401"),
        );
        assert_eq!(sent_to(Side::Internet, OLD), OLD, "not yet checked");
        next_hops.on(Side::Internet).unwrap().moves(NEW);
        assert_eq!([OLD, NEW, other].map(|to| sent_to(Side::Internet, to)), [NEW, NEW, other]);
        assert_eq!(sent_to(Side::Customer, OLD), OLD, "the other side");
        next_hops.on(Side::Internet).unwrap().built_with(NEW);
        assert_eq!([OLD, NEW].map(|to| sent_to(Side::Internet, to)), [OLD, NEW]);
    }
}
