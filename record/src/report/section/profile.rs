//! Where devices spent their time: the function and the part that took most, the share that waited for locks, the cores, and a
//! flame graph.

use crate::report::bottleneck::profile_of;
use crate::report::number::{self, percent};
use crate::report::result::PointResult;
use crate::report::{Report, facts};
use document::flame::Flame;
use document::{Drawing, Figure, Finding, Form, Quantity, Section, Table, row};
use method::Count;
use method::trial::Profile;
use procedure::profiling::LOCK_WAIT;
use std::collections::BTreeMap;

/// Functions in the table.
const FUNCTIONS: usize = 10;
/// Width of the drawing.
const WIDTH: f64 = 1000.0;

/// The section of all points with a profile.
pub(super) fn section(report: &Report) -> Option<Section> {
    let profiled: Vec<(&PointResult, &Profile)> = of(report).collect();
    if profiled.is_empty() {
        return None;
    }
    Some(Section {
        title: "Profile".to_owned(),
        about: "Call stacks, sampled in a trial at the throughput, whose frames give no result, because sampling takes CPU time. An \
                idle core has no samples. In a flame graph, a function stands on the one that called it, and is as wide as its share \
                of the samples."
            .to_owned(),
        findings: findings(report),
        tables: profiled.iter().flat_map(|(result, profile)| tables(result, profile)).collect(),
        figures: profiled.iter().enumerate().map(|(at, (result, profile))| figure(at, result, profile)).collect(),
    })
}

/// The profile of each point that has one: of its last repetition.
fn of(report: &Report) -> impl Iterator<Item = (&PointResult, &Profile)> {
    let results = report.results.iter().filter(|result| result.metric == LOCK_WAIT.key);
    results.filter_map(|result| Some((result, profile_of(result)?)))
}

/// What took most of the time, at each point.
pub(in crate::report) fn findings(report: &Report) -> Vec<Finding> {
    let finding = |(result, profile)| {
        Some(Finding { subject: "Profile", of: facts::device_at(result), found: in_words(profile)? })
    };
    of(report).filter_map(finding).collect()
}

fn in_words(profile: &Profile) -> Option<String> {
    let samples = profile.samples();
    let share = |of: Count, all: Count| percent(of as f64 * 100.0 / (all as f64).max(1.0));
    let (part, of_part) = profile.parts.iter().max_by_key(|(name, samples)| (**samples, std::cmp::Reverse(*name)))?;
    let (function, of_function) = *profile.functions().first()?;
    let cores: Vec<String> =
        profile.cores.iter().map(|(name, of)| format!("{name} {}", share(of.waiting, of.all))).collect();
    let each = if cores.len() > 1 { format!(" ({})", cores.join(", ")) } else { String::new() };
    Some(format!(
        "most time goes to {part}, {}; of single functions to {function}, {}; {} waits for locks{each}.",
        share(*of_part, samples.all),
        share(of_function, samples.all),
        share(samples.waiting, samples.all),
    ))
}

/// The device at a point, in words.
fn place(result: &PointResult) -> String {
    format!("profile of {}", facts::device_at(result))
}

/// The shares of parts, functions and cores, the largest first.
fn tables(result: &PointResult, profile: &Profile) -> Vec<Table> {
    let of_map = |map: &BTreeMap<String, Count>| map.iter().map(|(name, n)| (name.clone(), *n)).collect::<Vec<_>>();
    let functions = profile.functions().into_iter().take(FUNCTIONS).map(|(name, n)| (name.to_owned(), n)).collect();
    let cores = profile.cores.iter().map(|(name, of)| (name.clone(), of.all)).collect();
    let all = profile.samples().all.max(1) as f64;
    let table = |(what, mut shares): (&'static str, Vec<(String, Count)>)| {
        shares.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
        let share = |n: Count| Quantity::new(n as f64 * 100.0 / all, Form::Percent);
        let title = format!("{}, {what}", number::capitalised(&place(result)));
        let rows = shares.into_iter().map(|(name, n)| row(name, [share(n)]));
        Table::new(title, what, ["share of the samples"]).rows(rows)
    };
    [("part", of_map(&profile.parts)), ("function", functions), ("core", cores)].into_iter().map(table).collect()
}

fn figure(at: usize, result: &PointResult, profile: &Profile) -> Figure {
    let title = format!("Flame graph, {}", place(result));
    let flame = Flame {
        id: format!("profile-{at}"),
        title: title.clone(),
        description: in_words(profile).unwrap_or_default(),
        stacks: profile.stacks.clone(),
        width: WIDTH,
    };
    let [all, tester, others] = [profile.samples().all, profile.tester, profile.others].map(number::grouped);
    let caption = format!(
        "{title}: {all} samples of {}, {} a second of each core. Point at a box for its name. Not drawn: {tester} samples of the \
         tester's own code and {others} of other programs on the same cores.",
        profile.event, profile.frequency
    );
    Figure { caption, drawing: Drawing::Flame(flame), wide: true }
}
