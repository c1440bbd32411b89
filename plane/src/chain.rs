//! Two functions in a row: the customer's half and the Internet's half, joined by an inner link of
//! Ethernet frames that never leave the machine.
//!
//! **Other workers.** A packet that is handed over after it has crossed the inner link must
//! continue at the same half. So its Ethernet destination holds a mark that names the half, derived
//! from the seed so that an outsider cannot forge it. The Ethernet source stays the half's own, as
//! NAT44 has marks there (`original_id`). Chains nest: each outer chain adds a step to the mark,
//! and all use the marks of the outermost one ([`Function::nest`]).

use crate::function::{BATCH, Drops, Function, Input, Packet, Side, Spare, TableEntry, Verdict};
pub use crate::inner_link::{CUSTOMER_HALF, INTERNET_HALF, Nesting};
use crate::inner_link::{Half, Marks};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;

/// There, back (hairpins), and there again for an ICMP error: the inner link does not decrement the hop limit.
const MOST_CROSSINGS: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    crossed: u64,
    handed_over: u64,
    local: u64,
    loops: u64,
}

/// Packets that crossed the inner link; packets handed over after that; drops of packets that a
/// half then wanted to leave to the machine; drops of packets that crossed too often.
pub const NAMES: [&str; 4] = ["inner-link", "inner-handed-over", "inner-local", "inner-loop"];

/// A pair of functions.
pub struct Chain<A, B> {
    /// The half at the customer's side.
    pub customer: A,
    /// The half at the Internet's side.
    pub internet: B,
    prefixes: [&'static str; 2],
    marks: Option<Marks>,
    count: Count,
}

/// Steps that a mark holds.
const MOST_NESTED: u32 = 7;

/// Keeps one half's packets for the other until the batch is done.
struct Inner<'a, P> {
    spare: &'a mut dyn Spare<P>,
    across: &'a mut Vec<P>,
    behind: Option<&'a mut Vec<(Side, P)>>,
    half: Half,
    marks: Option<Marks>,
    handed_over: u64,
}

impl<P: Packet> Spare<P> for Inner<'_, P> {
    fn fresh(&mut self, len: usize) -> Option<P> {
        self.spare.fresh(len)
    }
    fn emit(&mut self, to: Side, packet: P) {
        if to == self.half.outer() {
            return match &mut self.behind {
                Some(behind) => behind.push((to, packet)),
                None => self.spare.emit(to, packet),
            };
        }
        if self.across.capacity() == 0 {
            self.across.reserve(BATCH);
        }
        self.across.push(packet);
    }
    fn hand_over(&mut self, to: u16, from: Side, mut packet: P) {
        let middle = from == self.half.inner();
        self.handed_over += u64::from(mark(self.marks, self.half, middle, packet.bytes_mut()));
        self.spare.hand_over(to, from, packet);
    }
}

/// True if the packet needs a mark with the half that must process it next.
fn mark(marks: Option<Marks>, half: Half, middle: bool, b: &mut [u8]) -> bool {
    let needed = marks.filter(|m| middle || m.way(b).is_some());
    if let Some(m) = needed {
        m.put(half, b);
    }
    needed.is_some()
}

struct Run<'a, P> {
    now: u64,
    spare: &'a mut dyn Spare<P>,
    /// Packets by the half they go to.
    to_customer: Vec<P>,
    to_internet: Vec<P>,
    /// Packets sent after waiting ones, so that fragments keep their order.
    behind: Option<Vec<(Side, P)>>,
}

impl<P> Run<'_, P> {
    fn waiting_for(&mut self, half: Half) -> &mut Vec<P> {
        if half == Half::Customer { &mut self.to_customer } else { &mut self.to_internet }
    }
}

