//! The session: 32 bytes, so that two fill a cache line, and a key comparison is two words.

/// An end point in one word; ICMP has an identifier.
#[inline(always)]
pub(super) fn endpoint(addr: u32, port: u16, protocol: u8) -> u64 {
    addr as u64 | (port as u64) << 32 | (protocol as u64) << 48
}

#[inline(always)]
pub(super) fn addr(e: u64) -> u32 {
    e as u32
}

#[inline(always)]
pub(super) fn port(e: u64) -> u16 {
    (e >> 32) as u16
}

#[inline(always)]
pub(super) fn protocol(e: u64) -> u8 {
    (e >> 48) as u8
}

/// A key that only one alias of its inside end point has.
pub(super) const ALONE: u64 = 1 << 63;

pub(super) const ADDR_PORT: u64 = 0xffff_ffff_ffff;

/// Flag of a session between customers, translated twice.
pub(super) const HAIRPIN: u8 = 1 << 7;

/// Opened from outside, and the customer has not answered yet.
pub(super) const UNANSWERED: u8 = 1 << 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(super) struct Session {
    /// Inside address and port, with protocol; 0 in a free entry.
    pub inside: u64,
    /// Outside address and port, with protocol.
    pub outside: u64,
    /// Bits 48 to 55 are flags (TCP state, [`HAIRPIN`], [`UNANSWERED`]).
    remote_and_flags: u64,
    /// Tick of the last packet that counted.
    pub seen: u32,
    /// Mapping, or none.
    pub mapping: u32,
}

impl Session {
    pub(super) const FREE: Session =
        Session { inside: 0, outside: 0, remote_and_flags: 0, seen: 0, mapping: crate::table::NONE };

    #[inline(always)]
    pub(super) fn new(inside: u64, outside: u64, remote: u64, flags: u8, seen: u32, mapping: u32) -> Session {
        Session { inside, outside, remote_and_flags: remote & ADDR_PORT | (flags as u64) << 48, seen, mapping }
    }

    #[inline(always)]
    pub(super) fn is_live(&self) -> bool {
        self.inside != 0
    }
    #[inline(always)]
    pub(super) fn remote(&self) -> u64 {
        self.remote_and_flags & ADDR_PORT
    }
    #[inline(always)]
    pub(super) fn flags(&self) -> u8 {
        (self.remote_and_flags >> 48) as u8
    }
    #[inline(always)]
    pub(super) fn set_flags(&mut self, flags: u8) {
        self.remote_and_flags = self.remote() | (flags as u64) << 48;
    }
    #[inline(always)]
    pub(super) fn protocol(&self) -> u8 {
        protocol(self.inside)
    }
    #[inline(always)]
    pub(super) fn is_inner(&self, inside: u64, remote: u64) -> bool {
        (self.inside ^ inside) | (self.remote() ^ remote) == 0
    }
    #[inline(always)]
    pub(super) fn is_outer(&self, outside: u64, remote: u64) -> bool {
        (self.outside ^ outside) | (self.remote() ^ remote) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sessions_fill_a_cache_line() {
        assert_eq!((size_of::<Session>(), align_of::<Session>()), (32, 32));
    }

    #[test]
    fn flags_are_no_part_of_the_key() {
        let (i, o, r) = (endpoint(1, 2, 17), endpoint(3, 4, 17), endpoint(5, 6, 0));
        let mut s = Session::new(i, o, r, HAIRPIN, 9, 0);
        assert!(s.is_inner(i, r) && s.is_outer(o, r) && s.flags() == HAIRPIN);
        s.set_flags(3);
        assert!(s.is_inner(i, r) && s.flags() == 3 && addr(s.remote()) == 5 && port(s.remote()) == 6);
    }
}
