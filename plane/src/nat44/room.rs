//! Which outside addresses may have a free port. A search marks an address as full; a freed port
//! of the address removes the mark. So a refused customer costs no search.

use std::array::from_fn;

/// UDP, TCP, ICMP identifiers.
pub(super) const PROTOCOLS: usize = 3;

type Bits = Vec<u64>;

pub(super) struct Room {
    addresses: u32,
    full: [Bits; PROTOCOLS],
    /// All ports have static mappings.
    never: [Bits; PROTOCOLS],
    /// Ports were freed in this epoch, and in the last one.
    freed: [[Bits; PROTOCOLS]; 2],
    epoch: u32,
}

impl Room {
    /// `has_ports` says whether an address has ports of a protocol for customers.
    pub(super) fn new(addresses: u32, has_ports: impl Fn(u32, usize) -> bool) -> Room {
        let none = || from_fn(|_| vec![0; addresses.div_ceil(64) as usize]);
        let mut never: [Bits; PROTOCOLS] = none();
        for (protocol, bits) in never.iter_mut().enumerate() {
            (0..addresses).filter(|a| !has_ports(*a, protocol)).for_each(|a| set(bits, a));
        }
        Room { addresses, full: never.clone(), never, freed: [none(), none()], epoch: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.addresses
    }

    /// The next address that may have room, from this one on.
    pub(super) fn next(&mut self, protocol: usize, from: u32, epoch: u32) -> Option<u32> {
        self.advance(epoch);
        let full = &self.full[protocol];
        let within = |first: u32, end: u32| {
            let mut at = first;
            while at < end {
                let free = !full[at as usize / 64] >> (at % 64);
                if free != 0 {
                    return Some(at + free.trailing_zeros()).filter(|a| *a < end);
                }
                at = (at / 64 + 1) * 64;
            }
            None
        };
        within(from, self.addresses).or_else(|| within(0, from.min(self.addresses)))
    }

    pub(super) fn has(&mut self, protocol: usize, address: u32, epoch: u32) -> bool {
        self.advance(epoch);
        self.full[protocol][address as usize / 64] >> (address % 64) & 1 == 0
    }

    pub(super) fn mark_full(&mut self, protocol: usize, address: u32) {
        set(&mut self.full[protocol], address);
    }

    /// A port was freed; `rests` if it cannot be used at once.
    pub(super) fn freed(&mut self, protocol: usize, address: u32, epoch: u32, rests: bool) {
        self.advance(epoch);
        if rests {
            set(&mut self.freed[0][protocol], address);
        } else {
            self.full[protocol][address as usize / 64] &= !(1 << (address % 64));
        }
    }

    pub(super) fn clear(&mut self) {
        self.full.clone_from(&self.never);
    }

    /// Ports freed two epochs ago can be used again.
    fn advance(&mut self, epoch: u32) {
        let passed = epoch.wrapping_sub(self.epoch);
        if passed == 0 {
            return;
        }
        self.epoch = epoch;
        self.end_rest();
        if passed > 1 {
            self.end_rest();
        }
    }

    fn end_rest(&mut self) {
        let [now, last] = &mut self.freed;
        for (full, freed) in self.full.iter_mut().zip(last.iter_mut()) {
            full.iter_mut().zip(freed).for_each(|(full, freed)| *full &= !std::mem::take(freed));
        }
        std::mem::swap(now, last);
    }
}

fn set(bits: &mut Bits, address: u32) {
    if let Some(word) = bits.get_mut(address as usize / 64) {
        *word |= 1 << (address % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_address_comes_round() {
        let mut r = Room::new(130, |a, p| p != 1 || a == 129);
        assert_eq!([0, 63, 64, 129].map(|from| r.next(0, from, 0)), [Some(0), Some(63), Some(64), Some(129)]);
        assert_eq!([0, 129].map(|from| r.next(1, from, 0)), [Some(129); 2], "the others have static mappings");
        r.mark_full(0, 129);
        assert_eq!((r.next(0, 129, 0), r.next(2, 129, 0)), (Some(0), Some(129)));
        (0..129).for_each(|a| r.mark_full(0, a));
        assert_eq!(r.next(0, 7, 0), None);
        r.freed(0, 3, 0, false);
        assert_eq!((r.next(0, 7, 0), r.has(0, 3, 0), r.has(0, 4, 0)), (Some(3), true, false));
        r.clear();
        assert_eq!((r.next(0, 7, 0), r.next(1, 7, 0)), (Some(7), Some(129)));
    }
}
