//! Rules that several devices must keep, each with tests in its own suite.

use plane::{Function, Input, Side, Verdict};
use testbed::prelude::{Bed, Frame, Outbox, fragments, reseal};

/// Gives frames to the first worker as one batch, without a judge, and hands nothing over. Returns how many its counters counted
/// but for these.
pub(crate) fn counted<F: Function>(g: &mut Bed<F>, from: Side, frames: &[Vec<u8>], beside: &[&str]) -> u64 {
    let total = |w: &F| w.counters().iter().filter(|c| !beside.contains(&c.0)).map(|c| c.1).sum::<u64>();
    let before = total(&g.workers[0]);
    let mut batch: Vec<Frame> = frames.iter().map(|f| Frame::new(f)).collect();
    // A verdict that is not written would be noticed.
    let (mut verdicts, mut made) = (vec![Verdict::HandOver(9); batch.len()], Outbox::new(g.memory, g.largest));
    g.workers[0].process(Input::new(g.now, from, &mut batch, &mut verdicts), &mut made);
    assert!(verdicts.iter().all(|v| !matches!(v, Verdict::HandOver(_))) && made.handed.is_empty());
    total(&g.workers[0]) - before
}

/// A frame with other octets and perhaps without its end; its IPv4 header checksum is made right again if asked for.
pub(crate) fn damaged(mut frame: Vec<u8>, changes: &[(usize, u8)], cut: usize, seal: bool) -> Vec<u8> {
    for &(at, value) in changes {
        frame.get_mut(at).into_iter().for_each(|octet| *octet = value);
    }
    frame.truncate(frame.len().saturating_sub(cut.saturating_sub(20)));
    if seal && frame.len() >= 34 && frame[14] == 0x45 {
        reseal(&mut frame);
    }
    frame
}

/// A sender discards a Packet Too Big of less than 1280 (RFC 8201, section 4; RFC 7915, section 5), and what it sends then
/// has no DF. `device` makes one whose IPv4 link has this MTU, `send` sends it a UDP packet with this payload over IPv6;
/// what leaves, with whether it is over IPv6.
pub(crate) fn tells_no_sender_of_less_than_1280<D>(
    device: impl Fn(u16) -> D,
    send: impl Fn(&mut D, &[u8]) -> Vec<(bool, Vec<u8>)>,
) {
    for mtu in [68, 1000, 1259, 1260, 1261] {
        let mut d = device(mtu);
        let answers = send(&mut d, &[1; 1300]);
        let [(true, answer)] = &answers[..] else { panic!("IPv4 MTU {mtu}: {answers:?}") };
        let told = u32::from_be_bytes([answer[58], answer[59], answer[60], answer[61]]);
        let least = 1280.max(u32::from(mtu) + 20);
        assert_eq!((answer[20], answer[54], answer[55], told), (58, 2, 0, least), "IPv4 MTU {mtu}");
        let out = send(&mut d, &vec![1; told as usize - 48]);
        assert!(!out.is_empty() && out.iter().all(|(over6, f)| !over6 && f.len() <= 60.max(14 + usize::from(mtu))));
    }
}

/// RFC 7915, section 4, asks translators to keep the order of fragments; so does a tunnel end that reassembles and
/// fragments again. `tunnelled` is a tunnel packet around a UDP packet with 2400 octets of payload; `send` sends frames over
/// IPv6 to a device whose IPv4 link has an MTU of 1000, and gives what leaves.
pub(crate) fn fragments_reassembled_packets_in_order(tunnelled: &[u8], send: impl FnOnce(&[Vec<u8>]) -> Vec<Vec<u8>>) {
    let out = send(&fragments(tunnelled, &[1232], 9));
    assert!(out.iter().all(|f| f[12..14] == [8, 0]), "IPv4");
    let fields: Vec<_> = out.iter().map(|f| u16::from_be_bytes([f[20], f[21]])).collect();
    assert_eq!(fields, [0x2000, 0x2000 + 122, 244], "in octets 0, 976, 1952");
}
