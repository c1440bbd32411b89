//! Frames with an IPv6 header in sender, judge and phases, whose results equal those of IPv4.

use crate::common::{Hand, lanes, outer, phase, pool, stage};
use engine::StateTable;
use engine::expected::JudgePlan;
use engine::findings::{Findings, HopTally};
use engine::indices::Indices;
use engine::judge::{Arrivals, Judge};
use engine::phase::Phase;
use engine::schedule::Departures;
use engine::sender::{Sender, SenderPlan};
use method::{Direction, Fault, FaultCounts, Order, Rate};
use plane::view::ce::{self, TunnelEnds};
use plane::view::{BedAddresses, Subscriber6, TranslatedEnds, Tunnelled, forwarding_as, pe};
use port::link::Steer;
use port::{BATCH, Clock};
use wire::checksum::{Sum, update};
use wire::template::UdpFrame;
use wire::{AddrRange, FlowSpace, FramePurpose, Layout, Mac, PortRange, Tag, Template, Values, View};

const TRIAL: u16 = 7;
/// More rows than the hardware prefetches.
const SUBSCRIBERS: u32 = 5_000;
const PLANNED: u64 = 100_000;
const OUTSIDE: u32 = 0xc613_0001;
const SOFTWIRE: TunnelEnds = TunnelEnds { ce: 0x2001_0002_0001_0000 << 64, pe: 0x2001_0002_0000_0100 << 64 | 2 };

fn bed(subscribers: u32) -> BedAddresses {
    let flows = FlowSpace::new(
        AddrRange { first: [10, 0, 0, 2].into(), count: subscribers },
        PortRange { first: 1024, last: 1027 },
        AddrRange { first: [198, 19, 0, 2].into(), count: 2 },
        PortRange { first: 1, last: 5 },
    )
    .expect("these ranges fit");
    let hop = plane::Hop::default();
    BedAddresses { left: hop, right: hop, frame_size: 128, ttl: 10, connections: flows.size(), flows, seed: 5 }
}

fn subscribers() -> Vec<Subscriber6> {
    (0..SUBSCRIBERS).map(|s| Subscriber6 { address: SOFTWIRE.ce + ((s as u128) << 64) }).collect()
}

const REMOTES: [u128; 2] = [0x2001_0002_0000_0064 << 64 | 0xc613_0002, 0x2001_0002_0000_0064 << 64 | 0xc613_0003];

