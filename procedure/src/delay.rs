//! Latency (RFC 8219 section 7.2), packet delay variation (section 7.3.1) and inter packet delay
//! variation (section 7.3.2): one trial with time stamps at a rate that the DUT forwards. They
//! differ in which frames have stamps, and in the values computed from the delays. A lost frame
//! counts with a delay, too (METHODOLOGY.md).

mod section;

use crate::frame_loss::loss_ppm;
use crate::known;
use crate::prelude::*;
use key::kind::{number, rate};
use method::trial::{Delays, Direction, DirectionRatio, Stamps};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Entry of latency.
pub static LATENCY_PROCEDURE: Procedure = Procedure {
    key: "latency",
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
    tables: &[KeyTable::of::<Latency>("latency")],
    rate: Some(|keys| keys.get::<Latency>().rate),
    longest: |keys, _, _| keys.get::<Latency>().duration,
    check: |asked| {
        let keys = asked.keys.get::<Latency>();
        check(asked, &LATENCY, (keys.rate, keys.duration), keys.stamps());
    },
    search: |context, trials, watch| {
        let keys = context.keys.get::<Latency>();
        search(context, (keys.duration, keys.stamps()), latency, trials, watch)
    },
    sections: &[section::section],
    both_ways: &[
        ("typical latency", ["latency_typical_forward", "latency_typical_reverse"]),
        ("worst-case latency", ["latency_worst_case_forward", "latency_worst_case_reverse"]),
    ],
    known: &[
        KnownValue {
            metric: "latency_typical_forward",
            device: "delays each frame by 12,345 ns",
            truth: Some(12_345),
            error: EXACT,
            point: || known_point(TAGS, Truth { delay: Nanos(12_345), ..known::simulated() }),
        },
        KnownValue {
            metric: "latency_worst_case_forward",
            device: UNEVEN,
            truth: Some(19_990),
            error: (5, 5),
            point: || known_point(TAGS, uneven()),
        },
    ],
    ..Procedure::of(&LATENCY)
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
    trials: TrialKind::AtSizes,
    averaged: true,
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
    summary: "99.9th percentile minus minimum of the delays of all frames at the throughput",
    metrics: &[
        PDV,
        PDV.part("pdv_forward", "Packet delay variation, left to right", NS, OF_PDV),
        PDV.part("pdv_reverse", "Packet delay variation, right to left", NS, OF_PDV),
        PDV.part("pdv_late_forward", "Lost or late frames, left to right", Unit::PartsPerMillion, LATE),
        PDV.part("pdv_late_reverse", "Lost or late frames, right to left", Unit::PartsPerMillion, LATE),
    ],
    tables: &[KeyTable::of::<Pdv>("pdv")],
    rate: Some(|keys| keys.get::<Pdv>().rate),
    longest: |keys, _, _| keys.get::<Pdv>().duration,
    check: |asked| {
        let keys = asked.keys.get::<Pdv>();
        check(asked, &PDV, (keys.rate, keys.duration), EVERY);
    },
    search: |context, trials, watch| {
        let Pdv { duration, timeout, .. } = *context.keys.get();
        search(context, (duration, Stamps::All { timeout }), |delays| pdv(delays, timeout), trials, watch)
    },
    both_ways: &[("packet delay variation", ["pdv_forward", "pdv_reverse"])],
    known: &[KnownValue {
        metric: "pdv_forward",
        device: UNEVEN,
        truth: Some(9_990),
        error: (5, 5),
        point: || known_point(Pdv { duration: LENGTH, timeout: None, rate: None }, uneven()),
    }],
    ..Procedure::of(&PDV)
};

/// Packet delay variation at the throughput.
pub const PDV: Metric = Metric {
    key: "pdv",
    title: "Packet delay variation",
    reference: "RFC 8219 section 7.3.1",
    definition: "The 99.9th percentile minus the minimum of the delays of all frames, at the throughput, in each direction.",
    averaged: false,
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
    tables: &[KeyTable::of::<Ipdv>("ipdv")],
    rate: Some(|keys| keys.get::<Ipdv>().rate),
    longest: |keys, _, _| keys.get::<Ipdv>().duration,
    check: |asked| {
        let keys = asked.keys.get::<Ipdv>();
        check(asked, &IPDV, (keys.rate, keys.duration), EVERY);
    },
    search: |context, trials, watch| search(context, (context.keys.get::<Ipdv>().duration, EVERY), ipdv, trials, watch),
    known: &[KnownValue {
        metric: "ipdv_max_forward",
        device: UNEVEN,
        truth: Some(10_000),
        error: (100, 0),
        point: || known_point(Ipdv { duration: LENGTH, rate: None }, uneven()),
    }],
    ..Procedure::of(&IPDV)
};

