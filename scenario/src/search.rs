//! How a throughput is searched: the words for it, and the goals of MLRsearch (RFC 9971).

use crate::Scenario;
use key::kind::{Choice, Shape, ValueKind, words_of};
use key::quantity::{duration, share_ppm};
use key::{Value, Wrong, did_you_mean};
use method::search::mlr::Goal;
use method::{Nanos, Precision, Ratio};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Binary,
    BinaryVerify,
    Mlr,
}

pub(crate) const METHODS: &[Choice<Method>] = &[
    ("binary", Method::Binary, "RFC 2544"),
    ("binary-verify", Method::BinaryVerify, "a failed rate is tried again: ETSI GS NFV-TST 009"),
    ("mlr", Method::Mlr, "RFC 9971, of throughput only"),
];

/// Trials of a failed rate with `binary-verify`.
const TRIES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WrittenGoal {
    Preset(&'static str),
    /// Final trial duration, duration sum, loss ratio and exceed ratio in ppm, width in ppm.
    Own {
        final_duration: Nanos,
        duration_sum: Nanos,
        loss_ppm: u32,
        exceed_ppm: u32,
        width_ppm: u32,
    },
}

/// Name, final trial duration, duration sum, loss ratio, exceed ratio and width. `None` stands for
/// `duration` or `error` of `[measure]`; the duration sum counts trials.
type Preset = (&'static str, Option<Nanos>, u64, u64, u64, Option<u64>);

/// RFC 2544 and ETSI GS NFV-TST 009 as goals (RFC 9971), those of FD.io CSIT, and an acceptance of 99.99 %.
const PRESETS: [Preset; 5] = [
    ("rfc2544", None, 1, 0, 0, None),
    ("tst009", None, 2, 0, 500_000, None),
    ("ndr", Some(Nanos::from_secs(1)), 21, 0, 500_000, Some(5_000)),
    ("pdr", Some(Nanos::from_secs(1)), 21, 5_000, 500_000, Some(5_000)),
    ("loss99.99", None, 1, 100, 0, None),
];

/// A preset, or five values between slashes.
pub(crate) struct Goals;

impl ValueKind for Goals {
    type Out = WrittenGoal;

    fn parse(&self, value: &Value) -> Result<WrittenGoal, Wrong> {
        let text = words_of(value)?.trim();
        if text.contains('/') { own(text) } else { preset(text) }
    }

    fn shape(&self) -> Shape {
        let names: Vec<String> = PRESETS.iter().map(|(name, ..)| format!("`\"{name}\"`")).collect();
        let words = format!("{}, or `\"{EXAMPLE}\"`", names.join(", "));
        Shape::one(words, json!({ "type": "string" }))
    }
}

/// Final trial duration, duration sum, loss ratio, exceed ratio, width.
const EXAMPLE: &str = "1 s / 21 s / 0.5 % / 50 % / 0.5 %";

fn preset(text: &str) -> Result<WrittenGoal, Wrong> {
    let names = || PRESETS.iter().map(|(name, ..)| *name);
    names().find(|name| *name == text).map(WrittenGoal::Preset).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        let meant = did_you_mean(text, names()).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        Wrong::new(
            format!("unknown goal `{text}`"),
            format!(
                "{meant}goals are {}, or final trial duration, duration sum, loss ratio, exceed ratio and width, such as \
                 \"{EXAMPLE}\"",
                known.join(", ")
            ),
        )
    })
}

fn own(text: &str) -> Result<WrittenGoal, Wrong> {
    let parts: Vec<&str> = text.split('/').collect();
    let [last, sum, loss, exceed, width] = parts[..] else {
        return Err(Wrong::new(
            format!("{} values", parts.len()),
            format!(
                "write five: final trial duration, duration sum, loss ratio, exceed ratio and width, such as \"{EXAMPLE}\""
            ),
        ));
    };
    let (final_duration, duration_sum) = (duration(last.trim())?, duration(sum.trim())?);
    let (loss_ppm, exceed_ppm, width_ppm) = (share_ppm(loss)?, share_ppm(exceed)?, share_ppm(width)?);
    let wrong = |what: &str, instead: &str| Err(Wrong::new(what, instead));
    if final_duration < Nanos::from_millis(1) {
        return wrong("a trial of less than 1 ms", "write a final trial duration of at least 1 ms");
    }
    if duration_sum < final_duration {
        return wrong(
            "the duration sum is below the final trial duration",
            "write a duration sum of at least one trial",
        );
    }
    if loss_ppm == 1_000_000 || exceed_ppm == 1_000_000 {
        return wrong("loss ratio and exceed ratio are below 100 %", "write a smaller share (RFC 9971)");
    }
    if width_ppm == 0 || width_ppm < loss_ppm {
        return wrong(
            "the width is above 0 and not below the loss ratio",
            "write a larger width (RFC 9971: a smaller one promises more than the trials show)",
        );
    }
    Ok(WrittenGoal::Own { final_duration, duration_sum, loss_ppm, exceed_ppm, width_ppm })
}

/// The first trials last a 60th of the final ones, but at least a second.
fn initial(final_duration: Nanos) -> Nanos {
    Nanos(final_duration.0 / 60).max(Nanos::SECOND).min(final_duration)
}

impl Scenario {
    pub fn search(&self) -> Method {
        let verified = self.measure.verify.is_some_and(|tries| tries > 1);
        self.measure.search.unwrap_or(if verified { Method::BinaryVerify } else { Method::Binary })
    }

    /// Trials of a rate before it has failed, with loss verification.
    pub fn tries(&self) -> Option<u32> {
        (self.search() == Method::BinaryVerify).then(|| self.measure.verify.unwrap_or(TRIES))
    }

