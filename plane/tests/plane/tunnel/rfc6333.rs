//! RFC 6333, DS-Lite, as far as it concerns tunnels: fragmentation (section 5.3), with RFC 8200 and RFC 5722 about
//! reassembly, and addresses (sections 5.5 to 5.7).

use crate::tunnel::end::*;
use crate::tunnel::packets::*;
use plane::Side;

fn big() -> Vec<u8> {
    udp((REMOTE, 80), (CUSTOMER, 5000), &(0..1400).map(|i| i as u8).collect::<Vec<_>>())
}

fn parts(id: u32, cuts: &[usize]) -> Vec<Vec<u8>> {
    fragments6(&ipv6(PE, B4, 4, &big()), id, cuts).iter().map(|p| frame6(p)).collect()
}

fn whole(end: &mut End<plane::tunnel::OneTunnel>, frames: &[Vec<u8>]) {
    let out = end.send_all(Side::Internet, frames);
    assert_eq!(out.len(), 1, "{:?}", end.nonzero());
    assert_eq!((out[0].0, bare(&out[0].1)), (Side::Customer, one_hop(&big())));
}

/// Section 5.3: reassembly happens before decapsulation, in whatever order the parts come.
#[test]
fn parts_are_put_together_in_any_order() {
    let mut end = End::b4(|_| {});
    let p = parts(1, &[400, 1200]);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        whole(&mut end, &order.map(|i| p[i].clone()));
    }
    assert_eq!((end.count("reassembled"), end.count("fragment-held")), (6, 12));
}

#[test]
fn parts_of_several_datagrams_do_not_mix() {
    let mut end = End::b4(|_| {});
    let (a, b) = (parts(1, &[800]), parts(2, &[800]));
    let out = end.send_all(Side::Internet, &[a[0].clone(), b[1].clone(), b[0].clone(), a[1].clone()]);
    assert!(out.len() == 2 && out.iter().all(|f| bare(&f.1) == one_hop(&big())));
}

/// What we cut, the other end puts together.
#[test]
fn two_ends_understand_each_other() {
    let mut from = End::b4(|c| c.v6.mtu = 1280);
    let p = udp((CUSTOMER, 5000), (REMOTE, 80), &[3; 3000]);
    let mut to = End::b4(|c| {
        c.v4.mtu = 9000;
    });
    let out: Vec<_> = from
        .enter_all(std::slice::from_ref(&p))
        .into_iter()
        .map(|f| {
            let mut f = [&MAC6[..], &HOP6, &f[12..]].concat();
            f[22..38].copy_from_slice(&a6(PE));
            f[38..54].copy_from_slice(&a6(B4));
            f
        })
        .collect();
    let out = to.send_all(Side::Internet, &out);
    assert_eq!(bare(&out[0].1), one_hop(&one_hop(&p)));
}

/// RFC 5722: overlapping parts end their datagram, with those that come later.
#[test]
fn overlaps_end_the_datagram() {
    let mut end = End::b4(|_| {});
    let (p, q) = (parts(1, &[400, 1200]), parts(1, &[800]));
    let out = end.send_all(Side::Internet, &[p[0].clone(), q[0].clone(), p[1].clone(), p[2].clone(), q[1].clone()]);
    assert!(out.is_empty());
    assert_eq!(end.count("fragment-overlap"), 5);
    // Another datagram is not concerned; nor is this one when its time is over.
    whole(&mut end, &parts(2, &[400]));
    end.wait(61);
    whole(&mut end, &p);
}

/// RFC 8200, section 4.5, lets exact duplicates be dropped alone.
#[test]
fn duplicates_do_no_harm() {
    let mut end = End::b4(|_| {});
    let p = parts(1, &[400, 1200]);
    whole(&mut end, &[p[0].clone(), p[0].clone(), p[1].clone(), p[1].clone(), p[2].clone()]);
    assert_eq!(end.count("fragment-overlap"), 2);
}

