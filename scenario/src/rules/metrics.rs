//! Metrics: each is known, can be measured, applies to a device, and comes after what it needs; and its trials end before
//! connections or sequence numbers do.

use super::{Check, dut_at};
use crate::Scenario;
use crate::quantity::{show_grouped, show_time};
use key::{Fault, did_you_mean};
use method::{Direction, Nanos, Precision, Rate, ResponderTable};
use procedure::metric::{Gives, Origin};
use procedure::{Keys, Metric, Procedure, Sends};

impl Check<'_> {
    pub(super) fn metrics(&mut self) {
        let (path, metrics) = (self.measure("metrics"), &self.scenario.measure.metrics);
        // The advice of further faults lists the metrics.
        if self.twice(&path, metrics, |key| format!("`{key}`")) {
            return;
        }
        if self.dns() {
            self.search_keys();
            self.precision();
            return;
        }
        let (scenario, mut established) = (self.scenario, false);
        for (at, key) in metrics.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some((of, metric)) = self.applicable(key) else {
                self.fault(unusable(&scenario.procedures, key, path));
                continue;
            };
            established |= metric.gives == Some(Gives::SetUpRate);
            if of.profiles && !self.scenario.duts.iter().any(|dut| dut.can_be_profiled(self.scenario)) {
                let at = if scenario.measure.profile { self.measure("profile") } else { path };
                let fault = Fault::new(
                    "only a device of this machine's kernel, a Linux box over ssh or a guest of QEMU can be profiled",
                );
                self.fault(fault.at(at, "no device is one").instead(
                    "remove it, or measure [dut.nftables], [dut.iptables-nft] or [dut.linux-forwarding], or a box with \
                     on = \"namespace\", on = \"ssh:…\" or on = \"guest:qemu\"",
                ));
            } else if of.sends != Sends::NewConnections && metric.baseline_of.is_none() {
                self.comes_after_what_it_needs((of, metric), at, path, established);
            }
        }
        self.procedures();
        self.unused();
        self.search_keys();
        self.precision();
    }

    /// A metric that a device of the scenario has, with its procedure.
    fn applicable(&self, key: &str) -> Option<(&'static Procedure, &'static Metric)> {
        let procedures = &self.scenario.procedures;
        let (of, metric) = (procedures.of(key)?, procedures.metric(key)?);
        let is_stateful = self.scenario.is_stateful();
        let is_applicable = match metric.baseline_of {
            Some(whole) => self
                .scenario
                .duts
                .iter()
                .any(|dut| dut.is_forwarding() || self.scenario.measures(whole) && !dut.is_stateful()),
            None => !of.stateful || is_stateful,
        };
        is_applicable.then_some((of, metric))
    }

    /// A metric comes after the throughput or the establishment rate that its trials need.
    fn comes_after_what_it_needs(
        &mut self,
        (of, metric): (&Procedure, &Metric),
        at: usize,
        path: String,
        established: bool,
    ) {
        let metrics = &self.scenario.measure.metrics;
        let needs_phase1_rate =
            self.scenario.is_stateful() && !established && self.scenario.measure.phase1_rate.is_none();
        let given = of.given_rate(&self.scenario.procedures).is_some();
        let is_throughput = metric.gives == Some(Gives::Throughput);
        let after_throughput = metrics[..at].iter().any(|key| self.gives(key, Gives::Throughput).is_some());
        let fault = if of.rate.is_some() && !given && !after_throughput {
            let fault = Fault::new(format!("{} is measured at the throughput", metric.key));
            fault
                .at(path, "no throughput is measured before")
                .instead("write \"throughput\" before it")
                .instead(format!("or give its rate: `rate` in [{}]", self.measure(of.key)))
        // The throughput before it needs this rate, too, and its fault says so.
        } else if needs_phase1_rate && (is_throughput || !after_throughput) {
            self.without_phase1_rate(path, metric.key)
        } else {
            return;
        };
        self.fault(fault);
    }

    pub(super) fn gives(&self, key: &str, what: Gives) -> Option<&'static Metric> {
        self.scenario.procedures.metric(key).filter(|metric| metric.gives == Some(what))
    }

    /// Throughput in phase 2 needs a rate for phase 1, which another metric finds or a key gives.
    fn without_phase1_rate(&self, path: String, key: &str) -> Fault {
        let procedures = &self.scenario.procedures;
        let fault = Fault::new(format!("{key} of a device that keeps connections needs a rate for its phase 1"));
        let fault =
            fault.at(path, "its phase 1 runs at a share of the establishment rate, which is not measured before");
        // `profile` adds its metric.
        let is_other = |other: &&str| {
            *other != key
                && self.gives(other, Gives::SetUpRate).is_none()
                && !procedures.of(other).is_some_and(|procedure| procedure.profiles)
        };
        let others = self.scenario.measure.metrics.iter().map(String::as_str).filter(is_other);
        let first = procedures.metrics().find(|metric| metric.gives == Some(Gives::SetUpRate));
        let list = first.map(|metric| metric.key).into_iter().chain([key]).chain(others);
        let list = list.map(|metric| format!("\"{metric}\"")).collect::<Vec<_>>().join(", ");
        fault
            .instead(format!("measure it first: metrics = [{list}] (RFC 9693, section 4.2)"))
            .instead("or give the rate: phase1-rate = \"100k\", at which the device must set up every connection")
    }

    /// Refuses devices that no metric uses.
    fn unused(&mut self) {
        let procedures = &self.scenario.procedures;
        let metrics = &self.scenario.measure.metrics;
        self.unused_table();
        self.unused_direction();
        let stateless = metrics.iter().any(|key| procedures.of(key).is_some_and(|of| !of.stateful));
        if self.scenario.measure.phase1_rate.is_some() && self.scenario.measure.phase1_share_ppm.is_some() {
            let fault = Fault::new("phase1-rate and phase1-share both set the rate of phase 1");
            let fault = fault.at(self.measure("phase1-share"), "a share of the establishment rate");
            let fault = fault.at(self.measure("phase1-rate"), "the rate itself");
            self.fault(fault.instead("remove one of them"));
        }
        for dut in self.scenario.duts.iter().filter(|dut| !dut.is_stateful() && !stateless) {
            let fault = Fault::new(format!("nothing is measured on `{}`", dut.name()));
            let fault =
                fault.at(dut_at(dut), "keeps no connections").at(self.measure("metrics"), "only about connections");
            self.faults.push(fault.instead("add \"throughput\" to the metrics, or remove the device"));
        }
    }

    /// The Responder updates a table that there is, with frames that it receives.
    fn unused_table(&mut self) {
        let traffic = &self.scenario.traffic;
        if traffic.responder_table == ResponderTable::Keep {
            return;
        }
        let fault = Fault::new("the Responder never updates its state table in phase 2");
        let fault = fault.at("traffic.responder-table", "not used");
        if !self.scenario.is_stateful() {
            let fault = fault.instead("remove `responder-table`: no device of this scenario keeps connections");
            self.fault(fault);
        } else if let [Direction::Reverse] = self.scenario.directions()[..] {
            let direction = self.direction_at(|_| true).unwrap_or_else(|| "traffic.direction".into());
            let fault = fault.at(direction, "the Responder receives no frame in phase 2");
            self.fault(fault.instead("remove `responder-table`, or the direction"));
        }
    }

    /// Refuses a swept direction or a ratio of rates that no metric uses: only phase 2 and stateless trials have frames from both
    /// sides.
    fn unused_direction(&mut self) {
        let sent = |key: &String| self.scenario.sent(key);
        let any =
            self.scenario.measure.metrics.iter().any(|key| sent(key).is_some_and(|of| of != Sends::NewConnections));
        let is_swept = self.spans.has("sweep.direction");
        let of_phase2 = self.direction_at(|direction| is_swept || direction.ratio().is_some());
        let Some(direction) = of_phase2.filter(|_| !any) else { return };
        let fault = Fault::new("no metric uses `direction`").at(direction, "not used");
        let fault = fault.at(self.measure("metrics"), "the Initiator alone sends in phase 1");
        self.fault(fault.instead("add \"throughput\" to the metrics, or remove `direction`"));
    }

    /// No connection times out within a trial, and sequence numbers do not run out.
    pub(super) fn times(&mut self) {
        /// A rate above that of any known device. A timeout below the time that follows from it is certainly too short.
        const FASTEST: Rate = Rate(10_000_000);
        let measure = &self.scenario.measure;
        let waits = 2 * measure.phase1_drain.0 + measure.start_delay.0 + measure.drain.0;
        // With churn, connections have frames all the time, or are to time out. Those of TCP have time-outs of their own.
        let stays = |key: &String| {
            let sent = self.scenario.sent(key);
            !matches!(sent, Some(Sends::FramesInTurn | Sends::Segments | Sends::NewConnections))
        };
        let phase2 = if measure.metrics.iter().any(stays) { self.longest() } else { Nanos(0) };
        let needed = Nanos(FASTEST.time_for(self.scenario.most_connections()).0 + waits + phase2.0);
        let states = self.scenario.duts.iter().filter_map(|dut| dut.nat_state());
        for state in states.filter(|state| state.udp_timeout <= needed) {
            let fault = Fault::new("connections would time out within a trial")
                .at(state.path("udp-timeout"), format!("a trial lasts at least {}", show_time(needed)))
                .at(self.measure("duration"), "the time of phase 2 alone");
            self.fault(fault.instead("write udp-timeout = \"10000 s\", or remove it (RFC 9693, section 4.4)"));
        }
        // The tag's sequence number has five octets (METHODOLOGY.md, frames).
        if self.scenario.max_rate().is_some_and(|rate| Rate(rate).frames_in(self.longest()) >= 1 << 40) {
            let fault = Fault::new("a trial would send more frames than can be numbered (2^40)");
            let at = key::At::first([self.measure("duration").into(), self.measure("max-rate").into()]);
            self.fault(fault.at(at, "too many frames").instead("use shorter trials"));
        }
    }

    fn longest(&self) -> Nanos {
        let Scenario { measure, procedures, .. } = self.scenario;
        let most = self.scenario.most_connections();
        let all = measure.metrics.iter().map(|metric| procedures.longest(metric, measure.duration, most));
        all.max().unwrap_or_default().max(measure.duration)
    }

    /// A search has an interval to halve.
    fn precision(&mut self) {
        let Precision::Absolute(error) = self.scenario.precision() else { return };
        let Some(most) = self.scenario.max_rate() else { return };
        let interval = most.saturating_sub(self.scenario.min_rate().unwrap_or(0));
        if error.0 >= interval {
            let fault = Fault::new("every search would end at its first interval")
                .at(self.measure("error"), format!("the interval is {} per second", show_grouped(interval)))
                .needs(self.measure("max-rate"))
                .instead("write a smaller error, or remove max-rate");
            self.fault(fault);
        }
    }
}

/// Why a key of a metric cannot stand in a scenario.
fn unusable(procedures: &Keys, key: &str, path: String) -> Fault {
    let measured = || procedures.metrics().filter(|m| m.is_measured()).map(|m| m.key);
    match procedures.metric(key) {
        Some(known) if known.origin == Origin::Derived => {
            let fault = Fault::new(format!("`{key}` is computed, not measured")).at(path, "follows from other metrics");
            fault.instead("remove it: reports show it if its inputs were measured")
        }
        Some(Metric { origin: Origin::Part { of }, .. }) => {
            let fault = Fault::new(format!("`{key}` is a part of `{of}`")).at(path, "measured with it");
            fault.instead(format!("write \"{of}\""))
        }
        Some(_) => {
            let fault = Fault::new(format!("`{key}` does not apply to any device of this scenario"));
            fault.at(path, "no such device").instead("remove it, or add a device that it applies to")
        }
        None => {
            let fault = Fault::new(format!("unknown metric `{key}`")).at(path, "no such metric");
            fault.instead(match did_you_mean(key, measured()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("metrics are {}", measured().collect::<Vec<_>>().join(", ")),
            })
        }
    }
}
