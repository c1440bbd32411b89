//! The judge counts every fault correctly, in any burst and for every kind of expectation, and a burst as its frames
//! one by one.

use crate::common::{Hand, bed, outer, pool};
use engine::StateTable;
use engine::expected::JudgePlan;
use engine::findings::{Findings, HopTally};
use engine::judge::{Arrivals, Judge};
use method::{Fault, FaultCounts};
use plane::view::{forwarding, nat44};
use port::{BATCH, Clock};
use wire::checksum::update16;
use wire::perm::splitmix;
use wire::template::UdpFrame;
use wire::{Fields, FramePurpose, Mac, Source, StreamId, Tag, Template, Values, View};

const TRIAL: u16 = 7;
/// The trial that filled the state table.
const LEARNED: u16 = 3;
const PLANNED: u64 = 40_000_000;
const OUTSIDE: u32 = 0xc613_0001;

/// One kind of expectation: frames that arrive, and the view.
struct Side {
    name: &'static str,
    view: View,
    arriving: Template,
    at_left: bool,
    learn: bool,
    store: Option<StateTable>,
}

fn port_of(index: u32) -> u16 {
    (index as u16).wrapping_add(2000)
}

impl Side {
    fn tag(&self, sequence: u64) -> Tag {
        let index = (sequence * 7919 % 10_000) as u32;
        Tag { trial: TRIAL, stream: Tag::stream(FramePurpose::Data, self.at_left), sender: 0, sequence, index }
    }

    fn frame(&self, tag: Tag) -> Vec<u8> {
        self.translated(tag, OUTSIDE, port_of(tag.index))
    }

    fn row(&self, sequences: std::ops::Range<u64>) -> Vec<Vec<u8>> {
        sequences.map(|s| self.frame(self.tag(s))).collect()
    }

    /// A right frame, but for outside address and port.
    fn translated(&self, tag: Tag, addr: u32, port: u16) -> Vec<u8> {
        let values = if u64::from(tag.index) < self.view.connections() {
            Values::of(self.view.flows.flow(self.view.order.get(tag.index)))
        } else {
            Values::default()
        };
        let mut bytes = vec![0; self.arriving.len()];
        self.arriving.write(&mut bytes, &values.learned(addr, port), &tag);
        bytes
    }

    fn plan(&self) -> JudgePlan<'_> {
        let trial = if self.learn { TRIAL } else { LEARNED };
        JudgePlan {
            view: &self.view,
            expect: if self.at_left { &self.view.expect_left } else { &self.view.expect_right },
            learn: self.learn,
            store: self.store.as_ref().map(|s| (s, trial)),
            trial: TRIAL,
            id: StreamId::new(TRIAL, self.tag(0).stream),
            connections: self.view.connections(),
        }
    }

    fn judged(&self, bursts: impl IntoIterator<Item = Vec<Vec<u8>>>) -> Findings {
        let mut seen = [Arrivals::default(), Arrivals::default()];
        for s in &mut seen {
            s.reset(PLANNED);
        }
        let (mut port, mut pool) = (Hand::default(), pool());
        let mut judge = Judge::new(self.plan(), Clock::system(), &mut seen);
        for burst in bursts {
            port.bursts.push_back(burst);
            judge.poll(0, &mut port, &mut pool).unwrap();
        }
        assert_eq!(pool.available(), 256, "every frame goes back to the pool");
        judge.finish()
    }
}

fn arriving(src: Source, src_port: Source, dst: Source, dst_port: Source, size: usize) -> Template {
    let fields = Fields { src, src_port, dst, dst_port };
    Template::udp_v4(&UdpFrame { to: Mac::default(), from: Mac::default(), size, ttl: 9, fields })
}

fn forward(size: usize) -> Side {
    use Source::{InsideAddr, InsidePort, RemoteAddr, RemotePort};
    Side {
        name: "forwarding, at Right",
        view: forwarding(&bed(size)),
        arriving: arriving(InsideAddr, InsidePort, RemoteAddr, RemotePort, size),
        at_left: false,
        learn: false,
        store: None,
    }
}

