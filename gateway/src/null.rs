//! The null device: forwards every frame to the other side, with other Ethernet addresses. It runs
//! in a device's workers in place of its function, so its rate is that of the same path without the
//! device's work.

use plane::{DynFunction, Input, Packet, Spare, Verdict, Wrapper};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Switches all workers between device and null device, which keeps state and counters. Only while
/// no frames are on the way.
#[derive(Clone, Debug, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Selects the null device, or the device.
    pub fn set_null(&self, null: bool) {
        self.0.store(null, Ordering::Relaxed);
    }
}

const ADDRESSES: usize = 12;

/// The addresses are 0, as on the tester's plain cable.
fn forward<P: Packet>(input: Input<P>) {
    for packet in input.packets {
        if let Some(addresses) = packet.bytes_mut().get_mut(..ADDRESSES) {
            addresses.fill(0);
        }
    }
    input.verdicts.fill(Verdict::Forward(input.from.other()));
}

impl Wrapper for Switch {
    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, input: Input<P>, spare: &mut dyn Spare<P>) {
        if self.0.load(Ordering::Relaxed) {
            forward(input);
        } else {
            function.process(input, spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::wired;
    use crate::worker::{Worker, mail};
    use plane::Function;
    use port::{Clock, Port};

    /// Drops every packet.
    struct Closed;

    impl Function for Closed {
        fn process<P: Packet>(&mut self, input: Input<P>, _: &mut dyn Spare<P>) {
            input.verdicts.fill(Verdict::Drop);
        }
        testbed::nothing_to_adopt!(Closed);
    }

    #[test]
    fn the_switch_replaces_the_function_and_brings_it_back() {
        let (clock, switch) = (Clock::system(), Switch::default());
        let (mut own, [mut left, mut right], mut config) = wired(clock);
        let (customer, internet) = config.ports.remove(0);
        let function = switch.clone().around(Box::new(Closed));
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
