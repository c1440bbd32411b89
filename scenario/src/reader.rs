//! Turns a file into a scenario. It reads only the file, so that a scenario is refused before anything is changed.

#![allow(clippy::option_option, reason = "none where a value was refused; `Some(None)` where the file has none")]

use crate::axis_values::SweptAxis;
use crate::bed::{self, Bed, BedText};
use crate::device::DeviceTables;
use crate::file::{ScenarioError, text_of};
use crate::impair::Impair;
use crate::limits;
use crate::over_bed;
use crate::overrides;
use crate::ranges::{DerivedRanges, divisor};
use crate::rules;
use crate::scale;
use crate::settle::settle;
use crate::tables::{
    ALIASED, Capture, FullConnections, InProcess, Measure, Sweep, Tester, TimeLimit, Top, Traffic, Veth, several,
};
use crate::truth::KNOWN_TRUTH;
use crate::{Cell, Dut, Link, Lists, Scenario, book};
use key::quantity::unitless_share_ppm;
use key::{At, Book, Complaints, Fault, Node, Refusal, Sections, Source, Spans, Tree, TreeEntry, TreeTable, Value};
use method::Count;
use procedure::{Keys, ScenarioOrigin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use tech::{AXES, FRAME_SIZE, RFC_8219, Technology};

/// What the command line says about a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// Use the values of `[full]`: a conforming run.
    pub full: bool,
    /// The scale: the values of this table `[scale.NAME]` in place of those of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// `KEY=VALUE` overrides, in order; the last one of a key counts.
    pub set: Vec<String>,
    /// The test bed that takes the place of devices and link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bed: Option<BedText>,
    /// The part of the matrix that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
    /// The text of a file of limits that take the place of the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<String>,
}

impl Options {
    /// What changes the measurement: all but limits.
    pub fn without_limits(&self) -> Options {
        Options { limits: None, ..self.clone() }
    }
}

#[derive(Clone)]
pub struct LoadedScenario {
    pub scenario: Scenario,
    pub text: String,
    /// What changed it; the bed that it names included.
    pub options: Options,
    pub advice: Vec<String>,
    sources: Vec<Source>,
    spans: Spans,
}

impl fmt::Debug for LoadedScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedScenario").field("scenario", &self.scenario.name).finish_non_exhaustive()
    }
}

impl LoadedScenario {
    /// What is wrong with the file that a technology's key names, under the words that name it.
    pub fn complaint_about_file(&self, key: &str, why: &str) -> Complaints {
        let has = |name: &str| self.spans.has(&format!("technology.{name}.{key}"));
        let mut names = self.scenario.duts.iter().filter_map(|dut| Some(dut.technology()?.1.name()));
        let technology = names.find(|name| has(name)).unwrap_or_default();
        let fault = Fault::new(format!("the file of `{key}` cannot be used: {why}"));
        let fault = fault.at(format!("technology.{technology}.{key}"), "this file").instead(
            "correct the file, or name another; a relative path starts at the folder in which natmeter was started",
        );
        Complaints::new(self.sources.clone(), &self.spans, vec![fault], Vec::new())
    }
}

pub fn about(text: &str) -> Option<String> {
    Some(key::read("", text).ok()?.get("about")?.node.value.as_text()?.to_owned())
}

pub fn read(path: &Path, options: &Options, lists: impl Into<Lists>) -> Result<LoadedScenario, ScenarioError> {
    let text = text_of(path)?;
    let mut options = options.clone();
    if options.bed.is_none()
        && let Some(bed) = bed_of(&text, options.scale.as_deref())
    {
        options.bed = Some(bed::read(&path.parent().unwrap_or(Path::new("")).join(bed))?.1);
    }
    Ok(parse(&path.display().to_string(), &text, &options, lists)?)
}

fn bed_of(text: &str, scale: Option<&str>) -> Option<PathBuf> {
    let tree = key::read("", text).ok()?;
    scale::bed_of(&tree, scale).map(PathBuf::from)
}

