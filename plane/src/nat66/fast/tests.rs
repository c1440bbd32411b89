//! The fast path does what the slow path does, octet by octet and state by state: whatever arrives goes through two NATs, of
//! which one has no fast path.

use super::*;
use crate::fragment::Buffer;
use crate::function::{Drops, Function, Input, TableEntry};
use crate::ip6::{Pool6, put128};
use crate::nat44::config::Filtering;
use crate::side::Side6;
use proptest::prelude::*;
use wire::checksum::Sum;
use wire::{Mac, PortRange, Prefix6, header::put16};

const MACS: [[Mac; 2]; 2] =
    [[Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])], [Mac([2, 0, 0, 0, 1, 1]), Mac([2, 0, 0, 0, 1, 2])]];
const CUSTOMERS: u128 = 0x2001_0db8_0001 << 80;
const REMOTES: u128 = 0x2001_0db8_0007 << 80;
const OUTSIDE: u128 = 0x2001_0db8_0002 << 80;
const OWN: u128 = 0x2001_0db8_ffff << 80 | 1;

#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "settings that have nothing to do with each other")]
struct Choices {
    workers: usize,
    per_connection: bool,
    filtering: u8,
    inbound_refresh: bool,
    inside: bool,
    small: bool,
}

fn chosen() -> impl Strategy<Value = Choices> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (1..4usize, 0..3u8, flags).prop_map(|(workers, filtering, (per_connection, inbound_refresh, inside, small))| {
        Choices { workers, per_connection, filtering, inbound_refresh, inside, small }
    })
}

impl Choices {
    fn usual(workers: usize, inside: bool) -> Choices {
        Choices { workers, per_connection: false, filtering: 0, inbound_refresh: false, inside, small: false }
    }

    fn nat(&self) -> Nat66 {
        let side = |n: usize, address: u128, mtu| Side6 {
            mac: MACS[n][0],
            next_hop: MACS[n][1],
            address: address.into(),
            mtu,
        };
        let pool = Pool6::new(Prefix6 { addr: OUTSIDE.into(), len: 127 }).unwrap();
        let mut c = Config::new(side(0, OWN - 1, 1500), side(1, OWN, 1280), pool);
        if self.inside {
            c.inside = vec![Prefix6 { addr: CUSTOMERS.into(), len: 48 }];
        }
        c.nat.filtering =
            [Filtering::EndpointIndependent, Filtering::AddressDependent, Filtering::AddressAndPortDependent]
                [usize::from(self.filtering)];
        if self.per_connection {
            c.nat = c.nat.per_connection();
        }
        c.nat.inbound_refresh = self.inbound_refresh;
        (c.nat.sessions, c.customers, c.remotes) = (if self.small { 8 } else { 500 }, 100, 100);
        c.nat.ports = PortRange { first: 1024, last: 9000 };
        Nat66::new(c, 0, self.workers, 3).unwrap()
    }
}

/// A packet, nearly always one that the fast path may take.
#[derive(Clone, Debug)]
struct Sent {
    out: bool,
    ends: [u8; 2],
    ports: [u16; 2],
    kind: u8,
    flags: u8,
    hops: u8,
    payload: usize,
    /// Octets behind the packet, or missing.
    beyond: i8,
    no_checksum: bool,
    /// Octets that are changed.
    damage: Vec<(u8, u8)>,
    /// Another packet that came out: this one is the answer to it.
    answers: Option<usize>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let usual = |usual: u8| prop_oneof![9 => Just(usual), 1 => any::<u8>()];
    let damage = prop_oneof![6 => Just(Vec::new()), 1 => proptest::collection::vec((0..80u8, any::<u8>()), 1..3)];
    let port = || prop_oneof![9 => 5000..5006u16, 1 => any::<u16>()];
    let payload = prop_oneof![8 => 0..60usize, 1 => 1180..1500usize];
    let beyond = prop_oneof![8 => Just(0i8), 1 => -30..30i8];
    let what = (0..9u8, prop_oneof![Just(2u8), Just(16), Just(18), Just(17), Just(4)], usual(64));
    let length = (payload, beyond, prop::bool::weighted(0.1));
    let answers = proptest::option::of(any::<usize>());
    (any::<bool>(), [0..6u8, 0..6u8], [port(), port()], what, length, damage, answers).prop_map(
        |(out, ends, ports, (kind, flags, hops), (payload, beyond, no_checksum), damage, answers)| Sent {
            out,
            ends,
            ports,
            kind,
            flags,
            hops,
            payload,
            beyond,
            no_checksum,
            damage,
            answers,
        },
    )
}

impl Sent {
    /// An ordinary packet of a customer.
    fn usual(ends: [u8; 2], kind: u8) -> Sent {
        Sent {
            out: true,
            ends,
            ports: [5000; 2],
            kind,
            flags: 2,
            hops: 64,
            payload: 18,
            beyond: 0,
            no_checksum: false,
            damage: Vec::new(),
            answers: None,
        }
    }