impl<A: Function, B: Function> Chain<A, B> {
    /// Each half has the prefix of its counters' names. All workers have the same seed.
    ///
    /// # Panics
    /// When more than seven chains are nested.
    pub fn new(customer: (&'static str, A), internet: (&'static str, B), workers: usize, seed: u64) -> Chain<A, B> {
        let mut chain = Chain {
            prefixes: [customer.0, internet.0],
            customer: customer.1,
            internet: internet.1,
            marks: None,
            count: Count::default(),
        };
        chain.nest(Nesting { marks: (workers > 1).then(|| Marks::new(seed)), depth: 0 });
        chain
    }

    #[inline(always)]
    fn half<P: Packet>(&mut self, run: &mut Run<P>, half: Half, from: Side, batch: &mut [P], verdicts: &mut [Verdict]) {
        let across = if half == Half::Customer { &mut run.to_internet } else { &mut run.to_customer };
        let behind = run.behind.as_mut();
        let input = Input::new(run.now, from, batch, verdicts);
        let mut inner = Inner { spare: &mut *run.spare, across, behind, half, marks: self.marks, handed_over: 0 };
        match half {
            Half::Customer => self.customer.process(input, &mut inner),
            Half::Internet => self.internet.process(input, &mut inner),
        }
        self.count.handed_over += inner.handed_over;
    }

    /// Takes a batch through `half`, and the other half if it is forwarded there.
    fn pass<P: Packet>(
        &mut self,
        run: &mut Run<P>,
        half: Half,
        crossings: u32,
        batch: &mut [P],
        verdicts: &mut [Verdict],
    ) {
        let from = if crossings == 0 { half.outer() } else { half.inner() };
        self.half(run, half, from, batch, verdicts);
        let across = Verdict::Forward(half.inner());
        let n = batch.len();
        let on = verdicts.iter().filter(|&&v| v == across).count();
        self.count.crossed += on as u64;
        if on < n {
            self.end(half, crossings, batch, verdicts);
        }
        if on == 0 {
            return;
        }
        if crossings == MOST_CROSSINGS {
            self.count.loops += on as u64;
            verdicts.iter_mut().filter(|v| **v == across).for_each(|v| *v = Verdict::Drop);
            return;
        }
        if on == n {
            return self.pass(run, half.other(), crossings + 1, batch, verdicts);
        }
        let order = gather(batch, verdicts, across);
        self.pass(run, half.other(), crossings + 1, &mut batch[..on], &mut verdicts[..on]);
        scatter(batch, verdicts, &order[..on]);
    }

    /// After a crossing, a verdict may need a mark, or is impossible and becomes a drop.
    fn end<P: Packet>(&mut self, half: Half, crossings: u32, batch: &mut [P], verdicts: &mut [Verdict]) {
        for (p, v) in batch.iter_mut().zip(verdicts) {
            match *v {
                Verdict::HandOver(_) => {
                    self.count.handed_over += u64::from(mark(self.marks, half, crossings > 0, p.bytes_mut()));
                }
                Verdict::Local if crossings > 0 => {
                    *v = Verdict::Drop;
                    self.count.local += 1;
                }
                Verdict::Forward(_) | Verdict::Drop | Verdict::Held | Verdict::Local => {}
            }
        }
    }

    /// Passes packets between the halves until none is left.
    fn cross<P: Packet>(&mut self, run: &mut Run<P>) {
        for round in 0..=MOST_CROSSINGS {
            for half in [Half::Internet, Half::Customer] {
                let mut queue = std::mem::take(run.waiting_for(half));
                self.count.crossed += queue.len() as u64;
                if round == MOST_CROSSINGS {
                    self.count.loops += queue.len() as u64;
                    continue;
                }
                while !queue.is_empty() {
                    self.some(run, half, &mut queue);
                }
            }
        }
    }