    pub fn goals(&self) -> Vec<Goal> {
        let written = &self.measure.goals;
        match (self.search(), written.is_empty()) {
            (Method::Mlr, true) => vec![self.goal(WrittenGoal::Preset("rfc2544"))],
            (Method::Mlr, false) => written.iter().map(|goal| self.goal(*goal)).collect(),
            _ => Vec::new(),
        }
    }

    fn goal(&self, written: WrittenGoal) -> Goal {
        let (share, ppm) = (|ppm: u64| Precision::Relative(Ratio::from_ppm(ppm)), |ppm: u32| u64::from(ppm));
        match written {
            WrittenGoal::Own { final_duration, duration_sum, loss_ppm, exceed_ppm, width_ppm } => Goal {
                name: show(written),
                final_duration,
                initial_duration: initial(final_duration),
                duration_sum,
                loss: Ratio::from_ppm(ppm(loss_ppm)),
                exceed: Ratio::from_ppm(ppm(exceed_ppm)),
                width: share(ppm(width_ppm)),
            },
            WrittenGoal::Preset(name) => {
                let preset = PRESETS.iter().find(|(known, ..)| *known == name).expect("read from this list");
                let (_, duration, trials, loss, exceed, width) = *preset;
                let final_duration = duration.unwrap_or(self.measure.duration);
                Goal {
                    name: name.to_owned(),
                    final_duration,
                    initial_duration: initial(final_duration),
                    duration_sum: Nanos(final_duration.0.saturating_mul(trials)),
                    loss: Ratio::from_ppm(loss),
                    exceed: Ratio::from_ppm(exceed),
                    width: width.map_or_else(|| self.precision(), share),
                }
            }
        }
    }
}

pub(crate) fn show(goal: WrittenGoal) -> String {
    use key::quantity::{show_duration, show_share};
    match goal {
        WrittenGoal::Preset(name) => name.to_owned(),
        WrittenGoal::Own { final_duration, duration_sum, loss_ppm, exceed_ppm, width_ppm } => {
            let times = [final_duration, duration_sum].map(show_duration);
            let shares = [loss_ppm, exceed_ppm, width_ppm].map(show_share);
            times.into_iter().chain(shares).collect::<Vec<_>>().join(" / ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;
    use crate::test_scenarios::load;

    fn loaded(set: &[&str]) -> Result<Scenario, String> {
        load("[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\nduration = \"10 s\"\n", set)
    }

    #[test]
    fn presets_follow_duration_and_error() {
        let goals = loaded(&["search=mlr", "goals=[\"rfc2544\", \"tst009\", \"pdr\"]"]).unwrap().goals();
        let times: Vec<(u64, u64)> =
            goals.iter().map(|g| (g.final_duration.0 / 1_000_000, g.duration_sum.0 / 1_000_000)).collect();
        assert_eq!(times, [(10_000, 10_000), (10_000, 20_000), (1_000, 21_000)]);
        assert_eq!(goals[0].width, Precision::Relative(Ratio::from_ppm(1_000)));
        assert_eq!(
            (goals[2].loss, goals[2].width),
            (Ratio::from_ppm(5_000), Precision::Relative(Ratio::from_ppm(5_000)))
        );
    }

    #[test]
    fn a_goal_of_ones_own_has_five_values() {
        let goals = loaded(&["search=mlr", "goals=2 s/4 s/100 ppm/25 %/0.1 %"]).unwrap().goals();
        assert_eq!(goals[0].name, "2 s / 4 s / 0.01 % / 25 % / 0.1 %");
        assert_eq!((goals[0].initial_duration, goals[0].exceed), (Nanos::SECOND, Ratio::from_ppm(250_000)));
        for wrong in
            ["ndrr", "1 s / 2 s", "2 s/1 s/0/0/1 %", "1 s/1 s/1 %/0/0.5 %", "1 s/1 s/0/100 %/1 %", "0/1 s/0/0/1 %"]
        {
            let error = loaded(&["search=mlr", &format!("goals=\"{wrong}\"")]).unwrap_err();
            assert!(error.contains("goals"), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_search_follows_from_verify() {
        let search = |set: &[&str]| loaded(set).map(|s| (s.search(), s.tries()));
        assert_eq!(search(&[]), Ok((Method::Binary, None)));
        assert_eq!(search(&["verify=3"]), Ok((Method::BinaryVerify, Some(3))));
        assert_eq!(search(&["search=binary-verify"]), Ok((Method::BinaryVerify, Some(2))));
        assert_eq!(search(&["search=mlr"]), Ok((Method::Mlr, None)));
        for wrong in [
            &["search=binary", "verify=3"][..],
            &["search=mlr", "verify=3"],
            &["search=mlr", "acceptance=99 %"],
            &["goals=ndr"],
            &["search=mlr", "goals=[\"ndr\", \"ndr\"]"],
        ] {
            assert!(search(wrong).is_err(), "{wrong:?}");
        }
    }

    /// RFC 9971, section 4.10.2: the result of the goal of RFC 2544 is its throughput, whatever other goals there are. The
    /// figure is the result of the first goal.
    #[test]
    fn a_figure_of_another_goal_than_that_of_rfc_2544_departs() {
        let departs = |set: &[&str]| {
            let all = conformance(&loaded(set).unwrap()).sentences();
            all.iter().any(|departure| departure.contains("MLRsearch"))
        };
        assert!(!departs(&["search=mlr"]) && !departs(&["search=mlr", "goals=[\"rfc2544\", \"ndr\"]"]));
        assert!(departs(&["search=mlr", "goals=ndr"]) && departs(&["search=mlr", "goals=[\"pdr\", \"rfc2544\"]"]));
    }
}