/// An IPv6 link on the left, to many subscribers.
fn edges() -> [(&'static str, View); 4] {
    let bed = bed(SUBSCRIBERS);
    let subscribers = &subscribers();
    let translated = TranslatedEnds { subscribers, remotes: &REMOTES };
    let softwires = Tunnelled { subscribers, pe: SOFTWIRE.pe };
    [
        ("MAP-T BR", pe::map_t_br(&bed, &translated).unwrap()),
        ("lwAFTR", pe::lwaftr(&bed, &softwires).unwrap()),
        ("PLAT", pe::plat(&bed, &translated, outer()).unwrap()),
        ("AFTR", pe::aftr(&bed, &softwires, outer()).unwrap()),
    ]
}

fn tag(sequence: u64, reverse: bool, connections: u64) -> Tag {
    let index = (sequence * 7919 % connections) as u32;
    Tag { trial: TRIAL, stream: Tag::stream(FramePurpose::Data, reverse), sender: 0, sequence, index }
}

fn values(view: &View, index: u32) -> Values {
    Values::of(view.flows.flow(view.order.get(index))).learned(OUTSIDE, (index as u16).wrapping_add(2000))
}

fn row(view: &View, at_left: bool, sequences: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    let expect = if at_left { &view.expect_left } else { &view.expect_right };
    let frame = UdpFrame { to: Mac::default(), from: Mac::default(), size: 128, ttl: 9, fields: *expect.fields() };
    let arriving = Template::udp(&frame, expect.layout().clone());
    let frames = sequences.map(|s| {
        let tag = tag(s, at_left, view.connections());
        let mut bytes = vec![0; arriving.len()];
        arriving.write(&mut bytes, &values(view, tag.index), &tag);
        bytes
    });
    frames.collect()
}

fn judged(view: &View, at_left: bool, store: Option<&StateTable>, bursts: &[Vec<Vec<u8>>]) -> Findings {
    let learn = store.is_some() && !at_left;
    let stateless = JudgePlan::new(view, at_left, TRIAL, FramePurpose::Data);
    let plan = JudgePlan { learn, store: store.map(|s| (s, TRIAL)), ..stateless };
    let mut seen = [Arrivals::default()];
    seen[0].reset(PLANNED);
    let (mut port, mut pool) = (Hand::default(), pool());
    let mut judge = Judge::new(plan, Clock::system(), &mut seen);
    for burst in bursts {
        port.bursts.push_back(burst.clone());
        judge.poll(0, &mut port, &mut pool).unwrap();
    }
    judge.findings
}

fn redirect(frame: &mut [u8], layout: &Layout, address: u128) {
    let at = layout.tag_at() - 2;
    if matches!(layout, Layout::Ipv6(_)) {
        let [old, new] = [Sum::default().bytes(&frame[38..54]), Sum::default().bytes(&address.to_be_bytes())];
        let sum = update([frame[at], frame[at + 1]], old, new);
        frame[at..at + 2].copy_from_slice(&sum);
    }
    frame[38..54].copy_from_slice(&address.to_be_bytes());
}

#[test]
fn right_frames_are_right_in_bursts_of_any_size() {
    for (name, view) in edges() {
        for size in 1..=BATCH as u64 {
            for first in [0, 60, 4000] {
                let f = judged(&view, true, None, &[row(&view, true, first..first + size)]);
                let outer_hop = if matches!(view.expect_left.layout(), Layout::Tunnel(_)) { 9 } else { 0 };
                let found = (f.received, f.faults.total(), f.hop_limit, f.outer_hop_limit);
                assert_eq!(found, (size, 0, Some(9), outer_hop), "{name}: {:?}", f.faults);
            }
        }
    }
}

/// One of 32,000, by its outer header.
#[test]
fn a_frame_for_another_subscriber_is_a_wrong_address() {
    for (name, view) in edges() {
        let mut bursts: Vec<_> = (0..1000).map(|b| row(&view, true, b * 32..b * 32 + 32)).collect();
        let frame = &mut bursts[700][13];
        let own = u128::from_be_bytes(*frame[38..54].first_chunk().unwrap());
        let other = subscribers().iter().map(|s| s.address).find(|&a| a != own).unwrap();
        redirect(frame, view.expect_left.layout(), other);
        let f = judged(&view, true, None, &bursts);
        let found = (f.received, f.faults.get(Fault::WrongAddress), f.faults.total());
        assert_eq!(found, (31_999, 1, 1), "{name}: {:?}", f.faults);
    }
}

/// What differs in frames whose octets were changed and whose IPv4 header was resealed.
fn changed(view: &View, at_left: bool, changes: &[(usize, u8)]) -> (FaultCounts, [u64; 3]) {
    let mut burst = row(view, at_left, 0..32);
    for (at, xor) in changes {
        let frame = &mut burst[9];
        frame[*at] ^= xor;
        if frame[12] == 8 {
            frame[24..26].fill(0);
            let sum = Sum::default().bytes(&frame[14..34]).checksum();
            frame[24..26].copy_from_slice(&sum);
        }
    }
    let f = judged(view, at_left, None, &[burst]);
    assert_eq!(f.received + f.faults.total(), 32);
    (f.faults, f.differences)
}

/// RFC 7915, section 4.1: flow label 0; traffic class copied, or set if so configured.
#[test]
fn behind_a_translator_to_ipv6_the_flow_label_is_fixed() {
    let [siit, ..] = edges();
    for (at, xor) in [(15, 1), (16, 1), (17, 1)] {
        let (faults, open) = changed(&siit.1, true, &[(at, xor)]);
        assert_eq!((faults.get(Fault::WrongFlowLabel), faults.total(), open), (1, 1, [0; 3]), "octet {at}");
    }
    for (at, xor) in [(14, 1), (15, 0x10)] {
        let (faults, open) = changed(&siit.1, true, &[(at, xor)]);
        assert_eq!((faults.total(), open), (0, [1, 0, 0]), "octet {at}");
    }
}

/// RFC 7915, section 5.1: TOS is copied, or set if so configured; DF follows the size, but RFC 6145 set it always.
#[test]
fn behind_a_translator_to_ipv4_tos_and_df_are_open() {
    let [siit, ..] = edges();
    let (faults, open) = changed(&siit.1, false, &[(15, 4)]);
    assert_eq!((faults.total(), open), (0, [1, 0, 0]));
    let (faults, open) = changed(&siit.1, false, &[(20, 0x40)]);
    assert_eq!((faults.total(), open), (0, [0, 0, 1]));
}

/// RFC 2473, sections 6.4 and 6.5; the packet inside is the customer's.
#[test]
fn a_tunnel_may_choose_traffic_class_and_flow_label_of_its_own_header() {
    let tunnel = edges().into_iter().find(|(_, view)| matches!(view.expect_left.layout(), Layout::Tunnel(_))).unwrap();
    for (at, xor, differs) in [(14, 1, [1, 0, 0]), (15, 0x20, [1, 0, 0]), (15, 8, [0, 1, 0]), (17, 1, [0, 1, 0])] {
        let (faults, open) = changed(&tunnel.1, true, &[(at, xor)]);
        assert_eq!((faults.total(), open), (0, differs), "octet {at}");
    }
    let (faults, _) = changed(&tunnel.1, true, &[(60, 0x40)]);
    assert_eq!((faults.get(Fault::WrongDontFragment), faults.total()), (1, 1), "DF inside");
}

#[test]
fn hop_limits_of_both_headers_are_compared() {
    for (name, view) in edges() {
        let mut burst = row(&view, true, 0..32);
        for (at, frame) in [(0, 21), (7, 21)] {
            burst[at][frame] = 60 + at as u8;
        }
        let f = judged(&view, true, None, &[row(&view, true, 40..41), burst]);
        let mut tally = HopTally::default();
        tally.count(&f);
        assert_eq!((f.received, tally.most().1, f.faults.total()), (33, 31, 0), "{name}: {:?}", f.faults);
    }
}

#[test]
fn phase_1_learns_addresses_at_a_pe_and_what_exists_at_a_ce() {
    let ce_bed = bed(1);
    let map_t = ce::map_t(&ce_bed, SOFTWIRE.ce, &REMOTES, outer()).unwrap();
    let [_, _, plat, aftr] = edges();
    let views =
        [plat, aftr, ("lwB4", ce::lwb4(&ce_bed, SOFTWIRE, outer())), ("MAP-T CE", map_t)].map(|(name, view)| {
            let addr = if matches!(view.expect_right.layout(), Layout::Ipv6(_)) { 0 } else { OUTSIDE };
            (name, view, addr)
        });
    for (name, view, addr) in views {
        let store = StateTable::new(view.connections()).unwrap();
        // One burst judged as a row, one as single frames.
        let f = judged(
            &view,
            false,
            Some(&store),
            &[row(&view, false, 0..20), {
                let mut mixed = row(&view, false, 20..40);
                mixed.swap(3, 4);
                mixed
            }],
        );
        assert_eq!((f.received, f.learned, f.faults.total()), (40, 40, 0), "{name}: {:?}", f.faults);
        for s in 0..40 {
            let index = tag(s, false, view.connections()).index;
            assert_eq!(store.get(index, TRIAL), Some((addr, (index as u16).wrapping_add(2000))), "{name}");
        }
    }
}

#[test]
fn a_sender_sends_what_the_template_makes_of_each_flow() {
    for (name, view) in edges() {
        let first =
            Tag { trial: TRIAL, stream: Tag::stream(FramePurpose::Data, false), sender: 0, sequence: 0, index: 0 };
        let plan = SenderPlan {
            view: &view,
            template: &view.left,
            outer: None,
            growth: view.growth(true),
            departures: Departures::new(0, 1_000_000_000, Rate(1_000_000), 500),
            indices: Indices::new(Order::RoundRobin, view.connections(), 0, 0, 1),
            tag: first,
        };
        let mut sender = Sender::new(plan, Clock::system(), u64::MAX);
        let (mut port, mut pool) = (Hand::default(), pool());
        for now in [3_000, 40_000, 60_000, 1_000_000].into_iter().chain([1_000_000; 20]) {
            sender.poll(now, &mut port, &mut pool).unwrap();
        }
        assert_eq!(port.sent.len(), 500, "{name}");
        for (i, sent) in (0..).zip(&port.sent) {
            let mut frame = vec![0; view.left.len()];
            view.left.write(&mut frame, &values(&view, i), &Tag { sequence: i.into(), index: i, ..first });
            assert_eq!(&frame, sent, "{name}");
        }
    }
}

#[test]
fn a_cable_brings_every_frame_of_every_layout() {
    for (name, view) in edges() {
        let view = forwarding_as(&bed(SUBSCRIBERS), view.left.layout());
        let lanes = lanes((1, 4096), view.longest(), || Steer::First, |left| left, |right| right);
        let connections = view.connections();
        let mut stage = stage(view, lanes);
        let out =
            stage.run(&Phase { reverse_order: Order::Random, connections, ..phase(20_000, Direction::Both) }).unwrap();
        assert_eq!((out.forward.received, out.reverse.received), (20_000, 20_000), "{name}: {:?}", out.forward.faults);
    }
}