/// Inter packet delay variation at the throughput.
pub const IPDV: Metric = Metric {
    key: "ipdv",
    title: "Inter packet delay variation",
    reference: "RFC 8219 section 7.3.2",
    definition: "Minimum, median and maximum of the differences between the delays of successive frames, at the throughput.",
    averaged: false,
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

impl Latency {
    fn stamps(&self) -> Stamps {
        Stamps::Some { frames: self.tags, from: self.from }
    }
}

/// Refuses a trial that has too few frames for its time stamps, whatever the device forwards.
fn check(
    asked: &mut MeasureRequest<'_>,
    metric: &Metric,
    (rate, duration): (Option<WrittenRate>, Nanos),
    stamps: Stamps,
) {
    let Some(at) = asked.metric_at(metric).filter(|_| asked.origin == crate::ScenarioOrigin::File) else { return };
    let rates = [rate.map(|rate| asked.frames_per_second(rate)), asked.highest];
    let most = rates.into_iter().flatten().min().unwrap_or(UNKNOWN);
    let mut directions = asked.directions.iter();
    if let Some(missing) = directions.find_map(|direction| missing(*direction, most, duration, stamps)) {
        let fault = Fault::new(format!("the trial of `{}` has too few frames", metric.key));
        let fault = fault.at(at, missing.what).needs(asked.at(&format!("{}.{}", metric.key, missing.key)));
        asked.refuse(fault.instead(missing.way_out));
    }
}

/// Stands for an unknown rate; higher than that of any tester.
const UNKNOWN: Rate = Rate(1 << 40);

/// A shortage of frames in a trial: what is short, the key that causes it, and a way out.
struct Missing {
    what: String,
    key: &'static str,
    way_out: &'static str,
}

/// Returns the shortage of frames for the time stamps of a trial at this rate; `None` if there are enough.
fn missing(direction: Direction, rate: Rate, duration: Nanos, stamps: Stamps) -> Option<Missing> {
    let all = rate.frames_in(duration);
    let slower = |ratio: DirectionRatio| Rate(all).scaled(ratio.slower().into(), ratio.faster().into()).0;
    let frames = direction.ratio().map_or(all, slower);
    if frames < 2 {
        let what = "a trial with time stamps needs at least two frames in each direction".to_owned();
        return Some(Missing { what, key: "rate", way_out: "use a higher rate" });
    }
    let Stamps::Some { frames: tags, from } = stamps else { return None };
    if from >= duration {
        let what = "the first tagged frame is due after the end of the trial".to_owned();
        return Some(Missing { what, key: "duration", way_out: "use a longer trial" });
    }
    let left = frames.saturating_sub(rate.frames_in(from));
    let what = format!("after `from`, {left} frames remain in the trial, fewer than {tags} tags");
    (left < tags).then_some(Missing { what, key: "tags", way_out: "use fewer `tags`" })
}

/// Values of one direction, by the keys of their metrics without the direction.
type Values = Vec<(&'static str, i64)>;

/// Measures delays once; the values are parts of the result.
fn search(
    context: &Context<'_>,
    (duration, stamps): (Nanos, Stamps),
    values: impl Fn(&Delays) -> Values,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    let rate = context.throughput()?;
    let mut spec = context.data(rate, duration)?;
    spec.options.stamps = Some(stamps);
    if let Some(Missing { what, way_out, .. }) = missing(spec.direction, rate, duration, stamps) {
        return Err(TrialError::Refused(format!("{what}; {way_out}")));
    }
    let (result, mut observed) = single::observe(context, &[spec], trials, watch)?;
    let Some(observed) = observed.pop() else { return Ok(result) };
    let mut parts = BTreeMap::new();
    for (direction, delays) in observed.delays.iter().filter(|(_, delays)| delays.frames > 0) {
        parts.extend(values(delays).into_iter().map(|(name, value)| (format!("{name}_{direction}"), value)));
    }
    let kind = if parts.is_empty() { ResultKind::NothingMeasured } else { ResultKind::Observed };
    Ok(SearchResult { rate, kind, parts, observed, ..result })
}

fn latency(delays: &Delays) -> Values {
    // The loss is always a value, even where it is the only one.
    let lost = ("latency_lost_tags", delays.lost.cast_signed());
    if delays.lost == delays.frames {
        return vec![lost];
    }
    vec![("latency_typical", signed(delays.median)), ("latency_worst_case", signed(delays.p99_9)), lost]
}

fn pdv(delays: &Delays, timeout: Option<Nanos>) -> Values {
    let pdv = (delays.lost < delays.frames).then(|| ("pdv", signed(delays.p99_9) - signed(delays.min)));
    pdv.into_iter().chain(timeout.map(|_| ("pdv_late", late_ppm(delays)))).collect()
}

fn ipdv(delays: &Delays) -> Values {
    let Some(differences) = delays.differences else { return Values::new() };
    vec![("ipdv_min", differences.min), ("ipdv_median", differences.median), ("ipdv_max", differences.max)]
}

fn signed(time: Nanos) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
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

const LENGTH: Nanos = Nanos::from_secs(2);
const TAGS: Latency = Latency { duration: LENGTH, from: Nanos::SECOND, tags: 50_000, rate: None };

fn known_point<T: Debug + Send + Sync + 'static>(keys: T, device: Truth) -> KnownPoint {
    KnownPoint { throughput: Rate(100_000), ..KnownPoint::new(keys, device) }
}