/// Checks a scenario that is already text, called `name` in messages.
pub fn parse(name: &str, text: &str, options: &Options, lists: impl Into<Lists>) -> Result<LoadedScenario, Complaints> {
    loaded(None, name, text, options, lists.into(), |_, _| ())
}

/// The defaults with which the scenario of a run folder was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedDefaults {
    /// Whether default port ranges are fixed: 40,000 source ports and 100 destination ports.
    pub has_fixed_ranges: bool,
    /// Whether `inside` was the address of the tester's left port, 198.18.0.2 without a bed.
    pub inside_is_port: bool,
}

/// Reads the scenario of a run folder: with the defaults with which it was made, and with shares without a unit, because earlier
/// versions read 0.1 as 10 %.
pub fn parse_recorded(
    defaults: RecordedDefaults,
    name: &str,
    text: &str,
    options: &Options,
    lists: impl Into<Lists>,
) -> Result<LoadedScenario, Complaints> {
    loaded(Some(defaults), name, text, options, lists.into(), |tree, book| {
        give_units_to_shares(tree, book);
        if let Some(key) = tree.root.entries().first().map(|entry| entry.key).filter(|_| defaults.inside_is_port) {
            let bed = options.bed.as_ref().and_then(|bed| bed::parse(bed).ok());
            let address = bed.and_then(|bed| bed.left.ipv4()).unwrap_or(Ipv4Addr::new(198, 18, 0, 2));
            tree.insert_default("traffic.inside", key, &address.to_string());
        }
    })
}

/// Writes shares without a unit as earlier versions read them.
fn give_units_to_shares(tree: &mut Tree, book: &Book) {
    for chapter in &book.chapters {
        for key in chapter.keys.iter().filter(|key| (key.shape)().is_share) {
            let path = format!("{}.{}", chapter.path, key.name);
            let path = path.trim_start_matches('.');
            let Some(&TreeEntry { key, ref node, .. }) = tree.get(path) else { continue };
            let (Value::Text(words) | Value::Integer(words) | Value::Float(words)) = &node.value else { continue };
            if let Some(ppm) = unitless_share_ppm(words) {
                let node = Node { place: node.place, value: Value::Text(format!("{ppm} ppm")) };
                tree.insert(path, key, node);
            }
        }
    }
}

fn loaded(
    recorded: Option<RecordedDefaults>,
    name: &str,
    text: &str,
    options: &Options,
    lists: Lists,
    update: impl FnOnce(&mut Tree, &Book),
) -> Result<LoadedScenario, Complaints> {
    let (mut tree, mut faults) = (key::read(name, text)?, Vec::new());
    if tree.table("bed").is_some()
        && let Some(bed) = tree.get("bed")
    {
        let fault = Fault::new("this is a bed file, not a scenario").at(bed.key, "a table of test beds");
        let fault = fault.instead(format!("natmeter bed check {name}, or: natmeter run SCENARIO --bed {name}"));
        let spans = Spans::of(&tree);
        return Err(Complaints::new(tree.sources, &spans, vec![fault], Vec::new()));
    }
    if let Some(name) = &options.scale
        && let Err(fault) = scale::apply(&mut tree, name)
    {
        let spans = Spans::of(&tree);
        return Err(Complaints::new(tree.sources, &spans, vec![*fault], Vec::new()));
    }
    let book = book(lists);
    for set in &options.set {
        tree.sources.push(Source { name: "--set".to_owned(), text: set.clone() });
        faults.extend(overrides::apply(&mut tree, &book, options.full).err().map(|fault| *fault));
    }
    update(&mut tree, &book);
    faults.extend(book.unknown(&tree));
    let is_alias = alias(&mut tree, &mut faults);
    give_nat44(&mut tree);
    let bed = options.bed.as_ref().map(bed::parse).transpose()?;
    let mut noted = bed.as_ref().map(|bed| over_bed::replace(&mut tree, bed, &mut faults)).unwrap_or_default();
    inherit(&mut tree, &book, lists.procedures);
    let mut sections = Sections::of(&tree);
    sections.several = Some(several);
    let origin = if recorded.is_some() { ScenarioOrigin::Run } else { ScenarioOrigin::File };
    let has_fixed_ranges = recorded.is_some_and(|defaults| defaults.has_fixed_ranges);
    let read = Reading { sections: &mut sections, lists, is_alias, has_fixed_ranges, bed }.scenarios();
    let Sections { spans, faults: values, .. } = sections;
    faults.extend(values);
    let [quick, full] = match read {
        Some((quick, full)) => [Some(quick), Some(full)],
        None => [None, None],
    };
    let of_run = if options.full { full.as_ref() } else { quick.as_ref() };
    faults.extend(of_run.zip(options.cell).and_then(|(scenario, cell)| too_many_cells(scenario, cell)));
    let both = [quick.as_ref(), full.as_ref()];
    faults.extend(limits::unmeasured(&both.into_iter().flatten().collect::<Vec<_>>()));
    let rules = both.into_iter().flatten().flat_map(|scenario| rules::check(scenario, &spans, origin)).collect();
    let complaints = Complaints::new(tree.sources.clone(), &spans, faults, rules);
    let limits = options.limits.as_deref().map(|text| limits::parse("--limits", text)).transpose()?;
    match if options.full { full } else { quick } {
        Some(mut scenario) if complaints.is_empty() => {
            noted.extend(rules::advice(&scenario));
            scenario.parameters = parameters(&tree);
            scenario.cell = options.cell;
            scenario.limits = limits.unwrap_or(scenario.limits);
            settle(&mut scenario);
            admit_customers(&mut scenario, &spans);
            Ok(LoadedScenario {
                scenario,
                text: text.to_owned(),
                options: options.clone(),
                advice: noted,
                sources: tree.sources,
                spans,
            })
        }
        _ => Err(complaints),
    }
}