    /// Forwarded packets are emitted, as they are not in the caller's batch.
    fn some<P: Packet>(&mut self, run: &mut Run<P>, half: Half, queue: &mut Vec<P>) {
        let n = queue.len().min(BATCH);
        let mut verdicts = [Verdict::Drop; BATCH];
        run.behind = Some(Vec::new());
        self.pass(run, half, 1, &mut queue[..n], &mut verdicts[..n]);
        for (p, v) in queue.drain(..n).zip(verdicts) {
            match v {
                Verdict::Forward(to) => run.spare.emit(to, p),
                Verdict::HandOver(w) => run.spare.hand_over(w, half.inner(), p),
                Verdict::Drop | Verdict::Held | Verdict::Local => {}
            }
        }
        run.behind.take().into_iter().flatten().for_each(|(to, p)| run.spare.emit(to, p));
    }

    /// Sorts a batch that may contain packets handed over between the halves.
    fn sort<P: Packet>(
        &mut self,
        run: &mut Run<P>,
        marks: Marks,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
    ) {
        let mut at = 0;
        while at < batch.len() {
            let half = marks.half(batch[at].bytes());
            let n = batch[at..].iter().take_while(|p| marks.half(p.bytes()) == half).count();
            let (b, v) = (&mut batch[at..at + n], &mut verdicts[at..at + n]);
            match half {
                None => self.pass(run, Half::facing(from), 0, b, v),
                Some(half) => {
                    for p in b.iter_mut() {
                        Marks::step(half, p.bytes_mut());
                    }
                    self.pass(run, half, 1, b, v);
                }
            }
            at += n;
        }
    }
}

impl<A: Function, B: Function> Function for Chain<A, B> {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { now, from, packets, verdicts } = input;
        let n = packets.len().min(verdicts.len()).min(BATCH);
        let (batch, verdicts) = (&mut packets[..n], &mut verdicts[..n]);
        let mut run = Run { now, spare, to_customer: Vec::new(), to_internet: Vec::new(), behind: None };
        let near = Half::facing(from);
        match self.marks {
            // Timers may be due in both halves.
            _ if n == 0 => {
                self.half(&mut run, near, from, batch, verdicts);
                self.half(&mut run, near.other(), near.other().inner(), batch, verdicts);
            }
            Some(marks) => {
                batch.iter().filter_map(|p| p.bytes().first()).for_each(arena::prefetch);
                self.sort(&mut run, marks, from, batch, verdicts);
            }
            None => self.pass(&mut run, near, 0, batch, verdicts),
        }
        if !(run.to_customer.is_empty() && run.to_internet.is_empty()) {
            self.cross(&mut run);
        }
    }

    fn idle(&mut self, now: u64) {
        self.customer.idle(now);
        self.internet.idle(now);
    }

    fn catch_up(&mut self, now: u64) {
        self.customer.catch_up(now);
        self.internet.catch_up(now);
    }

    fn clear(&mut self) {
        self.customer.clear();
        self.internet.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        match (self.customer.entries(), self.internet.entries()) {
            (Some(a), Some(b)) => Some((a.0 + b.0, a.1 + b.1)),
            (a, b) => a.or(b),
        }
    }

    fn counters(&self) -> Drops {
        let c = self.count;
        let own = NAMES.into_iter().zip([c.crossed, c.handed_over, c.local, c.loops]);
        let customer = self.customer.counters().into_iter().map(|(n, v)| (prefixed(self.prefixes[0], n), v));
        let internet = self.internet.counters().into_iter().map(|(n, v)| (prefixed(self.prefixes[1], n), v));
        customer.chain(internet).chain(own).collect()
    }

    fn places(&self) -> u64 {
        self.customer.places() + self.internet.places()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry> {
        // Of the Internet's half, behind the customers'.
        let first = self.customer.places();
        let [from, to] = [places.start, places.end].map(|place| place.saturating_sub(first));
        let near = self.customer.sessions(now, places.start.min(first)..places.end.min(first));
        let far = self.internet.sessions(now, from..to);
        let named = |prefix| {
            move |e: TableEntry| TableEntry {
                part: if e.part.is_empty() { prefix } else { prefixed(prefix, e.part) },
                ..e
            }
        };
        let [a, b] = self.prefixes;
        near.into_iter().map(named(a)).chain(far.into_iter().map(named(b))).collect()
    }

    fn can_adopt(&self, new: &Chain<A, B>) -> Result<(), String> {
        if self.prefixes != new.prefixes {
            return Err(format!("{} is no {}; restart the gateway", new.prefixes.join(", "), self.prefixes.join(", ")));
        }
        let of = |half: &str, said: Result<(), String>| said.map_err(|why| format!("{half}: {why}"));
        // First, as its error names the key of the file.
        of(self.prefixes[1], self.internet.can_adopt(&new.internet))?;
        of(self.prefixes[0], self.customer.can_adopt(&new.customer))
    }

    fn adopt(&mut self, new: &mut Chain<A, B>) -> Result<(), String> {
        // Both or neither.
        self.can_adopt(new)?;
        self.customer.adopt(&mut new.customer)?;
        self.internet.adopt(&mut new.internet)
    }

    fn ending(&self, new: &Chain<A, B>, most: usize) -> Vec<TableEntry> {
        let ending = [self.customer.ending(&new.customer, most), self.internet.ending(&new.internet, most)];
        ending.into_iter().flatten().collect()
    }

    fn agree_with(&mut self, first: &Chain<A, B>) {
        self.customer.agree_with(&first.customer);
        self.internet.agree_with(&first.internet);
    }

    fn nest(&mut self, nested: Nesting) {
        assert!(nested.depth < MOST_NESTED, "more than {MOST_NESTED} chains in each other");
        self.marks = nested.marks;
        let inside = Nesting { depth: nested.depth + 1, ..nested };
        self.customer.nest(inside);
        self.internet.nest(inside);
    }
}

