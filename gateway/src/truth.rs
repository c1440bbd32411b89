//! The known-truth device: any plane function with exactly injected faults and limits. Independent
//! of the tester's judge, clock and counters, which it verifies.

mod fault;
mod spells;
mod table;

pub use fault::{FAULTS, Faulty, KnownFault};

use plane::{Drops, DynFunction, Input, Packet, Side, Spare, Verdict, Wrapper};
use spells::Spells;
use std::time::{Duration, Instant};
use table::FlowTable;
pub use table::WhenFull;

/// Injected faults; zero is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TruthConfig {
    /// Every k-th frame is lost.
    pub lose_every: u64,
    /// Every k-th frame is sent twice.
    pub duplicate_every: u64,
    /// Every k-th frame has a destination port one too high (and a correct checksum).
    pub misroute_every: u64,
    /// Every k-th frame has a source port one too high (and a correct checksum), as of another mapping.
    pub disguise_every: u64,
    /// Every k-th frame has one bit of its UDP checksum inverted.
    pub bad_checksum_every: u64,
    /// Every k-th frame has one bit of its last octet inverted.
    pub bad_payload_every: u64,
    /// Exempt frames after each clear, of those that could be affected: a phase 1. Stall and slow
    /// start do not apply to them, either.
    pub after: u64,
    /// Frames per second and side; more are lost.
    pub capacity: u64,
    /// Capacity from the Internet's side, if different.
    pub reverse_capacity: Option<u64>,
    /// New connections per second; frames that would open more are lost.
    pub set_up_rate: u64,
    /// Connections in the table; frames of others are lost in both directions.
    pub table: usize,
    /// What a full table does.
    pub when_full: WhenFull,
    /// How long, from a trial's first frame on, every second frame is lost.
    pub slow_start: Duration,
    /// How long, from `stall_at` on, every frame is lost.
    pub stall: Duration,
    /// Time of the stall after a trial's first frame.
    pub stall_at: Duration,
    /// How long every frame is lost after a frame above the capacity.
    pub recovery: Duration,
    /// Deleting the table takes this long, even if empty.
    pub tear_down: Duration,
    /// Connections deleted per second, in addition; 0: all at once.
    pub tear_down_rate: u64,
    /// Every k-th frame is reordered: sent after the rest of its batch, and at least the next frame of its direction.
    pub reorder_every: u64,
    /// Delay of every processed batch, by the system's clock: exact for one frame at a time.
    pub delay: Duration,
    /// Additional, uniformly random up to this time, in the same series for every device.
    pub random_delay: Duration,
    /// Side of affected frames; `None`: both.
    pub only: Option<Side>,
}

/// Exactly `rate` tokens a second from a trial's first frame on, empty at first. If a thread is
/// preempted at the start, the queued frames arrive as a burst. So the bucket lends as many tokens
/// as that queue holds frames, and takes them back gradually. Longer trials lose no frame up to
/// `rate`, and some above.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rate: u64,
    /// × 10^9; below zero while lent.
    level: i128,
    began: u64,
    last: u64,
}

impl Bucket {
    const ONE: i128 = 1_000_000_000;
    /// Accumulated and lent tokens: as many as the queue in front holds frames, so that stalls that
    /// it absorbs do not appear as a limit.
    const ROOM: i128 = 512 * Bucket::ONE;
    /// Shorter than the pause between trials, in nanoseconds.
    const PAUSE: u64 = 10_000_000;
    /// Time until all lent tokens are back, in nanoseconds.
    const LENT_FOR: u64 = 32_000_000;

    fn take(&mut self, now: u64) -> bool {
        if self.rate == 0 {
            return true;
        }
        let (first, pause) = (self.last == 0, now - self.last);
        self.last = now;
        if first {
            (self.began, self.level) = (now, Bucket::ONE);
        } else {
            self.level = (self.level + i128::from(pause) * i128::from(self.rate)).min(Bucket::ROOM);
        }
        if pause >= Bucket::PAUSE {
            (self.began, self.level) = (now, self.level.min(Bucket::ONE));
        }
        let there = self.level + Bucket::lent_after(now - self.began) >= Bucket::ONE;
        if there {
            self.level -= Bucket::ONE;
        }
        there
    }