/// Each cell has a point at least.
fn too_many_cells(scenario: &Scenario, cell: Cell) -> Option<Fault> {
    let points = scenario.points().count();
    (cell.of() as usize > points).then(|| {
        let fault = Fault::new(format!("the matrix has {points} points, which are not {} cells", cell.of()));
        fault.instead(format!("write a cell of {points} or fewer: --cell 1/{points}"))
    })
}

/// Makes the tester's customers those of the gateway where the file does not say which customers there are.
fn admit_customers(scenario: &mut Scenario, spans: &Spans) {
    let customers = scenario.traffic.flows.inside;
    for dut in &mut scenario.duts {
        if dut.has_workers()
            && let Some((_, technology)) = dut.technology_mut()
            && !spans.has(&format!("technology.{}.inside", technology.name()))
        {
            technology.admit(customers);
        }
    }
}

/// The tables of the technologies as they are written: keys and values of each.
fn parameters(tree: &Tree) -> BTreeMap<String, Vec<(String, String)>> {
    let kinds = tree.root.table("technology").map_or(&[][..], TreeTable::entries);
    let written = |entry: &TreeEntry| (entry.name.clone(), entry.node.value.to_string());
    let table = |kind: &TreeEntry| {
        let table = kind.node.value.as_table()?;
        Some((kind.name.clone(), table.entries().iter().map(written).collect()))
    };
    kinds.iter().filter_map(table).collect()
}

/// Makes `[dut.embedded]` without a technology one with `[technology.nat44]`, to which its NAT's keys belong. Whether it was.
fn alias(tree: &mut Tree, faults: &mut Vec<Fault>) -> bool {
    let has_technology = tree.root.get("technology").is_some();
    let Some((key, embedded)) =
        tree.get("dut.embedded").and_then(|entry| Some((entry.key, entry.node.value.as_table()?.clone())))
    else {
        return false;
    };
    let own = embedded.entries().iter().filter(|entry| ALIASED.contains(&entry.name.as_str()));
    if has_technology {
        for entry in own {
            let refusal = Refusal::among(faults, format!("`dut.embedded.{}` does not belong here", entry.name));
            refusal.at(entry.key, "a key of the technology").instead("move it to the technology's table");
        }
        return false;
    }
    if let Some(plays) = embedded.get("plays") {
        Refusal::among(faults, "`dut.embedded.plays` does not belong here")
            .at(plays.key, "a NAT44 has only one part")
            .instead("remove it, or add the table of a technology, for example [technology.map-t]");
    }
    let empty = Node { place: key, value: Value::Table(TreeTable::default()) };
    tree.insert("technology.nat44", key, empty);
    for entry in own {
        tree.insert(&format!("technology.nat44.{}", entry.name), entry.key, entry.node.clone());
    }
    tree.insert_default(NAT44_POOL, key, POOL);
    true
}