fn reverse(size: usize) -> Side {
    use Source::{InsideAddr, InsidePort, RemoteAddr, RemotePort};
    let arriving = arriving(RemoteAddr, RemotePort, InsideAddr, InsidePort, size);
    Side { name: "forwarding, at Left", arriving, at_left: true, ..forward(size) }
}

/// Left to Right through a NAT44, in phase 2.
fn table(size: usize) -> Side {
    use Source::{OuterAddr, OuterPort, RemoteAddr, RemotePort};
    let view = nat44(&bed(size), outer());
    let store = StateTable::new(view.connections()).unwrap();
    (0..view.connections() as u32).for_each(|i| assert!(!store.learn(i, LEARNED, OUTSIDE, port_of(i))));
    let arriving = arriving(OuterAddr, OuterPort, RemoteAddr, RemotePort, size);
    Side { name: "NAT44, at Right", view, arriving, at_left: false, learn: false, store: Some(store) }
}

/// Right to Left through a NAT44, to the address and port from which the Initiator sent.
fn back(size: usize) -> Side {
    Side { name: "NAT44, at Left", view: nat44(&bed(size), outer()), store: None, ..reverse(size) }
}

/// Left to Right through a NAT44, in phase 1.
fn learning(size: usize) -> Side {
    let empty = StateTable::new(10_000).unwrap();
    Side { name: "NAT44, phase 1", learn: true, store: Some(empty), ..table(size) }
}

fn all(size: usize) -> [Side; 5] {
    [forward(size), reverse(size), table(size), back(size), learning(size)]
}

fn facts(f: &Findings) -> (u64, u64, FaultCounts, u64, Option<u8>) {
    (f.received, f.reordered, f.faults, f.learned, f.hop_limit)
}

#[test]
fn right_frames_are_right_in_bursts_of_any_size() {
    for side in [forward(64), reverse(65), table(64), back(1518)] {
        for size in 1..=BATCH as u64 {
            // The last row crosses the point at which the sequence number needs the tag's other word.
            for first in [0, 1, 60, (1 << 24) - size / 2] {
                let f = side.judged([side.row(first..first + size)]);
                let name = side.name;
                assert_eq!(facts(&f), (size, 0, FaultCounts::default(), 0, Some(9)), "{name}: {size} from {first}");
            }
        }
    }
}

type Wrong = (Fault, Vec<u8>);

fn wrong_anywhere(side: &Side) -> Vec<Wrong> {
    let right = side.frame(side.tag(16));
    let same = |mutate: &dyn Fn(&mut Vec<u8>)| {
        let mut f = right.clone();
        mutate(&mut f);
        f
    };
    let flip = |at: usize| same(&|f| f[at] ^= 1);
    let other = |change: &dyn Fn(&mut Tag)| {
        let mut tag = side.tag(16);
        change(&mut tag);
        side.frame(tag)
    };
    let tagged = same(&|f| drop(f.splice(12..12, [0x81, 0, 0, 200])));
    // An ICMP error with the headers of the frame (RFC 792): type 3, code 1.
    let icmp_error = same(&|f| {
        f.truncate(42);
        f.splice(
            14..14,
            [0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, 3, 1, 0, 0, 0, 0, 0, 0],
        );
    });
    vec![
        (Fault::IcmpError, icmp_error),
        (Fault::WrongVlan, tagged),
        // More fragments, and an offset.
        (Fault::Fragment, same(&|f| f[20] ^= 0x20)),
        (Fault::Fragment, flip(21)),
        (Fault::Foreign, flip(42)),
        (Fault::Foreign, flip(44)),
        (Fault::Foreign, vec![0; 59]),
        (Fault::Foreign, vec![0xee; 128]),
        (Fault::Late, other(&|t| t.trial -= 1)),
        (Fault::Late, other(&|t| t.trial += 1)),
        (Fault::Returned, other(&|t| t.stream ^= 0x80)),
        (Fault::Unexpected, other(&|t| t.stream = Tag::stream(FramePurpose::Validate, side.at_left))),
        (Fault::Unexpected, other(&|t| t.sender = 2)),
        (Fault::Unexpected, other(&|t| t.sequence = PLANNED)),
        (Fault::Unexpected, other(&|t| t.index = 10_000)),
        (Fault::Unexpected, other(&|t| t.index = u32::MAX)),
        (Fault::WrongMac, flip(0)),
        (Fault::WrongMac, flip(5)),
        (Fault::WrongDontFragment, same(&|f| f[20] ^= 0x40)),
        (Fault::Trailer, same(&|f| f.push(0))),
        (Fault::Trailer, same(&|f| f.extend([7; 4]))),
        (Fault::WrongLength, [&flip(60)[..], &[0; 4]].concat()),
        (Fault::WrongLength, same(&|f| f.truncate(123))),
        (Fault::WrongHeader, flip(12)),
        (Fault::WrongHeader, flip(14)),
        (Fault::WrongHeader, flip(17)),
        (Fault::WrongHeader, flip(23)),
        (Fault::WrongHeader, flip(39)),
        (Fault::BadChecksum, flip(24)),
        (Fault::BadChecksum, flip(41)),
        (Fault::BadChecksum, same(&|f| f[40..42].fill(0))),
        (Fault::BadChecksum, flip(59)),
        (Fault::WrongPayload, flip(60)),
        (Fault::WrongPayload, flip(123)),
        (Fault::Duplicate, side.frame(side.tag(15))),
    ]
}

