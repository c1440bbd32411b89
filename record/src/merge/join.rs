//! Joins the records of several runs into one: the numbers of trials and visits continue, and devices of different test beds
//! get different names.

use super::{DECIDING, differences};
use crate::audit::{Audit, Basis, Finding};
use crate::doubt::Doubt;
use crate::folder::{Calibration, Ceiling, Facts, SelfTest};
use crate::plan::{Measurement, Plan};
use crate::read::Record;
use scenario::{Point, Scenario};
use std::collections::BTreeMap;

pub(super) struct MergedRun {
    pub(super) name: String,
    pub(super) record: Record,
    pub(super) audit: Audit,
}

/// A test bed: what its runs have in common.
struct Bed {
    facts: Facts,
    file: Option<(String, String)>,
    first: usize,
}

impl Bed {
    fn of(part: &MergedRun, first: usize) -> Bed {
        let file = part.record.header.options.bed.as_ref().map(|bed| (bed.name.clone(), bed.text.clone()));
        Bed { facts: part.record.facts.clone(), file, first }
    }

    fn differs_from(&self, other: &Bed) -> Vec<String> {
        let text = |bed: &Bed| bed.file.as_ref().map(|(_, text)| text.clone());
        let facts = differences(&self.facts, &other.facts).into_iter();
        let mut all: Vec<String> = facts.map(|(name, a, b)| format!("{name} \"{a}\" and \"{b}\"")).collect();
        all.extend(self.devices_differ_from(other));
        if text(self) != text(other) {
            let name = |bed: &Bed| bed.file.as_ref().map_or("none".to_owned(), |(name, _)| name.clone());
            all.push(format!("bed file {} and {}", name(self), name(other)));
        }
        all
    }
}

/// The facts of a device that decide whether results can be compared; of several boxes each with its role before it.
const OF_DEVICE: [&str; 6] = ["software", "version", "kernel", "cpu", "processors", "host"];

impl Bed {
    /// The deciding facts in which devices of the same name differ.
    fn devices_differ_from(&self, other: &Bed) -> Vec<String> {
        let decides = |name: &str| OF_DEVICE.iter().any(|deciding| name.ends_with(deciding));
        let mut all = Vec::new();
        for (device, own) in &self.facts.duts {
            let Some(theirs) = other.facts.duts.get(device) else { continue };
            let names = own.keys().chain(theirs.keys().filter(|name| !own.contains_key(*name)));
            for name in names.filter(|name| decides(name) && own.get(*name) != theirs.get(*name)) {
                let [a, b] = [own, theirs].map(|facts| facts.get(name).map_or("unknown", String::as_str));
                all.push(format!("{name} of {device} \"{a}\" and \"{b}\""));
            }
        }
        all
    }

    fn learn(&mut self, part: &MergedRun) {
        for (device, facts) in &part.record.facts.duts {
            self.facts.duts.entry(device.clone()).or_insert_with(|| facts.clone());
        }
    }
}

/// Joins runs; none without a run.
pub(super) fn join(mut parts: Vec<MergedRun>, alike: bool) -> Option<(Record, Audit)> {
    let (beds, of_parts) = beds(&parts);
    let is_apart = beds.len() > 1 && !alike;
    let labels = labels(&beds);
    let devices = parts.first()?.record.header.scenario.duts.len();
    let doubts = differing(&beds, &labels, &parts, is_apart);
    if is_apart {
        for (part, &bed) in parts.iter_mut().zip(&of_parts) {
            Renaming { label: &labels[bed], shift: bed * devices }.of(&mut part.record);
        }
    }
    let audit = audits(&parts);
    let torn: Vec<String> = parts.iter().flat_map(torn).collect();
    let groups: Vec<usize> = if is_apart { of_parts } else { vec![0; parts.len()] };
    let mut twice = Vec::new();
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    let mut names = vec![first.name];
    let mut joined = first.record;
    joined.torn.clear();
    for part in parts {
        twice.extend(add(&mut joined, part.record, &names, &part.name));
        names.push(part.name);
    }
    let all_groups = groups.iter().max().map_or(1, |most| most + 1);
    whole(&mut joined, all_groups, &labels, is_apart);
    joined.facts.doubts.extend(doubts.into_iter().chain(torn).chain(twice).map(Doubt::Other));
    Some((joined, audit))
}

/// The test beds of the runs, and which of them each run has.
fn beds(parts: &[MergedRun]) -> (Vec<Bed>, Vec<usize>) {
    let mut beds: Vec<Bed> = Vec::new();
    let mut of_parts = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let bed = Bed::of(part, at);
        of_parts.push(beds.iter().position(|known| known.differs_from(&bed).is_empty()).unwrap_or(beds.len()));
        match beds.get_mut(of_parts[at]) {
            Some(known) => known.learn(part),
            None => beds.push(bed),
        }
    }
    (beds, of_parts)
}