    fn frame(&self, came_out: &[Vec<u8>], mark: [u8; 6]) -> (Side, Vec<u8>) {
        let answered = self.answers.filter(|_| !came_out.is_empty()).map(|i| &came_out[i % came_out.len()]);
        let answered = answered.filter(|f| f[..6] == MACS[1][1].0 && f.len() >= LEAST);
        let out = self.out && answered.is_none();
        let (mut src, mut dst, mut ports) = if out {
            (CUSTOMERS | u128::from(self.ends[0]), REMOTES | u128::from(self.ends[1]), self.ports)
        } else {
            (REMOTES | u128::from(self.ends[0]), OUTSIDE | u128::from(self.ends[1] & 1), self.ports)
        };
        if out && self.ends == [5, 5] {
            dst = OUTSIDE;
        }
        let mut kind = self.kind % 3;
        if let Some(f) = answered {
            (src, dst) = (be128(f, 38), be128(f, 22));
            kind = match f[20] {
                PROTO_UDP => 0,
                TCP => 1,
                _ => 2,
            };
            ports = if kind == 2 { [be16(f, 58); 2] } else { [be16(f, 56), be16(f, 54)] };
        }
        let l4 = if kind == 1 { 20 } else { 8 };
        let n = l4 + self.payload;
        let mut b = vec![0x5a; L4 + n];
        let [own, hop] = MACS[usize::from(!out)];
        b[..6].copy_from_slice(&own.0);
        b[6..12].copy_from_slice(if self.kind == 8 && self.flags == 2 { &mark } else { &hop.0 });
        put16(&mut b, 12, header::TYPE_IPV6);
        b[14..18].copy_from_slice(&[0x6a, 0x51, 0x23, 0x45]);
        put16(&mut b, 18, n as u16);
        b[20] = [PROTO_UDP, TCP, ICMPV6][usize::from(kind)];
        b[21] = self.hops;
        put128(&mut b, 22, src);
        put128(&mut b, 38, dst);
        let field = L4 + [6, 16, 2][usize::from(kind)];
        if kind == 2 {
            (b[L4], b[L4 + 1]) = (if out { icmp::ECHO } else { icmp::ECHO_REPLY }, 0);
            put16(&mut b, L4 + 4, ports[0]);
        } else {
            put16(&mut b, L4, ports[0]);
            put16(&mut b, L4 + 2, ports[1]);
            put16(&mut b, L4 + 4, n as u16);
        }
        if kind == 1 {
            b[L4 + 13] = self.flags;
        }
        b[field..field + 2].fill(0);
        if !self.no_checksum {
            let pseudo = Sum::default().bytes(&b[22..54]).be32(n as u32).be16(b[20].into());
            let sum = pseudo.plus(Sum::default().bytes(&b[L4..])).checksum();
            b[field..field + 2].copy_from_slice(&sum);
        }
        for &(at, value) in &self.damage {
            if let Some(octet) = b.get_mut(usize::from(at)) {
                *octet = value;
            }
        }
        b.resize(b.len().saturating_add_signed(self.beyond.into()), 0);
        (if out { Side::Customer } else { Side::Internet }, b)
    }
}

/// Packets that are sent in addition to a batch.
#[derive(Debug, Default, PartialEq, Eq)]
struct Emissions(Vec<(Option<u16>, Side, Vec<u8>)>);

impl Spare<Buffer> for Emissions {
    fn fresh(&mut self, len: usize) -> Option<Buffer> {
        Some(Buffer::copy(&vec![0; len]))
    }
    fn emit(&mut self, to: Side, packet: Buffer) {
        self.0.push((None, to, packet.bytes().to_vec()));
    }
    fn hand_over(&mut self, to: u16, from: Side, packet: Buffer) {
        self.0.push((Some(to), from, packet.bytes().to_vec()));
    }
}

/// Result of a batch: verdicts, the frames, and the packets sent in addition.
type Out = (Vec<Verdict>, Vec<Vec<u8>>, Emissions);

fn run(nat: &mut Nat66, fast: bool, now: u64, from: Side, frames: &[Vec<u8>]) -> Out {
    let mut batch: Vec<Buffer> = frames.iter().map(|f| Buffer::copy(f)).collect();
    let (mut verdicts, mut beside) = (vec![Verdict::Drop; batch.len()], Emissions::default());
    if fast {
        nat.process(Input::new(now, from, &mut batch, &mut verdicts), &mut beside);
    } else {
        // As `process` does, without the fast path.
        nat.keep_time(now);
        nat.answer_pending_syns(&mut beside);
        for (p, v) in batch.iter_mut().zip(&mut verdicts) {
            *v = nat.one::<Buffer, Buffer>(from, p, &mut beside);
        }
        nat.tidy(false);
    }
    (verdicts, batch.iter().map(|p| p.bytes().to_vec()).collect(), beside)
}

