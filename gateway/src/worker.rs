//! One worker: receives a burst, lets the plane function process it, and sends it. Packets for
//! other workers take single-producer rings.

use crate::neighbour::NextHops;
use crate::own::Owns;
use plane::{AnyFunction, Input, Side, Spare, Verdict};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;

struct BatchOutput<'a> {
    pool: &'a mut Pool,
    /// Frames by side, sent after the batch.
    after: &'a mut [Burst; 2],
    mail: &'a mut Mail,
    counters: &'a mut WorkerCounters,
}

impl Spare<Frame> for BatchOutput<'_> {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        self.pool.alloc(len)
    }
    fn emit(&mut self, to: Side, frame: Frame) {
        self.after[side(to)].push(frame);
    }
    fn hand_over(&mut self, to: u16, from: Side, frame: Frame) {
        self.mail.send(to, from, frame, self.pool, self.counters);
    }
}

fn side(s: Side) -> usize {
    match s {
        Side::Customer => 0,
        Side::Internet => 1,
    }
}

type Handover = (Side, Frame);

/// A worker's ends of all inboxes.
#[derive(Default)]
pub struct Mail {
    inbox: Vec<Consumer<Handover>>,
    outbox: Vec<Option<Producer<Handover>>>,
}

impl Mail {
    /// Lost and counted when the inbox is full.
    fn send(&mut self, worker: u16, from: Side, frame: Frame, pool: &mut Pool, counters: &mut WorkerCounters) {
        let Some(ring) = self.outbox.get_mut(worker as usize).and_then(Option::as_mut) else {
            // Only to other workers.
            debug_assert!(false, "a frame was handed over to worker {worker}");
            counters.inbox_full += 1;
            return pool.free(frame);
        };
        match ring.push((from, frame)) {
            Ok(()) => counters.handed_over += 1,
            Err(rtrb::PushError::Full((_, frame))) => {
                counters.inbox_full += 1;
                pool.free(frame);
            }
        }
    }
}

/// Inboxes between `workers` workers, each ring `depth` frames deep.
pub fn mail(workers: usize, depth: usize) -> Vec<Mail> {
    let mut all: Vec<Mail> = (0..workers).map(|_| Mail::default()).collect();
    for from in 0..workers {
        for to in 0..workers {
            if from == to {
                all[from].outbox.push(None);
            } else {
                let (tx, rx) = RingBuffer::new(depth);
                all[from].outbox.push(Some(tx));
                all[to].inbox.push(rx);
            }
        }
    }
    all
}

/// Counters of the worker itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    /// Frames received on both sides.
    pub received: u64,
    /// Frames passed to the links.
    pub sent: u64,
    /// Frames refused by a link.
    pub refused: u64,
    /// Frames dropped by the function.
    pub dropped: u64,
    /// Copied fragments, or those of a datagram already sent. A copy that leaves counts as sent.
    pub held: u64,
    /// Frames handed over to another worker.
    pub handed_over: u64,
    /// Frames lost because another worker's inbox was full.
    pub inbox_full: u64,
    /// Frames for the machine itself, answered.
    pub answered: u64,
    /// Frames for the machine itself, not answered.
    pub local: u64,
}

/// A worker with ports, pool and function.
pub struct Worker {
    clock: Clock,
    ports: [Box<dyn Port>; 2],
    pool: Pool,
    mail: Mail,
    /// Function whose state no other worker uses.
    pub function: AnyFunction<Frame>,
    batch: Burst,
    to: [Burst; 2],
    after: [Burst; 2],
    rounds: u32,
    /// `None` leaves answers to the machine.
    pub owns: Option<Owns>,
    /// Next hops, whose Ethernet addresses all workers learn.
    pub next_hops: Option<Arc<NextHops>>,
    /// Counters of the worker.
    pub counters: WorkerCounters,
}

/// Rounds between timers, at most.
const ROUNDS_PER_IDLE: u32 = 64;

impl Worker {
    /// A worker between `customer` and `internet`.
    pub fn new(
        clock: Clock,
        customer: Box<dyn Port>,
        internet: Box<dyn Port>,
        pool: Pool,
        mail: Mail,
        function: AnyFunction<Frame>,
    ) -> Worker {
        Worker {
            clock,
            ports: [customer, internet],
            pool,
            mail,
            function,
            batch: Vec::with_capacity(4 * BATCH),
            to: [Vec::with_capacity(4 * BATCH), Vec::with_capacity(4 * BATCH)],
            after: [Vec::with_capacity(4 * BATCH), Vec::with_capacity(4 * BATCH)],
            rounds: 0,
            owns: None,
            next_hops: None,
            counters: WorkerCounters::default(),
        }
    }

