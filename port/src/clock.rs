//! The clock of measuring threads: the processor's counter if its rate is constant (x86-64 TSC,
//! aarch64 CNTVCT), else the system's monotonic clock.

use std::time::{Duration, Instant};

/// Ticks of a [`Clock`].
pub type Ticks = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Counter,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    System,
}

/// A clock whose copies all agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Ticks per second.
    frequency: u64,
    /// Times 2^[`SHIFT`]: dividing 128 bits for every frame is too slow.
    ticks_a_nano: u64,
    /// Nanoseconds a tick, times 2^[`SHIFT`].
    nanos_a_tick: u64,
}

/// Accurate to a nanosecond over a year, from 4 MHz to 256 GHz.
const SHIFT: u32 = 56;

impl Clock {
    /// Chooses this machine's clock, and calibrates it for about 20 ms.
    pub fn calibrated() -> Clock {
        if counter_is_constant() { Clock::new(Source::Counter, measure_frequency()) } else { Clock::system() }
    }

    /// A clock that reads `CLOCK_MONOTONIC`.
    pub fn system() -> Clock {
        Clock::new(Source::System, 1_000_000_000)
    }

    /// A clock that runs fast by `ppm`, for tests.
    #[doc(hidden)]
    pub fn gone_fast(self, ppm: u64) -> Clock {
        Clock::new(self.source, (self.frequency as u128 * 1_000_000 / (1_000_000 + ppm as u128)) as u64)
    }

    fn new(source: Source, frequency: u64) -> Clock {
        let ratio = |a: u64, b: u64| u64::try_from(((a as u128) << SHIFT).div_ceil(b as u128)).unwrap_or(u64::MAX);
        let nano = 1_000_000_000;
        Clock { source, frequency, ticks_a_nano: ratio(frequency, nano), nanos_a_tick: ratio(nano, frequency.max(1)) }
    }

    /// The present tick, from an arbitrary origin.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.source {
            Source::Counter => counter(),
            Source::System => system_nanos(),
        }
    }

    /// Ticks per second.
    pub fn frequency(&self) -> u64 {
        self.frequency
    }

    /// Nanoseconds, rounded down.
    #[inline]
    pub fn nanos(&self, ticks: Ticks) -> u64 {
        ((ticks as u128 * self.nanos_a_tick as u128) >> SHIFT) as u64
    }

    /// Ticks, rounded down.
    #[inline]
    pub fn ticks(&self, nanos: u64) -> Ticks {
        ((nanos as u128 * self.ticks_a_nano as u128) >> SHIFT) as u64
    }

    /// Clock and frequency, for the record.
    pub fn describe(&self) -> String {
        match self.source {
            Source::Counter => format!("processor counter at {} Hz", self.frequency),
            Source::System => "system monotonic clock".to_owned(),
        }
    }
}

/// One moment on this clock and on `CLOCK_REALTIME`, by which the kernel stamps frames. Make a new
/// one every few milliseconds, as the calendar is adjusted.
#[derive(Clone, Copy, Debug)]
pub struct Calendar {
    clock: Clock,
    ticks: Ticks,
    nanos: u64,
}

impl Calendar {
    /// Keeps the fastest of three readings, in case of interruptions.
    pub fn now(clock: Clock) -> Calendar {
        let look = || {
            let before = clock.now();
            let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
            let took = clock.now().saturating_sub(before);
            (
                took,
                Calendar { clock, ticks: before + took / 2, nanos: t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64 },
            )
        };
        let (a, b, c) = (look(), look(), look());
        let best = if a.0 <= b.0 { a } else { b };
        if best.0 <= c.0 { best.1 } else { c.1 }
    }

    /// Tick of the moment.
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// Tick of nanoseconds since 1970.
    #[inline]
    pub fn ticks_at(&self, nanos: u64) -> Ticks {
        if nanos >= self.nanos {
            self.ticks + self.clock.ticks(nanos - self.nanos)
        } else {
            self.ticks.saturating_sub(self.clock.ticks(self.nanos - nanos))
        }
    }

    /// Nanoseconds since 1970.
    #[inline]
    pub fn nanos_at(&self, ticks: Ticks) -> u64 {
        if ticks >= self.ticks {
            self.nanos + self.clock.nanos(ticks - self.ticks)
        } else {
            self.nanos.saturating_sub(self.clock.nanos(self.ticks - ticks))
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: RDTSC has no side effect; every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: reading the virtual counter has no side effect and is allowed in user space on Linux.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn counter() -> u64 {
    system_nanos()
}

#[cfg(target_arch = "x86_64")]
fn counter_is_constant() -> bool {
    // CPUID 0x80000007, EDX bit 8: the counter runs at a constant rate in all power states.
    let invariant = core::arch::x86_64::__cpuid(0x8000_0000).eax >= 0x8000_0007
        && core::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0;
    // The kernel detects counters that differ between sockets, and may trust that of a guest whose
    // hypervisor hides the bit.
    kernel_trusts_the_counter().unwrap_or(invariant)
}

/// `None` if unknown.
#[cfg(target_arch = "x86_64")]
fn kernel_trusts_the_counter() -> Option<bool> {
    let list = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource").ok()?;
    Some(list.split_ascii_whitespace().any(|name| name == "tsc"))
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_constant() -> bool {
    cfg!(target_arch = "aarch64")
}

fn system_nanos() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The median of short spans, so that a preempted one is an outlier.
fn measure_frequency() -> u64 {
    let mut found: Vec<u64> = (0..5)
        .map(|_| {
            let (t0, c0) = (Instant::now(), counter());
            while t0.elapsed() < Duration::from_millis(4) {
                std::hint::spin_loop();
            }
            let (dt, dc) = (t0.elapsed(), counter() - c0);
            (dc as u128 * 1_000_000_000 / dt.as_nanos()) as u64
        })
        .collect();
    found.sort_unstable();
    found[found.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_and_ticks_are_inverse_on_both_sides_of_the_moment() {
        let clock = Clock::new(Source::Counter, 2_596_104_321);
        let calendar = Calendar { clock, ticks: 1 << 40, nanos: 1_800_000_000_000_000_000 };
        for offset in [-5_000_000i64, -1, 0, 1, 5_000_000] {
            let nanos = calendar.nanos.wrapping_add_signed(offset);
            assert!(calendar.nanos_at(calendar.ticks_at(nanos)).abs_diff(nanos) <= 1);
        }
    }

    #[test]
    fn conversions_are_right_and_inverse_within_a_tick() {
        for frequency in [24_000_000, 999_999_999, 1_000_000_000, 2_596_104_321, 5_000_000_000u64] {
            let c = Clock::new(Source::Counter, frequency);
            for ns in [0, 1, 999, 1_000_000_007, 86_400_000_000_000, 31_536_000_000_000_000] {
                let exact = (ns as u128 * frequency as u128 / 1_000_000_000) as u64;
                assert!(c.ticks(ns).abs_diff(exact) <= 1, "{ns} ns at {frequency} Hz");
                let one_tick = 1_000_000_000u64.div_ceil(frequency);
                assert!(ns.abs_diff(c.nanos(exact)) <= one_tick, "{ns} ns at {frequency} Hz and back");
            }
        }
    }
}