/// All visible state: sessions, numbers, entries, counters.
type State = (Vec<TableEntry>, [u32; 2], Option<(u64, u64)>, Drops);

fn state(nat: &Nat66, now: u64) -> State {
    (nat.sessions(now, 0..u64::MAX), nat.known(), nat.entries(), nat.counters())
}

/// A batch, and the time that passes before it.
type Step = (Vec<Sent>, u64);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn fast_and_slow_path_do_the_same(
        chosen in chosen(),
        steps in proptest::collection::vec((proptest::collection::vec(sent(), 1..32), prop_oneof![4 => 0..3000u64, 1 => 0..400_000u64]), 1..24),
    ) {
        let [mut fast, mut slow] = [chosen.nat(), chosen.nat()];
        let (mut now, mut came_out) = (1u64 << 40, Vec::new());
        let steps: Vec<Step> = steps;
        for (sent, pause) in steps {
            now += pause * 1_000_000;
            let frames: Vec<_> = sent.iter().map(|s| s.frame(&came_out, fast.mark)).collect();
            for from in [Side::Customer, Side::Internet] {
                let batch: Vec<_> = frames.iter().filter(|f| f.0 == from).map(|f| f.1.clone()).collect();
                let [a, b] = [(&mut fast, true), (&mut slow, false)].map(|(nat, fast)| run(nat, fast, now, from, &batch));
                prop_assert_eq!(&a, &b);
                prop_assert_eq!(state(&fast, now), state(&slow, now));
                let left = a.0.iter().zip(a.1).filter(|(v, _)| **v == Verdict::Forward(Side::Internet));
                came_out.extend(left.map(|(_, f)| f));
            }
            if pause > 2000 {
                fast.idle(now);
                slow.idle(now);
            }
        }
        // Both free numbers at the same time.
        for _ in 0..12 {
            now += 100 * 1_000_000_000;
            fast.idle(now);
            slow.idle(now);
            prop_assert_eq!(state(&fast, now), state(&slow, now));
        }
    }
}

/// Whether the fast path alone translates a frame.
fn is_fast<const OUT: bool>(nat: &mut Nat66, b: &[u8]) -> bool {
    let (mut customers, mut remotes, mut w) = (Names::new(), Names::new(), Work::new());
    if !nat.is_plain::<OUT>(b) {
        return false;
    }
    customers.hash[0] = nat.customers.ask(be128(b, 22));
    remotes.hash[0] = nat.remotes.ask(be128(b, if OUT { 38 } else { 22 }));
    nat.ask::<OUT>(b, 0, &mut customers, &mut remotes, &mut w);
    nat.nat.look::<OUT>(&mut w, 1);
    w.is_plain(0) && nat.forward::<OUT>(&mut b.to_vec(), 0, &w)
}

#[test]
fn what_is_usual_takes_the_fast_path() {
    let mut nat = Choices::usual(1, true).nat();
    for kind in 0..3 {
        let sent = Sent { ports: [5000, 80], ..Sent::usual([1, 2], kind) };
        let (side, frame) = sent.frame(&[], [0; 6]);
        assert!(!is_fast::<true>(&mut nat, &frame), "there is no session yet");
        let (verdicts, out, _) = run(&mut nat, true, 1 << 40, side, std::slice::from_ref(&frame));
        assert_eq!(verdicts, [Verdict::Forward(Side::Internet)]);
        assert!(is_fast::<true>(&mut nat, &frame), "{kind}");
        let answer = Sent { flags: 18, answers: Some(0), ..sent };
        let mut back = answer.frame(&out, [0; 6]).1;
        assert!(is_fast::<false>(&mut nat, &back), "{kind}");
        back[21] = 1;
        assert!(!is_fast::<false>(&mut nat, &back), "the hop limit runs out");
    }
}

/// A customer with a number at a worker belongs to that worker, and the fast path relies on it: no mark brings the
/// packet of another worker's customer there.
#[test]
fn a_mark_brings_no_customer_to_another_worker() {
    let mut elsewhere = 0;
    for end in 0..6 {
        let mut nat = Choices::usual(2, false).nat();
        // Echoes: without a mark, and with it.
        let frames = [2, 8].map(|kind| Sent::usual([end, 5], kind).frame(&[], nat.mark).1);
        let verdicts = run(&mut nat, true, 1 << 40, Side::Customer, &frames).0;
        assert_eq!(verdicts[0], verdicts[1]);
        elsewhere += u32::from(verdicts[0] == Verdict::HandOver(1));
    }
    assert!((1..6).contains(&elsewhere), "{elsewhere} of six customers are the other worker's");
}
