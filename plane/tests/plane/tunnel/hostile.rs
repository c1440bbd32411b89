//! Invalid and forged packets, and properties of all packets: no panic, bounded stores, every packet is counted, and
//! decapsulation reverses encapsulation.

use crate::each_device::counted;
use crate::tunnel::end::*;
use crate::tunnel::packets::*;
use crate::tunnel::rfc7596::{PORT, SHARED, lwaftr, table};
use plane::Side;
use plane::lw4o6::{Bindings, Live};
use proptest::prelude::*;

#[test]
fn each_fault_has_its_name() {
    let (mut end, _) = lwaftr(|_| {});
    let good = udp((REMOTE, 80), (SHARED, PORT), b"hello, other side of it");
    let f4 = frame4(&good);
    let f6 = wrapped(B4, PE, &udp((SHARED, PORT), (REMOTE, 80), b"hello"));
    let broken = |f: &[u8], at: usize, value: u8| {
        let mut f = f.to_vec();
        f[at] = value;
        f
    };
    let sealed = |at: usize, value: u8| frame4(&with(good.clone(), |p| p[at] = value));
    let from_to = |from: [u8; 4], to: [u8; 4]| {
        frame4(&with(good.clone(), |p| {
            p[12..16].copy_from_slice(&from);
            p[16..20].copy_from_slice(&to);
        }))
    };
    end.dropped(false, &f4[..13], "short-frame");
    end.dropped(false, &f4[..20], "short-frame");
    end.dropped(false, &broken(&f4, 5, 9), "other-mac");
    end.dropped(false, &broken(&f4, 0, 3), "link-multicast");
    end.dropped(false, &broken(&f4, 14, 0x65), "bad-ip-header");
    end.dropped(false, &broken(&f4, 14, 0x44), "bad-ip-header");
    end.dropped(false, &broken(&f4, 24, f4[24] ^ 1), "bad-header-checksum");
    end.dropped(false, &sealed(2, 9), "bad-length");
    end.dropped(false, &sealed(3, 19), "bad-length");
    end.dropped(false, &frame4(&with(good.clone(), |p| p[3] = 24)), "short-frame");
    for martian in [[0, 0, 0, 1], [127, 0, 0, 1], [169, 254, 1, 1], [224, 0, 0, 5], [240, 0, 0, 1], [255; 4]] {
        end.dropped(false, &from_to(martian, SHARED), "martian-source");
    }
    end.dropped(false, &from_to(REMOTE, [224, 0, 0, 5]), "multicast");
    for martian in [[0, 0, 0, 1], [127, 0, 0, 1], [169, 254, 1, 1], [240, 0, 0, 1], [255; 4]] {
        end.dropped(false, &from_to(REMOTE, martian), "martian-destination");
    }
    let route = [&good[..20], &[131, 3, 4, 0], &good[20..]].concat();
    let route = with(route, |p| {
        p[0] = 0x46;
        p[3] += 4;
    });
    end.dropped(false, &frame4(&route), "bad-ip-option");
    end.dropped(true, &f6[..13], "short-frame");
    end.dropped(true, &f6[..40], "short-frame");
    end.dropped(true, &f6[..70], "bad-length");
    end.dropped(true, &broken(&f6, 5, 9), "other-mac");
    end.dropped(true, &broken(&f6, 0, 3), "link-multicast");
    end.dropped(true, &broken(&f6, 14, 0x45), "bad-ip-header");
    end.dropped(true, &broken(&f6, 22, 0xff), "martian-source");
    // A packet with a source of this end itself would loop (RFC 2473, sections 4.1.2 and 7): the address of the
    // softwire's end, or the gateway's own address, over IPv4 too. It causes no ICMP error.
    for own in [PE, OWN6] {
        end.dropped(true, &wrapped(own, PE, &udp((SHARED, PORT), (REMOTE, 80), b"hello")), "martian-source");
        end.dropped(true, &wrapped(own, PE, &udp((SHARED, 1), (REMOTE, 80), b"hello")), "martian-source");
        end.dropped(true, &frame6(&icmp6(own, OWN6, 128, 0, 0, b"ping")), "martian-source");
    }
    end.dropped(false, &from_to(OWN4, SHARED), "martian-source");
    end.dropped(false, &from_to(OWN4, OWN4), "martian-source");
    // Link-local ones are of one link alone (RFC 4291, section 2.5.6), on the fast path and on the slow one.
    let ping = ping(SHARED, REMOTE, PORT);
    for link_local in ["fe80::b4", "febf::1"] {
        end.dropped(true, &wrapped(link_local, PE, &udp((SHARED, PORT), (REMOTE, 80), b"hello")), "martian-source");
        end.dropped(true, &wrapped(link_local, PE, &ping), "martian-source");
    }
    end.dropped(true, &broken(&f6, 20, 17), "not-a-tunnel-packet");
    end.dropped(true, &broken(&f6, 54, 0x65), "bad-ip-header");
    end.dropped(true, &broken(&f6, 64, f6[64] ^ 1), "bad-header-checksum");
    end.dropped(true, &frame6(&ipv6(B4, PE, 60, &[4, 9, 0, 0, 0, 0, 0, 0])), "bad-extension-header");
    assert_eq!((end.count("ipv4-to-ipv6"), end.count("ipv6-to-ipv4")), (0, 0));
}

