//! Metrics: each is known, can be measured, applies to a device, and comes after what it needs; and its trials end before
//! connections or sequence numbers do.

use super::{Check, dut_at};
use crate::procedures::is_of_tcp;
use crate::quantity::{show_grouped, show_time};
use crate::search::show;
use crate::{Dut, Method, Scenario};
use key::{Fault, did_you_mean};
use method::{Direction, Nanos, Precision, Rate, ResponderTable};
use procedure::Procedure;
use procedure::metric::{self, CHURN_RATE, LOCK_WAIT, Metric, OVERLOAD_SCALABILITY, Origin};

impl Check<'_> {
    pub(super) fn metrics(&mut self) {
        let (path, metrics) = (self.measure("metrics"), &self.scenario.measure.metrics);
        // The advice of further faults lists the metrics.
        if self.twice(&path, metrics, |key| format!("`{key}`")) {
            return;
        }
        if self.dns() {
            self.search();
            self.search_keys();
            self.precision();
            return;
        }
        let stateful = self.scenario.is_stateful();
        let throughput = metrics.iter().any(|key| key == "throughput");
        let stateless = |dut: &Dut| dut.is_forwarding() || throughput && !dut.is_stateful();
        let stateless = self.scenario.duts.iter().any(stateless);
        let mut established = false;
        for (at, key) in metrics.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let builds_on_phase1 = ["throughput", "max_conn_est_rate_validated"].contains(&key.as_str());
            if stateful && builds_on_phase1 && self.scenario.measure.phase1_acceptance_ppm < 1_000_000 {
                self.fault(
                    Fault::new("phase 2 and validation need every connection of phase 1")
                        .at(path.clone(), "not possible with a phase1-acceptance below 100 %")
                        .needs(self.measure("phase1-acceptance"))
                        .instead("remove phase1-acceptance, or measure only max_conn_est_rate (RFC 9693, section 4.4)"),
                );
            }
            match key.as_str() {
                "throughput" if stateful && !established && self.scenario.measure.phase1_rate.is_none() => {
                    self.fault(without_phase1_rate(path, metrics, key));
                }
                key if key == LOCK_WAIT.key && !self.is_profiled() => {
                    let at = if self.scenario.measure.profile { self.measure("profile") } else { path };
                    let fault = Fault::new(
                        "only a device of this machine's kernel, a Linux box over ssh or a guest of QEMU can be profiled",
                    );
                    self.fault(fault.at(at, "no device is one").instead(
                        "remove it, or measure [dut.nftables], [dut.iptables-nft] or [dut.linux-forwarding], or a box with \
                         on = \"namespace\", on = \"ssh:…\" or on = \"guest:qemu\"",
                    ));
                }
                "throughput" => {}
                "ipv4_forwarding_throughput" if stateless => {}
                "max_conn_est_rate" | "max_conn_est_rate_validated" if stateful => {
                    established = true;
                    if key.ends_with("validated") && self.scenario.measure.alpha.is_none() {
                        let fault = Fault::new("validation needs alpha").at(path, "validated at alpha times the rate");
                        let fault = fault.needs(self.measure("alpha"));
                        self.fault(fault.instead("write alpha = \"50 %\" in [measure] (RFC 9693, section 4.6)"));
                    }
                }
                "conn_table_capacity" if stateful => {
                    if self.scenario.measure.alpha.is_none() {
                        let fault =
                            Fault::new("the capacity needs alpha").at(path, "connections count if they are validated");
                        let fault = fault.needs(self.measure("alpha"));
                        self.fault(fault.instead("write alpha = \"50 %\" in [measure] (RFC 9693, section 4.9)"));
                    }
                }
                other => match procedure::of(other) {
                    Some(of) if (!of.stateful || stateful) && !metric::is_throughput(other) => {
                        self.further(of, at, &path, established);
                    }
                    _ => self.fault(unusable(other, path)),
                },
            }
        }
        self.churn();
        self.overload();
        self.unused();
        self.search();
        self.search_keys();
        self.precision();
    }

    /// Whether a device is one whose call stacks can be sampled.
    fn is_profiled(&self) -> bool {
        self.scenario.duts.iter().any(|dut| dut.can_be_profiled(self.scenario))
    }

    /// Some connections are held, some are new, and the Initiator sends.
    fn churn(&mut self) {
        let scenario = self.scenario;
        let Some(at) = scenario.measure.metrics.iter().position(|key| key == CHURN_RATE.key) else { return };
        let metric = format!("{}[{at}]", self.measure("metrics"));
        let held = self.measure("churn.held");
        for (at, &n) in scenario.sweep.connections.iter().enumerate() {
            let Some(title) = scenario.without_churn(n) else { continue };
            let fault = Fault::new(title).at(metric.clone(), "needs both").needs(held.clone());
            let fault = fault.at(format!("{}[{at}]", self.connections()), "held and new connections together");
            self.fault(fault.instead("write a share between, such as held = \"25 %\""));
        }
        if let Some(direction) = self.reverse_of(CHURN_RATE.key) {
            let fault = Fault::new("no new connection arrives").at(direction, "the Initiator sends nothing");
            let fault = fault.at(metric, "the Initiator opens connections");
            self.fault(fault.instead("write \"forward\" or \"both\" in place of \"reverse\""));
        }
    }

    /// A metric other than throughputs, establishment rates and capacities: it comes after what it needs.
    fn further(&mut self, of: &Procedure, at: usize, path: &str, established: bool) {
        let metrics = &self.scenario.measure.metrics;
        let needs_phase1_rate =
            self.scenario.is_stateful() && !established && self.scenario.measure.phase1_rate.is_none();
        let given = self.scenario.procedures.rate(of.key).is_some();
        let after_throughput = metrics[..at].iter().any(|key| metric::is_throughput(key));
        let fault = if of.at_throughput && !given && !after_throughput {
            let fault = Fault::new(format!("{} is measured at the throughput", metrics[at]));
            fault
                .at(path, "no throughput is measured before")
                .instead("write \"throughput\" before it")
                .instead(format!("or give its rate: `rate` in [{}]", self.measure(of.key)))
        // The throughput before it needs this rate, too, and its fault says so.
        } else if needs_phase1_rate && !after_throughput {
            without_phase1_rate(path.to_owned(), metrics, &metrics[at])
        } else {
            return;
        };
        self.fault(fault);
    }

    /// Neither alpha nor a device is there for nothing.
    fn unused(&mut self) {
        let metrics = &self.scenario.measure.metrics;
        let capacity = metrics.iter().any(|key| key == "conn_table_capacity");
        let validated = capacity || metrics.iter().any(|key| key == "max_conn_est_rate_validated");
        if self.scenario.measure.capacity_from.is_some() && !capacity {
            let fault = Fault::new("no capacity is measured").at(self.measure("capacity-from"), "not used");
            self.fault(fault.instead("add \"conn_table_capacity\" to the metrics, or remove capacity-from"));
        }
        let fewest = self.scenario.sweep.connections.iter().copied().min().unwrap_or(0);
        if let Some(from) = self.scenario.measure.capacity_from.filter(|from| capacity && *from > fewest) {
            let fault = Fault::new("the search for the capacity begins above its upper end");
            let fault = fault.at(self.measure("capacity-from"), format!("{} connections", show_grouped(from)));
            let fault = fault.at("sweep.connections", "the most connections of the search");
            self.fault(fault.instead("write fewer, or remove capacity-from"));
        }
        if self.scenario.measure.alpha.is_some() && !validated {
            let fault = Fault::new("alpha is given, but nothing is validated").at(self.measure("alpha"), "not used");
            self.fault(fault.instead("add \"max_conn_est_rate_validated\" to the metrics, or remove alpha"));
        }
        self.unused_table();
        self.unused_direction();
        let stateless = metrics.iter().any(|key| procedure::of(key).is_some_and(|of| !of.stateful));
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
        let any = self.scenario.measure.metrics.iter().any(|key| procedure::of(key).is_some_and(|of| !of.phase1));
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
        let stays = |key: &String| key != CHURN_RATE.key && !is_of_tcp(key) && !procedure::is_of_phase1(key);
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

    /// The longest trial of any metric.
    fn longest(&self) -> Nanos {
        let Scenario { measure, procedures, .. } = self.scenario;
        let own = measure.metrics.iter().filter_map(|metric| procedures.longest(metric)).max();
        let is_ramped = measure.metrics.iter().any(|metric| metric == OVERLOAD_SCALABILITY.key);
        let ramp = procedures.overload_scalability.ramp(self.scenario.most_connections()).filter(|_| is_ramped);
        let ramped = Nanos(measure.duration.0.saturating_add(ramp.map_or(0, |ramp| ramp.lasts().0)));
        own.unwrap_or_default().max(ramped)
    }

    /// Each search has its own keys.
    fn search(&mut self) {
        let measure = &self.scenario.measure;
        let is_mlr = self.scenario.search() == Method::Mlr;
        let verifies = measure.verify.is_some_and(|tries| tries > 1);
        let fault = |key: &str, label: &str| {
            Fault::new("this key belongs to another search").at(self.measure(key), label.to_owned())
        };
        let mut faults = Vec::new();
        if verifies && measure.search.is_some_and(|search| search != Method::BinaryVerify) {
            let fault = fault("verify", "trials at a failed rate of `binary-verify`").needs(self.measure("search"));
            faults.push(fault.instead("remove `verify`, or write search = \"binary-verify\""));
        }
        if !measure.goals.is_empty() && !is_mlr {
            faults.push(fault("goals", "goals of `mlr`").instead("remove `goals`, or write search = \"mlr\""));
        }
        if is_mlr && measure.acceptance_ppm < 1_000_000 {
            let fault = fault("acceptance", "MLRsearch has the loss ratio of each goal").needs(self.measure("search"));
            faults
                .push(fault.instead("remove `acceptance`, and write goals = \"loss99.99\" or another goal with loss"));
        }
        if is_mlr && !measure.metrics.iter().any(|key| key.ends_with("throughput")) {
            let fault = fault("search", "MLRsearch is of throughput only");
            faults.push(fault.instead("add \"throughput\" to the metrics, or remove `search`"));
        }
        let (path, goals) = (self.measure("goals"), measure.goals.clone());
        for fault in faults {
            self.fault(fault);
        }
        self.twice(&path, &goals, |goal| format!("`{}`", show(*goal)));
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

/// Throughput in phase 2 needs a rate for phase 1, which another metric finds or a key gives.
fn without_phase1_rate(path: String, metrics: &[String], key: &str) -> Fault {
    let fault = Fault::new(format!("{key} of a device that keeps connections needs a rate for its phase 1"));
    let fault = fault.at(path, "its phase 1 runs at a share of the establishment rate, which is not measured before");
    // `profile` adds the last one.
    let is_other =
        |other: &&String| *other != key && !other.starts_with("max_conn_est_rate") && *other != LOCK_WAIT.key;
    let others = metrics.iter().filter(is_other);
    let list: Vec<&str> = ["max_conn_est_rate", key].into_iter().chain(others.map(String::as_str)).collect();
    let list = list.iter().map(|metric| format!("\"{metric}\"")).collect::<Vec<_>>().join(", ");
    fault
        .instead(format!("measure it first: metrics = [{list}] (RFC 9693, section 4.2)"))
        .instead("or give the rate: phase1-rate = \"100k\", at which the device must set up every connection")
}

/// Why a key of a metric cannot stand in a scenario.
fn unusable(key: &str, path: String) -> Fault {
    let measured = || metric::METRICS.iter().filter(|m| m.is_measured()).map(|m| m.key);
    match metric::by_key(key) {
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
