//! Latency (RFC 8219 section 7.2), packet delay variation (section 7.3.1) and inter packet delay
//! variation (section 7.3.2): one trial with time stamps at a rate that the DUT forwards. They
//! differ in which frames have stamps, and in the values computed from the delays. A lost frame
//! counts with a delay, too (METHODOLOGY.md).

mod section;

use crate::frame_loss::loss_ppm;
use crate::keys::LENGTHS;
use crate::known::{self, EXACT};
use crate::metric::{Metric, Origin, Unit};
use crate::{Context, KeyTable, Known, Procedure, Watch, single};
use key::kind::{duration, maybe, number, rate};
use key::quantity::WrittenRate;
use key::{computed, or};
use method::search::{Phase2, Progress, ResultKind, SearchResult, SearchSettings, data_trial};
use method::simulated::Truth;
use method::trial::{Delays, Load, Observed, Stamps, TrialError, TrialOptions, TrialSpec, Trials};
use method::units::{Count, Nanos, Rate};
use std::collections::BTreeMap;

/// Entry of latency.
pub static LATENCY_PROCEDURE: Procedure = Procedure {
    key: "latency",
    title: LATENCY.title,
    reference: LATENCY.reference,
    summary: "median and 99.9th percentile of the delays of tagged frames at the throughput",
    metrics: &[
        LATENCY,
        LATENCY.part("latency_typical_forward", "Typical latency, left to right", NS, TYPICAL),
        LATENCY.part("latency_typical_reverse", "Typical latency, right to left", NS, TYPICAL),
        LATENCY.part("latency_worst_case_forward", "Worst-case latency, left to right", NS, WORST),
        LATENCY.part("latency_worst_case_reverse", "Worst-case latency, right to left", NS, WORST),
        LATENCY.part("latency_lost_tags_forward", "Lost tags, left to right", Unit::Frames, LOST_TAGS),
        LATENCY.part("latency_lost_tags_reverse", "Lost tags, right to left", Unit::Frames, LOST_TAGS),
    ],
    at_throughput: true,
    tables: &[KeyTable::of::<Latency>("latency")],
    rate: |keys| keys.get::<Latency>().rate,
    longest: |keys, _, _| keys.get::<Latency>().duration,
    search: |context, trials, watch| {
        let Latency { duration, from, tags, .. } = *context.keys.get();
        search(context, Values::Latency, duration, Stamps::Some { frames: tags, from }, trials, watch)
    },
    sections: &[section::section],
    known: &[
        Known {
            metric: "latency_typical_forward",
            device: "delays each frame by 12,345 ns",
            truth: Some(12_345),
            unit: "ns",
            error: EXACT,
            measure: || of_known(Values::Latency, TAGS, Truth { delay: Nanos(12_345), ..known::simulated() }),
        },
        Known {
            metric: "latency_worst_case_forward",
            device: UNEVEN,
            truth: Some(19_990),
            unit: "ns",
            error: (5, 5),
            measure: || of_known(Values::Latency, TAGS, uneven()),
        },
    ],
    ..Procedure::USUAL
};

const NS: Unit = Unit::Nanoseconds;

/// Latency at the throughput.
pub const LATENCY: Metric = Metric {
    key: "latency",
    title: "Latency",
    reference: "RFC 8219 section 7.2",
    origin: Origin::Measured { repetitions: 20 },
    higher_is_better: false,
    definition: "The time from sending a tagged frame to receiving it, at the throughput, in each direction.",
    ..Metric::USUAL
};

const TYPICAL: &str = "The median of the delays of tagged frames; a lost tag counts with the rest of the trial.";
const WORST: &str =
    "The 99.9th percentile of the delays of tagged frames; a lost tag counts with the rest of the trial.";
const LOST_TAGS: &str = "Tagged frames that were not received right.";

