//! The live line: where a run is, in one line that is never longer than the terminal is wide.

use super::{seconds, short};
use crate::event::Event;
use anstyle::Style;
use record::report::number::significant;

const DIM: Style = Style::new().dimmed();

/// What the live line shows. It changes with the events of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    /// The measurement in progress and the number of all, from 1.
    measurement: Option<(usize, usize)>,
    metric: String,
    /// Decisions of the search so far, this one included.
    step: u32,
    /// The rate being tried.
    trying: Option<Trying>,
    /// The last trial.
    last: Option<Last>,
}

#[derive(Clone, Debug)]
struct Trying {
    rate: u64,
    lo: u64,
    hi: u64,
    steps_left: u32,
    eta_s: u64,
}

#[derive(Clone, Debug)]
struct Last {
    verdict: String,
    sent: u64,
    lost: u64,
}

impl Live {
    /// Learns from an event. Returns whether the line changes.
    pub(super) fn learn(&mut self, event: &Event) -> bool {
        match event {
            Event::MeasurementStarted { number, of, measurement } => {
                let metric = measurement.metric.clone();
                *self = Live { measurement: Some((*number, *of)), metric, ..Live::default() };
            }
            Event::Trying { rate, lo, hi, steps_left, eta_s } => {
                self.step += 1;
                let [rate, lo, hi] = [rate, lo, hi].map(|rate| rate.0);
                self.trying = Some(Trying { rate, lo, hi, steps_left: *steps_left, eta_s: *eta_s });
            }
            Event::Trial { verdict, sent, received, .. } => {
                self.last = Some(Last { verdict: verdict.clone(), sent: *sent, lost: sent.saturating_sub(*received) });
            }
            _ => return false,
        }
        true
    }

    /// Returns the line for a terminal of so many columns, with one column left free: a character in the last column would move
    /// the cursor of some terminals to the next line.
    pub(super) fn line(&self, columns: usize) -> String {
        let mut parts = Vec::new();
        if let Some((number, of)) = self.measurement {
            parts.push(Part::new(2, format!("[{number}/{of}]")).dim());
            parts.push(Part::new(7, self.metric.clone()));
        }
        if let Some(Trying { rate, lo, hi, steps_left, eta_s }) = &self.trying {
            let steps = format!("{} of {}", self.step, self.step - 1 + steps_left);
            parts.push(Part::new(5, format!("step {steps}")).or(steps.replace(" of ", "/")));
            parts.push(Part::new(0, format!("{}/s", short(*rate))));
            parts.push(Part::new(8, format!("between {} and {}", short(*lo), short(*hi))).dim());
            if let Some(last) = &self.last {
                let loss = last.loss();
                parts.push(Part::new(1, format!("last: {}, {loss}", last.verdict)).or(loss));
            }
            let eta = seconds(*eta_s);
            parts.push(Part::new(4, format!("{eta} left")).or(eta));
        }
        fitted(parts, columns.saturating_sub(1))
    }
}

impl Last {
    fn loss(&self) -> String {
        match (self.lost, self.sent) {
            (0, _) | (_, 0) => "no loss".to_owned(),
            (lost, sent) => match 100.0 * lost as f64 / sent as f64 {
                percent if percent < 0.01 => "<0.01 % lost".to_owned(),
                percent => format!("{} % lost", significant(percent, 3)),
            },
        }
    }
}

/// Least rank of a part that a narrow terminal does not need.
const OPTIONAL: u8 = 7;

/// A part of the line.
struct Part {
    text: String,
    /// A shorter form.
    short: Option<String>,
    /// The part with the highest rank is shortened or dropped first; one of at least [`OPTIONAL`] is dropped before another is
    /// shortened.
    rank: u8,
    style: Style,
}

impl Part {
    fn new(rank: u8, text: String) -> Part {
        Part { text, short: None, rank, style: Style::new() }
    }
    fn or(self, short: String) -> Part {
        Part { short: Some(short), ..self }
    }
    fn dim(self) -> Part {
        Part { style: DIM, ..self }
    }
}

