//! Halves that do what the frame says, one letter of its plan each, and log it. A and C are customers' halves, B and D
//! the Internet's.

use plane::{Chain, Drops, Function, Input, Packet, Side, Spare, TableEntry, Verdict};
use std::ops::Range;
use std::time::Duration;
pub(super) use testbed::{Frame, Outbox};

pub(super) const OUTSIDE: [u8; 6] = [2, 9, 9, 9, 9, 9];

const PLAN: usize = 4;
/// Where the log begins.
const LOG: usize = 14 + PLAN;

/// A frame: from octet 14 on the plan, a letter for each of A to D, then the log.
pub(super) trait Planned {
    fn planned(plan: &str) -> Self;
    fn seen(&self) -> &str;
    fn log(&mut self, entry: [u8; 2]);
}

impl Planned for Frame {
    fn planned(plan: &str) -> Frame {
        let mut bytes = vec![0; 14];
        bytes[..6].copy_from_slice(&[2, 1, 1, 1, 1, 1]);
        bytes.extend_from_slice(plan.as_bytes());
        bytes.resize(LOG, b'-');
        Frame::new(&bytes)
    }
    fn seen(&self) -> &str {
        std::str::from_utf8(&self.bytes()[LOG..]).unwrap()
    }
    fn log(&mut self, entry: [u8; 2]) {
        let end = self.bytes().len();
        assert!(self.set_len(end + 2), "room for the log");
        self.bytes_mut()[end..].copy_from_slice(&entry);
    }
}

fn no_limit() -> Outbox {
    Outbox::new(usize::MAX, usize::MAX)
}

/// One half: a letter, and what happened to it.
pub(super) struct Half {
    name: char,
    seen: u64,
    pub empty: u32,
    pub largest: usize,
    pub cleared: u32,
    pub idled: u32,
    /// Sessions that it lists, and what it cannot change.
    pub sessions: u16,
    pub fixed: u32,
    pub adopted: u32,
}

fn entry(n: u16) -> TableEntry {
    let at = |k: u8| ([192, 0, 2, k], n).into();
    TableEntry {
        part: "",
        softwire: None,
        protocol: 17,
        inside: at(1),
        outside: at(2),
        remote: at(3),
        idle: Duration::ZERO,
    }
}

impl Half {
    pub(super) fn new(name: char) -> Half {
        Half { name, seen: 0, empty: 0, largest: 0, cleared: 0, idled: 0, sessions: 0, fixed: 0, adopted: 0 }
    }

    fn one(&mut self, from: Side, f: &mut Frame, spare: &mut dyn Spare<Frame>) -> Verdict {
        self.seen += 1;
        let near = matches!(self.name, 'A' | 'C');
        let at = 14 + (self.name as usize - 'A' as usize);
        f.log([self.name as u8, if from == Side::Customer { b'>' } else { b'<' }]);
        let inward = if near { Side::Internet } else { Side::Customer };
        let mac = match (near, from.other() == inward) {
            (true, true) => plane::chain::INTERNET_HALF.0,
            (false, true) => plane::chain::CUSTOMER_HALF.0,
            _ => OUTSIDE,
        };
        f.bytes_mut()[..6].copy_from_slice(&mac);
        // A plan that was carried out once is done with, so that what comes back passes.
        let plan = f.bytes()[at];
        match plan {
            b'd' => Verdict::Drop,
            b'l' => Verdict::Local,
            b'h' => {
                f.bytes_mut()[at] = b'a';
                Verdict::HandOver(1)
            }
            // Always towards the other half.
            b'x' => Verdict::Forward(inward),
            b't' => {
                f.bytes_mut()[at] = b'a';
                Verdict::Forward(from)
            }
            b'e' => {
                f.bytes_mut()[at] = b'a';
                for to in [Side::Internet, Side::Customer] {
                    spare.emit(to, f.clone());
                }
                Verdict::Forward(from.other())
            }
            b'w' => {
                f.bytes_mut()[at] = b'a';
                spare.hand_over(1, from, f.clone());
                Verdict::Drop
            }
            _ => Verdict::Forward(from.other()),
        }
    }
}

impl Function for Half {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { from, packets: batch, verdicts, .. } = input;
        self.empty += u32::from(batch.is_empty());
        self.largest = self.largest.max(batch.len());
        for (p, v) in batch.iter_mut().zip(verdicts) {
            // Work on a copy, whatever the packets are.
            let mut f = Frame::new(p.bytes());
            let mut made = no_limit();
            *v = self.one(from, &mut f, &mut made);
            copy(p, &f);
            for (to, f) in made.out {
                let mut q = spare.fresh(f.bytes().len()).unwrap();
                copy(&mut q, &f);
                spare.emit(to, q);
            }
            for (w, side, f) in made.handed {
                let mut q = spare.fresh(f.bytes().len()).unwrap();
                copy(&mut q, &f);
                spare.hand_over(w, side, q);
            }
        }
    }
    fn idle(&mut self, _: u64) {
        self.idled += 1;
    }
    fn clear(&mut self) {
        self.cleared += 1;
    }
    fn entries(&self) -> Option<(u64, u64)> {
        (self.name == 'A').then_some((1, 2)).or(Some((2, 3)))
    }
    fn counters(&self) -> Drops {
        vec![("seen", self.seen)]
    }
    fn places(&self) -> u64 {
        self.sessions.into()
    }
    fn sessions(&self, _: u64, places: Range<u64>) -> Vec<TableEntry> {
        (places.start as u16..places.end.min(self.places()) as u16).map(entry).collect()
    }
    fn can_adopt(&self, new: &Half) -> Result<(), String> {
        if self.fixed == new.fixed { Ok(()) } else { Err("fixed: it is".to_owned()) }
    }
    fn adopt(&mut self, new: &mut Half) -> Result<(), String> {
        self.can_adopt(new)?;
        self.adopted += 1;
        Ok(())
    }
}

fn copy<P: Packet>(to: &mut P, from: &Frame) {
    assert!(to.set_len(from.bytes().len()));
    to.bytes_mut().copy_from_slice(from.bytes());
}

pub(super) fn chain(workers: usize) -> Chain<Half, Half> {
    Chain::new(("near", Half::new('A')), ("far", Half::new('B')), workers, 7)
}

/// A chain of two chains. What the inner ones are made with does not count.
pub(super) type Nest = Chain<Chain<Half, Half>, Chain<Half, Half>>;

pub(super) fn nest(workers: usize) -> Nest {
    let pair = |a, b, seed| Chain::new(("near", Half::new(a)), ("far", Half::new(b)), workers, seed);
    Chain::new(("ce", pair('A', 'B', 7)), ("pe", pair('C', 'D', 8)), workers, 7)
}

pub(super) fn process<F: Function>(c: &mut F, from: Side, frames: &mut [Frame]) -> (Vec<Verdict>, Outbox) {
    let mut made = no_limit();
    let mut verdicts = vec![Verdict::Drop; frames.len()];
    c.process(Input::new(1, from, frames, &mut verdicts), &mut made);
    (verdicts, made)
}

pub(super) fn counter<F: Function>(c: &F, name: &str) -> u64 {
    c.counters().iter().find(|n| n.0 == name).unwrap().1
}
