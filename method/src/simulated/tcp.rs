//! TCP connections of a simulated device: capacities count segments, the set-up rate new connections.

use super::{Condition, SimulatedDut};
use crate::trial::{Emptying, Leg, Tcp, TcpClose, TcpCounts, TrialSpec};
use crate::units::{Count, Nanos, Rate};

impl SimulatedDut {
    pub(super) fn connections(&mut self, spec: &TrialSpec, tcp: Tcp, condition: &Condition) -> (Leg, TcpCounts) {
        let [forward, reverse] =
            [self.truth.forward_capacity, self.truth.reverse_capacity].map(|capacity| condition.of(capacity).0);
        let before = self.table;
        let [of_initiator, of_responder] = tcp.segments();
        let set_up = if tcp.changes_table() { condition.of(self.truth.setup_rate).0 } else { u64::MAX };
        let capacity = (forward / of_initiator).min(reverse / of_responder).min(set_up);
        let leg = self.stream(spec.rate, spec.frames(), Rate(capacity));
        if tcp.changes_table() {
            self.table = self.table.saturating_add(leg.received).min(self.truth.table_size);
        }
        let counts = TcpCounts {
            established: if tcp.changes_table() { leg.received } else { 0 },
            from_initiator: leg.sent + leg.received * (of_initiator - 1),
            from_responder: leg.received * of_responder,
            received: leg.received * (of_initiator + of_responder),
            emptying: self.watched(tcp, before),
        };
        (leg, counts)
    }

    /// Closed connections leave the table together.
    fn watched(&self, tcp: Tcp, before: Count) -> Option<Emptying> {
        let Tcp::Life { close, watch: Some(at_most), .. } = tcp else { return None };
        let after = Some(self.truth.tcp_transitory).filter(|after| close != TcpClose::None && *after <= at_most);
        let at_last = if after.is_some() { before } else { self.table };
        Some(Emptying { at_end: self.table, at_last, emptied: after, interval: Nanos(0) })
    }
}
