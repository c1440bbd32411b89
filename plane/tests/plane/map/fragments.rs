//! Fragments to a shared address at a MAP-T border relay (RFC 7599, section 9; RFC 7597, section 8.3.2; RFC 6269,
//! section 11): only the first shows the port.

use crate::map::bed::{judge, turn};
use crate::map::mapt::{CE, br_config, ce, relay};
use plane::event::Event;
use plane::map::MapTBr;
use plane::{Function, Side, Steering, Translate};
use testbed::prelude::{Bed, Frame, INTERNET, SECOND, fragments, reassemble, udp_with};

/// Customers that share 192.0.2.18: ports and addresses.
const PORT: u16 = 1232;
const OTHER_PORT: u16 = 1236;
const OTHER_CE: &str = "2001:db8:12:3500:0:c000:212:35";

type Relay = Bed<Translate<MapTBr>>;

fn relay_of(n: u16, change: impl Fn(&mut plane::translate::Config)) -> Relay {
    let worker = |w| {
        let mut config = br_config();
        change(&mut config);
        Translate::new(config, relay()).unwrap().on_worker(w, n)
    };
    Bed::new((0..n).map(worker).collect(), [Steering::Hash(&[]); 2], |_, _| {})
}

fn count(r: &Relay, e: Event) -> u64 {
    r.workers.iter().map(|w| w.counter(e)).sum()
}

/// Sends IPv4 frames in, each at a given worker. Returns the IPv6 frames that leave, in order; checks that no others
/// leave.
fn through_workers(r: &mut Relay, frames: impl IntoIterator<Item = (usize, Vec<u8>)>) -> Vec<Vec<u8>> {
    let out = r.run(Side::Internet, frames.into_iter().map(|(w, f)| (w, Frame::new(&f))).collect());
    assert!(out.iter().all(|(side, _)| *side == Side::Customer));
    out.into_iter().map(|(_, f)| f).collect()
}

fn through(r: &mut Relay, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    through_workers(r, frames.iter().map(|f| (0, f.clone())))
}

/// The frames of a UDP datagram to 192.0.2.18, cut at offsets 1000 and 2000. Its text says which it is.
fn parts(port: u16, id: u16) -> [Vec<u8>; 3] {
    between(([10, 2, 3, 4], 80), ([192, 0, 2, 18], port), id)
}

fn between(from: ([u8; 4], u16), to: ([u8; 4], u16), id: u16) -> [Vec<u8>; 3] {
    let whole = INTERNET.arriving(&udp_with(from, to, 64, &[id as u8; 2500]));
    fragments(&whole, &[1000, 2000], id.into()).try_into().unwrap()
}

/// Put the IPv6 fragments of a datagram together, and judge the datagram: destination, port and text must be right.
fn judge_whole(out: &[Vec<u8>], ce: &str, port: u16, id: u16) {
    let whole = join(out, id);
    let seen = judge(&whole);
    assert_eq!((seen.dst.to_string(), seen.ports, seen.hops), (ce.to_owned(), (80, port), 63));
}

/// The datagram of the IPv6 fragments with this identification; its text must be right.
fn join(out: &[Vec<u8>], id: u16) -> Vec<u8> {
    let mine = out.iter().filter(|f| f[20] == 44 && f[58..62] == u32::from(id).to_be_bytes());
    let whole = reassemble(&mine.cloned().collect::<Vec<_>>());
    assert_eq!(whole[62..], [id as u8; 2500]);
    whole
}

#[test]
fn rfc7597_8_3_2_fragments_in_any_order() {
    let mut r = relay_of(1, |_| {});
    for (id, order) in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].into_iter().enumerate() {
        let sent = parts(PORT, id as u16);
        let out = through(&mut r, &order.map(|i: usize| sent[i].clone()));
        assert_eq!(out.len(), 3, "{order:?} {:?}", r.nonzero());
        judge_whole(&out, CE, PORT, id as u16);
    }
    assert_eq!((count(&r, Event::FragmentHeld), count(&r, Event::ToIpv6)), (1 + 2 + 1 + 2, 18), "{:?}", r.nonzero());
}

#[test]
fn later_fragments_without_their_first_end_in_time() {
    let mut r = relay_of(1, |_| {});
    let [first, middle, last] = parts(PORT, 1);
    assert!(through(&mut r, &[middle, last.clone()]).is_empty());
    r.now += 14 * SECOND;
    let now = r.now;
    r.workers[0].idle(now);
    assert_eq!(count(&r, Event::FragmentLate), 0);
    r.now += SECOND;
    let now = r.now;
    r.workers[0].idle(now);
    assert_eq!(count(&r, Event::FragmentLate), 2);
    // The first comes too late for them, and is one for those that come after it.
    assert_eq!(through(&mut r, &[first]).len(), 1);
    assert_eq!(through(&mut r, &[last]).len(), 1, "{:?}", r.nonzero());
}

/// Octets that come twice do not stand for those that have not come, here and where an identification comes again.
#[test]
fn a_fragment_that_comes_twice_keeps_no_other_one_back() {
    for order in [&[0, 0, 2, 1][..], &[0, 2, 2, 1], &[2, 0, 0, 1], &[0, 2, 0, 1, 2]] {
        let mut r = relay_of(1, |_| {});
        let sent = parts(PORT, 1);
        let out: Vec<_> = order.iter().flat_map(|&i| through(&mut r, std::slice::from_ref(&sent[i]))).collect();
        assert_eq!(out.len(), order.len(), "{order:?} {:?}", r.nonzero());
        assert_eq!(r.workers[0].waiting().octets, 0, "{order:?}");
    }
}

