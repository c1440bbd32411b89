//! The words of events, for the terminal and for the live view of `natmeter serve`.

use super::{BAD, DIM, GOOD};
use method::ResultKind;
use method::trial::of_rate;
use procedure::metric::{Unit, by_key};
use record::folder::Outcome;
use record::report::number::{si, significant};

/// The line of a result, with colours.
pub(crate) fn of_result(o: &Outcome) -> String {
    let result = &o.result;
    let bound = match result.kind {
        ResultKind::Exact if result.tester_limit.is_some() => {
            format!("  {BAD}+ {} at most, every trial in between was invalid{BAD:#}", short(result.error.0))
        }
        ResultKind::Exact | ResultKind::Observed => String::new(),
        ResultKind::TesterLimit => format!("  {BAD}tester limit{BAD:#}"),
        ResultKind::AtUpperLimit => format!("  {BAD}upper end of the search{BAD:#}"),
        ResultKind::Between => {
            let above = short(result.rate.0 + result.error.0);
            format!("  {BAD}below {above}, every trial in between was invalid{BAD:#}")
        }
        ResultKind::Strict => format!("  {BAD}host too busy for validity{BAD:#}"),
        ResultKind::HostLimit => format!("  {BAD}host limit{BAD:#}"),
        ResultKind::NothingPassed => format!("  {BAD}no rate passed{BAD:#}"),
        ResultKind::Below => format!("  {BAD}every trial below was invalid{BAD:#}"),
        ResultKind::NothingMeasured => format!("  {BAD}not measured: every trial was invalid{BAD:#}"),
    };
    let (sign, figure) = match result.kind {
        ResultKind::Below => ("< ", short(result.error.0)),
        ResultKind::NothingMeasured => ("", "–".to_owned()),
        _ if result.at_least() => ("≥ ", short(result.rate.0)),
        _ => ("", short(result.rate.0)),
    };
    let unit = match by_key(&o.measurement.metric).map(|metric| metric.unit) {
        None | Some(Unit::FramesPerSecond) => format!("frames/s {}", of_rate(o.direction_ratio)),
        Some(unit) => unit.symbol().to_owned(),
    };
    let m = &o.measurement;
    format!(
        "  {GOOD}{}{GOOD:#} {:<18} {sign:2}{figure:>7} {unit}{bound}  {DIM}{} trials, {} repeated{DIM:#}",
        m.repetition, m.metric, result.trials, result.invalid_repeats
    )
}

/// A device at a point: `nftables, 1 M connections, 2 cores`.
pub(crate) fn device(name: &str, connections: u64, cores: u32) -> String {
    let connections = match connections {
        0 => String::new(),
        n => format!(", {} connections", short(n)),
    };
    format!("{name}{connections}, {cores} {}", if cores == 1 { "core" } else { "cores" })
}

/// The loss of a trial: `no loss`, `0.12 % lost`.
pub(crate) fn loss(sent: u64, lost: u64) -> String {
    match (lost, sent) {
        (0, _) | (_, 0) => "no loss".to_owned(),
        (lost, sent) => match 100.0 * lost as f64 / sent as f64 {
            percent if percent < 0.01 => "<0.01 % lost".to_owned(),
            percent => format!("{} % lost", significant(percent, 3)),
        },
    }
}

/// A duration in seconds, minutes or hours.
pub(crate) fn seconds(s: u64) -> String {
    match s {
        0..120 => format!("{s} s"),
        120..7200 => format!("{} min", s.div_ceil(60)),
        _ => format!("{:.1} h", s as f64 / 3600.0),
    }
}

/// A number in three digits with its unit prefix.
pub(crate) fn short(n: u64) -> String {
    si(n as f64, 3)
}

/// A text without its colours.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