const NAT44_POOL: &str = "technology.nat44.pool";
const POOL: &str = "198.19.0.1";

/// Gives `[dut.known-truth]` a NAT44 with its defaults, if no technology is written.
fn give_nat44(tree: &mut Tree) {
    let key = tree.root.table("dut").and_then(|dut| dut.get(KNOWN_TRUTH)).map(|entry| entry.key);
    if let Some(key) = key.filter(|_| tree.get("technology").is_none()) {
        tree.insert_default(NAT44_POOL, key, POOL);
    }
}

/// Gives `[full]` and its tables the keys that they take from `[measure]`, its tables and `[sweep]` where they have none of
/// their own.
fn inherit(tree: &mut Tree, book: &Book, procedures: procedure::List) {
    let connections = tree.get("sweep.connections").cloned();
    inherit_table(tree, book, "", connections);
    for table in procedure::tables(procedures).into_iter().filter(|table| !table.name.is_empty()) {
        inherit_table(tree, book, &format!(".{}", table.name), None);
    }
}

/// Does so for one table: that with this path below `[measure]`.
fn inherit_table(tree: &mut Tree, book: &Book, below: &str, connections: Option<TreeEntry>) {
    let (from, to) = (format!("measure{below}"), format!("full{below}"));
    let conforms = |name: &str| book.key(&format!("{from}.{name}")).is_none_or(|key| key.default.conforming);
    let is_of_full = |name: &str| book.key(&format!("{to}.{name}")).is_some();
    let measure = tree.table(&from).map_or(&[][..], TreeTable::entries);
    let from_measure = measure.iter().filter(|entry| is_of_full(&entry.name) && !conforms(&entry.name));
    let all: Vec<TreeEntry> = from_measure.cloned().chain(connections).collect();
    for TreeEntry { name, key, node } in all {
        let path = format!("{to}.{name}");
        if tree.get(&path).is_none() {
            tree.insert(&path, key, node);
        }
    }
}

struct Reading<'a, 'b> {
    sections: &'a mut Sections<'b>,
    lists: Lists,
    is_alias: bool,
    has_fixed_ranges: bool,
    bed: Option<Bed>,
}