#[test]
fn a_flood_of_later_fragments_displaces_itself() {
    let mut r = relay_of(1, |c| {
        c.fragments.datagrams = 16;
        c.fragments.octets = 8192;
    });
    for id in 0..500 {
        assert!(through(&mut r, &[parts(PORT, id)[1].clone()]).is_empty());
    }
    // Each takes 1034 octets and 64 beside them: seven fit.
    assert_eq!((count(&r, Event::FragmentHeld), count(&r, Event::FragmentFull)), (500, 493));
    let [first, middle, last] = parts(PORT, 600);
    let out = through(&mut r, &[middle, first, last]);
    assert_eq!(out.len(), 3, "{:?}", r.nonzero());
    judge_whole(&out, CE, PORT, 600);
}

/// Two customers at one address, their datagrams mixed; and an identification that comes again for the other one.
#[test]
fn datagrams_of_two_customers_interleaved() {
    let mut r = relay_of(1, |_| {});
    let (a, b) = (parts(PORT, 7), parts(OTHER_PORT, 8));
    let mixed = [&a[2], &b[0], &b[1], &a[0], &b[2], &a[1]].map(Clone::clone);
    let out = through(&mut r, &mixed);
    assert_eq!(out.len(), 6, "{:?}", r.nonzero());
    judge_whole(&out, CE, PORT, 7);
    judge_whole(&out, OTHER_CE, OTHER_PORT, 8);
    let [first, middle, last] = parts(OTHER_PORT, 7);
    let out = through(&mut r, &[last, first, middle]);
    judge_whole(&out, OTHER_CE, OTHER_PORT, 7);
}

#[test]
fn fragments_meet_at_one_worker_wherever_they_arrive() {
    for n in [1, 2, 3] {
        let mut r = relay_of(n, |_| {});
        let frames = (0..20).flat_map(|id| {
            let p = parts(PORT, id);
            [2, 0, 1].map(|i: usize| p[i].clone())
        });
        let out =
            through_workers(&mut r, frames.enumerate().map(|(i, f)| (i * 7 % usize::from(n), f)).collect::<Vec<_>>());
        assert_eq!(out.len(), 60, "{:?}", r.nonzero());
        (0..20).for_each(|id| judge_whole(&out, CE, PORT, id));
        assert_eq!((r.crossings > 0, count(&r, Event::HandedOver)), (n > 1, r.crossings as u64));
    }
}

#[test]
fn an_unmapped_first_fragment_drops_the_others() {
    let mut r = relay_of(1, |_| {});
    let [first, middle, last] = parts(5, 9);
    let errors = r.workers[0].counter(Event::IcmpSent);
    assert!(through(&mut r, &[middle, last]).is_empty());
    let out = r.run(Side::Internet, vec![(0, Frame::new(&first))]);
    assert!(out.iter().all(|(side, _)| *side == Side::Internet), "nothing but answers to the sender");
    assert_eq!(count(&r, Event::OutsidePortSet), 3, "{:?}", r.nonzero());
    assert!(count(&r, Event::IcmpSent) <= errors + 1, "later fragments are not answered");
}

/// Fragments to an address that is not shared do not wait for the first: a customer with its own prefix.
#[test]
fn fragments_of_a_whole_address_need_no_first() {
    let mut r = relay_of(2, |_| {});
    let mut middle = parts(PORT, 1)[1].clone();
    middle[30..34].copy_from_slice(&[198, 18, 7, 77]);
    testbed::ip4::reseal(&mut middle);
    let out = through(&mut r, &[middle]);
    assert_eq!((out.len(), count(&r, Event::FragmentHeld), r.crossings), (1, 0, 0), "{:?}", r.nonzero());
}

/// From one customer to another at a shared address: over IPv6, too, only the first shows the port.
#[test]
fn fragments_between_customers_in_any_order_at_any_worker() {
    let mut edge = ce(false);
    for (n, order) in [(1, [2, 0, 1]), (3, [2, 0, 1]), (3, [0, 1, 2]), (3, [1, 2, 0])] {
        let mut r = relay_of(n, |_| {});
        let mut frames = Vec::new();
        for id in 0..20 {
            let sent = between(([192, 0, 2, 18], PORT), ([192, 0, 2, 18], OTHER_PORT), id);
            let sent = sent.map(|part| turn(&edge.pass(false, &part)));
            frames.extend(order.map(|i: usize| Frame::new(&sent[i])));
        }
        let frames = frames.into_iter().enumerate().map(|(i, f)| (i % usize::from(n), f)).collect();
        let out: Vec<Vec<u8>> = r.run(Side::Customer, frames).into_iter().map(|(_, f)| f).collect();
        assert_eq!(out.len(), 60, "{:?}", r.nonzero());
        for id in 0..20 {
            let seen = judge(&join(&out, id));
            assert_eq!((seen.dst.to_string(), seen.ports, seen.hops), (OTHER_CE.into(), (PORT, OTHER_PORT), 62));
        }
        assert_eq!(count(&r, Event::Hairpinned) + count(&r, Event::ToIpv6), 60);
        assert_eq!(r.crossings > 0, n > 1);
    }
}