    fn lent_after(nanos: u64) -> i128 {
        let left = Bucket::LENT_FOR.saturating_sub(nanos);
        Bucket::ROOM * i128::from(left) / i128::from(Bucket::LENT_FOR)
    }
}

/// The injection of truth into a function.
pub struct Truth {
    config: TruthConfig,
    capacity: [Bucket; 2],
    set_up: Bucket,
    /// The system's clock: the tester's could not reveal its own error.
    began: Instant,
    table: FlowTable,
    spells: [Spells; 2],
    random: u64,
    seen: u64,
    forwarded: u64,
    lost: u64,
    duplicated: u64,
    changed: u64,
    reordered_frames: u64,
    held: Option<DelayedFrame>,
}

struct DelayedFrame {
    to: Side,
    frame: Vec<u8>,
    is_passed: bool,
}

impl Truth {
    /// Injects `config` into the function inside.
    pub fn new(config: TruthConfig) -> Truth {
        let bucket = |rate| Bucket { rate, ..Bucket::default() };
        Truth {
            config,
            capacity: [config.capacity, config.reverse_capacity.unwrap_or(config.capacity)].map(bucket),
            set_up: bucket(config.set_up_rate),
            began: Instant::now(),
            table: FlowTable::new(config.table, config.when_full),
            spells: [Spells::default(); 2],
            random: 1,
            seen: 0,
            forwarded: 0,
            lost: 0,
            duplicated: 0,
            changed: 0,
            reordered_frames: 0,
            held: None,
        }
    }

    /// Whether it is the frame's turn to wait; also notes when another passes it, wherever emitted
    /// packets are sent.
    fn holds_back(&mut self, to: Side, frame: &[u8]) -> bool {
        let is_turn = self.hits(self.forwarded, self.config.reorder_every);
        match &mut self.held {
            Some(held) => {
                held.is_passed |= held.to == to;
                false
            }
            None if is_turn => {
                self.held = Some(DelayedFrame { to, frame: frame.to_vec(), is_passed: false });
                true
            }
            None => false,
        }
    }

    /// Sends the held frame once another has passed it.
    fn let_go<P: Packet>(&mut self, spare: &mut dyn Spare<P>) {
        if let Some(held) = self.held.take_if(|held| held.is_passed)
            && let Some(mut late) = spare.fresh(held.frame.len())
        {
            late.bytes_mut().copy_from_slice(&held.frame);
            spare.emit(held.to, late);
            self.reordered_frames += 1;
        }
    }

    /// False if a limit or injected loss drops the frame.
    fn takes(&mut self, now: u64, from: Side, frame: &[u8]) -> bool {
        let side = usize::from(from == Side::Internet);
        let overload = !self.capacity[side].take(now);
        let is_spared = self.seen < self.config.after;
        if now > 0 && self.spells[side].take(now, &self.config, overload) && (overload || !is_spared) {
            return true;
        }
        if (self.config.set_up_rate > 0 || self.config.tear_down_rate > 0 || self.table.is_limited())
            && from == Side::Customer
            && let Some(flow) = table::flow_of(frame)
            && !self.table.has(&flow)
            && !(self.set_up.take(now) && self.table.open(flow))
        {
            return true;
        }
        self.seen += u64::from(self.touches(from));
        self.touches(from) && self.hits(self.seen, self.config.lose_every)
    }

    fn is_timed(&self) -> bool {
        let TruthConfig { capacity, reverse_capacity, set_up_rate, slow_start, stall, .. } = self.config;
        let is_limited = capacity > 0 || reverse_capacity.is_some() || set_up_rate > 0;
        is_limited || slow_start + stall > Duration::ZERO
    }

    /// A frame to the customers' side belongs to no connection in the table.
    fn has_left(&self, to: Side, frame: &[u8]) -> bool {
        let known = || table::flow_back(frame).is_some_and(|flow| self.table.has(&flow));
        self.table.is_limited() && to == Side::Customer && !known()
    }

    fn wait(&mut self) {
        let mut delay = self.config.delay;
        if self.config.random_delay > Duration::ZERO {
            // SplitMix64.
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.random;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let most = self.config.random_delay.as_nanos();
            delay += Duration::from_nanos(((u128::from(z ^ (z >> 31)) * most) >> 64) as u64);
        }
        wait(delay);
    }