    /// Answers for these addresses.
    pub fn answer_for(mut self, owns: Option<Owns>) -> Worker {
        self.owns = owns;
        self
    }

    /// Sends a frame of the gateway itself; lost if the pool has no free frame.
    ///
    /// # Errors
    /// When the port is broken.
    pub fn send(&mut self, to: Side, bytes: &[u8]) -> Result<(), PortError> {
        let Some(mut frame) = self.pool.alloc(bytes.len()) else { return Ok(()) };
        frame.bytes_mut().copy_from_slice(bytes);
        self.to[side(to)].push(frame);
        self.hand_over()
    }

    /// Both sides, the inbox, a little timer work. Returns how many frames it saw.
    ///
    /// # Errors
    /// When a port is broken.
    #[inline]
    pub fn poll(&mut self, now: Ticks) -> Result<usize, PortError> {
        let nanos = self.clock.nanos(now);
        let mut seen = 0;
        for from in [Side::Customer, Side::Internet] {
            let got = self.ports[side(from)].receive(&mut self.pool, &mut self.batch)?;
            if got > 0 {
                self.counters.received += got as u64;
                self.work(nanos, from);
                self.hand_over()?;
                seen += got;
            }
        }
        seen += self.read_mail(nanos)?;
        self.rounds = self.rounds.wrapping_add(1);
        if seen == 0 || self.rounds.is_multiple_of(ROUNDS_PER_IDLE) {
            self.function.idle(nanos);
        }
        if self.rounds.is_multiple_of(ROUNDS_PER_IDLE) {
            // A function sends delayed answers only while it processes a batch.
            self.work(nanos, Side::Customer);
            self.hand_over()?;
        }
        Ok(seen)
    }

    /// The batch's frames precede emitted ones.
    #[inline]
    fn work(&mut self, nanos: u64, from: Side) {
        let mut verdicts = [Verdict::Drop; BATCH];
        let (after, mail) = (&mut self.after, &mut self.mail);
        let mut spare = BatchOutput { pool: &mut self.pool, after, mail, counters: &mut self.counters };
        let n = self.batch.len();
        let input = Input::new(nanos, from, &mut self.batch, &mut verdicts[..n]);
        self.function.process(input, &mut spare);
        match verdicts[..n].first() {
            // Usually the batch is passed on as a whole.
            Some(&Verdict::Forward(to)) if verdicts[..n].iter().all(|v| *v == Verdict::Forward(to)) => {
                debug_assert!(self.to[side(to)].is_empty(), "what was to be sent has been handed over");
                std::mem::swap(&mut self.batch, &mut self.to[side(to)]);
            }
            _ => self.sort(from, verdicts),
        }
        for (to, after) in self.to.iter_mut().zip(&mut self.after) {
            to.append(after);
        }
    }

    fn sort(&mut self, from: Side, verdicts: [Verdict; BATCH]) {
        for (mut frame, verdict) in self.batch.drain(..).zip(verdicts) {
            match verdict {
                Verdict::Forward(to) => self.to[side(to)].push(frame),
                Verdict::Drop => {
                    self.counters.dropped += 1;
                    self.pool.free(frame);
                }
                Verdict::Held => {
                    self.counters.held += 1;
                    self.pool.free(frame);
                }
                Verdict::Local => {
                    if let Some(next_hops) = &self.next_hops {
                        next_hops.hear(from, frame.bytes());
                    }
                    if self.owns.as_ref().is_some_and(|o| o.answer(from, &mut frame)) {
                        self.counters.answered += 1;
                        self.to[side(from)].push(frame);
                    } else {
                        self.counters.local += 1;
                        self.pool.free(frame);
                    }
                }
                Verdict::HandOver(worker) => {
                    self.mail.send(worker, from, frame, &mut self.pool, &mut self.counters);
                }
            }
        }
    }

    fn read_mail(&mut self, nanos: u64) -> Result<usize, PortError> {
        let mut seen = 0;
        for ring in 0..self.mail.inbox.len() {
            while let Ok((from, frame)) = self.mail.inbox[ring].pop() {
                // Hand-overs are rare: one at a time keeps the sides apart.
                self.batch.push(frame);
                self.work(nanos, from);
                self.hand_over()?;
                seen += 1;
                if seen == BATCH {
                    return Ok(seen);
                }
            }
        }
        Ok(seen)
    }