impl Reading<'_, '_> {
    /// The scenario with its quick values, and with those of `--full`. None where a table could not be read; faults tell why.
    fn scenarios(mut self) -> Option<(Scenario, Scenario)> {
        let top = self.sections.table::<Top>("");
        let technologies = self.technologies();
        let duts = self.duts(technologies);
        let traffic = self.sections.table::<Traffic>("traffic");
        let sweep = self.sections.table::<Sweep>("sweep");
        let axes: Vec<Option<SweptAxis>> = AXES.iter().filter_map(|axis| self.axis(axis)).collect();
        let tester = self.sections.table::<Tester>("tester");
        let quick = self.sections.table::<Measure>("measure");
        let time_limit = self.sections.table::<TimeLimit>("measure");
        let full = self.sections.table::<Measure>("full");
        let [procedures, full_procedures] =
            ["measure", "full"].map(|table| Keys::read(self.lists.procedures, self.sections, table));
        let full_connections = self.sections.table::<FullConnections>("full");
        let impair = self.beside::<Impair>("link.impair");
        let capture = self.beside::<Capture>("link.capture");
        let (top, duts, sweep, mut tester) = (top?, duts?, sweep?, tester?);
        if let Some(bed) = &self.bed {
            tester.workers = bed.lanes();
        }
        let full_connections = full_connections?.connections;
        let smallest = sweep.connections.iter().chain(&full_connections).copied().min();
        let rings = u64::from(sweep.cores.values.iter().copied().max().unwrap_or(1)) * u64::from(tester.workers);
        let link = self.link(&duts, usual_depth(smallest, rings));
        let mut scenario = Scenario {
            name: top.name,
            about: top.about,
            compare: top.compare,
            limits: top.limits,
            allow_addresses: top.allow_addresses,
            duts,
            device: None,
            link: link?,
            bed: self.bed.take(),
            impair: impair?,
            capture: capture?,
            tester,
            traffic: traffic?,
            following: self.following(),
            sweep,
            axes: axes.into_iter().collect::<Option<_>>()?,
            measure: quick?,
            procedures: procedures?,
            time_limit: time_limit?.time_limit,
            parameters: BTreeMap::new(),
            full: false,
            cell: None,
        };
        let sizes = self.sections.tree.table("sweep").and_then(|sweep| sweep.get(FRAME_SIZE));
        if sizes.is_some_and(|sizes| sizes.node.value.as_text() == Some(RFC_8219)) {
            scenario.keep_carried_frame_sizes();
        }
        scenario.take_largest_frame_size();
        scenario.take_smallest_foreground();
        let mut conforming =
            Scenario { measure: full?, procedures: full_procedures?, time_limit: None, full: true, ..scenario.clone() };
        conforming.sweep.connections = full_connections;
        Some((with_ranges(with_profile(scenario)), with_ranges(with_profile(conforming))))
    }

    fn following(&self) -> DerivedRanges {
        let follows = |key: &str| !self.has_fixed_ranges && !self.sections.has(key);
        let (source, destination) = (follows("traffic.source-ports"), follows("traffic.destination-ports"));
        DerivedRanges { source, destination, divisor: 0 }
    }

    /// An axis that the scenario sweeps; none inside where its values are refused.
    fn axis(&mut self, axis: &'static tech::Axis) -> Option<Option<SweptAxis>> {
        self.sections.has(&format!("sweep.{}", axis.name())).then(|| {
            let values = self.sections.section("sweep").get(axis.name(), &axis.kind, axis.key.default);
            values.map(|values| SweptAxis { axis: axis.name().to_owned(), values })
        })
    }

    fn beside<T: key::Table>(&mut self, path: &str) -> Option<Option<T>> {
        if self.sections.has(path) { self.sections.table::<T>(path).map(Some) } else { Some(None) }
    }

    /// The technologies of the file in the order of the reference page; none where one cannot be read.
    fn technologies(&mut self) -> Vec<Option<Box<dyn Technology>>> {
        let path = |entry: &tech::ListEntry| format!("technology.{}", entry.name());
        let found = self.lists.technologies.iter().filter(|entry| self.sections.has(&path(entry)));
        let found: Vec<&tech::ListEntry> = found.copied().collect();
        if let [first, second, ..] = found[..]
            && !self.sections.has("dut.embedded")
            && !self.sections.has("dut.external")
        {
            let refusal = self.sections.refuse("only [dut.embedded] and [dut.external] can have several technologies");
            let refusal = refusal.at(At::key(path(second)), "the second").at(At::key(path(first)), "the first");
            refusal.instead("keep one of the tables");
            return vec![None];
        }
        let read = |entry: &tech::ListEntry| {
            let mut section = self.sections.section(&path(entry));
            let technology = (entry.read)(&mut section);
            if let Some(technology) = &technology {
                technology.faults().into_iter().for_each(|fault| section.fault(fault));
            }
            technology
        };
        found.into_iter().map(read).collect()
    }