/// Moves packets with this verdict to the front. Returns the old position of each.
pub(crate) fn gather<P>(batch: &mut [P], verdicts: &mut [Verdict], wanted: Verdict) -> [u8; BATCH] {
    let (mut order, mut k) = ([0u8; BATCH], 0);
    for i in 0..batch.len().min(BATCH) {
        if verdicts[i] == wanted {
            batch.swap(i, k);
            verdicts.swap(i, k);
            order[k] = i as u8;
            k += 1;
        }
    }
    order
}

pub(crate) fn scatter<P>(batch: &mut [P], verdicts: &mut [Verdict], order: &[u8]) {
    for (k, &i) in order.iter().enumerate().rev() {
        batch.swap(k, i.into());
        verdicts.swap(k, i.into());
    }
}

/// Returns a counter's name, which is never freed.
pub(crate) fn prefixed(prefix: &str, name: &str) -> &'static str {
    static MADE: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let name = format!("{prefix}.{name}");
    // After a panic, the name is made again.
    let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = made.get_or_insert_default();
    if let Some(known) = made.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    made.insert(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gathered_goes_back_to_its_place() {
        let (on, off) = (Verdict::Forward(Side::Internet), Verdict::Drop);
        for bits in [0u32, 1, 0b1010_0110, 0xffff_ffff, 0x8000_0001, 0x7fff_fffe] {
            let mut batch: Vec<u32> = (0..32).collect();
            let mut verdicts: Vec<_> = (0..32).map(|i| if bits >> i & 1 == 1 { on } else { off }).collect();
            let before = verdicts.clone();
            let order = gather(&mut batch, &mut verdicts, on);
            let n = bits.count_ones() as usize;
            assert!(batch[..n].is_sorted() && verdicts[..n].iter().all(|v| *v == on));
            scatter(&mut batch, &mut verdicts, &order[..n]);
            assert_eq!((batch, verdicts), ((0..32).collect(), before));
        }
    }

    #[test]
    fn names_are_made_once() {
        let (a, b) = (prefixed("left", "drops"), prefixed("left", "drops"));
        assert_eq!((a, a.as_ptr()), ("left.drops", b.as_ptr()));
    }
}