/// The names of the beds: those of their files if they differ, else `bed 1`, `bed 2` and so on.
fn labels(beds: &[Bed]) -> Vec<String> {
    let stem = |bed: &Bed| {
        bed.file.as_ref().map(|(name, _)| name.rsplit('/').next().unwrap_or(name).trim_end_matches(".toml").to_owned())
    };
    let stems: Option<Vec<String>> = beds.iter().map(stem).collect();
    let distinct = |names: &Vec<String>| (1..names.len()).all(|at| !names[..at].contains(&names[at]));
    stems.filter(distinct).unwrap_or_else(|| (0..beds.len()).map(|at| format!("bed {}", at + 1)).collect())
}

fn differing(beds: &[Bed], labels: &[String], parts: &[MergedRun], is_apart: bool) -> Vec<String> {
    let Some((first, others)) = beds.split_first() else { return Vec::new() };
    let what = if is_apart {
        "their points are kept apart"
    } else {
        "their points are joined as those of one bed, as declared"
    };
    let doubt = |(bed, label): (&Bed, &String)| {
        let (from, of_first) = (&parts[bed.first].name, &labels[0]);
        format!("{of_first} and {label} (run {from}) differ in {}: {what}", first.differs_from(bed).join(", "))
    };
    others.iter().zip(&labels[1..]).map(doubt).collect()
}

/// Gives the devices of a run the name and the numbers of a bed.
struct Renaming<'a> {
    label: &'a str,
    shift: usize,
}

impl Renaming<'_> {
    fn name(&self, name: &str) -> String {
        format!("{name} ({})", self.label)
    }

    fn point(&self, point: &mut Point) {
        point.dut += self.shift;
        point.dut_name = self.name(&point.dut_name);
    }

    /// A text that begins with the name of a device and `/`.
    fn key(&self, key: &mut String) {
        if let Some((device, rest)) = key.split_once('/') {
            *key = format!("{}/{rest}", self.name(device));
        }
    }

    fn of(&self, record: &mut Record) {
        record.header.plan.measurements.iter_mut().for_each(|m| self.point(&mut m.point));
        record.outcomes.iter_mut().for_each(|outcome| self.point(&mut outcome.measurement.point));
        record.nulls.iter_mut().for_each(|null| self.point(&mut null.point));
        record.trials.iter_mut().for_each(|trial| self.key(&mut trial.measurement));
        record.commands.iter_mut().for_each(|command| command.dut = self.name(&command.dut));
        let duts = std::mem::take(&mut record.facts.duts);
        record.facts.duts = duts.into_iter().map(|(name, facts)| (self.name(&name), facts)).collect();
        record.facts.doubts.iter_mut().filter_map(Doubt::measurement_mut).for_each(|key| self.key(key));
    }
}

/// A doubt for each file of a run that ends in an incomplete line.
fn torn(part: &MergedRun) -> Vec<String> {
    let doubt = |(file, torn): &(&str, crate::store::Torn)| {
        format!(
            "{file} of {} ends in an incomplete line of {} bytes: continue the run with `natmeter resume`, then merge again",
            part.name, torn.bytes
        )
    };
    part.record.torn.iter().map(doubt).collect()
}

fn audits(parts: &[MergedRun]) -> Audit {
    let is_derived = parts.iter().all(|part| part.audit.basis == Basis::DerivedAgain);
    let of_part = |part: &MergedRun| {
        let name = part.name.clone();
        let named = move |finding: &Finding| Finding { what: format!("{name}: {}", finding.what), ..finding.clone() };
        let found: Vec<Finding> = part.audit.findings.iter().map(named).collect();
        found
    };
    Audit {
        basis: if is_derived { Basis::DerivedAgain } else { Basis::AsRecorded },
        findings: parts.iter().flat_map(of_part).collect(),
    }
}

/// Adds a run to those joined so far. Returns a doubt for each measurement that both have: the earlier one stands.
fn add(joined: &mut Record, mut part: Record, earlier: &[String], name: &str) -> Vec<String> {
    let is_known = |m: &Measurement| joined.outcomes.iter().any(|o| o.measurement == *m);
    let twice: Vec<Measurement> = part.outcomes.iter().map(|o| o.measurement.clone()).filter(is_known).collect();
    let keys: Vec<String> = twice.iter().map(Measurement::key).collect();
    part.outcomes.retain(|o| !twice.contains(&o.measurement));
    part.trials.retain(|t| !keys.iter().any(|key| crate::plan::without_attempt(&t.measurement) == key));
    let visits = joined.outcomes.iter().filter_map(|o| o.visit).chain(joined.nulls.iter().filter_map(|n| n.visit));
    let visits = visits.max().unwrap_or(0);
    part.outcomes.iter_mut().for_each(|o| o.visit = o.visit.map(|visit| visit.saturating_add(visits)));
    part.nulls.iter_mut().for_each(|n| n.visit = n.visit.map(|visit| visit.saturating_add(visits)));
    // Sequence numbers are those of the lines.
    (0..).zip(&mut part.trials).for_each(|(at, trial)| trial.seq = joined.trials.len() as u64 + at);
    joined.outcomes.append(&mut part.outcomes);
    joined.nulls.append(&mut part.nulls);
    joined.trials.append(&mut part.trials);
    joined.commands.append(&mut part.commands);
    part.missing.retain(|file| !joined.missing.contains(file));
    joined.missing.append(&mut part.missing);
    joined.header.plan.measurements.append(&mut part.header.plan.measurements);
    joined.header.started = std::mem::take(&mut joined.header.started).min(part.header.started);
    joined.calibration = calibrations(joined.calibration.take(), part.calibration);
    joined.self_test = self_tests(joined.self_test.take(), part.self_test);
    facts(&mut joined.facts, part.facts);
    let earlier = earlier.join(", ");
    keys.into_iter()
        .map(|key| {
            format!("{key} was also measured in {name}: the results are those of the run named first ({earlier})")
        })
        .collect()
}

