//! Rules about mixes of frame sizes.

use super::Check;
use key::Fault;
use procedure::Sends;

const KEY: &str = "traffic.frame-sizes";

impl Check<'_> {
    pub(super) fn imix(&mut self) {
        let Some(imix) = &self.scenario.traffic.frame_sizes else { return };
        let (largest, smallest, words) = (imix.largest(), imix.smallest(), imix.to_string());
        let most = self.scenario.longest_frame() as usize;
        for (is_wrong, size, label) in [
            (smallest < 64, smallest, "one is too small for headers and tag"),
            (largest > most, largest, "one is larger than the link carries"),
        ] {
            if is_wrong {
                let fault = Fault::new(format!("frames of {size} octets cannot be sent")).at(KEY, label);
                self.fault(fault.instead(format!("use sizes from 64 to {most}, FCS included")));
            }
        }
        for other in ["traffic.frame-size", "sweep.frame-size"] {
            if self.spans.has(other) {
                let fault = Fault::new("the frame size is said twice").at(KEY, words.clone()).at(other, "and one size");
                self.fault(fault.instead("keep one of them"));
            }
        }
        let metrics = &self.scenario.measure.metrics;
        let is_own = |metric: &String| matches!(self.scenario.sent(metric), Some(Sends::Segments | Sends::Queries));
        if let Some(at) = metrics.iter().position(is_own) {
            let fault = Fault::new("TCP segments and DNS queries have no mix of sizes").at(KEY, words);
            let fault = fault.at(format!("{}[{at}]", self.measure("metrics")), "has frames of its own");
            self.fault(fault.instead("measure it in a scenario without `frame-sizes`"));
        }
    }
}
