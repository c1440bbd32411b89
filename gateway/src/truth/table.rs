//! The connection tracking table of the known-truth device.

use std::collections::{HashSet, VecDeque};

/// Behaviour with a full table (RFC 9693, section 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Frames of other connections are lost.
    #[default]
    Refuse,
    /// Removes the oldest connection.
    DropOldest,
    /// Removes this number of the oldest, at least one.
    Collect(usize),
}

/// Source address, destination address, source port, destination port, from the customers' side.
pub(super) type Flow = [u8; 12];

#[derive(Default)]
pub(super) struct FlowTable {
    /// Most entries; 0 is no limit.
    size: usize,
    when_full: WhenFull,
    known: HashSet<Flow>,
    order: VecDeque<Flow>,
}

impl FlowTable {
    /// A table that never grows in a trial unless it is unlimited.
    pub(super) fn new(size: usize, when_full: WhenFull) -> FlowTable {
        let known = HashSet::with_capacity(size.saturating_mul(2));
        FlowTable { size, when_full, known, order: VecDeque::with_capacity(size) }
    }

    /// Frames of removed connections are lost.
    pub(super) fn is_limited(&self) -> bool {
        self.size > 0
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn has(&self, flow: &Flow) -> bool {
        self.known.contains(flow)
    }

    pub(super) fn open(&mut self, flow: Flow) -> bool {
        if self.is_limited() {
            if self.known.len() >= self.size {
                match self.when_full {
                    WhenFull::Refuse => return false,
                    WhenFull::DropOldest => self.forget(1),
                    WhenFull::Collect(at_once) => self.forget(at_once.max(1)),
                }
            }
            self.order.push_back(flow);
        }
        self.known.insert(flow);
        true
    }

    fn forget(&mut self, oldest: usize) {
        for flow in self.order.drain(..oldest.min(self.order.len())) {
            self.known.remove(&flow);
        }
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }
}

pub(super) fn flow_of(frame: &[u8]) -> Option<Flow> {
    frame.get(26..38)?.try_into().ok()
}

/// The flow that a frame to the customers' side answers.
pub(super) fn flow_back(frame: &[u8]) -> Option<Flow> {
    let mut flow = flow_of(frame)?;
    flow[..8].rotate_left(4);
    flow[8..].rotate_left(2);
    Some(flow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(n: usize) -> Flow {
        let mut flow = [0; 12];
        flow[..8].copy_from_slice(&n.to_be_bytes());
        flow
    }

    /// Which connections are in a table of 100 after `opened` were opened in turn.
    fn left(when_full: WhenFull, opened: usize) -> std::ops::Range<usize> {
        let mut table = FlowTable::new(100, when_full);
        let taken = (0..opened).filter(|&n| table.open(flow(n))).count();
        let inside: Vec<usize> = (0..opened).filter(|&n| table.has(&flow(n))).collect();
        assert_eq!(inside.len(), table.len());
        assert_eq!(taken == opened, opened <= 100 || when_full != WhenFull::Refuse);
        let (first, last) = (inside[0], inside[inside.len() - 1]);
        assert_eq!(inside, (first..=last).collect::<Vec<_>>());
        first..last + 1
    }

    #[test]
    fn a_full_table_keeps_what_its_policy_says() {
        for when_full in [WhenFull::Refuse, WhenFull::DropOldest, WhenFull::Collect(7)] {
            assert_eq!(left(when_full, 100), 0..100);
        }
        assert_eq!(left(WhenFull::Refuse, 1_000), 0..100);
        assert_eq!(left(WhenFull::DropOldest, 1_000), 900..1_000);
        assert_eq!(left(WhenFull::Collect(7), 101), 7..101);
        assert_eq!(left(WhenFull::Collect(7), 107), 7..107);
        assert_eq!(left(WhenFull::Collect(7), 108), 14..108);
        assert_eq!(left(WhenFull::Collect(1_000), 101), 100..101);
    }

    #[test]
    fn an_answer_has_addresses_and_ports_swapped() {
        let frame: Vec<u8> = (0..60).collect();
        assert_eq!(flow_of(&frame).unwrap(), [26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37]);
        assert_eq!(flow_back(&frame).unwrap(), [30, 31, 32, 33, 26, 27, 28, 29, 36, 37, 34, 35]);
        assert_eq!(flow_of(&frame[..37]), None);
    }
}