    #[inline]
    fn hand_over(&mut self) -> Result<(), PortError> {
        for (s, to) in [Side::Customer, Side::Internet].into_iter().enumerate() {
            if !self.to[s].is_empty() {
                if let Some(next_hops) = &self.next_hops {
                    next_hops.readdress(to, &mut self.to[s]);
                }
                let sent = self.ports[s].transmit(&mut self.pool, &mut self.to[s])?;
                self.counters.sent += sent.accepted as u64;
                self.counters.refused += sent.refused as u64;
                // A gateway drops what it cannot send, as any router.
                self.counters.refused += self.to[s].len() as u64;
                self.pool.free_all(&mut self.to[s]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::wired;
    use plane::nat44::{Nat44, config::Config};
    use plane::{Function, Packet, Side4};
    use testbed::packets::udp_with;
    use wire::{AddrRange, Mac, Prefix4};

    /// Emits a copy, marked, of each packet towards both sides, and forwards the packet.
    struct Echoing;

    impl Function for Echoing {
        fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
            for (p, v) in input.packets.iter().zip(input.verdicts) {
                for to in [Side::Internet, Side::Customer] {
                    let mut copy = spare.fresh(p.bytes().len()).unwrap();
                    copy.bytes_mut().copy_from_slice(p.bytes());
                    copy.bytes_mut()[1] = 0xee;
                    spare.emit(to, copy);
                }
                *v = Verdict::Forward(input.from.other());
            }
        }
        testbed::nothing_to_adopt!(Echoing);
    }

    fn one(clock: Clock, mut config: crate::EmbeddedConfig, function: AnyFunction<Frame>) -> Worker {
        let (customer, internet) = config.ports.remove(0);
        Worker::new(clock, customer, internet, config.pools.remove(0), mail(1, 8).remove(0), function)
    }

    /// A later fragment waits for the first: it is held, and not dropped although it leaves.
    #[test]
    fn a_fragment_that_is_held_is_not_dropped() {
        let clock = Clock::system();
        let (mut own, [mut left, mut right], config) = wired(clock);
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        let side = |address: [u8; 4]| Side4 { mac, next_hop: mac, address: address.into(), mtu: 1500 };
        let inside = Prefix4 { addr: [10, 0, 0, 0].into(), len: 8 };
        let pool = AddrRange::one([198, 51, 100, 10].into());
        let mut nat44 = Config::new(side([10, 0, 0, 1]), side([198, 51, 100, 1]), vec![inside], vec![pool]);
        nat44.sessions = 10;
        let mut worker = one(clock, config, Box::new(Nat44::new(nat44, 0, 1, 7).unwrap()));
        let mut whole = udp_with(([10, 0, 0, 2], 5000), ([203, 0, 113, 9], 53), 64, &[7; 16]);
        whole[..6].copy_from_slice(&mac.0);
        let parts = testbed::fragments::fragments(&whole, &[16], 1);
        let mut burst = port::burst();
        for (part, counted) in [(&parts[1], [0, 1, 0]), (&parts[0], [2, 1, 0])] {
            let mut frame = own.alloc(part.len()).unwrap();
            frame.bytes_mut().copy_from_slice(part);
            burst.push(frame);
            left.transmit(&mut own, &mut burst).unwrap();
            worker.poll(clock.now()).unwrap();
            let WorkerCounters { sent, held, dropped, .. } = worker.counters;
            assert_eq!([sent, held, dropped], counted, "{:?}", worker.function.counters());
        }
        assert_eq!(right.receive(&mut own, &mut burst).unwrap(), 2);
    }

    #[test]
    fn what_is_emitted_goes_after_the_batchs_own() {
        let clock = Clock::system();
        let (mut own, [mut left, mut right], config) = wired(clock);
        let mut worker = one(clock, config, Box::new(Echoing));
        let mut burst = port::burst();
        own.alloc_burst(3, 60, &mut burst);
        for (f, number) in burst.iter_mut().zip([1, 2, 3]) {
            f.bytes_mut().fill(0);
            f.bytes_mut()[0] = number;
        }
        left.transmit(&mut own, &mut burst).unwrap();
        worker.poll(clock.now()).unwrap();
        let mut seen = |port: &mut Box<dyn Port>| -> Vec<[u8; 2]> {
            port.receive(&mut own, &mut burst).unwrap();
            let seen = burst.iter().map(|f| [f.bytes()[0], f.bytes()[1]]).collect();
            own.free_all(&mut burst);
            seen
        };
        assert_eq!(seen(&mut right), [[1, 0], [2, 0], [3, 0], [1, 0xee], [2, 0xee], [3, 0xee]]);
        assert_eq!(seen(&mut left), [[1, 0xee], [2, 0xee], [3, 0xee]]);
        assert_eq!(worker.counters.sent, 9);
    }
}
