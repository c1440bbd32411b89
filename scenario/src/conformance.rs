//! The label of a scenario: its settings, held against what the RFCs ask of its metrics, and the test bed.

use crate::{Dut, Scenario, TestBed, WarmStart};
use method::{Direction, Nanos, ResponderTable};
use procedure::metric::Gives;
use procedure::requirement::{
    Assessment, Conditions, Device, Goal, Nature, Path, Phase1, Repetitions, Run, Search, Traffic, Trial,
};
use procedure::{Metric, Sends};
use tech::{FRAME_SIZE, Flows};
use wire::PortRange;

/// Procedure and test bed in a few words.
pub fn label(scenario: &Scenario, assessment: &Assessment) -> String {
    let beds: Vec<&str> = TestBed::all(scenario).into_iter().map(TestBed::words).collect();
    format!("{}; test bed: {}", assessment.label(), beds.join(", "))
}

/// Holds the settings against what is required of the metrics.
pub fn conformance(scenario: &Scenario) -> Assessment {
    scenario.assess(|_| None)
}

impl Scenario {
    /// Holds settings and the record of a run of each metric against what is required.
    pub fn assess(&self, run: impl Fn(&Metric) -> Option<Run>) -> Assessment {
        let common = self.conditions();
        let metrics = self.measure.metrics.iter().filter_map(|key| self.procedures.metric(key));
        let each =
            metrics.map(|metric| (metric, Conditions { run: run(metric), ..self.conditions_of(metric, &common) }));
        Assessment::of(&each.collect::<Vec<_>>(), self.full)
    }

    fn conditions(&self) -> Conditions {
        let measure = &self.measure;
        Conditions {
            device: self.devices(),
            path: Path {
                impaired: self.impair.as_ref().map(crate::Impair::in_words),
                captured: self.capture.is_some(),
            },
            trial: Trial {
                length: measure.duration,
                is_of_goal: false,
                start_delay: measure.start_delay,
                drain: measure.drain,
                settle: measure.settle,
                warm_up: measure.warm_up,
                acceptance_ppm: measure.acceptance_ppm,
            },
            search: Search {
                goal: self
                    .goals()
                    .first()
                    .map(|goal| Goal { name: goal.name.clone(), strict: goal.loss.is_zero() && goal.exceed.is_zero() }),
                tries: self.tries().unwrap_or(1),
                early_end: measure.early_end,
                warm_start: measure.warm_start != WarmStart::Off,
            },
            repetitions: Repetitions {
                least: measure.repetitions.least(),
                words: measure.repetitions.counted(),
                time_limit: self.time_limit,
            },
            traffic: self.frames(),
            phase1: self.phase1(),
            keys: self.procedures.clone(),
            rate_is_given: false,
            run: None,
        }
    }

    fn conditions_of(&self, metric: &Metric, common: &Conditions) -> Conditions {
        let mut conditions = common.clone();
        let (keys, is_throughput) = (&self.procedures, metric.gives == Some(Gives::Throughput));
        let goal = self.goals().into_iter().next().filter(|_| is_throughput);
        conditions.trial.is_of_goal = goal.is_some();
        conditions.trial.length = match goal {
            _ if matches!(self.sent(metric.key), Some(Sends::NewConnections | Sends::Samples)) => Nanos(0),
            Some(goal) => goal.final_duration,
            None => keys.longest(metric.key, self.measure.duration, self.most_connections()),
        };
        if self.measure.keep_table && is_throughput {
            conditions.phase1.not_empty = Some("the trials of a search in phase 2 share one phase 1".to_owned());
        }
        conditions.rate_is_given = keys.of(metric.key).is_some_and(|of| of.given_rate(keys).is_some());
        conditions
    }

    fn devices(&self) -> Device {
        let nature = |dut: &Dut| match dut.place(self) {
            TestBed::Simulated => Nature::Simulated,
            _ if dut.injected().is_some() => Nature::Injected,
            _ => Nature::Real,
        };
        Device {
            stateful: self.is_stateful(),
            stateless: self.duts.iter().any(|dut| !dut.is_stateful()) && !self.sends_queries(),
            nature: self.duts.iter().map(nature).max().unwrap_or(Nature::Real),
        }
    }

    fn frames(&self) -> Traffic {
        let traffic = &self.traffic;
        let directions = self.directions();
        // Ports of shared addresses are those of the subscriber.
        let free = self.duts.iter().any(|dut| !dut.is_stateful() && !dut.is_of_subscribers());
        let (all, few) = (|ports: PortRange, first, last| (ports.first, ports.last) == (first, last), &traffic.flows);
        Traffic {
            sizes: self.swept(FRAME_SIZE).map_or(1, |swept| swept.values.len()),
            mix: traffic.frame_sizes.as_ref().map(ToString::to_string),
            widest: self.widest_frame(),
            ratios: directions.iter().filter_map(|d| d.ratio()).map(|ratio| ratio.to_string()).collect(),
            one_way: directions.iter().any(|d| d.count() == 1),
            forward: directions != [Direction::Reverse],
            popularity: (!traffic.popularity.is_uniform()).then(|| traffic.popularity.to_string()),
            networks: few.networks,
            all_ports: !free || all(few.source_ports, 1024, 65_535) && all(few.destination_ports, 1, 49_151),
            ports: format!("{} to {}", few.source_ports, few.destination_ports),
        }
    }

    fn phase1(&self) -> Phase1 {
        let fresh = self.duts.iter().any(|dut| self.has_fresh_ports(dut));
        let fresh =
            fresh.then_some("each phase 1 has fresh source ports, and the table holds connections of earlier ones");
        // Several addresses restrict the ports of each.
        let more_source_ports =
            |flows: &Flows| flows.hosts() > 1 || flows.source_ports.count() >= flows.destination_ports.count();
        let mut metrics = self.measure.metrics.iter().filter_map(|key| self.procedures.metric(key));
        Phase1 {
            acceptance_ppm: self.measure.phase1_acceptance_ppm,
            drain: self.measure.phase1_drain,
            subsets: self.subsets_in_words(),
            rate_is_measured: metrics.any(|metric| metric.gives == Some(Gives::SetUpRate)),
            not_empty: fresh.map(str::to_owned),
            updates_table: self.traffic.responder_table != ResponderTable::Keep,
            timeout: self.duts.iter().filter_map(|dut| dut.udp_timeout()).min(),
            more_source_ports: self.all_flows().iter().all(more_source_ports),
            sizes: self.sweep.connections.len(),
        }
    }
}

#[cfg(test)]
mod tests;