#[test]
fn what_is_for_the_machine_itself_is_local() {
    let (mut end, _) = lwaftr(|_| {});
    let mut arp = vec![0xff; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let solicitation = {
        let mut f = frame6(&icmp6("fe80::1", "ff02::1:ff00:1", 135, 0, 0, &[0; 16]));
        f[..6].copy_from_slice(&[0x33, 0x33, 0xff, 0, 0, 1]);
        f
    };
    let ping6 = frame6(&icmp6("2001:db8::9", OWN6, 128, 0, 0, b"ping"));
    let ssh = frame6(&ipv6("2001:db8::9", OWN6, 6, &[0; 20]));
    end.dropped(false, &arp, "local");
    for f in [arp, solicitation, ping6, ssh] {
        end.dropped(true, &f, "local");
    }
    end.dropped(false, &frame4(&udp((REMOTE, 80), (OWN4, 9), b"hello")), "local");
}

#[test]
fn without_memory_nothing_is_sent_but_all_is_counted() {
    let (mut end, _) = lwaftr(|c| c.v6.mtu = 1280);
    end.memory = 0;
    end.dropped(false, &frame4(&udp((REMOTE, 80), (SHARED, PORT), &[1; 1400])), "no-memory");
    end.dropped(false, &frame4(&with(udp((REMOTE, 80), (SHARED, PORT), b"x"), |p| p[8] = 1)), "no-memory");
}

/// Octets, or a frame of either side that is right but for a few octets.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop::collection::vec(any::<u8>(), 0..80);
    let base = (0u8..9, any::<u16>(), payload, any::<bool>(), 0u16..6).prop_map(|(kind, port, payload, six, id)| {
        let (shared, remote) = ((SHARED, if port & 1 == 0 { PORT } else { port }), (REMOTE, 80));
        let (from, to) = if six { (shared, remote) } else { (remote, shared) };
        let p = match kind {
            0..3 => udp(from, to, &payload),
            3 => tcp(from, to, &payload),
            4 => ping(from.0, to.0, shared.1),
            5 => icmp_error(from.0, to.0, 3, 4, &udp(to, from, &payload)),
            6 => udp(shared, (SHARED, port), &payload),
            _ => {
                let cut = 8 * (1 + usize::from(port & 7));
                let parts = fragments(&udp(from, to, &[payload, vec![0; 80]].concat()), id, &[cut]);
                parts[usize::from(port >> 15)].clone()
            }
        };
        match (six, kind) {
            (false, _) => frame4(&p),
            (true, 8) => {
                let parts = fragments6(&ipv6(B4, PE, 4, &p), id.into(), &[16]);
                frame6(&parts[usize::from(port >> 14 & 1)])
            }
            (true, 7) if port % 4 == 0 => frame6(&icmp6("2001:db8::9", PE, 1, 0, 0, &ipv6(PE, B4, 4, &p))),
            (true, _) => wrapped(B4, PE, &p),
        }
    });
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let nearly = (base, changes, 0usize..40).prop_map(|(mut f, changes, cut)| {
        for (at, value) in changes {
            let at = at.index(f.len());
            f[at] = value;
        }
        f.truncate(f.len() - cut.saturating_sub(25));
        f
    });
    prop_oneof![4 => nearly, 1 => prop::collection::vec(any::<u8>(), 0..120)]
}

fn check(end: &mut End<Bindings>, from: Side, frames: &[Vec<u8>]) {
    let relayed = end.count("icmp-relayed");
    end.now += SECOND;
    let extra = ["icmp-sent", "icmp-suppressed", "icmp-relayed", "fragmented", "reassembled"];
    let counted = counted(end, from, frames, &extra) + end.count("icmp-relayed") - relayed;
    assert!(counted >= frames.len() as u64, "every packet is counted");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_all_is_counted(
        batches in prop::collection::vec((any::<bool>(), prop::collection::vec(frame(), 0..33)), 0..20),
        small: bool,
    ) {
        let mut c = config(Side::Customer);
        c.reassembly.datagrams = 4;
        c.fragments.datagrams = 4;
        if small {
            c.v4.mtu = 68;
            c.inner_address = [192, 0, 0, 1].into();
        }
        let live = Live::new(table());
        let mut end = End::new(&c, 1, || live.bindings());
        (end.memory, end.largest) = (100, 2000);
        for (v4, frames) in batches {
            check(&mut end, if v4 { Side::Internet } else { Side::Customer }, &frames);
        }
    }

    /// Into a tunnel at one end and out at the other, in whole or in parts: the packet, two hops on.
    #[test]
    fn tunnels_are_transparent(
        port: u16,
        len in 0usize..3000,
        tos: u8,
        ttl in 3u8..,
        mtu in 1280u16..1600,
        is_tcp: bool,
    ) {
        let payload: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let p = if is_tcp { tcp((CUSTOMER, port), (REMOTE, 80), &payload) } else { udp((CUSTOMER, port), (REMOTE, 80), &payload) };
        let p = with(p, |p| {
            p[1] = tos;
            p[8] = ttl;
        });
        let mut near = End::b4(|c| c.v6.mtu = mtu);
        let mut c = config(Side::Internet);
        c.v4.mtu = 9000;
        let mut far = End::new(&c, 1, || plane::tunnel::OneTunnel::new(PE.parse().unwrap(), B4.parse().unwrap()));
        let mut frames = near.enter_all(std::slice::from_ref(&p));
        for f in &mut frames {
            f[..6].copy_from_slice(&MAC6);
        }
        let out = far.send_all(Side::Internet, &frames);
        prop_assert_eq!(out.len(), 1);
        prop_assert_eq!(bare(&out[0].1), one_hop(&one_hop(&p)));
    }
}