/// Counted differently while they are to be learned.
fn wrong_addresses(side: &Side) -> Vec<Wrong> {
    let flip = |at: usize| {
        let mut f = side.frame(side.tag(16));
        f[at] ^= 1;
        f
    };
    if !side.learn {
        let addresses = [26, 29, 30, 33].map(|at| (Fault::WrongAddress, flip(at)));
        let ports = [34, 35, 36, 37].map(|at| (Fault::WrongPort, flip(at)));
        return addresses.into_iter().chain(ports).collect();
    }
    let outside = |addr, port| (Fault::OutsidePool, side.translated(side.tag(16), addr, port));
    vec![
        outside(OUTSIDE + 1, 2000),
        outside(OUTSIDE - 1, 2000),
        outside(OUTSIDE, 1023),
        outside(OUTSIDE, 0),
        (Fault::WrongAddress, flip(30)),
        (Fault::WrongAddress, flip(33)),
        (Fault::WrongPort, flip(36)),
        (Fault::WrongPort, flip(37)),
        // Changed, not translated.
        (Fault::BadChecksum, flip(35)),
    ]
}

#[test]
fn each_fault_is_counted_as_what_it_is() {
    let mut found = [false; Fault::ALL.len()];
    for side in all(128) {
        for (fault, wrong) in wrong_anywhere(&side).into_iter().chain(wrong_addresses(&side)) {
            for at in [0, 16, 31] {
                // The right frame arrives, too, before or after the wrong one.
                let mut burst = side.row(0..31);
                burst.insert(at, wrong.clone());
                let f = side.judged([side.row(99..100), burst]);
                let what = format!("{}, {fault:?} at {at}: {:?}", side.name, f.faults);
                assert_eq!((f.faults.get(fault), f.faults.total()), (1, 1), "{what}");
                assert_eq!((f.received, f.hop_limit), (32, Some(9)), "{what}");
            }
            found[fault as usize] = true;
        }
    }
    // layouts.rs: behind a translator only. Records of earlier versions only.
    found[Fault::WrongFlowLabel as usize] = true;
    found[Fault::WrongHopLimit as usize] = true;
    assert_eq!(found, [true; Fault::ALL.len()], "there is a test for every fault");
}

