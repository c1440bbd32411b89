//! Frame sizes: one for the scenario, or those that it sweeps; and how long frames a link carries.

use crate::Scenario;
use tech::FRAME_SIZE;

/// Largest frame of an in-process link (RFC 8219, section 5.1.1), …
pub(crate) const LARGEST: u64 = 9216;
/// … and of any other link, which has an MTU of 1500.
pub(crate) const LARGEST_WITHOUT_JUMBO: u64 = 1518;

impl Scenario {
    /// Octets with FCS: `64, 128, 256`.
    pub fn frame_sizes_in_words(&self) -> String {
        if let Some(imix) = &self.traffic.frame_sizes {
            return imix.in_words();
        }
        match self.swept(FRAME_SIZE) {
            Some(swept) => swept.values.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
            None => self.traffic.frame_size.to_string(),
        }
    }

    /// Longest frames on every device's link, in octets with FCS.
    pub(crate) fn longest_frame(&self) -> u64 {
        self.duts.iter().filter_map(|dut| dut.longest_frame()).min().unwrap_or(LARGEST)
    }

    /// Keeps those of the preset's frame sizes that every device's link carries.
    pub(crate) fn keep_carried_frame_sizes(&mut self) {
        let most = self.longest_frame();
        self.axes
            .iter_mut()
            .filter(|swept| swept.axis == FRAME_SIZE)
            .for_each(|swept| swept.values.retain(|&n| n <= most));
    }

    /// Takes the largest swept or mixed frame size: what holds for it holds at every point.
    pub(crate) fn take_largest_frame_size(&mut self) {
        if let Some(&largest) = self.swept(FRAME_SIZE).and_then(|swept| swept.values.iter().max()) {
            self.traffic.frame_size = largest as usize;
        }
        if let Some(imix) = &self.traffic.frame_sizes {
            self.traffic.frame_size = imix.largest();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::test_scenarios::load;

    fn scenario(text: &str) -> Scenario {
        load(text, &[]).unwrap_or_else(|e| panic!("{e}"))
    }

    fn at_each_point(scenario: &Scenario) -> Vec<(usize, Option<u64>)> {
        let all = scenario.combinations(&scenario.duts[0]);
        let each = all.iter().map(|values| scenario.at(0, 0, values));
        each.map(|here| (here.traffic.frame_size, here.max_rate())).collect()
    }

    const GATEWAY: &str = "[dut.embedded]\n[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\"]\n\
        pref64 = \"2001:2:0:1000::/96\"\n[measure]\nmetrics = \"throughput\"\nmax-rate = \"10 Gbit/s\"\n[sweep]\n";
    const KERNEL: &str =
        "[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\nmax-rate = \"10 Gbit/s\"\n[sweep]\n";

    /// A line rate is another frame rate at every size (RFC 2544, appendix B).
    #[test]
    fn a_point_has_its_frame_size() {
        let kernel = scenario(&format!("{KERNEL}frame-size = [64, 128, 1518]\n"));
        let rates = [(64, Some(14_880_952)), (128, Some(8_445_945)), (1518, Some(812_743))];
        assert_eq!(at_each_point(&kernel), rates);
        assert_eq!(kernel.frame_sizes_in_words(), "64, 128, 1518");
        // Nothing else changes.
        let gateway = scenario(&format!("{GATEWAY}frame-size = [64, 128]\n"));
        for values in gateway.combinations(&gateway.duts[0]) {
            assert_eq!(gateway.at(0, 0, &values).traffic.flows, gateway.traffic.flows);
        }
    }

    #[test]
    fn a_preset_has_the_sizes_that_the_link_carries() {
        let sizes = |text: &str| at_each_point(&scenario(text)).iter().map(|(size, _)| *size).collect::<Vec<_>>();
        let rfc2544 = [64, 128, 256, 512, 1024, 1280, 1518];
        let rfc8219 = [64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216];
        assert_eq!(sizes(&format!("{KERNEL}frame-size = \"rfc2544\"\n")), rfc2544);
        assert_eq!(sizes(&format!("{KERNEL}frame-size = \"rfc8219\"\n")), rfc8219[..8]);
        assert_eq!(sizes(&format!("{GATEWAY}frame-size = \"rfc8219\"\n")), rfc8219);
    }
}
