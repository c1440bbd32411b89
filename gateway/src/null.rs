//! The null device: forwards every frame to the other side and writes only its Ethernet addresses, as any router does. It runs in
//! the workers of a device, in place of the device's function, so that it has the same threads, cores, links and pools. Its
//! rate is what this path reaches without the work of the device.

use plane::chain::Nested;
use plane::{Drops, Entry, Function, Packet, Side, Spare, Verdict};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Selects device or null device for all workers of a gateway. Change it only while no frames are on the way.
#[derive(Clone, Debug, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Selects the null device, or the device.
    pub fn set_null(&self, null: bool) {
        self.0.store(null, Ordering::Relaxed);
    }

    fn is_null(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Octets of both Ethernet addresses.
const ADDRESSES: usize = 12;

/// A function that can be replaced by the null device. State and counters stay those of the function.
pub struct OrNull<F> {
    inner: F,
    switch: Switch,
}

impl<F> OrNull<F> {
    /// Wraps a function.
    pub fn new(inner: F, switch: Switch) -> OrNull<F> {
        OrNull { inner, switch }
    }
}

/// Forwards a batch. The addresses are 0, as in the tester's view of a plain cable.
fn forward<P: Packet>(from: Side, batch: &mut [P], verdicts: &mut [Verdict]) {
    for packet in batch {
        if let Some(addresses) = packet.bytes_mut().get_mut(..ADDRESSES) {
            addresses.fill(0);
        }
    }
    verdicts.fill(Verdict::Forward(from.other()));
}

impl<F: Function> Function for OrNull<F> {
    #[inline]
    fn process<P: Packet, S: Spare<P>>(
        &mut self,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        if self.switch.is_null() {
            forward(from, batch, verdicts);
        } else {
            self.inner.process(now, from, batch, verdicts, spare);
        }
    }

    fn idle(&mut self, now: u64) {
        self.inner.idle(now);
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        self.inner.entries()
    }

    fn counters(&self) -> Drops {
        self.inner.counters()
    }

    fn places(&self) -> u64 {
        self.inner.places()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<Entry> {
        self.inner.sessions(now, places)
    }

    fn can_adopt(&self, new: &OrNull<F>) -> Result<(), String> {
        self.inner.can_adopt(&new.inner)
    }

    fn adopt(&mut self, new: &mut OrNull<F>) -> Result<(), String> {
        self.inner.adopt(&mut new.inner)
    }

    fn nest(&mut self, nested: Nested) {
        self.inner.nest(nested);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::wired;
    use crate::worker::{Worker, mail};
    use port::{Clock, Port};

    /// Drops every packet.
    struct Closed;

    impl Function for Closed {
        fn process<P: Packet, S: Spare<P>>(
            &mut self,
            _: u64,
            _: Side,
            _: &mut [P],
            verdicts: &mut [Verdict],
            _: &mut S,
        ) {
            verdicts.fill(Verdict::Drop);
        }
        testbed::without_state!(Closed);
    }

    #[test]
    fn the_switch_replaces_the_function_and_brings_it_back() {
        let (clock, switch) = (Clock::system(), Switch::default());
        let (mut own, [mut left, mut right], mut config) = wired(clock);
        let (customer, internet) = config.ports.remove(0);
        let function = OrNull::new(Closed, switch.clone());
        let mut worker = Worker::new(clock, customer, internet, config.pools.remove(0), mail(1, 8).remove(0), function);
        let mut burst = port::burst();
        for (null, arrive) in [(false, 0), (true, 3), (false, 0)] {
            switch.set_null(null);
            own.alloc_burst(3, 60, &mut burst);
            for frame in &mut burst {
                frame.bytes_mut().fill(7);
            }
            left.transmit(&mut own, &mut burst).unwrap();
            worker.poll(clock.now()).unwrap();
            assert_eq!(right.receive(&mut own, &mut burst).unwrap(), arrive);
            for frame in &burst {
                assert_eq!((frame.bytes()[..12].iter().max(), frame.bytes()[12..].iter().min()), (Some(&0), Some(&7)));
            }
            own.free_all(&mut burst);
        }
    }
}