#[test]
fn the_first_wrong_frame_of_each_kind_is_shown_beside_the_expected_one() {
    let side = forward(128);
    let [first, second] = [16, 17].map(|index| {
        let mut frame = side.frame(side.tag(index));
        frame[37] ^= 1;
        frame
    });
    let f = side.judged([vec![second, first]]);
    let [example] = &f.examples[..] else { panic!("{:?}", f.examples) };
    assert_eq!((example.fault, f.faults.get(Fault::WrongPort)), (Fault::WrongPort, 2));
    assert_eq!(example.octets.len(), 2 * 124);
    let words = "got UDP 198.18.0.2:1711 > 198.19.0.2:7, TTL 9, identification 4352, checksum 0x85ee, 128 octets with \
                 FCS; expected UDP 198.18.0.2:1711 > 198.19.0.2:6, identification 4352, checksum 0x85ee, 128 octets with \
                 FCS";
    assert_eq!(example.in_words(), words);
}

#[test]
fn what_a_device_may_change_is_right() {
    for side in all(64) {
        let mut burst = side.row(0..32);
        for (f, at) in burst.iter_mut().zip([6, 11, 15, 18, 19].into_iter().cycle()) {
            let old = u16::from_be_bytes([f[at & !1], f[at | 1]]);
            f[at] ^= 0x40;
            if at >= 14 {
                let sum = update16([f[24], f[25]], old, u16::from_be_bytes([f[at & !1], f[at | 1]]));
                f[24..26].copy_from_slice(&sum);
            }
        }
        let f = side.judged([burst]);
        assert_eq!((f.received, f.faults.total()), (32, 0), "{}: {:?}", side.name, f.faults);
        // Of 32 frames, 6 have another TOS: a row counts it as single frames do.
        assert_eq!(f.differences, [6, 0, 0], "{}", side.name);
    }
}

#[test]
fn one_frame_in_a_million_on_a_wrong_port_is_found() {
    for side in [forward(64), table(64)] {
        let bursts = (0..31_250).map(|b| {
            let mut burst = side.row(b * 32..b * 32 + 32);
            if b == 20_000 {
                let f = &mut burst[17];
                let old = u16::from_be_bytes([f[36], f[37]]);
                let sum = update16([f[40], f[41]], old, old + 1);
                f[36..38].copy_from_slice(&(old + 1).to_be_bytes());
                f[40..42].copy_from_slice(&sum);
            }
            burst
        });
        let f = side.judged(bursts);
        assert_eq!((f.received, f.faults.get(Fault::WrongPort), f.faults.total()), (999_999, 1, 1), "{}", side.name);
    }
}

#[test]
fn repeated_bursts_are_duplicates_only() {
    for side in all(64) {
        let burst = side.row(50..82);
        let f = side.judged([burst.clone(), burst, side.row(80..90)]);
        let found = (f.received, f.faults.get(Fault::Duplicate), f.faults.total(), f.reordered);
        assert_eq!(found, (40, 34, 34, 0), "{}", side.name);
    }
}

#[test]
fn a_very_late_duplicate_is_found() {
    let side = forward(64);
    let bursts = (0..4000).map(|b| side.row(b * 32..b * 32 + 32)).chain([side.row(0..1), side.row(31..33)]);
    let f = side.judged(bursts);
    assert_eq!((f.received, f.faults.get(Fault::Duplicate), f.faults.total()), (128_000, 3, 3));
}

#[test]
fn reordered_frames_are_right() {
    for side in all(64) {
        let mut swapped = side.row(40..60);
        swapped.swap(3, 4);
        let f = side.judged([side.row(20..40), side.row(0..20), swapped]);
        assert_eq!((f.received, f.reordered, f.faults.total()), (60, 21, 0), "{}", side.name);
    }
}

#[test]
fn a_wrong_frame_does_not_set_the_hop_limit() {
    let side = forward(64);
    let mut wrong = side.frame(side.tag(0));
    (wrong[22], wrong[29]) = (77, 99);
    let f = side.judged([vec![wrong], side.row(1..20)]);
    assert_eq!((f.received, f.hop_limit, f.faults.get(Fault::WrongAddress)), (19, Some(9), 1));
}

