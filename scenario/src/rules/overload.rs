//! Rules about overload scalability: it compares fewer flows with more, and flows that begin one after the other are few.

use super::Check;
use crate::procedures::OverloadScalability;
use crate::quantity::show_count;
use key::Fault;
use procedure::metric::OVERLOAD_SCALABILITY;

impl Check<'_> {
    pub(super) fn overload(&mut self) {
        let scenario = self.scenario;
        let Some(at) = scenario.measure.metrics.iter().position(|key| key == OVERLOAD_SCALABILITY.key) else { return };
        let few = scenario.procedures.overload_scalability.flows;
        for (place, &all) in scenario.sweep.connections.iter().enumerate().filter(|(_, all)| **all <= few) {
            let title = format!("overload scalability compares {} flows with {}", show_count(few), show_count(all));
            let fault = Fault::new(title)
                .at(format!("{}[{place}]", self.connections()), "these are all flows")
                .at(format!("{}[{at}]", self.measure("metrics")), "needs fewer flows first, and more then");
            let fault = fault.needs(self.measure("overload-scalability.flows"));
            self.fault(fault.instead("use more connections, or fewer `flows` in [measure.overload-scalability]"));
        }
        self.interval();
    }

    /// Each flow that begins alone has a part of the schedule of its own, and a flow of its own: no flow is drawn more often.
    fn interval(&mut self) {
        let scenario = self.scenario;
        let Some(ramp) = scenario.procedures.overload_scalability.ramp(scenario.most_connections()) else { return };
        let at = self.measure("overload-scalability.interval");
        if ramp.flows > OverloadScalability::MOST {
            let most = show_count(OverloadScalability::MOST);
            let fault = Fault::new(format!("at most {most} flows begin one after the other"))
                .at(self.connections(), format!("the most are {}", show_count(ramp.flows)))
                .at(at.clone(), "the time between two of them");
            self.fault(
                fault.instead(format!("use at most {most} connections, or remove `interval`: all flows begin at once")),
            );
        }
        if scenario.measure.acceptance_ppm < 1_000_000 {
            let fault = Fault::new("frames lost while flows begin would count less than with all flows")
                .at(self.measure("acceptance"), "accepts a part of all frames")
                .at(at.clone(), "the trial also has frames below its rate");
            self.fault(fault.instead("remove `interval`, or write acceptance = \"100 %\""));
        }
        if !scenario.traffic.popularity.is_uniform() {
            let fault = Fault::new("flows that begin one after the other have the same popularity")
                .at("traffic.popularity", "some are more popular")
                .at(at, "the time between the beginnings of two flows");
            self.fault(fault.instead("remove `interval`, or the popularity"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, parse};

    fn load(connections: &str, flows: &str) -> Result<(), String> {
        let text = format!(
            "name = \"x\"\n[dut.embedded]\n[sweep]\nconnections = {connections}\n[measure]\n\
             metrics = [\"max_conn_est_rate\", \"overload_scalability\"]\n{flows}\n"
        );
        parse("x.toml", &text, &Options::default(), tech::ALL).map(|_| ()).map_err(|e| e.to_string())
    }

    #[test]
    fn few_flows_begin_one_after_the_other() {
        let keys = "[measure.overload-scalability]\ninterval = \"10 ms\"";
        assert_eq!(load("[10000]", keys), Ok(()));
        let error = load("[10000, 100000]", keys).unwrap_err();
        assert!(error.contains("at most 65536 flows begin one after the other"), "{error}");
        let skewed = format!("{keys}\n[traffic]\npopularity = \"zipf 1.0\"");
        let error = load("[10000]", &skewed).unwrap_err();
        assert!(error.contains("same popularity"), "{error}");
    }

    #[test]
    fn as_many_flows_as_before_are_refused_at_their_line() {
        assert_eq!(load("[10000]", ""), Ok(()));
        let error = load("[10000, 100000]", "[measure.overload-scalability]\nflows = 10000").unwrap_err();
        assert!(error.contains("x.toml:4:") && error.contains("more connections"), "{error}");
        assert!(load("[1]", "").is_err());
    }
}