    fn touches(&self, from: Side) -> bool {
        self.config.only.is_none_or(|s| s == from)
    }

    /// `count` is from 1 on.
    fn hits(&self, count: u64, every: u64) -> bool {
        every > 0 && count > self.config.after && (count - self.config.after).is_multiple_of(every)
    }

    fn change(&mut self, frame: &mut [u8]) {
        let TruthConfig { misroute_every, disguise_every, bad_checksum_every, bad_payload_every, .. } = self.config;
        let turn = [misroute_every, disguise_every, bad_checksum_every, bad_payload_every]
            .map(|every| self.hits(self.forwarded, every));
        let [misroute, disguise, bad_checksum, bad_payload] = turn;
        if misroute {
            raise_port(frame, DESTINATION_PORT);
        }
        if disguise {
            raise_port(frame, SOURCE_PORT);
        }
        if bad_checksum {
            turn_bit(frame.get_mut(UDP_CHECKSUM));
        }
        if bad_payload {
            turn_bit(frame.last_mut());
        }
        self.changed += u64::from(turn.contains(&true));
    }
}

impl Wrapper for Truth {
    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { now, from, packets, verdicts } = input;
        self.let_go(spare);
        let frames = packets.len();
        if frames == 0 {
            function.process(Input::new(now, from, packets, &mut []), spare);
        }
        let by_system = if self.is_timed() { self.began.elapsed().as_nanos() as u64 + 1 } else { 0 };
        for (packet, verdict) in packets.iter_mut().zip(verdicts) {
            if self.takes(by_system, from, packet.bytes()) {
                self.lost += 1;
                *verdict = Verdict::Drop;
                continue;
            }
            let (packets, verdicts) = (std::slice::from_mut(packet), std::slice::from_mut(verdict));
            function.process(Input::new(now, from, packets, verdicts), spare);
            let Verdict::Forward(to) = *verdict else { continue };
            if self.has_left(to, packet.bytes()) {
                self.lost += 1;
                *verdict = Verdict::Drop;
                continue;
            }
            if !self.touches(from) {
                continue;
            }
            self.forwarded += 1;
            self.change(packet.bytes_mut());
            if self.hits(self.forwarded, self.config.duplicate_every)
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
        if frames > 0 && self.touches(from) {
            self.wait();
        }
    }

    fn counters(&self) -> Drops {
        vec![
            ("truth-lost", self.lost),
            ("truth-duplicated", self.duplicated),
            ("truth-changed", self.changed),
            ("truth-reordered", self.reordered_frames),
        ]
    }

    fn clear(&mut self) {
        let nanos = (self.table.len() as u64).saturating_mul(1_000_000_000).checked_div(self.config.tear_down_rate);
        wait(self.config.tear_down + Duration::from_nanos(nanos.unwrap_or(0)));
        self.table.clear();
        (self.seen, self.forwarded) = (0, 0);
        self.held = None;
    }
}

/// Offset in Ethernet/IPv4/UDP.
const SOURCE_PORT: usize = 34;
const DESTINATION_PORT: usize = 36;
const UDP_CHECKSUM: usize = 40;

fn raise_port(frame: &mut [u8], at: usize) {
    if frame.len() >= UDP_CHECKSUM + 2 {
        let old = u16::from_be_bytes([frame[at], frame[at + 1]]);
        let new = old.wrapping_add(1);
        frame[at..at + 2].copy_from_slice(&new.to_be_bytes());
        let sum = u16::from_be_bytes([frame[UDP_CHECKSUM], frame[UDP_CHECKSUM + 1]]);
        frame[UDP_CHECKSUM..UDP_CHECKSUM + 2].copy_from_slice(&sum_after(sum, old, new).to_be_bytes());
    }
}

/// RFC 1624, equation 3, and never zero, which means no checksum (RFC 768). Separate from the code that builds and judges frames, whose faults it must not share.
fn sum_after(sum: u16, old: u16, new: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (total & 0xffff) + (total >> 16);
    match !((folded & 0xffff) + (folded >> 16)) as u16 {
        0 => 0xffff,
        sum => sum,
    }
}

fn wait(time: Duration) {
    if time > Duration::ZERO {
        let began = Instant::now();
        while began.elapsed() < time {
            std::hint::spin_loop();
        }
    }
}

