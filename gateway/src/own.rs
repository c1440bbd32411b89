//! Messages that a gateway itself answers: ARP requests and Neighbor Solicitations for its addresses, and pings.

use crate::icmp6::{ADVERTISEMENT, Discovery, seal6, sum6};
use plane::ip6::{Head6, put128};
use plane::{Packet, Side};
use wire::checksum::Sum;
use wire::header::{self, Mac, be16, be32, put16};
use wire::{AddrRange, Prefix6, header as h};

/// One side's own addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Ethernet address.
    pub mac: Mac,
    /// Ethernet address of the side.
    pub ipv4: Vec<AddrRange>,
    /// The side's own address is a prefix of 128 bits.
    pub ipv6: Vec<Prefix6>,
}

/// Addresses that the gateway answers for, on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owns {
    /// Customers' side.
    pub customer: Own,
    /// Internet's side.
    pub internet: Own,
}

impl Owns {
    /// Turns a packet from `side` into its answer; false, with undefined content, if there is none.
    pub fn answer<P: Packet>(&self, side: Side, packet: &mut P) -> bool {
        let own = match side {
            Side::Customer => &self.customer,
            Side::Internet => &self.internet,
        };
        own.answer(packet)
    }
}

const ARP_REQUEST: u16 = 1;
const ARP_REPLY: u16 = 2;
const ECHO: [u8; 2] = [8, 0];
/// Request and reply.
const ECHO6: [u8; 2] = [128, 129];
const TTL: u8 = 64;
const ADVERTISEMENT_LEN: usize = h::ETH + h::IPV6 + 32;

impl Own {
    fn has4(&self, a: u32) -> bool {
        self.ipv4.iter().any(|r| r.contains(a.into()))
    }
    fn has6(&self, a: u128) -> bool {
        self.ipv6.iter().any(|p| p.contains(a))
    }

    /// Turns a packet into its answer; false, with undefined content, if there is none.
    pub fn answer<P: Packet>(&self, packet: &mut P) -> bool {
        let b = packet.bytes();
        if b.len() < h::ETH || b[6] & 1 == 1 {
            return false;
        }
        match be16(b, 12) {
            header::TYPE_ARP => self.arp(packet.bytes_mut()),
            header::TYPE_IPV4 => self.echo(packet.bytes_mut()),
            header::TYPE_IPV6 => self.icmp6(packet),
            _ => false,
        }
    }

    fn back(&self, b: &mut [u8]) {
        b.copy_within(6..12, 0);
        b[6..12].copy_from_slice(&self.mac.0);
    }

    /// Turns an ARP request into its answer (RFC 826).
    fn arp(&self, b: &mut [u8]) -> bool {
        let right = b.len() >= 42
            && (be16(b, 14), be16(b, 16), be16(b, 18)) == (1, header::TYPE_IPV4, 0x0604)
            && be16(b, 20) == ARP_REQUEST
            && self.has4(be32(b, 38))
            && b[38..42] != b[28..32];
        if !right {
            return false;
        }
        self.back(b);
        put16(b, 20, ARP_REPLY);
        let asked: [u8; 4] = [b[38], b[39], b[40], b[41]];
        b.copy_within(22..32, 32);
        b[22..28].copy_from_slice(&self.mac.0);
        b[28..32].copy_from_slice(&asked);
        true
    }

    fn echo(&self, b: &mut [u8]) -> bool {
        const L4: usize = h::ETH + h::IPV4;
        let right = b.len() >= L4 + 8
            && b[..6] == self.mac.0
            && b[14] == 0x45
            && be16(b, 20).trailing_zeros() >= 14
            && b[23] == header::ICMP
            && b[L4] == ECHO[0]
            && self.has4(be32(b, 30))
            && Sum::default().bytes(&b[h::ETH..L4]).is_valid();
        if !right {
            return false;
        }
        let end = h::ETH + usize::from(be16(b, 16));
        if !(L4 + 8..=b.len()).contains(&end) || !Sum::default().bytes(&b[L4..end]).is_valid() {
            return false;
        }
        self.back(b);
        let (src, dst) = (be32(b, 26), be32(b, 30));
        header::put32(b, 26, dst);
        header::put32(b, 30, src);
        b[22] = TTL;
        b[24..26].fill(0);
        let sum = Sum::default().bytes(&b[14..L4]).checksum();
        b[24..26].copy_from_slice(&sum);
        b[L4] = ECHO[1];
        b[L4 + 2..L4 + 4].fill(0);
        let sum = Sum::default().bytes(&b[L4..end]).checksum();
        b[L4 + 2..L4 + 4].copy_from_slice(&sum);
        true
    }

