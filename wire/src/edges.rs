//! The edges of ones' complement arithmetic. The first frames of a sender make a device write
//! checksums next to zero, so that a short trial, too, finds a device that loses a carry (RFC 1624) or
//! writes 0 instead of 0xffff (RFC 768).

use crate::checksum::{Sum, update16};
use crate::expect::Expect;
use crate::fields::{Fields, Values};
use crate::header::{self, half, put16, word};
use crate::layout::Layout;
use crate::template::Template;

/// Every second of so many frames has an edge.
pub const FRAMES: u64 = 64;

/// Ones' complement zero and its neighbours: a sum of n carries goes wrong up to n beside zero if a
/// carry is lost.
const BESIDE_ZERO: [u16; 8] = [0xffff, 0x0001, 0xfffe, 0x0002, 0xfffd, 0x0003, 0xfffc, 0x0004];

/// Chooses UDP checksum and IPv4 identification of frame `sequence` such that a device that makes of
/// it what is expected must write an edge, into the header of IPv4 with a TTL lower by 1. The frame
/// stays right.
pub fn meet(frame: &mut [u8], sequence: u64, (sent, expected): (&Template, &Expect), values: &Values) {
    if sequence >= FRAMES || sequence % 2 == 1 {
        return;
    }
    let (edge, at) = (sequence as usize / 2, sent.tag_at());
    let [before, after] = [(sent.fields(), sent.layout()), (expected.fields(), expected.layout())]
        .map(|(fields, layout)| pseudo(values, *fields, layout));
    // Each third edge is the sent checksum itself.
    let is_sent = edge % 3 == 2;
    let wanted = Sum::default().be16(BESIDE_ZERO[edge % BESIDE_ZERO.len()]);
    let moved = Sum(u64::from(!before.fold()) + u64::from(after.fold()));
    let field = if is_sent { wanted } else { wanted.plus(moved) }.fold();
    put_checksum(frame, at, if field == 0 { 0xffff } else { field });
    let (from4, to4) = (!matches!(sent.layout(), Layout::Ipv6(_)), !matches!(expected.layout(), Layout::Ipv6(_)));
    if from4 && to4 {
        put_identification(&mut frame[at - header::UDP - header::IPV4..], expected.fields().addresses(values), wanted);
    }
}

/// Sum of the addresses of the header before UDP, and of the ports.
fn pseudo(values: &Values, fields: Fields, layout: &Layout) -> Sum {
    let words = values.words(fields, layout);
    let addresses =
        if matches!(layout, Layout::Ipv6(_)) { Sum(words.end_sum) } else { Sum::default().word(words.addresses) };
    addresses.half(words.ports)
}

/// Replaces the UDP checksum, as in memory; the tag's compensation keeps it valid.
fn put_checksum(frame: &mut [u8], tag_at: usize, field: u16) {
    let (checksum_at, compensation_at) = (tag_at - 2, tag_at + crate::tag::LEN - 2);
    let [old, compensation] = [checksum_at, compensation_at].map(|at| u16::from_ne_bytes([frame[at], frame[at + 1]]));
    let sum = Sum(u64::from(old) + u64::from(compensation) + u64::from(!field));
    frame[checksum_at..checksum_at + 2].copy_from_slice(&field.to_ne_bytes());
    frame[compensation_at..compensation_at + 2].copy_from_slice(&sum.fold().to_ne_bytes());
}

/// Takes compensation, and behind equal headers identification, from a frame that was sent with
/// this one's tag.
pub fn choose_as(frame: &mut [u8], tag_at: usize, (other, other_at): (&[u8], usize)) {
    let compensation_at = other_at + crate::tag::LEN - 2;
    let Some(&[a, b]) = other.get(compensation_at..).and_then(<[u8]>::first_chunk) else { return };
    let checksum = u16::from_ne_bytes([frame[tag_at - 2], frame[tag_at - 1]]);
    let without = Sum(u64::from(checksum) + u64::from(!u16::from_ne_bytes([a, b]))).fold();
    put_checksum(frame, tag_at, if without == 0 { 0xffff } else { without });
    let identification_at = tag_at - header::UDP - header::IPV4 + 4;
    if other_at == tag_at && frame[identification_at - 4] == 0x45 && other[identification_at - 4] == 0x45 {
        let [old, new] = [&*frame, other].map(|b| header::be16(b, identification_at));
        let field = update16([frame[identification_at + 6], frame[identification_at + 7]], old, new);
        put16(frame, identification_at, new);
        frame[identification_at + 6..identification_at + 8].copy_from_slice(&field);
    }
}

