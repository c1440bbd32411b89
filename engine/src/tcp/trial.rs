//! Trials of TCP connections: clear, open held ones, new ones or exchanges, and, if wanted, watch
//! the device's table lose closed ones.

use super::{Course, TcpOutcome, TcpPhase};
use crate::device::DeviceStalls;
use crate::engine::Engine;
use method::trial::{Emptying, Tcp, TcpClose, TcpCounts};
use method::{Count, Leg, Nanos, Rate, StoreFacts, TrialError, TrialOutcome, TrialSpec};
use std::time::Instant;
use wire::tcp::Close;

/// Time between readings of the device's table.
const INTERVAL: Nanos = Nanos::from_millis(200);

impl Engine {
    pub(crate) fn tcp(&mut self, spec: &TrialSpec, tcp: Tcp) -> Result<TrialOutcome, TrialError> {
        let rate = spec.phase1_rate.unwrap_or(spec.rate);
        let (mut store, first) = if spec.keep_table {
            (StoreFacts { learned: self.held, ..StoreFacts::default() }, None)
        } else {
            let first = self.hold(rate, spec.connections)?;
            (facts_of(&first, rate, spec.connections), Some(first))
        };
        self.held = store.learned;
        if store.learned < spec.connections {
            let (host, phase1) = first.map(|first| (first.host, Some(first.begun))).unwrap_or_default();
            return Ok(TrialOutcome { store: Some(store), host, phase1, ..TrialOutcome::default() });
        }
        store.dut_entries = self.entries()?;
        let phase = self.tcp_phase(spec, tcp);
        let out = self.tcp_phase_noted(&phase)?;
        let ended = (Instant::now(), self.drain(spec));
        store.dut_entries_after = self.entries()?;
        let emptying = self.emptying(tcp, &store, ended)?;
        Ok(outcome(out, store, emptying))
    }

    fn hold(&mut self, rate: Rate, connections: Count) -> Result<TcpOutcome, TrialError> {
        self.clear()?;
        self.tcp_phase_noted(&TcpPhase {
            course: Course::Life { exchanges: 0, close: Close::Open },
            rate,
            count: connections,
            first: 0,
            different: connections,
            hold: true,
            drain: self.settings.phase1_drain,
        })
    }

    fn tcp_phase(&self, spec: &TrialSpec, tcp: Tcp) -> TcpPhase {
        let held = spec.connections;
        let (course, first, different) = match tcp {
            Tcp::Life { exchanges, close, different, .. } => {
                let close = match close {
                    TcpClose::Fin => Close::Fin,
                    TcpClose::Rst => Close::Rst,
                    TcpClose::None => Close::Open,
                };
                (Course::Life { exchanges, close }, held as u32, different)
            }
            Tcp::Exchange => (Course::Exchange, 0, held),
        };
        let (rate, count) = (spec.rate, spec.frames());
        TcpPhase { course, rate, count, first, different, hold: false, drain: self.drain(spec) }
    }

    fn tcp_phase_noted(&mut self, phase: &TcpPhase) -> Result<TcpOutcome, TrialError> {
        self.device.away()?;
        let mut out = self.stage.run_tcp(phase)?;
        let DeviceStalls { stall, stalled, run_delay } = self.device.away()?;
        (out.host.dut_stall, out.host.dut_stalled, out.host.dut_run_delay) = (stall, stalled, run_delay);
        Ok(out)
    }

    /// Watches the table until it is as small as before the trial.
    fn emptying(
        &mut self,
        tcp: Tcp,
        store: &StoreFacts,
        (ended, drain): (Instant, Nanos),
    ) -> Result<Option<Emptying>, TrialError> {
        let Tcp::Life { watch: Some(at_most), .. } = tcp else { return Ok(None) };
        let (Some(before), Some(at_end)) = (store.dut_entries, store.dut_entries_after) else { return Ok(None) };
        let mut seen = Emptying { at_end, at_last: at_end, emptied: None, interval: INTERVAL };
        loop {
            let now = Nanos(Nanos::from(ended.elapsed()).0 + drain.0);
            if seen.at_last <= before {
                seen.emptied = Some(now);
                return Ok(Some(seen));
            }
            if now >= at_most {
                return Ok(Some(seen));
            }
            self.rest(INTERVAL)?;
            let reading = Instant::now();
            seen.at_last = self.entries()?.unwrap_or(seen.at_last);
            seen.interval = seen.interval.max(Nanos(INTERVAL.0 + Nanos::from(reading.elapsed()).0));
        }
    }
}

fn facts_of(first: &TcpOutcome, rate: Rate, connections: Count) -> StoreFacts {
    let completed = first.begun.received;
    StoreFacts {
        learned: completed,
        phase1_lost: connections.saturating_sub(completed),
        phase1_attempts: 1,
        phase1_rate: Some(rate),
        ..StoreFacts::default()
    }
}

fn outcome(out: TcpOutcome, store: StoreFacts, emptying: Option<Emptying>) -> TrialOutcome {
    let counts = TcpCounts {
        established: out.established,
        from_initiator: out.sent[0],
        from_responder: out.sent[1],
        received: out.received,
        emptying,
    };
    let mut outcome = TrialOutcome {
        forward: out.begun,
        reverse: Leg { faults: out.reverse.faults, examples: out.reverse.examples, ..Leg::default() },
        host: out.host,
        store: Some(store),
        ..TrialOutcome::default()
    };
    outcome.observed.tcp = Some(counts);
    outcome
}
