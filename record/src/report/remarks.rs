//! The remarks on a result; for tables and figures.

use super::Report;
use super::number::{self, grouped};
use super::result::PointResult;
use super::{evidence, facts, no_rate, saved};
use crate::enough::LOST_COVERAGE;
use method::ResultKind;
use method::stats::Interval;
use procedure::metric;

pub(super) fn remarks(report: &Report, result: &PointResult) -> Vec<String> {
    let mut remarks = of_bounds(report, result);
    if !result.withheld.is_empty() {
        let titles = result.withheld.iter().filter_map(|key| metric::by_key(key)).map(|metric| metric.title);
        remarks.push(format!(
            "withheld: {}; both rates are those of a closed loop, so their ratio would contain the tester twice",
            titles.collect::<Vec<_>>().join(", ")
        ));
    }
    let validation = ": every connection was set up, but validation at alpha times the rate failed";
    remarks.extend(of_some(result, result.validation_failed, "limited by the validation", validation));
    remarks.extend(saved::remarks(result));
    remarks.extend(of_some(result, result.one_sided, "one-sided search", ": the last eight verdicts were equal"));
    if let Some(failing) = result.failing().filter(|failing| failing.most > 0.0) {
        remarks.push(format!("the device loses {}", failing.in_words()));
    }
    if let Some(excess) = result.queued_excess(report.header.scenario.measure.duration) {
        let (queued, excess) = (grouped(result.queued.unwrap_or(0)), number::si_unit(excess, 2, "fps"));
        let what = if result.at_least() { "the lower bound" } else { "the rate" };
        remarks.push(format!(
            "the queues in front of the device hold {queued} frames, more than 1 % of a trial: {what} may be too high by \
             {excess}; use longer trials or a shallower link"
        ));
    }
    if result.too_few_to_compare {
        let least = Interval::LEAST_VALUES;
        remarks.push(format!("not compared with other points: fewer than {least} repetitions have a rate"));
    }
    let compared = [result.s_c_interval, result.s_cpu_interval, result.forwarding_interval];
    if compared.iter().any(Option::is_some)
        && result.null_rates().next().is_none()
        && !evidence::is_simulated(report, result)
    {
        remarks
            .push("the intervals of ratios lack the drift of the host, because no null device was measured".to_owned());
    }
    if result.s_c_interval.is_some_and(|interval| interval.contains(1.0)) {
        remarks.push(
            "no difference from the smallest number of connections shown: the interval of S_C contains 1".to_owned(),
        );
    }
    if result.ended_narrow.is_some() {
        remarks.push(format!(
            "repetitions ended when the interval was narrow; in simulations this lowered its coverage by up to \
             {LOST_COVERAGE} points"
        ));
    } else if result.repetitions.len() < result.planned {
        remarks.push("some repetitions have no result: they are not finished, or the doubts say why".to_owned());
    }
    remarks
}

/// Returns a remark on `n` repetitions; `None` if `n` is 0. Unless all repetitions are meant, their number stands
/// between `head` and `rest`.
fn of_some(result: &PointResult, n: usize, head: &str, rest: &str) -> Option<String> {
    let all = result.repetitions.len();
    let some = if n == all { String::new() } else { format!(" in {n} of {all} repetitions") };
    (n > 0).then(|| format!("{head}{some}{rest}"))
}

/// Returns remarks on the reasons why the value is a bound.
fn of_bounds(report: &Report, result: &PointResult) -> Vec<String> {
    let (low, high) = result.between().map_or_else(Default::default, |(low, high)| (grouped(low.0), grouped(high.0)));
    let of = |bound| result.count(bound);
    let at_upper_limit = Some(of(ResultKind::AtUpperLimit)).filter(|&n| n > 0);
    let passed = at_upper_limit.map_or_else(String::new, |_| format!(": {}", facts::lower_bound(report, result)));
    let between = format!("between {low} and {high}");
    let why = no_rate::of(result).map(|why| format!(": {}", no_rate::in_words(why))).unwrap_or_default();
    let remarks = [
        (
            of(ResultKind::TesterLimit).saturating_sub(saved::not_kept(result)),
            "tester limit",
            ": lower bound, because the tester could not offer a higher rate",
        ),
        (
            of(ResultKind::HostLimit),
            "host limit",
            ": lower bound, because host noise invalidated every trial at a higher rate",
        ),
        (
            of(ResultKind::Strict),
            "host too busy for validity",
            ": host noise invalidated every trial that passed, so this is the strict result of RFC 2544, in which every lost \
             frame counts as the device's",
        ),
        (
            of(ResultKind::Between),
            &between,
            ": the search ended because tester or host invalidated every trial at the rates in between",
        ),
        (of(ResultKind::NothingMeasured), "not measured", ": tester or host invalidated every trial"),
        (
            of(ResultKind::Below),
            "upper bound",
            ": no rate passed, and tester or host invalidated every trial below the lowest rate that failed; the statistics \
             use that rate if it is less than all others",
        ),
        (
            result.ended_early,
            "the search ended early",
            ": tester or host invalidated every trial between its bounds; see the error",
        ),
        (at_upper_limit.unwrap_or(0), "lower bound", &passed),
        (of(ResultKind::NothingPassed), "no rate passed", ", not even the lowest one tried"),
        (of(ResultKind::NoRate), "no rate", &why),
        (
            result.repetitions.iter().filter(|r| r.strict.is_some() && r.known_strict().is_none()).count(),
            "no strict result of RFC 2544",
            ": a discarded trial at a rate that passed lost frames, and no lower rate was tried",
        ),
        (
            result.closed_loop,
            "closed loop",
            ": device and tester run on one thread, so the rate is that of both together",
        ),
    ];
    remarks.into_iter().filter_map(|(n, head, rest)| of_some(result, n, head, rest)).collect()
}
