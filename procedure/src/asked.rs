//! What the rules of procedures may look at. A rule refuses valid values that together cannot be
//! measured, marks the words at fault and names a way out.

use crate::{Keys, Metric};
use key::quantity::WrittenRate;
use key::{At, Fault};
use method::{Count, Direction, Rate};

/// The origin of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioOrigin {
    /// A file that a user wrote.
    File,
    /// A run folder, perhaps of an earlier version. Rules added since do not refuse it.
    Run,
}

/// What a scenario asks for.
pub struct MeasureRequest<'a> {
    /// The keys of all procedures.
    pub keys: &'a Keys,
    /// Keys of the metrics, in their order.
    pub metrics: &'a [String],
    /// The table that they are from: `measure`, or `full`.
    pub table: &'a str,
    /// Numbers of connections.
    pub connections: &'a [Count],
    /// Place where the connections are written.
    pub connections_at: &'a str,
    /// Octets of a test frame as sent, and where it is longest, FCS included.
    pub frame: [usize; 2],
    /// The highest rate, if the scenario gives it.
    pub highest: Option<Rate>,
    /// Directions of the trials.
    pub directions: Vec<Direction>,
    /// Whether a device keeps connections.
    pub is_stateful: bool,
    /// Whether a share of the rate validates connections.
    pub has_alpha: bool,
    /// Whether all frames of a trial must arrive, and all of a phase 1.
    pub is_whole: [bool; 2],
    /// Whether all connections are as popular.
    pub is_uniform: bool,
    /// The origin of the scenario.
    pub origin: ScenarioOrigin,
    /// Place that says that only the Responder sends, at a point of this metric.
    pub reverse_at: &'a dyn Fn(&str) -> Option<At>,
    /// What is refused.
    pub faults: Vec<Fault>,
}

impl MeasureRequest<'_> {
    /// The place of a metric, if the scenario asks for it.
    pub fn metric_at(&self, metric: &Metric) -> Option<String> {
        let at = self.metrics.iter().position(|key| key == metric.key)?;
        Some(format!("{}.metrics[{at}]", self.table))
    }

    /// The place of a key.
    pub fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.table)
    }

    pub(crate) fn frames_per_second(&self, written: WrittenRate) -> Rate {
        Rate(written.frames_per_second(self.frame[1]))
    }

    /// Refuses the scenario.
    pub fn refuse(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Refuses a share of held connections with which none is held, or none is new: `held` returns
    /// those of each number.
    pub(crate) fn needs_held_and_new(
        &mut self,
        (what, key): (&str, &str),
        at: &str,
        held: impl Fn(Count) -> Count,
        way_out: &str,
    ) {
        for (place, &all) in self.connections.iter().enumerate() {
            let shown = key::quantity::show_grouped(all);
            let title = match held(all) {
                0 => format!("of {shown} {what} none is held"),
                held if held == all => format!("all {shown} {what} are held, and none is new"),
                _ => continue,
            };
            let fault = Fault::new(title).at(at, "needs both").needs(self.at(key));
            let fault = fault.at(format!("{}[{place}]", self.connections_at), "held and new connections together");
            self.refuse(fault.instead(way_out));
        }
    }

    /// Refuses a phase 1 that need not be whole for a metric that uses each of its connections.
    pub(crate) fn needs_whole_phase1(&mut self, metric: &Metric) {
        let Some(at) = self.metric_at(metric).filter(|_| self.is_stateful && !self.is_whole[1]) else { return };
        let fault = Fault::new("phase 2 and validation need every connection of phase 1");
        let fault = fault.at(at, "not possible with a phase1-acceptance below 100 %");
        self.refuse(
            fault
                .needs(self.at("phase1-acceptance"))
                .instead("remove phase1-acceptance, or measure only max_conn_est_rate (RFC 9693, section 4.4)"),
        );
    }
}