/// Joins parts to a line of at most so many columns: shortens or drops the least important part until the rest fits.
fn fitted(mut parts: Vec<Part>, columns: usize) -> String {
    let gap = if columns < 60 { " " } else { "  " };
    let length = |parts: &[Part]| {
        let each: usize = parts.iter().map(|part| part.text.chars().count()).sum();
        each + gap.len() * parts.len().saturating_sub(1)
    };
    while length(&parts) > columns && parts.len() > 1 {
        let can_shorten =
            parts.iter().all(|part| part.rank < OPTIONAL) && parts.iter().any(|part| part.short.is_some());
        let candidates = parts.iter().enumerate().filter(|(_, part)| !can_shorten || part.short.is_some());
        let Some((at, _)) = candidates.max_by_key(|(_, part)| part.rank) else { break };
        match parts[at].short.take().filter(|_| can_shorten) {
            Some(short) => parts[at].text = short,
            None => drop(parts.remove(at)),
        }
    }
    let each = parts.iter().map(|Part { text, style, .. }| {
        let text: String = text.chars().take(columns).collect();
        if *style == Style::new() { text } else { format!("{style}{text}{style:#}") }
    });
    each.collect::<Vec<_>>().join(gap)
}

/// Returns a line of the self-test in at most so many columns.
pub(super) fn of_self_test(number: usize, of: usize, name: &str, verdict: &str, columns: usize) -> String {
    let parts = vec![
        Part::new(2, format!("self-test [{number}/{of}]")).or(format!("[{number}/{of}]")).dim(),
        Part::new(0, name.to_owned()),
        Part::new(1, verdict.to_owned()),
    ];
    fitted(parts, columns.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Rate;

    /// A run with numbers as long as they get.
    fn live(large: bool) -> Live {
        let mut live = Live::default();
        let point = serde_json::json!({ "dut": 0, "dut_name": "x", "connections": 0, "cores": 1 });
        let metric = if large { "max_conn_est_rate_validated" } else { "throughput" };
        let measurement = serde_json::json!({ "point": point, "metric": metric, "repetition": 1, "predicted": 0 });
        let (number, of) = if large { (180, 360) } else { (5, 18) };
        let measurement = serde_json::from_value(measurement).unwrap();
        live.learn(&Event::MeasurementStarted { number, of, measurement });
        let (lost, sent) = if large { (1, 1_000_000_000) } else { (1_200, 1_000_000) };
        let trial = Event::Trial {
            seq: 1,
            measurement: String::new(),
            rate: Rate(1),
            verdict: if large { "invalid" } else { "fail" }.to_owned(),
            reason: String::new(),
            sent,
            received: sent - lost,
        };
        live.learn(&trial);
        let (rate, eta_s) = if large { (99_900_000, 52_000) } else { (3_120_000, 350) };
        let trying = Event::Trying { rate: Rate(rate), lo: Rate(2_500_000), hi: Rate(4_100_000), steps_left: 8, eta_s };
        for _ in 0..4 {
            live.learn(&trying);
        }
        live
    }

    fn plain(line: &str) -> String {
        anstream::adapter::strip_str(line).to_string()
    }

    #[test]
    fn the_line_fits_every_terminal() {
        for large in [false, true] {
            for columns in 1..=300 {
                let line = plain(&live(large).line(columns));
                assert!(line.chars().count() < columns || columns == 1 && line.is_empty(), "{columns}: {line}");
                assert!(!line.contains('\n'), "{line}");
                if columns >= 40 {
                    let (measurement, rate) = if large { ("[180/360]", "99.9 M/s") } else { ("[5/18]", "3.12 M/s") };
                    let (loss, left) = if large { ("<0.01 % lost", "14.4 h") } else { ("0.12 % lost", "6 min") };
                    for fact in [measurement, rate, loss, left] {
                        assert!(line.contains(fact), "{columns}: {fact}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_wide_terminal_shows_more() {
        let lines = [40, 60, 80, 120].map(|columns| plain(&live(false).line(columns)));
        assert_eq!(
            lines,
            [
                "[5/18] 4/11 3.12 M/s 0.12 % lost 6 min",
                "[5/18] 4/11 3.12 M/s last: fail, 0.12 % lost 6 min left",
                "[5/18]  throughput  step 4 of 11  3.12 M/s  last: fail, 0.12 % lost  6 min left",
                "[5/18]  throughput  step 4 of 11  3.12 M/s  between 2.5 M and 4.1 M  last: fail, 0.12 % lost  6 min left",
            ]
        );
    }

    #[test]
    fn the_line_begins_before_the_first_trial() {
        let mut live = Live::default();
        assert!(!live.learn(&Event::Doubt { text: "x".to_owned() }));
        assert_eq!(live.line(80), "");
        live.measurement = Some((1, 2));
        assert_eq!(plain(&live.line(80)).trim_end(), "[1/2]");
    }

    #[test]
    fn the_self_test_fits_too() {
        for columns in 1..200 {
            let line = plain(&of_self_test(3, 12, "connection set-up rate", "inconclusive", columns));
            assert!(line.chars().count() < columns, "{columns}: {line}");
        }
    }
}
