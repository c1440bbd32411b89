//! The error at which a search stops: a share of the result, or a rate.

use crate::Scenario;
use crate::quantity::{has_unit_of_rate, show_grouped, show_share};
use key::kind::{Shape, ValueKind, rate, share, words_of};
use key::quantity::WrittenRate;
use key::{Value, Wrong};
use method::{Precision, Rate, Ratio};
use serde_json::json;

/// Width of the search interval at which a search stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchError {
    Share(u32),
    Rate(WrittenRate),
}

/// A share, or a rate with its unit.
pub(crate) struct ShareOrRate;

impl ValueKind for ShareOrRate {
    type Out = SearchError;

    fn parse(&self, value: &Value) -> Result<SearchError, Wrong> {
        if has_unit_of_rate(words_of(value)?) {
            return rate().parse(value).map(SearchError::Rate);
        }
        share().parse(value).map(SearchError::Share).map_err(|Wrong { what, instead }| {
            let is_general = instead.starts_with("write a share");
            let rate = if is_general { ", or a rate with its unit: \"1000 cps\"" } else { "" };
            Wrong::new(what, instead + rate)
        })
    }

    fn shape(&self) -> Shape {
        let share = share().shape();
        let rate = json!({ "type": "string", "pattern": "^ *[0-9][0-9_.]* ?[kKMG]?(fps|cps|pps|frames/s|connections/s|bit/s|bps) *$" });
        Shape {
            words: format!("{}, or rate with its unit", share.words),
            json: json!({ "anyOf": [share.json, rate] }),
            ..share
        }
    }
}

impl Scenario {
    /// Width of the interval at which every search stops.
    pub fn precision(&self) -> Precision {
        match self.measure.error {
            SearchError::Share(ppm) => Precision::Relative(Ratio::from_ppm(ppm.into())),
            SearchError::Rate(rate) => Precision::Absolute(Rate(rate.frames_per_second(self.widest_frame()))),
        }
    }

    /// `0.1 % of the result`, `1,000 per second and direction`.
    pub fn precision_in_words(&self) -> String {
        match self.measure.error {
            SearchError::Share(ppm) => format!("{} of the result", show_share(ppm)),
            SearchError::Rate(WrittenRate::Frames(rate)) => format!("{} per second and direction", show_grouped(rate)),
            SearchError::Rate(WrittenRate::Bits(bits)) => format!("{} bit/s in each direction", show_grouped(bits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_scenarios::load;
    use method::{Precision, Rate, Ratio};

    const TEXT: &str = "[dut.embedded]\n[traffic]\nframe-size = 128\n[sweep]\nconnections = \"1M\"\n";

    fn precision(error: &str) -> (Precision, String) {
        let scenario = load(TEXT, &[&format!("error={error}")]).unwrap_or_else(|e| panic!("{e}"));
        (scenario.precision(), scenario.precision_in_words())
    }

    #[test]
    fn a_share_is_relative_and_a_rate_absolute() {
        let share = |ppm| Precision::Relative(Ratio::from_ppm(ppm));
        assert_eq!(precision("0.1 %"), (share(1_000), "0.1 % of the result".to_owned()));
        assert_eq!(precision("500 ppm").0, share(500));
        let words = "1,000 per second and direction".to_owned();
        for same in ["1000 cps", "1 kfps", "1k pps", "1000 frames/s", "0.001 M connections/s"] {
            assert_eq!(precision(same), (Precision::Absolute(Rate(1_000)), words.clone()), "{same}");
        }
        // 128 octets of the frame and 20 between frames.
        let bits = (Precision::Absolute(Rate(1_000)), "1,184,000 bit/s in each direction".to_owned());
        assert_eq!(precision("1.184 Mbit/s"), bits);
    }
}