    /// The devices in the order of the reference page and not of the file, gateways first.
    fn duts(&mut self, technologies: Vec<Option<Box<dyn Technology>>>) -> Option<Vec<Dut>> {
        self.one_gateway();
        let (is_alias, has_bed) = (self.is_alias, self.bed.is_some());
        let mut given = DeviceTables { sections: self.sections, technologies, is_alias, has_bed };
        let mut duts = Vec::new();
        for kind in self.lists.kinds {
            if given.sections.has(&kind.path()) {
                duts.extend((kind.read)(&mut given));
            }
        }
        if !given.technologies.is_empty() {
            let refusal = given.sections.refuse("a technology needs the embedded gateway");
            let refusal = refusal.at(At::key("technology"), "no device uses it");
            refusal.instead("add [dut.embedded], or remove the technology");
        }
        if duts.is_empty() && !given.sections.has("dut") {
            let refusal = given.sections.refuse("the scenario has no device under test");
            refusal.instead("add a table for one, for example [dut.embedded] or [dut.nftables]");
        }
        let mut duts = duts.into_iter().collect::<Option<Vec<Dut>>>().filter(|duts| !duts.is_empty())?;
        duts.sort_by_key(|dut| !dut.has_workers());
        Some(duts)
    }

    /// A device of known truth stands beside no other gateway.
    fn one_gateway(&mut self) {
        let known = format!("dut.{KNOWN_TRUTH}");
        let others = ["dut.external", "dut.embedded"];
        if let Some(other) = others.into_iter().find(|path| self.sections.has(path) && self.sections.has(&known)) {
            let refusal = self.sections.refuse("a scenario can have only one gateway");
            let refusal = refusal.at(At::key(known), "the second").at(At::key(other), "the first");
            refusal.instead("keep one of the tables");
        }
    }

    fn link(&mut self, duts: &[Dut], usual_depth: usize) -> Option<Link> {
        const KINDS: [&str; 3] = ["link.in-process", "link.tap", "link.veth"];
        if self.bed.is_some() {
            return Some(Link::Ports);
        }
        let mut found = KINDS.into_iter().filter(|kind| self.sections.has(kind));
        let Some(kind) = found.next() else {
            // Left out, it is the simplest link that fits the first device.
            let kernel = duts.first().is_some_and(|dut| !dut.is_in_process());
            return Some(if kernel { Link::Tap } else { Link::InProcess { depth: usual_depth } });
        };
        if let Some(other) = found.next() {
            let name = |path: &str| path.trim_start_matches("link.").to_owned();
            let refusal = self.sections.refuse("a scenario can have only one link");
            let refusal = refusal.at(At::key(other), format!("second link `{}`", name(other)));
            refusal.at(At::key(kind), format!("first link `{}`", name(kind))).instead("keep one of the tables");
        }
        Some(match kind {
            "link.in-process" => {
                let depth = self.sections.table::<InProcess>(kind)?.depth;
                Link::InProcess { depth: depth.unwrap_or(usual_depth) }
            }
            "link.tap" => Link::Tap,
            _ => Link::Veth { io: self.sections.table::<Veth>(kind)?.io },
        })
    }
}

/// A scenario with the metric that `profile = true` adds.
fn with_profile(mut scenario: Scenario) -> Scenario {
    let measure = &mut scenario.measure;
    let profiles = scenario.procedures.list().iter().filter(|procedure| measure.profile && procedure.profiles);
    for metric in profiles.flat_map(|procedure| procedure.measured()) {
        if !measure.metrics.iter().any(|key| key == metric.key) {
            measure.metrics.push(metric.key.to_owned());
        }
    }
    scenario
}

/// A scenario with the port ranges of its largest number of connections.
fn with_ranges(mut scenario: Scenario) -> Scenario {
    scenario.following.divisor = divisor(&scenario.sweep.connections);
    let mut flows = scenario.traffic.flows.clone();
    scenario.fill_ranges(0, &mut flows);
    scenario.traffic.flows = flows;
    scenario
}

/// Default ring size of the in-process link in frames: enough to absorb a preemption of a tenth of a millisecond, and
/// few enough for the smallest number of connections (METHODOLOGY.md, buffers).
fn usual_depth(connections: Option<Count>, rings: u64) -> usize {
    const MOST: usize = 2048;
    let fits = connections.map_or(MOST, |n| (n / 100 / rings.max(1)) as usize);
    1 << fits.clamp(crate::tables::LEAST_DEPTH as usize, MOST).ilog2()
}
