//! The known-truth device: any plane function with exactly injected faults and limits around it. It knows
//! nothing of the tester's judge, clock or counters, so that it can prove them right or wrong.

use plane::chain::Nested;
use plane::{Drops, Entry, Function, Packet, Side, Spare, Verdict};
use std::collections::HashSet;
use std::ops::Range;
use std::time::{Duration, Instant};

/// What is injected. Everything is off at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TruthConfig {
    /// Lose every k-th frame.
    pub lose_every: u64,
    /// Send every k-th frame twice.
    pub duplicate_every: u64,
    /// Send every k-th frame on with a destination port that is one too high (its checksum mended).
    pub misroute_every: u64,
    /// Frames per second and side that are forwarded; more are lost.
    pub capacity: u64,
    /// New flows per second; frames that would open more are lost.
    pub set_up_rate: u64,
    /// Let every k-th frame be overtaken by the rest of its batch, by the next frame of its direction at least.
    pub overtake_every: u64,
    /// Keep every batch back for so long after it is done, by the system's clock: exact for one frame at a time.
    pub delay: Duration,
    /// Only frames from this side are lost, duplicated, misrouted, overtaken and delayed; `None`: both.
    pub only: Option<Side>,
}

/// A bucket that gives `rate` tokens a second, exactly, with room for a burst.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rate: u64,
    /// Tokens × 10^9.
    level: u128,
    last: u64,
}

impl Bucket {
    /// Tokens that may gather: as many as a full link queue, so that a stalled worker is not taken for a limit.
    const ROOM: u128 = 512 * 1_000_000_000;

    fn take(&mut self, now: u64) -> bool {
        if self.rate == 0 {
            return true;
        }
        if self.last == 0 {
            (self.last, self.level) = (now, Bucket::ROOM);
        }
        self.level = (self.level + (now - self.last) as u128 * self.rate as u128).min(Bucket::ROOM);
        self.last = now;
        let there = self.level >= 1_000_000_000;
        if there {
            self.level -= 1_000_000_000;
        }
        there
    }
}

/// A function with truth injected.
pub struct Truth<F> {
    inner: F,
    config: TruthConfig,
    capacity: [Bucket; 2],
    set_up: Bucket,
    /// Capacities are by the system's clock: the workers' own is the tester's, and could not prove itself wrong.
    began: Instant,
    /// Flows seen from the customers' side, for the set-up rate.
    known: HashSet<[u8; 12]>,
    seen: u64,
    forwarded: u64,
    lost: u64,
    duplicated: u64,
    misrouted: u64,
    overtaken: u64,
    held: Option<Held>,
}

/// A frame that the next one of its direction is to overtake.
struct Held {
    to: Side,
    frame: Vec<u8>,
    overtaken: bool,
}

impl<F: Function> Truth<F> {
    /// Inject `config` around `inner`.
    pub fn new(inner: F, config: TruthConfig) -> Truth<F> {
        let bucket = |rate| Bucket { rate, ..Bucket::default() };
        Truth {
            inner,
            config,
            capacity: [bucket(config.capacity); 2],
            set_up: bucket(config.set_up_rate),
            began: Instant::now(),
            known: HashSet::new(),
            seen: 0,
            forwarded: 0,
            lost: 0,
            duplicated: 0,
            misrouted: 0,
            overtaken: 0,
            held: None,
        }
    }

    /// Keep a frame back if it is its turn, and note whom it overtakes. Exact wherever the caller puts what is emitted
    /// among the frames of a batch.
    fn holds_back(&mut self, to: Side, frame: &[u8]) -> bool {
        match &mut self.held {
            Some(held) => {
                held.overtaken |= held.to == to;
                false
            }
            None if hits(self.forwarded, self.config.overtake_every) => {
                self.held = Some(Held { to, frame: frame.to_vec(), overtaken: false });
                true
            }
            None => false,
        }
    }

    /// Send what was kept back, as a copy, once another frame has gone before it.
    fn let_go<P: Packet>(&mut self, spare: &mut impl Spare<P>) {
        if let Some(held) = self.held.take_if(|held| held.overtaken)
            && let Some(mut late) = spare.fresh(held.frame.len())
        {
            late.bytes_mut().copy_from_slice(&held.frame);
            spare.emit(held.to, late);
            self.overtaken += 1;
        }
    }

    /// Whether a limit or the loss takes this frame before the function sees it.
    fn takes(&mut self, now: u64, from: Side, frame: &[u8]) -> bool {
        if !self.capacity[usize::from(from == Side::Internet)].take(now) {
            return true;
        }
        if self.config.set_up_rate > 0
            && from == Side::Customer
            && let Some(flow) = frame.get(26..38).and_then(|f| <[u8; 12]>::try_from(f).ok())
            && !self.known.contains(&flow)
        {
            if !self.set_up.take(now) {
                return true;
            }
            self.known.insert(flow);
        }
        self.seen += u64::from(self.touches(from));
        self.touches(from) && hits(self.seen, self.config.lose_every)
    }