#[test]
fn hop_limits_are_counted() {
    let side = forward(64);
    let mut first = side.frame(side.tag(0));
    let sum = update16([first[24], first[25]], u16::from_be_bytes([first[22], first[23]]), 0x0811);
    (first[22], first[24], first[25]) = (8, sum[0], sum[1]);
    // Duplicates with any hop limit do not compensate for lost frames.
    let f = side.judged([vec![first], side.row(1..15), side.row(11..15)]);
    assert_eq!((f.received, f.hop_limit, f.faults.get(Fault::Duplicate), f.faults.total()), (15, Some(8), 4, 4));
    let mut tally = HopTally::default();
    tally.count(&f);
    assert_eq!(tally.most(), (9, 14));
}

/// Losses, duplicates, reordering, two senders and wrong frames, in bursts of any size.
#[test]
fn a_burst_is_judged_as_its_frames_would_be_one_by_one() {
    let mut state = 1;
    let mut random = |below: u64| splitmix(&mut state) % below;
    for round in 0..30 {
        let side = || match round % 3 {
            0 => forward(64),
            1 => table(64),
            _ => learning(64),
        };
        let (one, other) = (side(), side());
        let mut frames: Vec<Vec<u8>> = Vec::new();
        for sequence in 0..600 {
            let sender = u8::from(sequence % 200 > 150);
            let mut f = one.frame(Tag { sender, ..one.tag(sequence) });
            match random(80) {
                0 => continue,
                1 => frames.push(f.clone()),
                2 => f[random(60) as usize] ^= 1 << random(8),
                3 => {
                    frames.pop().into_iter().for_each(|last| frames.extend([f.clone(), last]));
                    continue;
                }
                _ => {}
            }
            frames.push(f);
        }
        let one_by_one = one.judged(frames.iter().map(|f| vec![f.clone()]));
        let mut bursts = Vec::new();
        let mut rest = &frames[..];
        while !rest.is_empty() {
            let (burst, after) = rest.split_at(rest.len().min(1 + random(BATCH as u64) as usize));
            bursts.push(burst.to_vec());
            rest = after;
        }
        assert_eq!(facts(&other.judged(bursts)), facts(&one_by_one));
        assert!(one_by_one.received > 500 && one_by_one.faults.total() > 0);
    }
}

#[test]
fn phase_1_teaches_each_connection_once() {
    let side = learning(64);
    let mut mixed = side.row(32..40);
    // A duplicate with another outside port, and two frames outside the pool.
    mixed.push(side.translated(side.tag(5), OUTSIDE, 60_000));
    mixed.push(side.translated(side.tag(41), OUTSIDE, 80));
    mixed.push(side.translated(side.tag(42), OUTSIDE + 1, 2042));
    let f = side.judged([side.row(0..32), mixed]);
    assert_eq!((f.received, f.learned, f.hop_limit), (40, 40, Some(9)));
    assert_eq!((f.faults.get(Fault::Duplicate), f.faults.get(Fault::OutsidePool), f.faults.total()), (1, 2, 3));
    let store = side.store.as_ref().unwrap();
    for s in 0..40 {
        let index = side.tag(s).index;
        assert_eq!(store.get(index, TRIAL), Some((OUTSIDE, port_of(index))));
    }
    assert_eq!(store.learned(TRIAL), 40);
}

#[test]
fn a_mapping_that_moved_since_phase_1_is_wrong() {
    let side = table(64);
    let mut burst = side.row(0..32);
    burst[9] = side.translated(side.tag(9), OUTSIDE, port_of(side.tag(9).index) + 1);
    burst[20] = side.translated(side.tag(20), OUTSIDE + 1, port_of(side.tag(20).index));
    let f = side.judged([burst]);
    assert_eq!((f.received, f.faults.get(Fault::WrongPort), f.faults.get(Fault::WrongAddress)), (30, 1, 1));
}

/// It has an entry of an earlier phase 1.
#[test]
fn a_connection_that_this_phase_1_did_not_learn_is_wrong() {
    let side = table(64);
    let index = side.tag(31).index;
    side.store.as_ref().unwrap().learn(index, LEARNED - 1, OUTSIDE, port_of(index));
    let f = side.judged([side.row(0..32)]);
    assert_eq!((f.received, f.faults.get(Fault::WrongAddress), f.faults.total()), (31, 1, 1));
}