/// Sets an identification with which the header has this checksum, 0 for 0xffff, once its TTL is
/// lower by 1 and it has these addresses.
fn put_identification(ip: &mut [u8], addresses: u64, wanted: Sum) {
    put16(ip, 4, 0);
    put16(ip, 10, 0);
    let rest = Sum::default().half(half(ip, 0)).half(half(ip, 4)).half(half(ip, 8));
    let one_hop_less = Sum(u64::from(!0x0100u16.to_be()));
    let received = rest.plus(one_hop_less).word(addresses).plus(wanted);
    let identification = received.checksum();
    ip[4..6].copy_from_slice(&identification);
    let sent = rest.word(word(ip, 12)).half(u16::from_ne_bytes(identification).into());
    ip[10..12].copy_from_slice(&sent.checksum());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::pseudo_v4;
    use crate::template::UdpFrame;
    use crate::{Flow, FramePurpose, Source, Tag};

    const FIELDS: Fields = Fields {
        src: Source::InsideAddr,
        src_port: Source::InsidePort,
        dst: Source::RemoteAddr,
        dst_port: Source::RemotePort,
    };

    /// The first frames, as a NAT with this outside address and port forwards them.
    fn translated(outer: (u32, u16)) -> Vec<Vec<u8>> {
        let (to, from) = Default::default();
        let sent = Template::udp_v4(&UdpFrame { to, from, size: 64, ttl: 10, fields: FIELDS });
        let fields = Fields { src: Source::OuterAddr, src_port: Source::OuterPort, ..FIELDS };
        let expect = Expect::udp(&sent, fields, Layout::Ipv4, None);
        let flow = |index: u32| Flow {
            inside_addr: 0xc612_0003,
            inside_port: 1024 + index as u16,
            remote_addr: 0xc613_0002,
            remote_port: 7,
            subscriber: 0,
        };
        let frame = |index: u32| {
            let stream = Tag::stream(FramePurpose::Data, false);
            let tag = Tag { trial: 1, stream, sender: 0, sequence: index.into(), index };
            let values = Values::of(flow(index)).learned(outer.0, outer.1 + index as u16);
            let mut f = vec![0; sent.len()];
            sent.write(&mut f, &values, &tag);
            meet(&mut f, tag.sequence, (&sent, &expect), &values);
            assert!(Sum::default().bytes(&f[14..34]).is_valid());
            assert!(pseudo_v4(word(&f, 26), header::PROTO_UDP, 26).bytes(&f[34..]).is_valid());
            assert_eq!(Tag::read(&f, 42), Some(tag));
            f[22] -= 1;
            f[26..30].copy_from_slice(&outer.0.to_be_bytes());
            put16(&mut f, 34, outer.1 + index as u16);
            put16(&mut f, 24, 0);
            put16(&mut f, 40, 0);
            let ip = Sum::default().bytes(&f[14..34]).checksum();
            let udp = pseudo_v4(word(&f, 26), header::PROTO_UDP, 26).bytes(&f[34..]).checksum();
            f[24..26].copy_from_slice(&ip);
            f[40..42].copy_from_slice(&if udp == [0; 2] { [0xff; 2] } else { udp });
            f
        };
        (0..FRAMES as u32).map(frame).collect()
    }

    #[test]
    fn a_nat_must_write_every_edge() {
        for outer in [(0xc613_0001, 1024), (0xc633_6407, 40_000), (0xc612_0003, 1024)] {
            let frames = translated(outer);
            for edge in [0xffff, 1, 0xfffe, 2, 0xfffd, 3, 0xfffc, 4] {
                assert!(frames.iter().any(|f| header::be16(f, 40) == edge), "{edge:#x} in UDP");
                let in_header = if edge == 0xffff { 0 } else { edge };
                assert!(frames.iter().any(|f| header::be16(f, 24) == in_header), "{in_header:#x} in IPv4");
            }
        }
    }

    #[test]
    fn other_frames_keep_what_follows_the_sequence() {
        let differ: std::collections::HashSet<_> =
            translated((0xc633_6407, 1024)).iter().map(|f| header::be16(f, 18)).collect();
        assert!(differ.len() > 32, "{}", differ.len());
    }
}
