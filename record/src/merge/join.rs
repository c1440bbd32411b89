//! Joins the records of several runs into one: the numbers of trials and visits continue, and devices of different test beds
//! get different names.

use super::{DECIDING, differences};
use crate::audit::{Audit, Basis, Finding};
use crate::doubt::Doubt;
use crate::folder::{Calibration, Ceiling, FactTable, Facts, SelfTest};
use crate::plan::{Measurement, Plan};
use crate::read::Record;
use scenario::Point;
use scenario::bed::BedText;
use std::collections::BTreeMap;

pub(super) struct MergedRun {
    pub(super) name: String,
    pub(super) record: Record,
    pub(super) audit: Audit,
}

/// A test bed: what its runs have in common.
struct TestBed {
    facts: Facts,
    file: Option<BedText>,
    first: usize,
}

impl TestBed {
    fn differs_from(&self, other: &TestBed) -> Vec<String> {
        let facts = differences(&self.facts, &other.facts).into_iter();
        let mut all: Vec<String> = facts.map(|(name, a, b)| format!("{name} \"{a}\" and \"{b}\"")).collect();
        all.extend(self.devices_differ_from(other));
        let [(name, text), (other_name, other_text)] = [self, other]
            .map(|bed| bed.file.as_ref().map_or(("none", None), |file| (file.name.as_str(), Some(&file.text))));
        if text != other_text {
            all.push(format!("bed file {name} and {other_name}"));
        }
        all
    }
}

/// The facts of a device that decide whether results can be compared; of several boxes each with its role before it.
const OF_DEVICE: [&str; 6] = ["software", "version", "kernel", "cpu", "processors", "host"];

impl TestBed {
    /// The deciding facts in which devices of the same name differ.
    fn devices_differ_from(&self, other: &TestBed) -> Vec<String> {
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
    let labels = labels(&beds);
    let devices = parts.first()?.record.header.scenario.duts.len();
    let is_apart = beds.len() > 1 && !alike;
    let of_beds = labels.iter().enumerate().filter(|_| is_apart);
    let renamings: Vec<Renaming> = of_beds.map(|(bed, label)| Renaming { label, shift: bed * devices }).collect();
    let doubts = differing(&beds, &labels, &parts, is_apart);
    for (part, &bed) in parts.iter_mut().zip(&of_parts) {
        if let Some(renaming) = renamings.get(bed) {
            renaming.of(&mut part.record);
        }
    }
    let audit = audits(&parts);
    let torn: Vec<String> = parts.iter().flat_map(torn).collect();
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
    whole(&mut joined, &renamings);
    joined.facts.doubts.extend(doubts.into_iter().chain(torn).chain(twice).map(Doubt::Other));
    Some((joined, audit))
}

/// The test beds of the runs, and which of them each run has.
fn beds(parts: &[MergedRun]) -> (Vec<TestBed>, Vec<usize>) {
    let mut beds: Vec<TestBed> = Vec::new();
    let mut of_parts = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let header = &part.record.header;
        let bed = TestBed { facts: part.record.facts.clone(), file: header.options.bed.clone(), first: at };
        of_parts.push(beds.iter().position(|known| known.differs_from(&bed).is_empty()).unwrap_or(beds.len()));
        match beds.get_mut(of_parts[at]) {
            Some(known) => known.learn(part),
            None => beds.push(bed),
        }
    }
    (beds, of_parts)
}

/// The names of the beds: those of their files if they differ, else `bed 1`, `bed 2` and so on.
fn labels(beds: &[TestBed]) -> Vec<String> {
    let stem = |bed: &TestBed| {
        let name = &bed.file.as_ref()?.name;
        Some(name.rsplit('/').next().unwrap_or(name).trim_end_matches(".toml").to_owned())
    };
    let stems: Option<Vec<String>> = beds.iter().map(stem).collect();
    let distinct = |names: &Vec<String>| (1..names.len()).all(|at| !names[..at].contains(&names[at]));
    stems.filter(distinct).unwrap_or_else(|| (0..beds.len()).map(|at| format!("bed {}", at + 1)).collect())
}

fn differing(beds: &[TestBed], labels: &[String], parts: &[MergedRun], is_apart: bool) -> Vec<String> {
    let Some((first, others)) = beds.split_first() else { return Vec::new() };
    let what = if is_apart {
        "their points are kept apart"
    } else {
        "their points are joined as those of one bed, as declared"
    };
    let doubt = |(bed, label): (&TestBed, &String)| {
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

    fn measurement(&self, m: &Measurement) -> Measurement {
        let mut there = m.clone();
        self.point(&mut there.point);
        there
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
    let doubt = |(file, torn): &(&str, u64)| {
        format!(
            "{file} of {} ends in an incomplete line of {torn} bytes: continue the run with `natmeter resume`, then merge again",
            part.name
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

/// Adds the facts of a run to those of the joined record.
fn facts(joined: &mut Facts, part: Facts) {
    add_facts(&mut joined.tester, part.tester, |name| DECIDING.contains(&name));
    for (device, facts) in part.duts {
        add_facts(joined.duts.entry(device).or_default(), facts, |_| true);
    }
    let new: Vec<Doubt> = part.doubts.into_iter().filter(|doubt| !joined.doubts.contains(doubt)).collect();
    joined.doubts.extend(new);
}

/// Adds the facts of one tester or device to those of another. A deciding fact that differs keeps both values.
fn add_facts(known: &mut FactTable, new: FactTable, decides: impl Fn(&str) -> bool) {
    for (name, value) in new {
        match known.get_mut(&name) {
            Some(first) if decides(&name) && first.split("; ").all(|one| one != value) => {
                *first = format!("{first}; {value}");
            }
            Some(_) => {}
            None => {
                known.insert(name, value);
            }
        }
    }
}

/// Makes header, scenario and plan those of the whole campaign: the devices of every bed, and the measurements of every cell.
/// Measurements of beds that are kept apart are missing where no bed has them.
fn whole(joined: &mut Record, beds: &[Renaming]) {
    let header = &mut joined.header;
    header.scenario.cell = None;
    header.options.cell = None;
    let recorded: BTreeMap<String, Measurement> = header.plan.measurements.drain(..).map(|m| (m.key(), m)).collect();
    let planned = Plan::in_order(&header.scenario, header.sequence().unwrap_or_default()).measurements;
    header.plan.measurements = if beds.is_empty() {
        planned.into_iter().map(|m| recorded.get(&m.key()).cloned().unwrap_or(m)).collect()
    } else {
        let recorded_in = |bed: &Renaming, m: &Measurement| recorded.get(&bed.measurement(m).key()).cloned();
        let measured = beds.iter().flat_map(|bed| planned.iter().filter_map(move |m| recorded_in(bed, m)));
        let missing = planned.iter().filter(|m| beds.iter().all(|bed| recorded_in(bed, m).is_none())).cloned();
        measured.chain(missing).collect()
    };
    header.scenario.duts = vec![std::mem::take(&mut header.scenario.duts); beds.len().max(1)].concat();
}