/// The ceilings of both runs; at a point with two ceilings the lower one, which claims less.
fn calibrations(first: Option<Calibration>, second: Option<Calibration>) -> Option<Calibration> {
    let (Some(mut first), Some(second)) = (first.clone(), second.clone()) else { return first.or(second) };
    for ceiling in second.ceilings {
        let same = |known: &&mut Ceiling| {
            known.connections == ceiling.connections && known.axes == ceiling.axes && known.frame == ceiling.frame
        };
        match first.ceilings.iter_mut().find(same) {
            Some(known) if known.frames <= ceiling.frames => {}
            Some(known) => *known = ceiling,
            None => first.ceilings.push(ceiling),
        }
    }
    first.latency_floor_ns = first.latency_floor_ns.max(second.latency_floor_ns);
    Some(first)
}

fn self_tests(first: Option<SelfTest>, second: Option<SelfTest>) -> Option<SelfTest> {
    match (first, second) {
        (Some(first), Some(second)) => Some(if first.passed { second } else { first }),
        (first, second) => first.or(second),
    }
}

/// The facts of both runs. A deciding fact that differs has both values.
fn facts(joined: &mut Facts, part: Facts) {
    for (name, value) in part.tester {
        match joined.tester.get_mut(&name) {
            Some(known) if known.split("; ").any(|one| one == value) => {}
            Some(known) if DECIDING.contains(&name.as_str()) => *known = format!("{known}; {value}"),
            Some(_) => {}
            None => {
                joined.tester.insert(name, value);
            }
        }
    }
    for (device, facts) in part.duts {
        let known = joined.duts.entry(device).or_default();
        for (name, value) in facts {
            match known.get_mut(&name) {
                Some(one) if one.split("; ").any(|one| one == value) => {}
                Some(one) => *one = format!("{one}; {value}"),
                None => {
                    known.insert(name, value);
                }
            }
        }
    }
    let new: Vec<Doubt> = part.doubts.into_iter().filter(|doubt| !joined.doubts.contains(doubt)).collect();
    joined.doubts.extend(new);
}

/// Makes header, scenario and plan those of the whole campaign: the devices of every bed, and the measurements of every cell.
fn whole(joined: &mut Record, beds: usize, labels: &[String], is_apart: bool) {
    let header = &mut joined.header;
    let mut scenario: Scenario = header.scenario.clone();
    scenario.cell = None;
    header.options.cell = None;
    let order = header.sequence().unwrap_or_default();
    let mut measurements: Vec<Measurement> = Vec::new();
    let recorded: BTreeMap<String, Measurement> = header.plan.measurements.drain(..).map(|m| (m.key(), m)).collect();
    let planned = Plan::in_order(&scenario, order).measurements;
    for bed in 0..beds {
        let renaming = Renaming { label: labels.get(bed).map_or("", String::as_str), shift: bed * scenario.duts.len() };
        for mut m in planned.clone() {
            if is_apart {
                renaming.point(&mut m.point);
            }
            match (recorded.get(&m.key()), is_apart) {
                (Some(recorded), _) => measurements.push(recorded.clone()),
                (None, false) => measurements.push(m),
                // Missing, unless another bed measured it.
                (None, true) => {}
            }
        }
    }
    if is_apart {
        let is_measured = |m: &Measurement| {
            (0..beds).any(|bed| {
                let mut there = m.clone();
                Renaming { label: &labels[bed], shift: bed * scenario.duts.len() }.point(&mut there.point);
                recorded.contains_key(&there.key())
            })
        };
        measurements.extend(planned.into_iter().filter(|m| !is_measured(m)));
    }
    let devices = scenario.duts.clone();
    scenario.duts = std::iter::repeat_n(devices, beds).flatten().collect();
    header.plan.measurements = measurements;
    header.scenario = scenario;
}
