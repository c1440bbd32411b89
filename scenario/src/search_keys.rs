//! Keys by which searches save time: warm starts, one phase 1 for many trials, a known policy of a
//! full table; and the share of the rate for validation.

use crate::Scenario;
use key::kind::{Choice, Shape, ValueKind, share, words_of};
use key::{Value, Wrong};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpha {
    /// This share of the rate of phase 1, in parts per million.
    Share(u32),
    /// Rate of phase 1, but at most 0.9 of the reverse one-way throughput, which is measured before.
    Auto,
}

impl Alpha {
    pub fn ppm(self) -> u32 {
        if let Alpha::Share(ppm) = self { ppm } else { 1_000_000 }
    }
}

pub(crate) struct ShareOrAuto;

impl ValueKind for ShareOrAuto {
    type Out = Alpha;

    fn parse(&self, value: &Value) -> Result<Alpha, Wrong> {
        if words_of(value)?.trim() == "auto" {
            return Ok(Alpha::Auto);
        }
        share().parse(value).map(Alpha::Share)
    }

    fn shape(&self) -> Shape {
        let share = share().shape();
        let words = format!("{}, or `\"auto\"`", share.words);
        Shape { words, json: json!({ "anyOf": [share.json, { "const": "auto" }] }), ..share }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmStart {
    Off,
    Repetitions,
    Points,
}

pub(crate) const WARM_STARTS: &[Choice<WarmStart>] = &[
    ("off", WarmStart::Off, "at the upper end"),
    ("repetitions", WarmStart::Repetitions, "at the bounds of the last repetition"),
    ("points", WarmStart::Points, "the same; a first repetition at the bounds of the last point of the device"),
];

impl Scenario {
    pub fn alpha_ppm(&self) -> Option<u32> {
        self.measure.alpha.map(Alpha::ppm)
    }

    /// Whether the rate of validation has a measured limit.
    pub fn alpha_is_auto(&self) -> bool {
        self.measure.alpha == Some(Alpha::Auto)
    }

    /// Ways to save time, in words; none with defaults.
    pub fn shortened_in_words(&self) -> Option<String> {
        let measure = &self.measure;
        let mut words = Vec::new();
        match measure.warm_start {
            WarmStart::Off => {}
            WarmStart::Repetitions => words.push("begin at the bounds of the last repetition".to_owned()),
            WarmStart::Points => words.push("begin at the bounds of the last repetition or point".to_owned()),
        }
        if measure.early_end {
            words.push("end trials early that have failed beyond doubt".to_owned());
        }
        if measure.keep_table {
            words.push("have one phase 1 for all trials in phase 2".to_owned());
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;
    use crate::test_scenarios::load_full;
    use procedure::capacity::Capacity;
    use procedure::capacity_with_policy::FullTablePolicy;

    fn loaded(set: &[&str]) -> Result<Scenario, String> {
        load_full("[dut.embedded]\n[sweep]\nconnections = \"1M\"\n", set)
    }

    #[test]
    fn alpha_is_a_share_or_auto() {
        let validated = "metrics=max_conn_est_rate, max_conn_est_rate_validated";
        let alpha = |alpha: &str| loaded(&[validated, alpha]).map(|s| (s.alpha_ppm(), s.alpha_is_auto()));
        assert_eq!(alpha("alpha=50 %"), Ok((Some(500_000), false)));
        assert_eq!(alpha("alpha=auto"), Ok((Some(1_000_000), true)));
        assert!(alpha("alpha=most").is_err() && alpha("alpha=150 %").is_err());
        // The search in reverse is one of phase 2.
        let error = loaded(&["metrics=max_conn_est_rate_validated", "alpha=auto"]).unwrap_err();
        assert!(error.contains("phase1-rate"), "{error}");
        assert!(loaded(&["metrics=max_conn_est_rate_validated", "alpha=auto", "phase1-rate=100k"]).is_ok());
    }

    #[test]
    fn policies_are_three() {
        let policy = |policy: &str| {
            let set = ["metrics=conn_table_capacity", "alpha=50 %", "phase1-rate=100k", policy];
            loaded(&set).map(|s| s.procedures.get::<Capacity>().policy)
        };
        assert_eq!(policy("policy=refuse-new"), Ok(Some(FullTablePolicy::RefuseNew)));
        assert_eq!(policy("policy=drop-oldest"), Ok(Some(FullTablePolicy::DropOldest)));
        assert_eq!(policy("policy=collect-8"), Ok(Some(FullTablePolicy::Collect(8))));
        for wrong in ["policy=collect-0", "policy=collect", "policy=keep"] {
            assert!(policy(wrong).unwrap_err().contains("drop-oldest"), "{wrong}");
        }
        assert!(
            loaded(&["metrics=conn_table_capacity", "alpha=50 %", "policy=refuse-new"])
                .unwrap_err()
                .contains("phase1-rate")
        );
        assert!(loaded(&["policy=refuse-new"]).unwrap_err().contains("conn_table_capacity"));
    }

    #[test]
    fn every_saving_is_a_departure() {
        let departures = |set: &[&str]| conformance(&loaded(set).unwrap_or_else(|e| panic!("{e}"))).departures.len();
        let none = departures(&[]);
        for set in ["warm-start=repetitions", "warm-start=points", "early-end=true", "keep-table=true", "warm-up=5 s"] {
            assert_eq!(departures(&[set]), none + 1, "{set}");
        }
        for wrong in ["warm-start=points", "early-end=true", "keep-table=true"] {
            assert!(loaded(&["search=mlr", wrong]).unwrap_err().contains("mlr"), "{wrong}");
        }
        assert_eq!(departures(&["popularity=zipf 0.9"]), none + 1);
        assert!(loaded(&["warm-up-rate=1k"]).unwrap_err().contains("there is no warm-up"));
        assert!(loaded(&["warm-up=1 s", "metrics=max_conn_est_rate"]).unwrap_err().contains("no warm-up"));
        assert!(loaded(&["verify-at-most=10"]).unwrap_err().contains("binary-verify"));
        assert_eq!(loaded(&["verify-at-most=10", "search=binary-verify"]).err(), None);
    }
}