fn turn_bit(octet: Option<&mut u8>) {
    if let Some(octet) = octet {
        *octet ^= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::{Hop, NoSpare, Router};
    use testbed::Frame;

    /// A tester with a wrong clock must find another rate than was injected.
    #[test]
    fn a_rate_is_kept_by_the_systems_clock_and_not_by_the_callers() {
        let (mut truth, mut router) = (limited(1), Router::new(Hop::default(), Hop::default()));
        let (mut batch, mut verdicts) = ([Frame::new(&[0; 60])], [Verdict::Local]);
        // A frame an hour of the caller's clock; all of them within a second of the system's.
        for hour in 1..=600 {
            let now = hour * 3_600_000_000_000;
            let input = Input::new(now, Side::Customer, &mut batch, &mut verdicts);
            truth.process(&mut router, input, &mut NoSpare);
        }
        assert_eq!(verdicts[0], Verdict::Drop, "an hour of the caller's clock gives no token");
        assert!(truth.lost > 0, "more were sent than the bucket lends");
    }

    /// Two trials of 60 ms, whose first frame is late by `late`: how many frames are lost in each.
    fn lost(rate: u64, offered: u64, late: u64) -> [u64; 2] {
        let mut truth = limited(rate);
        [1_000_000_000, 1_090_000_000].map(|start| {
            let due = |k: u64| start + k * 1_000_000_000 / offered;
            let frames = offered * 60 / 1000;
            (0..frames).filter(|&k| truth.takes(due(k).max(start + late), Side::Customer, &[])).count() as u64
        })
    }

    #[test]
    fn a_capacity_is_exact_in_every_trial() {
        const RATE: u64 = 600_000;
        for late in [0, 50_000] {
            assert_eq!(lost(RATE, RATE * 998 / 1000, late), [0, 0], "{late} ns late");
        }
        for above in [1_001, 1_010, 1_500] {
            let lost = lost(RATE, RATE * above / 1000, 0);
            // The excess over the rate; no tokens were stored, neither at first nor after the pause between trials.
            let expected = 36 * (above - 1000);
            assert!(lost.iter().all(|lost| lost.abs_diff(expected) <= 2), "{lost:?}, not {expected}");
        }
    }

    /// A worker that is preempted at the start finds the frames of that time in its queue, which absorbs them.
    #[test]
    fn a_stall_across_the_start_that_the_queue_absorbs_is_not_a_limit() {
        const RATE: u64 = 300_000;
        for offered in [150_000, 225_000, 262_500] {
            let absorbed = 511 * 1_000_000_000 / offered;
            assert_eq!(lost(RATE, offered, absorbed), [0, 0], "{offered} a second, {absorbed} ns late");
        }
    }

    /// A worker that was descheduled for less time than the queue absorbs finds the frames of that time.
    #[test]
    fn a_short_stall_is_not_a_limit() {
        let mut truth = limited(600_000);
        let taken = |k: u64| {
            let due = 1_000_000_000 + k * 1_000_000_000 / 599_400;
            let stalled = 1_030_000_000..1_030_800_000;
            truth.takes(if stalled.contains(&due) { stalled.end } else { due }, Side::Customer, &[])
        };
        assert_eq!((0..36_000).map(taken).filter(|&taken| taken).count(), 0);
    }

    /// The time for an empty table, and more for each connection.
    #[test]
    fn a_tear_down_takes_its_time() {
        let config =
            TruthConfig { tear_down: Duration::from_millis(2), tear_down_rate: 100_000, ..TruthConfig::default() };
        let mut truth = Truth::new(config);
        let mut timed = |connections: u32| {
            for n in 0..connections {
                let mut frame = [0; 60];
                frame[26..30].copy_from_slice(&n.to_be_bytes());
                assert!(!truth.takes(0, Side::Customer, &frame));
            }
            let began = Instant::now();
            truth.clear();
            began.elapsed()
        };
        assert!(timed(0) >= Duration::from_millis(2));
        assert!(timed(1_000) >= Duration::from_millis(12));
        assert!(truth.table.len() == 0);
    }

    fn limited(capacity: u64) -> Truth {
        Truth::new(TruthConfig { capacity, ..TruthConfig::default() })
    }
}