    fn touches(&self, from: Side) -> bool {
        self.config.only.is_none_or(|s| s == from)
    }
}

impl<F: Function> Function for Truth<F> {
    fn process<P: Packet, S: Spare<P>>(
        &mut self,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        self.let_go(spare);
        let frames = batch.len();
        let limited = self.config.capacity > 0 || self.config.set_up_rate > 0;
        let by_system = if limited { self.began.elapsed().as_nanos() as u64 + 1 } else { 0 };
        for (packet, verdict) in batch.iter_mut().zip(verdicts) {
            if self.takes(by_system, from, packet.bytes()) {
                self.lost += 1;
                *verdict = Verdict::Drop;
                continue;
            }
            self.inner.process(now, from, std::slice::from_mut(packet), std::slice::from_mut(verdict), spare);
            let Verdict::Forward(to) = *verdict else { continue };
            if !self.touches(from) {
                continue;
            }
            self.forwarded += 1;
            if hits(self.forwarded, self.config.misroute_every) {
                misroute(packet.bytes_mut());
                self.misrouted += 1;
            }
            if hits(self.forwarded, self.config.duplicate_every)
                && let Some(mut copy) = spare.fresh(packet.bytes().len())
            {
                copy.bytes_mut().copy_from_slice(packet.bytes());
                spare.emit(to, copy);
                self.duplicated += 1;
            }
            if self.holds_back(to, packet.bytes()) {
                *verdict = Verdict::Drop;
            }
        }
        if frames > 0 && self.config.delay > Duration::ZERO && self.touches(from) {
            let done = Instant::now();
            while done.elapsed() < self.config.delay {
                std::hint::spin_loop();
            }
        }
    }

    fn idle(&mut self, now: u64) {
        self.inner.idle(now);
    }

    fn clear(&mut self) {
        self.known.clear();
        self.held = None;
        self.inner.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        self.inner.entries()
    }

    fn counters(&self) -> Drops {
        let mut all = self.inner.counters();
        all.extend([
            ("truth-lost", self.lost),
            ("truth-duplicated", self.duplicated),
            ("truth-misrouted", self.misrouted),
            ("truth-overtaken", self.overtaken),
        ]);
        all
    }

    fn places(&self) -> u64 {
        self.inner.places()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<Entry> {
        self.inner.sessions(now, places)
    }

    fn can_adopt(&self, new: &Truth<F>) -> Result<(), String> {
        if self.config != new.config {
            return Err("what is injected cannot be changed while it is counted".to_owned());
        }
        self.inner.can_adopt(&new.inner)
    }

    fn adopt(&mut self, new: &mut Truth<F>) -> Result<(), String> {
        self.can_adopt(new)?;
        self.inner.adopt(&mut new.inner)
    }

    fn nest(&mut self, nested: Nested) {
        self.inner.nest(nested);
    }
}

fn hits(count: u64, every: u64) -> bool {
    every > 0 && count.is_multiple_of(every)
}

/// Raise the UDP destination port of an Ethernet/IPv4/UDP frame by one and lower the checksum to match.
fn misroute(frame: &mut [u8]) {
    let add = |b: &mut [u8], by: u16| {
        let v = u16::from_be_bytes([b[0], b[1]]);
        b.copy_from_slice(&v.wrapping_add(by).to_be_bytes());
    };
    if frame.len() >= 42 {
        let old = [frame[36], frame[37]];
        add(&mut frame[36..38], 1);
        let new = u16::from_be_bytes([frame[36], frame[37]]);
        let sum = wire::checksum::update16([frame[40], frame[41]], u16::from_be_bytes(old), new);
        frame[40..42].copy_from_slice(&sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::{Hop, NoSpare, Router};

    /// A tester whose clock runs away must find another rate than was injected.
    #[test]
    fn a_rate_is_kept_by_the_systems_clock_and_not_by_the_callers() {
        let config = TruthConfig { capacity: 1, ..TruthConfig::default() };
        let mut truth = Truth::new(Router::new(Hop::default(), Hop::default()), config);
        let now = |truth: &Truth<Router>| truth.began.elapsed().as_nanos() as u64 + 1;
        let room = (Bucket::ROOM / 1_000_000_000) as usize;
        for _ in 0..room {
            let now = now(&truth);
            assert!(!truth.takes(now, Side::Customer, &[]));
        }
        let (mut batch, mut verdicts) = ([Frame([0; 60])], [Verdict::Local]);
        truth.process(3_600_000_000_000, Side::Customer, &mut batch, &mut verdicts, &mut NoSpare);
        assert_eq!((verdicts[0], truth.lost), (Verdict::Drop, 1), "an hour of the caller's clock gives no tokens");
    }

    struct Frame([u8; 60]);

    impl Packet for Frame {
        fn bytes(&self) -> &[u8] {
            &self.0
        }
        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
        fn grow_front(&mut self, _: usize) -> bool {
            false
        }
        fn shrink_front(&mut self, _: usize) -> bool {
            false
        }
        fn set_len(&mut self, _: usize) -> bool {
            false
        }
    }
}
