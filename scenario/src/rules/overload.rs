//! Rules about overload scalability: it compares fewer flows with more.

use super::Check;
use crate::quantity::show_count;
use key::Fault;
use method::metric::OVERLOAD_SCALABILITY;

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
    fn as_many_flows_as_before_are_refused_at_their_line() {
        assert_eq!(load("[10000]", ""), Ok(()));
        let error = load("[10000, 100000]", "[measure.overload-scalability]\nflows = 10000").unwrap_err();
        assert!(error.contains("x.toml:4:") && error.contains("more connections"), "{error}");
        assert!(load("[1]", "").is_err());
    }
}