#[test]
fn a_last_part_in_the_middle_ends_the_datagram() {
    let mut end = End::b4(|_| {});
    let p = parts(1, &[400, 1200]);
    let mut last = p[1].clone();
    last[57] &= !1;
    end.send_all(Side::Internet, &[p[2].clone(), last]);
    assert_eq!(end.count("fragment-overlap"), 2);
}

/// RFC 8200, section 4.5: after 60 seconds the sender is told, if the first part has come.
#[test]
fn late_parts_are_told_about() {
    let mut end = End::b4(|_| {});
    let p = parts(1, &[400, 1200]);
    end.send_all(Side::Internet, &[p[0].clone(), p[1].clone()]);
    end.wait(59);
    assert!(end.send_all(Side::Internet, &[]).is_empty());
    end.wait(2);
    let out = end.send_all(Side::Internet, &[]);
    let (kind, code, _, quote) = judge_icmp6(&out[0].1);
    assert_eq!((kind, code, &quote[..]), (3, 1, &p[0][14..]));
    assert_eq!(end.count("fragment-late"), 2);
    // Without the first nothing is said.
    end.send_all(Side::Internet, &[parts(2, &[400])[1].clone()]);
    end.wait(61);
    assert!(end.send_all(Side::Internet, &[]).is_empty());
}

/// RFC 8200, section 4.5: a part that is no multiple of eight octets, and a datagram longer than there can be.
#[test]
fn parts_that_cannot_be_are_told_about() {
    let mut end = End::b4(|_| {});
    let f = fragments6(&ipv6(PE, B4, 4, &big()), 1, &[400]);
    let mut odd = f[0][..f[0].len() - 1].to_vec();
    odd[4..6].copy_from_slice(&((407u16).to_be_bytes()));
    let (kind, code, pointer, _) = judge_icmp6(&end.refused(true, &frame6(&odd), "bad-length"));
    assert_eq!((kind, code, pointer), (4, 0, 4));
    let mut far = f[1].clone();
    far[42..44].copy_from_slice(&0xfff8u16.to_be_bytes());
    let (kind, code, pointer, _) = judge_icmp6(&end.refused(true, &frame6(&far), "bad-length"));
    assert_eq!((kind, code, pointer), (4, 0, 42));
}

/// Bounded: when there is no room the oldest datagram goes.
#[test]
fn a_flood_of_parts_displaces_itself() {
    let mut end = End::b4(|c| {
        c.reassembly.datagrams = 8;
        c.reassembly.octets = 8192;
    });
    for id in 0..100 {
        end.send_all(Side::Internet, &[parts(id, &[1200])[0].clone()]);
    }
    assert_eq!(end.count("fragment-store-full"), 100 - 6);
    whole(&mut end, &parts(1000, &[400]));
    for id in 0..100 {
        end.send_all(Side::Internet, &[parts(id, &[8])[0].clone()]);
    }
    whole(&mut end, &parts(1001, &[400]));
}

#[test]
fn a_datagram_has_a_limited_number_of_parts() {
    let mut end = End::b4(|_| {});
    let cuts: Vec<usize> = (1..170).map(|i| i * 8).collect();
    assert!(end.send_all(Side::Internet, &parts(1, &cuts)).is_empty());
    assert!(end.count("fragment-store-full") > 0);
}