    /// A ping, or a Neighbor Solicitation.
    fn icmp6<P: Packet>(&self, packet: &mut P) -> bool {
        let b = packet.bytes();
        let Ok(head) = Head6::of_frame(b) else { return false };
        let plain = head.protocol == header::ICMPV6 && head.l4 == h::ETH + h::IPV6 && head.end >= head.l4 + 8;
        if !plain || !sum6(&b[..head.end]).is_valid() {
            return false;
        }
        match b[head.l4] {
            k if k == ECHO6[0] && self.has6(head.dst) && b[..6] == self.mac.0 => self.echo6(packet.bytes_mut(), &head),
            _ => Discovery::of_frame(b).is_some_and(|message| self.advertise(packet, &message)),
        }
    }

    fn echo6(&self, b: &mut [u8], head: &Head6) -> bool {
        self.back(b);
        put128(b, 22, head.dst);
        put128(b, 38, head.src);
        b[21] = TTL;
        b[head.l4] = ECHO6[1];
        seal6(&mut b[..head.end]);
        true
    }

    /// Turns a neighbour solicitation into an advertisement (RFC 4861, section 7.2.4).
    fn advertise<P: Packet>(&self, packet: &mut P, message: &Discovery) -> bool {
        let target = message.target;
        if message.is_advertisement || !self.has6(target) || !packet.set_len(ADVERTISEMENT_LEN) {
            return false;
        }
        let b = packet.bytes_mut();
        // A host without an address checks for duplicates: answer to all nodes (section 7.2.4).
        let unspecified = message.source == 0;
        let all_nodes = u128::from_be_bytes([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        self.back(b);
        if unspecified {
            b[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]);
        }
        put16(b, 18, 32);
        put128(b, 22, target);
        put128(b, 38, if unspecified { all_nodes } else { message.source });
        let l4 = h::ETH + h::IPV6;
        b[l4] = ADVERTISEMENT;
        b[l4 + 1] = 0;
        // Router; solicited unless sent to all nodes; override.
        b[l4 + 4..l4 + 8].copy_from_slice(&[if unspecified { 0xa0 } else { 0xe0 }, 0, 0, 0]);
        put128(b, l4 + 8, target);
        b[l4 + 24..l4 + 26].copy_from_slice(&[2, 1]);
        b[l4 + 26..l4 + 32].copy_from_slice(&self.mac.0);
        seal6(b);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Heap;
    use plane::ip6::be128;
    use testbed::hex;

    fn owns() -> Owns {
        let customer = Own {
            mac: Mac([2, 0, 0, 0, 1, 1]),
            ipv4: vec![AddrRange { first: [198, 18, 0, 1].into(), count: 2 }],
            ipv6: vec![Prefix6 { addr: "2001:2::1".parse().unwrap(), len: 128 }],
        };
        Owns { customer, ..Owns::default() }
    }

    fn answer(request: &str) -> Option<Vec<u8>> {
        let mut p = Heap::new(&hex(request));
        owns().answer(Side::Customer, &mut p).then(|| p.bytes().to_vec())
    }

    /// The packet of RFC 826, written out by hand.
    #[test]
    fn arp_requests_for_our_addresses_are_answered() {
        let request = "ffffffffffff 020000000102 0806 0001 0800 06 04 0001 020000000102 c6120009 000000000000 c6120002";
        let reply = "020000000102 020000000101 0806 0001 0800 06 04 0002 020000000101 c6120002 020000000102 c6120009";
        assert_eq!(answer(request), Some(hex(reply)));
        assert_eq!(answer(&request.replace("c6120002", "c6120003")), None, "not ours");
        assert_eq!(answer(&request.replace("0001 0200", "0002 0200")), None, "a reply is not answered");
    }

    #[test]
    fn cut_off_and_damaged_frames_are_not_answered() {
        let ping = "020000000101 020000000102 0800 4500001c00000000 4001 0000 c6120009 c6120001 0800000000010001";
        let mut ping = hex(ping);
        for (from, to, at) in [(14, 34, 24), (34, 42, 36)] {
            let sum = Sum::default().bytes(&ping[from..to]).checksum();
            ping[at..at + 2].copy_from_slice(&sum);
        }
        let answered = |b: &[u8]| owns().answer(Side::Customer, &mut Heap::new(b));
        assert!(answered(&ping));
        assert!((0..ping.len()).all(|n| !answered(&ping[..n])), "cut off anywhere");
        ping[18] ^= 1;
        assert!(!answered(&ping), "a wrong header checksum (RFC 1122, section 3.2.1.2)");
    }

    /// Validation of solicitations by RFC 4861, section 7.1.1; of their sources by RFC 4291, section 2.7.
    #[test]
    fn invalid_solicitations_are_not_answered() {
        let (host, unspecified, target) =
            ("20010002000000000000000000000009", "0".repeat(32), "20010002000000000000000000000001");
        let (nodes, group) = ("ff0200000000000000000001ff000001", "ff020000000000000000000000000009");
        let answered = |source: &str, destination: &str, options: &str, change: fn(&mut [u8])| {
            let length = 24 + options.len() / 2;
            let mut frame = hex(&format!(
                "3333ff000001 020000000102 86dd 60000000 {length:04x} 3a ff {source} {destination} 87 00 0000 00000000 {target} {options}"
            ));
            change(&mut frame);
            seal6(&mut frame);
            owns().answer(Side::Customer, &mut Heap::new(&frame))
        };
        let option = "0101020000000102";
        assert!(answered(host, nodes, option, |_| ()) && answered(host, target, "", |_| ()));
        assert!(answered(&unspecified, nodes, "", |_| ()), "a host without an address looks for duplicates");
        assert!(answered(host, nodes, "0e01000000000000", |_| ()), "an unknown option is ignored");
        assert!(!answered(host, nodes, option, |b| b[55] = 1), "code 1");
        assert!(!answered(host, nodes, option, |b| b[21] = 254), "it has passed a router");
        assert!(!answered(host, nodes, "0100020000000102", |_| ()), "an option of length 0");
        assert!(!answered(host, nodes, "0102020000000102", |_| ()), "an option that is cut off");
        assert!(!answered(host, nodes, "01010200000001020e", |_| ()), "an octet behind the options");
        assert!(!answered(&unspecified, nodes, option, |_| ()), "an address without a source");
        assert!(!answered(&unspecified, target, "", |_| ()), "no source, and not to the solicited nodes");
        assert!(!answered(group, nodes, option, |_| ()), "from a group");
    }

    #[test]
    fn solicitations_and_pings_are_answered_with_right_checksums() {
        // To the solicited-node group of ::1, with our source link-layer address as option.
        let mut ns = hex("3333ff000001 020000000102 86dd 60000000 0020 3a ff
             20010002000000000000000000000009 ff0200000000000000000001ff000001
             87 00 0000 00000000 20010002000000000000000000000001 01 01 020000000102");
        seal6(&mut ns);
        let mut p = Heap::new(&ns);
        assert!(owns().answer(Side::Customer, &mut p));
        let b = p.bytes();
        assert_eq!((b.len(), b[54], b[58], &b[..6]), (86, 136, 0xe0, &[2, 0, 0, 0, 1, 2][..]));
        assert_eq!((be128(b, 22), be128(b, 38)), (be128(&ns, 62), be128(&ns, 22)));
        assert!(sum6(b).is_valid());
        let mut ping = hex("020000000101 020000000102 86dd 60000000 000a 3a 40
             20010002000000000000000000000009 20010002000000000000000000000001 80 00 0000 0001 0002 abcd");
        seal6(&mut ping);
        let mut p = Heap::new(&ping);
        assert!(owns().answer(Side::Customer, &mut p));
        assert_eq!((p.bytes()[54], p.bytes()[21]), (129, 64));
        assert!(sum6(p.bytes()).is_valid());
        ping[63] ^= 1;
        assert!(!owns().answer(Side::Customer, &mut Heap::new(&ping)), "a bad checksum is not answered");
    }
}
