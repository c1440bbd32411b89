//! Idle time of each core of a box over the time of a trial, with its phases.

use super::WIDE;
use document::scale::Axis;
use document::svg::{Strip, Strips};
use document::{Drawing, Figure};
use method::Nanos;
use method::trial::CpuIdle;

/// The cores of a box, one row each.
pub(in crate::report) fn figure(id: &str, name: &str, cpu: &CpuIdle) -> Figure {
    let mut cores: Vec<(&String, &Vec<u32>)> = cpu.cores.iter().collect();
    cores.sort_by_key(|(core, _)| (number_of(core), *core));
    let end = cpu.ends.last().copied().max(Some(cpu.phase2[1])).map_or(1.0, seconds);
    let in_words: Vec<String> = cpu.in_phase2().map(|(core, shares)| format!("{core}: {}", range(&shares))).collect();
    let phases = [("phase 1", cpu.phase1), ("phase 2", Some(cpu.phase2))];
    let phases: Vec<(&str, [Nanos; 2])> = phases.into_iter().filter_map(|(name, phase)| Some((name, phase?))).collect();
    let row = |(core, shares): (&String, &Vec<u32>)| Strip {
        label: core.clone(),
        samples: cpu.ends.iter().zip(shares).map(|(end, share)| (seconds(*end), f64::from(*share) / 1e4)).collect(),
        says: format!("{core}\n{}", range(shares)),
    };
    let strips = Strips {
        id: id.to_owned(),
        title: format!("CPU idle time, {name}"),
        description: format!("{name}, in phase 2: {}", in_words.join("; ")),
        x: Axis::until(("time since the start of the trial", "s"), end),
        share: "idle, %",
        spans: phases.iter().map(|(name, [start, end])| (seconds(*start), seconds(*end), *name)).collect(),
        rows: cores.into_iter().map(row).collect(),
        width: WIDE,
    };
    let phases: Vec<String> = phases
        .iter()
        .map(|(name, [start, end])| format!("{name} from {:.1} s to {:.1} s", seconds(*start), seconds(*end)))
        .collect();
    let caption = format!("Idle time of each core, {name}; {}.", phases.join(", "));
    Figure { caption, drawing: Drawing::Strips(strips), wide: true }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

/// The number at the end of a name, so that core 10 follows core 9.
fn number_of(core: &str) -> u64 {
    core.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Smallest and largest idle share in percent.
fn range(shares: &[u32]) -> String {
    let percent = |share: Option<&u32>| f64::from(share.copied().unwrap_or(0)) / 1e4;
    format!("{:.0} % to {:.0} % idle", percent(shares.iter().min()), percent(shares.iter().max()))
}
