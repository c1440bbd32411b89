//! Ratios between results: scaling over connections and cores, and the share of plain forwarding.

use super::PointResult;
use document::Bound;
use method::stats::Interval;
use method::{ResultKind, scaling};
use procedure::metric::{Gives, REL_SCALE_UP, SCALING_OVER_CONNECTIONS, THROUGHPUT_RATIO_NAT_TO_FORWARDING};
use scenario::Scenario;

pub(super) fn relate(results: &mut [PointResult], scenario: &Scenario) {
    for i in 0..results.len() {
        let result = &results[i];
        // Lower bounds and missing rates have no scaling ratio.
        let usable = |c: &&PointResult| {
            c.bound == ResultKind::Exact && c.median().is_some_and(|median| c.bound_of(median) == Bound::Exact)
        };
        let Some(own) = usable(&result).then_some(result).and_then(PointResult::median) else { continue };
        // Scaling over connections and cores compares points with the same values of the further axes.
        let alike = |c: &&PointResult| c.dut == result.dut && c.metric == result.metric && c.axes == result.axes;
        let same = |c: &&PointResult| alike(c) && usable(c);
        let series: Vec<&PointResult> = results.iter().filter(alike).collect();
        let fewest = series.iter().filter(|c| c.cores == result.cores).map(|c| c.connections).min();
        let smallest = results
            .iter()
            .filter(same)
            .find(|c| c.cores == result.cores && Some(c.connections) == fewest && fewest > Some(0));
        let one_core = results.iter().filter(same).find(|c| c.connections == result.connections && c.cores == 1);
        // Plain forwarding lacks some axes of a NAT; those that both have are the same.
        let is_alike = |(axis, value): (&String, &u64)| result.axes.get(axis).is_none_or(|own| own == value);
        let is_beside = |c: &&PointResult| {
            c.cores == result.cores && bed_of(c, scenario) == bed_of(result, scenario) && c.axes.iter().all(is_alike)
        };
        let baseline = results.iter().filter(|c| is_baseline(c, scenario)).filter(is_beside).find(usable);
        let many = |ratio: MedianRatio, axis: fn(&PointResult) -> u64| {
            if series.iter().any(|c| axis(c) != axis(result)) { ratio } else { MedianRatio::default() }
        };
        // A rate in a closed loop contains the tester's time, and the ratio of two contains it twice.
        let closed = |other: Option<&PointResult>| other.is_some_and(|c| c.in_closed_loop && result.in_closed_loop);
        let with = |other: Option<&PointResult>, ratio: &dyn Fn(f64) -> Option<f64>| match other {
            Some(other) => MedianRatio::of(result, other, scenario, ratio),
            None => MedianRatio::default(),
        };
        let baseline = baseline.filter(|_| result.gives(Gives::Throughput) && is_kernel_nat(result, scenario));
        let s_c = many(with(smallest, &|p0| scaling::connections(own, p0)), |c| c.connections);
        let s_cpu = many(with(one_core, &|p1| scaling::cores(result.cores, own, p1)), |c| u64::from(c.cores));
        let forwarding = with(baseline, &|p| scaling::to_previous(own, p));
        let mut ratios = [
            (SCALING_OVER_CONNECTIONS.key, s_c, closed(smallest)),
            (REL_SCALE_UP.key, s_cpu, closed(one_core)),
            (THROUGHPUT_RATIO_NAT_TO_FORWARDING.key, forwarding, closed(baseline)),
        ];
        let mut withheld = Vec::new();
        for (key, compared, closed) in &mut ratios {
            if *closed && std::mem::take(compared).ratio.is_some() {
                withheld.push(*key);
            }
        }
        let [s_c, s_cpu, forwarding] = ratios.map(|(_, compared, _)| compared);
        let cores = f64::from(result.cores);
        let result = &mut results[i];
        result.withheld = withheld;
        result.too_few_to_compare = [&s_c, &s_cpu, &forwarding].iter().any(|compared| compared.too_few);
        (result.s_c, result.s_c_interval) = (s_c.ratio, s_c.interval);
        (result.s_cpu, result.s_cpu_interval) = (s_cpu.ratio, s_cpu.interval.map(|i| i.divided(cores)));
        (result.forwarding_percent, result.forwarding_interval) =
            (forwarding.ratio.map(|f| f * 100.0), forwarding.interval);
    }
}