key::table! {
    /// The trial that measures latency (RFC 8219, section 7.2).
    pub struct Latency {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("120 s").conforms();
        /// Time from the start to the first tagged frame.
        from: Nanos = "from", duration(Nanos(0)..=Nanos::from_secs(86_400)), or("60 s").conforms();
        /// Tagged frames in each direction, evenly from the first to the end of the trial.
        tags: Count = "tags", number(1..=1_000_000_000), or("50000").conforms();
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Entry of the packet delay variation.
pub static PDV_PROCEDURE: Procedure = Procedure {
    key: "pdv",
    title: PDV.title,
    reference: PDV.reference,
    summary: "99.9th percentile minus minimum of the delays of all frames at the throughput",
    metrics: &[
        PDV,
        PDV.part("pdv_forward", "Packet delay variation, left to right", NS, OF_PDV),
        PDV.part("pdv_reverse", "Packet delay variation, right to left", NS, OF_PDV),
        PDV.part("pdv_late_forward", "Lost or late frames, left to right", Unit::PartsPerMillion, LATE),
        PDV.part("pdv_late_reverse", "Lost or late frames, right to left", Unit::PartsPerMillion, LATE),
    ],
    at_throughput: true,
    tables: &[KeyTable::of::<Pdv>("pdv")],
    rate: |keys| keys.get::<Pdv>().rate,
    longest: |keys, _, _| keys.get::<Pdv>().duration,
    search: |context, trials, watch| {
        let Pdv { duration, timeout, .. } = *context.keys.get();
        search(context, Values::Pdv, duration, Stamps::All { timeout }, trials, watch)
    },
    known: &[Known {
        metric: "pdv_forward",
        device: UNEVEN,
        truth: Some(9_990),
        unit: "ns",
        error: (5, 5),
        measure: || of_known(Values::Pdv, EVERY, uneven()),
    }],
    ..Procedure::USUAL
};

/// Packet delay variation at the throughput.
pub const PDV: Metric = Metric {
    key: "pdv",
    title: "Packet delay variation",
    reference: "RFC 8219 section 7.3.1",
    definition: "The 99.9th percentile minus the minimum of the delays of all frames, at the throughput, in each direction.",
    ..LATENCY
};

const OF_PDV: &str = "The 99.9th percentile minus the minimum of the delays of all frames.";
const LATE: &str = "The share of the frames that were lost or later than the time-out.";

key::table! {
    /// The trial that measures the packet delay variation (RFC 8219, section 7.3.1). Every frame has a time stamp.
    pub struct Pdv {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s").conforms();
        /// Later frames count as lost: the share of lost and late frames is reported, too.
        timeout: Option<Nanos> = "timeout", maybe(duration(Nanos(1)..=Nanos::from_secs(3600))), computed("no frame is late");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Entry of the inter packet delay variation.
pub static IPDV_PROCEDURE: Procedure = Procedure {
    key: "ipdv",
    title: IPDV.title,
    reference: IPDV.reference,
    summary: "minimum, median and maximum difference of the delays of successive frames at the throughput",
    metrics: &[
        IPDV,
        IPDV.part("ipdv_min_forward", "Smallest IPDV, left to right", NS, SMALLEST),
        IPDV.part("ipdv_min_reverse", "Smallest IPDV, right to left", NS, SMALLEST),
        IPDV.part("ipdv_median_forward", "Median IPDV, left to right", NS, MEDIAN),
        IPDV.part("ipdv_median_reverse", "Median IPDV, right to left", NS, MEDIAN),
        IPDV.part("ipdv_max_forward", "Largest IPDV, left to right", NS, LARGEST),
        IPDV.part("ipdv_max_reverse", "Largest IPDV, right to left", NS, LARGEST),
    ],
    at_throughput: true,
    tables: &[KeyTable::of::<Ipdv>("ipdv")],
    rate: |keys| keys.get::<Ipdv>().rate,
    longest: |keys, _, _| keys.get::<Ipdv>().duration,
    search: |context, trials, watch| {
        search(context, Values::Ipdv, context.keys.get::<Ipdv>().duration, EVERY, trials, watch)
    },
    known: &[Known {
        metric: "ipdv_max_forward",
        device: UNEVEN,
        truth: Some(10_000),
        unit: "ns",
        error: (100, 0),
        measure: || of_known(Values::Ipdv, EVERY, uneven()),
    }],
    ..Procedure::USUAL
};

/// Inter packet delay variation at the throughput.
pub const IPDV: Metric = Metric {
    key: "ipdv",
    title: "Inter packet delay variation",
    reference: "RFC 8219 section 7.3.2",
    definition: "Minimum, median and maximum of the differences between the delays of successive frames, at the throughput.",
    ..LATENCY
};

const SMALLEST: &str = "The smallest difference between the delays of a frame and of the one before it.";
const MEDIAN: &str = "The median of the differences between the delays of a frame and of the one before it.";
const LARGEST: &str = "The largest difference between the delays of a frame and of the one before it.";

key::table! {
    /// The trial that measures the inter packet delay variation (RFC 8219, section 7.3.2). Every frame has a time stamp.
    pub struct Ipdv {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s").conforms();
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// A stamp on every frame.
const EVERY: Stamps = Stamps::All { timeout: None };

fn search(
    context: &Context<'_>,
    values: Values,
    duration: Nanos,
    stamps: Stamps,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    let timed = Timed { values, rate: context.throughput()?, duration, stamps };
    measure(trials, context.settings, context.phase2()?, &timed, watch)
}

/// What is computed from the delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Typical and worst-case latency.
    Latency,
    /// Packet delay variation.
    Pdv,
    /// Inter packet delay variation.
    Ipdv,
}

/// A trial with time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The values.
    pub values: Values,
    /// The rate per direction.
    pub rate: Rate,
    /// Duration of the trial.
    pub duration: Nanos,
    /// Which frames have stamps.
    pub stamps: Stamps,
}

/// Measures delays once; the values are parts of the result.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] if the trial has fewer frames than it needs.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    timed: &Timed,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let Timed { rate, duration, stamps, .. } = *timed;
    let options = TrialOptions { stamps: Some(stamps), ..settings.options.clone() };
    let spec = TrialSpec { rate, load: Load::For(duration), options, ..data_trial(settings, phase2)? };
    check(&spec, stamps, duration)?;
    let (result, observed) = single::observe(settings, &spec, trials, watch)?;
    let Some(observed) = observed else { return Ok(result) };
    let parts = parts(timed.values, stamps, &observed);
    let kind = if parts.is_empty() { ResultKind::NothingMeasured } else { ResultKind::Observed };
    Ok(SearchResult { rate, kind, parts, observed, ..result })
}

fn check(spec: &TrialSpec, stamps: Stamps, duration: Nanos) -> Result<(), TrialError> {
    let refuse = |text: String| Err(TrialError::Refused(text));
    let slower = spec.direction.forward().then(|| spec.frames_of(true));
    let slower = slower.into_iter().chain(spec.direction.reverse().then(|| spec.frames_of(false))).min().unwrap_or(0);
    if slower < 2 {
        return refuse(
            "a trial with time stamps needs at least two frames in each direction; use a higher rate".to_owned(),
        );
    }
    if let Stamps::Some { frames, from } = stamps {
        if from >= duration {
            return refuse("the first tagged frame is due after the end of the trial; use a longer trial".to_owned());
        }
        let left = slower.saturating_sub(spec.rate.frames_in(from));
        if left < frames {
            return refuse(format!(
                "after `from`, {left} frames remain in the trial, fewer than {frames} tags; use fewer `tags`"
            ));
        }
    }
    Ok(())
}

/// Values by the keys of their metrics.
fn parts(values: Values, stamps: Stamps, observed: &Observed) -> BTreeMap<String, i64> {
    let signed = |time: Nanos| i64::try_from(time.0).unwrap_or(i64::MAX);
    let mut parts = BTreeMap::new();
    for (direction, delays) in observed.delays.iter() {
        let mut put = |name: &str, value: i64| parts.insert(format!("{name}_{direction}"), value);
        if delays.frames == 0 || delays.lost == delays.frames {
            // The loss is one of the values.
            match (values, stamps) {
                _ if delays.frames == 0 => None,
                (Values::Latency, _) => put("latency_lost_tags", i64::try_from(delays.lost).unwrap_or(i64::MAX)),
                (Values::Pdv, Stamps::All { timeout: Some(_) }) => put("pdv_late", late_ppm(delays)),
                _ => None,
            };
            continue;
        }
        match values {
            Values::Latency => {
                put("latency_typical", signed(delays.median));
                put("latency_worst_case", signed(delays.p99_9));
                put("latency_lost_tags", i64::try_from(delays.lost).unwrap_or(i64::MAX));
            }
            Values::Pdv => {
                put("pdv", signed(delays.p99_9) - signed(delays.min));
                if let Stamps::All { timeout: Some(_) } = stamps {
                    put("pdv_late", late_ppm(delays));
                }
            }
            Values::Ipdv => {
                let Some(differences) = delays.differences else { continue };
                put("ipdv_min", differences.min);
                put("ipdv_median", differences.median);
                put("ipdv_max", differences.max);
            }
        }
    }
    parts
}

/// Lost or late frames, in parts per million of those sent.
fn late_ppm(delays: &Delays) -> i64 {
    loss_ppm(delays.lost + delays.late, delays.frames).cast_signed()
}

/// Delays are drawn evenly: the largest of N lies within about 10 µs / N of the end.
const UNEVEN: &str = "delays frames by 10 to 20 µs";

fn uneven() -> Truth {
    Truth { delay: Nanos(10_000), delay_spread: Nanos(10_000), ..known::simulated() }
}

const TAGS: Stamps = Stamps::Some { frames: 50_000, from: Nanos::SECOND };

fn of_known(values: Values, stamps: Stamps, truth: Truth) -> Result<SearchResult, TrialError> {
    let timed = Timed { values, rate: Rate(100_000), duration: Nanos::from_secs(2), stamps };
    measure(&mut known::device(truth), &known::settings(), None, &timed, &mut |_| ())
}
