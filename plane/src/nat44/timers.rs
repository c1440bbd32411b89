//! Time in sessions: ticks of 0.27 s in 32 bits, and lifetimes, which must never end early (the
//! RFCs give minimum times).

use super::config::Timeouts;
use super::session::{Session, port};
use super::tcp;
use std::time::Duration;
use wire::header::{PROTO_UDP, TCP};

/// Length of a tick as log2 of nanoseconds.
const TICK_SHIFT: u32 = 28;

#[inline(always)]
pub(super) fn tick(now: u64) -> u32 {
    (now >> TICK_SHIFT) as u32
}

/// Ticks after which at least `d` has passed.
pub(super) fn ticks(d: Duration) -> u32 {
    (d.as_nanos() as u64).div_ceil(1 << TICK_SHIFT) as u32
}

pub(super) fn duration(ticks: u32) -> Duration {
    Duration::from_nanos(u64::from(ticks) << TICK_SHIFT)
}

#[derive(Clone, Debug)]
pub(super) struct Lifetimes {
    udp: u32,
    /// Lifetimes of ports below 1024.
    udp_by_port: Vec<u32>,
    tcp_established: u32,
    tcp_transitory: u32,
    icmp: u32,
    shortest: u32,
}

impl Lifetimes {
    pub(super) fn new(t: &Timeouts) -> Lifetimes {
        let udp = ticks(t.udp);
        let mut udp_by_port = Vec::new();
        if !t.udp_by_port.is_empty() {
            udp_by_port = vec![udp; 1024];
            for &(port, time) in &t.udp_by_port {
                udp_by_port[usize::from(port) & 1023] = ticks(time);
            }
        }
        let mut l = Lifetimes {
            udp,
            udp_by_port,
            tcp_established: ticks(t.tcp_established),
            tcp_transitory: ticks(t.tcp_transitory),
            icmp: ticks(t.icmp),
            shortest: 0,
        };
        let fixed = [l.udp, l.tcp_established, l.tcp_transitory, l.icmp];
        l.shortest = fixed.into_iter().chain(l.udp_by_port.iter().copied()).min().unwrap_or(1).max(1);
        l
    }

    #[inline(always)]
    fn of(&self, s: &Session) -> u32 {
        match s.protocol() {
            PROTO_UDP if self.udp_by_port.is_empty() => self.udp,
            PROTO_UDP => self.udp_by_port.get(usize::from(port(s.remote()))).copied().unwrap_or(self.udp),
            TCP if tcp::is_established(s.flags()) => self.tcp_established,
            TCP => self.tcp_transitory,
            _ => self.icmp,
        }
    }

    /// Ticks are rounded down, so the lifetime has passed only if the difference exceeds it. If the
    /// clock steps back a little, as in virtual machines, a session appears young, not very old.
    #[inline(always)]
    pub(super) fn expired(&self, s: &Session, now: u32) -> bool {
        now.wrapping_sub(s.seen).cast_signed() > self.of(s).cast_signed()
    }

    /// The first tick at which the session may have expired, even if its connection begins to close.
    #[inline]
    pub(super) fn deadline(&self, s: &Session, now: u32) -> u32 {
        let due = s.seen.wrapping_add(self.of(s));
        let least = if s.protocol() == TCP { now.wrapping_add(self.tcp_transitory) } else { due };
        due.min(least).wrapping_add(1)
    }

    /// Ticks of a complete census.
    pub(super) fn round(&self) -> u32 {
        (self.shortest / 4).clamp(1, 56)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sweep {
    at: u32,
    /// Times the ticks of a round.
    owed: u64,
    last: u32,
}

impl Sweep {
    /// The entries due at `tick`; `round` is in ticks.
    #[inline]
    pub(super) fn due(&mut self, tick: u32, entries: u32, round: u32, most: u32) -> u32 {
        let passed = tick.wrapping_sub(self.last);
        if passed.cast_signed() > 0 {
            self.last = tick;
            // After a long pause no entry is checked twice.
            self.owed = (self.owed + u64::from(passed.min(round)) * u64::from(entries))
                .min(u64::from(entries) * u64::from(round));
        }
        let n = ((self.owed / u64::from(round)) as u32).min(most);
        self.owed -= u64::from(n) * u64::from(round);
        n
    }

    #[inline]
    pub(super) fn next(&mut self, entries: u32) -> u32 {
        let e = if self.at < entries { self.at } else { 0 };
        self.at = e + 1;
        e
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nat44::session::endpoint;

    fn udp(remote_port: u16) -> Session {
        Session::new(endpoint(1, 2, 17), endpoint(3, 4, 17), endpoint(5, remote_port, 0), 0, 0, 0)
    }

    #[test]
    fn never_early_and_hardly_late() {
        let l = Lifetimes::new(&Timeouts::default());
        // Written at the very end of tick 0: 300 s later it must still live, 300.6 s later not.
        let start = (1u64 << TICK_SHIFT) - 1;
        assert!(!l.expired(&udp(5000), tick(start + 300_000_000_000)));
        assert!(l.expired(&udp(5000), tick(start + 300_600_000_000)));
        // Seen a moment after now.
        let mut early = udp(5000);
        early.seen = 7;
        assert!(!l.expired(&early, 6));
    }

    #[test]
    fn sweep_comes_round_in_its_time_and_is_bounded() {
        let mut s = Sweep::default();
        let (mut seen, mut tick) = (0u64, 0);
        while seen < 1_000_000 {
            tick += 1;
            for _ in 0..2000 {
                let n = s.due(tick, 1_000_000, 56, 16);
                assert!(n <= 16);
                seen += u64::from(n);
            }
        }
        assert!((50..=60).contains(&tick), "{tick}");
    }
}
