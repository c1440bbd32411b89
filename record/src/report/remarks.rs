//! The remarks on a result; for tables and figures.

use super::Report;
use super::number::{self, grouped};
use super::result::PointResult;
use super::{evidence, facts, saved};
use crate::enough::LOST_COVERAGE;
use method::ResultKind;
use method::stats::Interval;
use procedure::metric;

pub(super) fn remarks(report: &Report, result: &PointResult) -> Vec<String> {
    let all = result.repetitions.len();
    let some = |n: usize| if n == all { String::new() } else { format!(" in {n} of {all} repetitions") };
    let mut remarks = Vec::new();
    let mut note = |n: usize, text: &dyn Fn(String) -> String| {
        if n > 0 {
            remarks.push(text(some(n)));
        }
    };
    note(result.count(ResultKind::TesterLimit).saturating_sub(saved::not_kept(result)), &|some| {
        format!("tester limit{some}: lower bound, because the tester could not offer a higher rate")
    });
    note(result.count(ResultKind::HostLimit), &|some| {
        format!("host limit{some}: lower bound, because host noise invalidated every trial at a higher rate")
    });
    note(result.count(ResultKind::Strict), &|some| {
        format!(
            "host too busy for validity{some}: host noise invalidated every trial that passed, so this is the strict \
             result of RFC 2544, in which every lost frame counts as the device's"
        )
    });
    if let Some((low, high)) = result.between() {
        note(result.count(ResultKind::Between), &|some| {
            let (low, high) = (grouped(low.0), grouped(high.0));
            format!(
                "between {low} and {high}{some}: the search ended because tester or host invalidated every trial at the \
                 rates in between"
            )
        });
    }
    note(result.count(ResultKind::NothingMeasured), &|some| {
        format!("not measured{some}: tester or host invalidated every trial")
    });
    note(result.count(ResultKind::Below), &|some| {
        format!(
            "upper bound{some}: no rate passed, and tester or host invalidated every trial below the lowest rate that \
             failed; the statistics use that rate if it is less than all others"
        )
    });
    note(result.ended_early, &|some| {
        format!(
            "the search ended early{some}: tester or host invalidated every trial between its bounds; see the error"
        )
    });
    note(result.count(ResultKind::AtUpperLimit), &|some| {
        format!("lower bound{some}: {}", facts::lower_bound(report, result))
    });
    note(result.count(ResultKind::NothingPassed), &|some| {
        format!("no rate passed{some}, not even the lowest one tried")
    });
    note(result.closed_loop, &|some| {
        format!("closed loop{some}: device and tester run on one thread, so the rate is that of both together")
    });
    if !result.withheld.is_empty() {
        let titles = result.withheld.iter().filter_map(|key| metric::by_key(key)).map(|metric| metric.title);
        remarks.push(format!(
            "withheld: {}; both rates are those of a closed loop, so their ratio would contain the tester twice",
            titles.collect::<Vec<_>>().join(", ")
        ));
    }
    let mut note = |n: usize, text: &dyn Fn(String) -> String| {
        if n > 0 {
            remarks.push(text(some(n)));
        }
    };
    note(result.validation_failed, &|some| {
        format!(
            "limited by the validation{some}: every connection was set up, but validation at alpha times the rate failed"
        )
    });
    remarks.extend(saved::remarks(result));
    let mut note = |n: usize, text: &dyn Fn(String) -> String| {
        if n > 0 {
            remarks.push(text(some(n)));
        }
    };
    note(result.one_sided, &|some| format!("one-sided search{some}: the last eight verdicts were equal"));
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
    } else if all < result.planned {
        remarks.push("some repetitions have no result: they are not finished, or the doubts say why".to_owned());
    }
    remarks
}