/// Datagrams larger than any frame are put together and cut again for the link.
#[test]
fn what_is_larger_than_a_frame_is_cut_for_the_link() {
    let mut end = End::b4(|_| {});
    end.largest = 1514;
    let p = udp((REMOTE, 80), (CUSTOMER, 5000), &[9; 6000]);
    let cuts: Vec<usize> = (1..5).map(|i| i * 1400).collect();
    let frames: Vec<_> = fragments6(&ipv6(PE, B4, 4, &p), 1, &cuts).iter().map(|p| frame6(p)).collect();
    let mut out = end.send_all(Side::Internet, &frames);
    out.sort_by_key(|f| u16::from_be_bytes([f.1[20], f.1[21]]) & 0x1fff);
    let payload: Vec<u8> = out.iter().flat_map(|f| bare(&f.1)[20..].to_vec()).collect();
    assert_eq!(payload, p[20..]);
    // With DF the sender inside the tunnel is told.
    let frames: Vec<_> = fragments6(&ipv6(PE, B4, 4, &df(p)), 2, &cuts).iter().map(|p| frame6(p)).collect();
    let out = end.send_all(Side::Internet, &frames);
    assert_eq!(out.len(), 1);
    let (src, dst, error) = unwrapped(&out[0].1);
    assert_eq!(
        (src.to_string(), dst.to_string(), &error[12..20]),
        (B4.into(), PE.into(), &[INSIDE, REMOTE].concat()[..])
    );
    assert_eq!(parts_of_icmp(&error).2, 1500);
}

/// Congestion that one part met is not lost (RFC 3168, section 5.3).
#[test]
fn congestion_of_a_part_counts() {
    let mut end = End::b4(|_| {});
    let p = with(big(), |p| p[1] = 2);
    let mut f: Vec<_> = fragments6(&ipv6(PE, B4, 4, &p), 1, &[400]).iter().map(|p| frame6(p)).collect();
    f[0][15] |= 2 << 4;
    f[1][15] |= 3 << 4;
    let out = end.send_all(Side::Internet, &f);
    assert_eq!(bare(&out[0].1)[1], 3);
    for f in &mut f {
        f[61] = 9;
    }
    f[0][15] &= 0x0f;
    assert!(end.send_all(Side::Internet, &f).is_empty());
    assert_eq!(end.count("ecn-not-capable"), 1);
}

/// Section 5.5 and 5.7: only the other end's packets come out, errors inside have the well-known address.
#[test]
fn only_the_other_end_is_listened_to() {
    let mut end = End::b4(|_| {});
    let p = udp((REMOTE, 80), (CUSTOMER, 5000), b"hello");
    end.dropped(true, &wrapped(OTHER_B4, B4, &p), "spoofed-source");
    end.dropped(true, &wrapped(PE, OTHER_B4, &p), "unknown-softwire");
    let expired = with(p.clone(), |p| p[8] = 1);
    let f = end.refused(true, &wrapped(PE, B4, &expired), "hop-limit-expired");
    let (src, dst, error) = unwrapped(&f);
    assert_eq!(
        (src.to_string(), dst.to_string(), &error[12..20]),
        (B4.into(), PE.into(), &[INSIDE, REMOTE].concat()[..])
    );
    assert_eq!(parts_of_icmp(&error), (11, 0, 0, expired));
    // To this end itself.
    end.dropped(true, &wrapped(PE, B4, &udp((REMOTE, 80), (INSIDE, 53), b"hello")), "local");
    end.dropped(false, &frame4(&udp((CUSTOMER, 80), (OWN4, 53), b"hello")), "local");
}

/// Section 6, and RFC 2473, section 4.1.2: no packet goes through a tunnel from this end to itself, even where both ends were given as the
/// same by mistake.
#[test]
fn a_tunnel_to_oneself_carries_nothing() {
    let mut end = End::b4(|_| {});
    let p = udp((REMOTE, 80), (CUSTOMER, 5000), b"hello");
    end.leave(&wrapped(PE, B4, &p));
    end.dropped(true, &wrapped(B4, B4, &p), "martian-source");
    end.dropped(true, &wrapped(OWN6, B4, &p), "martian-source");
    let itself = || plane::tunnel::OneTunnel::new(B4.parse().unwrap(), B4.parse().unwrap());
    let mut end = End::new(&config(plane::Side::Internet), 1, itself);
    end.dropped(true, &wrapped(B4, B4, &p), "martian-source");
}
