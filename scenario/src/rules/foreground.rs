//! Rules about native frames beside those that the device translates or tunnels.

use super::{Check, dut_at};
use crate::quantity::show_share;
use key::Fault;

/// The share, or those that are swept.
const KEY: &str = "traffic.foreground";
const AXIS: &str = "sweep.foreground";

impl Check<'_> {
    pub(super) fn foreground(&mut self) {
        if self.scenario.native_networks().is_none() {
            return;
        }
        let key = if self.spans.has(AXIS) { AXIS } else { KEY };
        let words = format!("{} of the frames", show_share(self.scenario.traffic.foreground_ppm));
        for dut in &self.scenario.duts {
            let Some(why) = dut.no_foreground() else { continue };
            let fault = Fault::new(format!("{} has no native frames beside others", dut.name())).at(key, words.clone());
            self.faults.push(fault.at(dut_at(dut), why).instead("remove `foreground`, or measure another device"));
        }
        let metrics = &self.scenario.measure.metrics;
        let scenario = self.scenario;
        let is_mixed = |metric: &String| scenario.procedures.metric(metric).is_some_and(|metric| metric.by_kind);
        if let Some(at) = metrics.iter().position(|metric| scenario.sends_data(metric) && !is_mixed(metric)) {
            let fault = Fault::new(format!("`{}` has no figure for each kind of frame", metrics[at]));
            let fault = fault.at(key, words.clone()).at(format!("{}[{at}]", self.measure("metrics")), "of both kinds");
            self.fault(fault.instead("with `foreground`, measure `throughput` and `frame_loss_rate`"));
        } else if !metrics.iter().any(is_mixed) {
            let fault = Fault::new("`foreground` has no effect").at(key, "no metric here has trials of both kinds");
            self.fault(fault.instead("add \"throughput\" to the metrics, or remove it"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::test_scenarios::load;

    fn read(rest: &str) -> Result<Scenario, String> {
        load(rest, &[])
    }

    const NAT44: &str = "[dut.nftables]\n[sweep]\nconnections = \"1k\"\n";

    #[test]
    fn the_share_is_read_and_the_widest_frame_is_native() {
        let mixed = read(&format!("{NAT44}[traffic]\nforeground = \"90 %\"\n")).unwrap();
        assert_eq!((mixed.traffic.foreground_ppm, mixed.widest_frame()), (900_000, 84));
        assert!(mixed.native_networks().is_some());
        let all = read(&format!("{NAT44}[traffic]\nforeground = \"100 %\"\n")).unwrap();
        assert_eq!((all.native_networks(), all.widest_frame()), (None, 64));
    }

    #[test]
    fn a_swept_share_is_that_of_its_point() {
        let swept = read(&format!("{NAT44}foreground = \"rfc8219\"\n")).unwrap();
        let all = swept.combinations(&swept.duts[0]);
        let shares: Vec<u32> = all.iter().map(|values| swept.at(0, 1_000, values).traffic.foreground_ppm).collect();
        assert_eq!(shares, [1_000_000, 900_000, 500_000, 100_000]);
        assert_eq!(
            swept.foreground_in_words().unwrap(),
            "100, 90, 50, 10 % foreground, the rest native IPv6 (RFC 8219, section 5.3)"
        );
        let twice = read(&format!("{NAT44}foreground = [90]\n[traffic]\nforeground = \"50 %\"\n")).unwrap_err();
        assert!(twice.contains("both swept and set") && twice.contains("x.toml:7:"), "{twice}");
    }

    #[test]
    fn devices_and_metrics_without_two_kinds_are_refused_at_their_line() {
        let traffic = "[traffic]\nforeground = \"50 %\"\n";
        let ipv6 = format!("[dut.linux-ipv6-forwarding]\n[measure]\nmetrics = \"throughput\"\n{traffic}");
        let refused = read(&ipv6).unwrap_err();
        assert!(refused.contains("x.toml:6:") && refused.contains("all its frames are IPv6"), "{refused}");
        for (metrics, what) in [("latency", "no figure for each kind"), ("max_conn_est_rate", "has no effect")] {
            let refused = read(&format!("{NAT44}[measure]\nmetrics = \"{metrics}\"\n{traffic}")).unwrap_err();
            assert!(refused.contains(what) && refused.contains("throughput"), "{refused}");
        }
        let none = read(&format!("{NAT44}[traffic]\nforeground = \"0 %\"\n")).unwrap_err();
        assert!(none.contains("x.toml:6:"), "{none}");
    }
}