/// The interval of the ratio of two medians, widened by the drift of the host; or why there is none.
pub(in crate::report) fn ratio(
    own: &PointResult,
    other: &PointResult,
    scenario: &Scenario,
) -> Result<Interval, &'static str> {
    let is_exact = |c: &&PointResult| {
        [ResultKind::Exact, ResultKind::Observed].contains(&c.bound)
            && c.median().is_some_and(|median| c.bound_of(median) == Bound::Exact)
    };
    if ![own, other].iter().all(is_exact) {
        return Err("a bound or no value");
    }
    let drift = if scenario.is_simulated(own.dut) { Some(0.0) } else { drift(own, other) };
    let drift = drift.ok_or("no null device was measured")?;
    let intervals = own.interval.zip(other.interval).filter(|_| own.has_interval() && other.has_interval());
    let ratio = intervals.and_then(|(own, other)| own.over(other)).ok_or("too few repetitions for an interval")?;
    Ok(ratio.widened(drift))
}

/// A ratio between two results, and the interval of the ratio of their medians. Neither, if one of both has too few
/// repetitions.
#[derive(Clone, Copy, Debug, Default)]
struct MedianRatio {
    ratio: Option<f64>,
    interval: Option<Interval>,
    too_few: bool,
}

impl MedianRatio {
    /// `ratio` returns the ratio, given the median of the other result.
    fn of(
        own: &PointResult,
        other: &PointResult,
        scenario: &Scenario,
        ratio: &dyn Fn(f64) -> Option<f64>,
    ) -> MedianRatio {
        if std::ptr::eq(own, other) {
            let ratio = other.median().filter(|_| own.has_interval()).and_then(ratio);
            return MedianRatio { ratio, ..MedianRatio::default() };
        }
        if !own.has_interval() || !other.has_interval() {
            return MedianRatio { too_few: true, ..MedianRatio::default() };
        }
        let simulated = scenario.is_simulated(own.dut);
        let drift = if simulated { Some(0.0) } else { drift(own, other) };
        let interval = own.interval.zip(other.interval).and_then(|(own, other)| own.over(other));
        MedianRatio {
            ratio: other.median().and_then(ratio),
            interval: interval.map(|interval| interval.widened(drift.unwrap_or(0.0))),
            too_few: false,
        }
    }
}

/// Returns the relative difference of the null device's rates at two points, the largest of all its measurements there.
/// More cores give the null device a higher rate, too, so points with different cores have the changes within each point.
pub(crate) fn drift(one: &PointResult, other: &PointResult) -> Option<f64> {
    let factor = |rates: Vec<f64>| Some(rates.iter().copied().reduce(f64::max)? / rates.into_iter().reduce(f64::min)?);
    let (of_one, of_other): (Vec<f64>, Vec<f64>) = (one.null_rates().collect(), other.null_rates().collect());
    if of_one.is_empty() || of_other.is_empty() {
        return None;
    }
    let factor = if one.cores == other.cores {
        factor([of_one, of_other].concat())?
    } else {
        factor(of_one)? * factor(of_other)?
    };
    Some(factor - 1.0)
}

fn is_baseline(result: &PointResult, scenario: &Scenario) -> bool {
    scenario.duts.get(result.dut).is_some_and(|dut| dut.is_forwarding()) && result.gives(Gives::Throughput)
}

/// The test bed of a result of several merged runs, which stands behind the name of its device.
fn bed_of<'a>(result: &'a PointResult, scenario: &Scenario) -> Option<&'a str> {
    result.dut_name.strip_prefix(scenario.duts.get(result.dut)?.name())
}

fn is_kernel_nat(result: &PointResult, scenario: &Scenario) -> bool {
    scenario.duts.get(result.dut).is_some_and(|dut| dut.is_stateful() && !dut.is_in_process())
}
