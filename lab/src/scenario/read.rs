//! From text to scenario: what each key means and what it is when it is left out. TOML goes through `tree`,
//! single values through `section`, rules between values through `check`; nothing but files is read here,
//! so a scenario is refused before anything is touched.

use super::axis::{AXES, Axis, MOST_SUBSCRIBERS};
use super::check;
use super::check_nat;
use super::diagnostic::{Complaints, Diagnostic, Place, Source, nearest};
use super::draft::{AxisDraft, Draft, DutDraft, DutKind, LinkDraft, MeasureDraft, Nat44Draft, TrafficDraft, rings};
use super::nat::Words;
use super::quantity::WrittenRate;
use super::section::{self, Given, Section, Spot};
use super::technology::{self, PLAYS, Plays, Technology};
use super::tree::{self, Entry, Table, Value};
use super::{Capture, Impair, Link, Mapping, Scenario, VETH_IO, VethIo, schema};
use dut::software::conntrack::{MOST_BUCKETS, MOST_ENTRIES};
use method::{Count, Direction, Nanos, Order};
use std::path::{Path, PathBuf};
use wire::{AddrRange, PortRange};

/// What the command line says about a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Use the values of `[full]`: a conforming run.
    pub full: bool,
    /// `KEY=VALUE` overrides, in order; the last one of a key counts.
    pub set: Vec<String>,
}

/// A scenario that passed all checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The typed scenario, overrides applied.
    pub scenario: Scenario,
    /// The text of the file, verbatim.
    pub text: String,
    /// What is right and still unwise, one sentence each.
    pub notes: Vec<String>,
    /// What it was read from: the file and the overrides.
    sources: Vec<Source>,
    /// Where the keys stand that name further files.
    files: Vec<(&'static str, Place)>,
}

/// The keys of technologies that name a file.
const FILES: [&str; 2] = ["softwires", "eam-file"];

impl Loaded {
    /// What is wrong with the file that a technology's key names, under the words that name it.
    pub fn complaint_about_file(&self, key: &str, why: &str) -> Complaints {
        let place = self.files.iter().find(|(name, _)| *name == key).map(|&(_, place)| place);
        let diagnostic = Diagnostic::new(format!("the file of `{key}` cannot be used: {why}"));
        let diagnostic = diagnostic.at(place, "this file");
        let way_out = "mend the file, or name another; a path without / at its beginning is looked for from where natmeter is started";
        Complaints::new(self.sources.clone(), vec![diagnostic.instead(way_out)])
    }
}

/// Why there is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("reading the scenario {}: {cause}; name a scenario file that you may read, such as scenarios/quickstart.toml", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It is wrong.
    #[error(transparent)]
    Wrong(#[from] Complaints),
}

/// The shallowest in-process link, in frames; a burst is as long.
const LEAST_DEPTH: usize = 32;
/// Workers of the tester at most: each has rings with every worker of the gateway.
const MOST_TESTERS: Count = 64;

/// Read and check a scenario file.
///
/// # Errors
/// When the file cannot be read, and everything that is wrong with it.
pub fn read(path: &Path, options: &Options) -> Result<Loaded, ScenarioError> {
    let unreadable = |cause| ScenarioError::Unreadable { path: path.to_owned(), cause };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(parse(&path.display().to_string(), &text, options)?)
}

/// Check a scenario that is already text, called `name` in messages.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(name: &str, text: &str, options: &Options) -> Result<Loaded, Complaints> {
    let mut sources = vec![Source { name: name.to_owned(), text: text.to_owned() }];
    sources.extend(options.set.iter().map(|set| Source { name: "--set".to_owned(), text: set.clone() }));
    let mut root = match tree::parse(&sources[0]) {
        Ok(root) => root,
        Err(diagnostics) => return Err(Complaints::new(sources, diagnostics)),
    };
    let mut log = Vec::new();
    for (at, source) in sources.iter().enumerate().skip(1) {
        log.extend(tree::apply(&mut root, source, at, options.full).err().map(|diagnostic| *diagnostic));
    }
    let draft = draft(&root, &mut log);
    check::check(&draft, &mut log);
    if log.is_empty() {
        let (scenario, text) = (draft.build(options.full), text.to_owned());
        let notes = check_nat::notes(&draft);
        return Ok(Loaded { scenario, text, notes, files: files(&draft), sources });
    }
    Err(Complaints::new(sources, log))
}

/// Where the keys stand that name files.
fn files(draft: &Draft) -> Vec<(&'static str, Place)> {
    let words = draft.duts.iter().filter_map(|dut| match &dut.kind {
        DutKind::Technology { words, .. } => Some(words),
        _ => None,
    });
    words.flat_map(|words| FILES.iter().filter_map(|&key| Some((key, words.at(key)?)))).collect()
}

fn draft(root: &Table, log: &mut Vec<Diagnostic>) -> Draft {
    let mut top = Section::root(root, log);
    let name = top.get("name", section::name);
    let about = top.get("about", section::text);
    let allow_addresses = top.list("allow-addresses", section::addresses);
    top.finish();
    if name.place.is_none() {
        log.push(Diagnostic::new("the scenario has no name").instead("write name = \"…\" in its first line"));
    }
    let duts = duts(root, log);
    let traffic = traffic(root, log);
    let mut sweep = Section::new(root, "sweep", "sweep", log);
    let connections = sweep.list("connections", section::count_in(1..=1 << 32));
    let one = Spot { value: 1, place: None, sound: true };
    let cores = sweep.list("cores", section::count_in(1..=1024)).or(vec![one]);
    let (axes, axes_sound) = axes(&mut sweep);
    sweep.finish();
    let (quick, full) = measures(root, &connections, log);
    let testers = testers(root, log);
    let link = link(root, &duts, usual_depth([&quick, &full], rings(&cores, &testers)), log);
    Draft {
        name: name.value.unwrap_or_default(),
        about: about.value.unwrap_or_default(),
        allow_addresses: allow_addresses.value.unwrap_or_default(),
        duts,
        link,
        testers,
        traffic,
        cores,
        axes,
        axes_sound,
        quick,
        full,
    }
}

/// The further axes that are swept, and whether the words of all are right.
fn axes(sweep: &mut Section<'_>) -> (Vec<AxisDraft>, bool) {
    let mut sound = true;
    let read = |axis: &'static Axis| {
        let given = sweep.list(axis.name, section::count_in(1..=axis.most));
        let place = given.place?;
        sound &= given.value.is_some();
        Some(AxisDraft { axis, values: given.value?, place })
    };
    (AXES.iter().filter_map(read).collect(), sound)
}

/// The kinds below `[dut]` or `[link]` that the scenario has, in the order of the schema and not of the file.
fn kinds<'a>(root: &'a Table, of: &str, log: &mut Vec<Diagnostic>) -> (Option<&'a Table>, Vec<(&'static str, Place)>) {
    let table = match root.get(of) {
        Some(Entry { node: tree::Node { value: Value::Table(table), .. }, .. }) => table,
        Some(entry) => {
            let example = schema::kinds(of).next().unwrap_or_default();
            let diagnostic = Diagnostic::new(format!("`{of}` must be a table of kinds"));
            let diagnostic = diagnostic.at(entry.node.place, format!("{} here", entry.node.value.kind()));
            log.push(diagnostic.instead(format!("write a table for a kind, for example [{of}.{example}]")));
            return (None, Vec::new());
        }
        None => return (None, Vec::new()),
    };
    let is_known = |name: &str| {
        schema::kinds(of).any(|kind| kind == name) || (of == "link" && schema::BESIDE_A_LINK.contains(&name))
    };
    for entry in table.entries.iter().filter(|entry| !is_known(&entry.name)) {
        let all: Vec<String> = schema::kinds(of).map(|kind| format!("[{of}.{kind}]")).collect();
        let way_out = match nearest(&entry.name, schema::kinds(of)) {
            Some(meant) => format!("did you mean [{of}.{meant}]?"),
            None => format!("a kind is a table of its own: {}", all.join(", ")),
        };
        let what = if of == "dut" { "device under test" } else { "link" };
        let diagnostic = Diagnostic::new(format!("unknown kind of {what} `{}`", entry.name));
        log.push(diagnostic.at(entry.key, "no such kind").instead(way_out));
    }
    let found = schema::kinds(of).filter_map(|kind| table.get(kind).map(|entry| (kind, entry.key)));
    (Some(table), found.collect())
}

fn duts(root: &Table, log: &mut Vec<Diagnostic>) -> Vec<DutDraft> {
    let before = log.len();
    let (Some(table), found) = kinds(root, "dut", log) else {
        if log.len() == before {
            let diagnostic = Diagnostic::new("the scenario has no device under test");
            log.push(diagnostic.instead("add a table for one, for example [dut.embedded] or [dut.nftables]"));
        }
        return Vec::new();
    };
    if found.is_empty() && log.len() == before {
        log.push(
            Diagnostic::new("the scenario has no device under test").instead("add a table for one: [dut.embedded]"),
        );
    }
    let technology = match technology::technology(root, false, log) {
        Some(technology) => Read::Right(Box::new(technology), Words::of(root)),
        None if root.get("technology").is_some() => Read::Wrong,
        None => Read::Absent,
    };
    if let (Some(entry), true) = (root.get("technology"), found.iter().all(|(kind, _)| *kind != "embedded")) {
        let diagnostic =
            Diagnostic::new("a technology is what the embedded gateway does").at(entry.key, "nobody has it");
        log.push(diagnostic.instead("add [dut.embedded], or leave the technology out"));
    }
    let read = |(kind, key)| Some(DutDraft { key, kind: dut(table, kind, technology.clone(), log)? });
    found.into_iter().filter_map(read).collect()
}

/// The technology's table and its words.
#[derive(Clone)]
enum Read {
    Absent,
    /// It has been complained about.
    Wrong,
    Right(Box<Technology>, Words),
}

/// What stands in a DUT's table; nothing if it is not known what the device does, because then nothing more can be said of it.
fn dut(table: &Table, kind: &'static str, technology: Read, log: &mut Vec<Diagnostic>) -> Option<DutKind> {
    let mut section = Section::new(table, kind, &format!("dut.{kind}"), log);
    let read = match (kind, technology) {
        ("linux-forwarding", _) => DutKind::Forwarding,
        ("simulated", _) => DutKind::Simulated {
            capacity: section.get("capacity", section::rate).or(WrittenRate::Frames(5_000_000)),
            set_up_rate: section.get("set-up-rate", section::rate).or(WrittenRate::Frames(1_000_000)),
            seed: section.get("seed", section::count).value.unwrap_or(1),
        },
        ("embedded", Read::Wrong) => {
            section.get("plays", section::choice(PLAYS));
            section.finish();
            return None;
        }
        ("embedded", Read::Right(mut technology, words)) => {
            // A gateway has the timeout of the RFCs when nobody says; in a test no connection is to end by itself.
            if let Some(state) = technology.state_mut().filter(|_| words.at("udp-timeout").is_none()) {
                state.udp_timeout = NO_TIMEOUT;
            }
            let plays = section.get("plays", section::choice(PLAYS)).value.unwrap_or(Plays::Dual);
            section.refuse(
                &["mapping", "pool", "pool-ports", "table", "udp-timeout"],
                "the technology has this",
                "write it into the technology's own table",
            );
            DutKind::Technology { plays, technology, words }
        }
        ("embedded", Read::Absent) => {
            section.refuse(
                &["plays"],
                "a NAT44 has no parts to play",
                "leave it out, or add the table of a technology, for example [technology.map-t]",
            );
            let words = [
                ("endpoint-independent", Mapping::EndpointIndependent),
                ("address-and-port-dependent", Mapping::AddressAndPortDependent),
            ];
            let mapping = section.get("mapping", section::choice(&words)).value.unwrap_or_default();
            DutKind::Embedded(nat44(&mut section, mapping, 1 << 32))
        }
        (kind, _) => {
            let nat = nat44(&mut section, Mapping::AddressAndPortDependent, MOST_ENTRIES);
            let hash_size = section.get("hash-size", section::count_in(1..=MOST_BUCKETS));
            DutKind::KernelNat44(kind, Nat44Draft { hash_size, ..nat })
        }
    };
    section.finish();
    Some(read)
}

fn nat44(section: &mut Section<'_>, mapping: Mapping, most: Count) -> Nat44Draft {
    Nat44Draft {
        pool: section.get("pool", section::addresses).or(AddrRange::one([198, 19, 0, 1].into())),
        pool_ports: section.get("pool-ports", section::ports).or(PortRange { first: 1024, last: 65535 }),
        mapping,
        table: section.get("table", section::count_in(1..=most)),
        hash_size: Given { value: None, place: None },
        udp_timeout: section.get("udp-timeout", section::duration).or(NO_TIMEOUT),
    }
}

/// No trial is as long (RFC 9693, section 4.4).
const NO_TIMEOUT: Nanos = Nanos::from_secs(10_000);

/// Frames that the in-process link holds if nothing else is said: so many that a host which takes a core away for a tenth of
/// a millisecond does no harm, and few enough for the smallest number of connections (METHODOLOGY.md, buffers).
///
/// There are so many of its rings.
fn usual_depth(measures: [&MeasureDraft; 2], rings: u64) -> usize {
    const MOST: usize = 2048;
    let connections = measures.into_iter().filter_map(|measure| measure.connections.value.as_ref()).flatten();
    let fits = connections.map(|n| (n.value / 100 / rings) as usize).min().unwrap_or(MOST);
    1 << fits.clamp(LEAST_DEPTH, MOST).ilog2()
}

fn link(root: &Table, duts: &[DutDraft], usual_depth: usize, log: &mut Vec<Diagnostic>) -> LinkDraft {
    let before = log.len();
    let (table, found) = kinds(root, "link", log);
    let impair = table.and_then(|table| impair(table, log));
    let capture = table.and_then(|table| capture(table, log));
    let Some(table) = table.filter(|_| !found.is_empty()) else {
        // Left out, it is the simplest link that fits the first device.
        let kernel = duts.first().is_some_and(|dut| !dut.is_in_process());
        let link = if kernel { Link::Tap } else { Link::InProcess { depth: usual_depth } };
        return LinkDraft { key: None, link, depth: None, sound: log.len() == before, impair, capture };
    };
    if let [(first, place), (second, other), ..] = found[..] {
        let diagnostic = Diagnostic::new("a scenario has one link").at(other, format!("second link `{second}`"));
        log.push(diagnostic.at(place, format!("first link `{first}`")).instead("keep one of the tables"));
    }
    let (kind, key) = found[0];
    let mut section = Section::new(table, kind, &format!("link.{kind}"), log);
    let mut depth = None;
    let link = match kind {
        "in-process" => {
            let given = section.get("depth", section::count_in(LEAST_DEPTH as u64..=1 << 20));
            depth = given.place;
            Link::InProcess { depth: given.value.map_or(usual_depth, |depth| depth as usize) }
        }
        "tap" => Link::Tap,
        _ => Link::Veth { io: section.get("io", section::choice(VETH_IO)).value.unwrap_or(VethIo::AfPacket) },
    };
    section.finish();
    LinkDraft { key: Some(key), link, depth, sound: log.len() == before, impair, capture }
}

fn impair(link: &Table, log: &mut Vec<Diagnostic>) -> Option<(Place, Impair)> {
    let place = link.get("impair")?.key;
    let mut section = Section::new(link, "impair", "link.impair", log);
    let mut share = |key: &str| section.get(key, section::share_or_none).value.unwrap_or(0);
    let [loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm] =
        ["loss", "duplicate", "reorder", "corrupt"].map(&mut share);
    let delay = section.get("delay", section::duration_in(Nanos(0)..=Nanos::from_secs(1))).value.unwrap_or_default();
    let seed = section.get("seed", section::count).value.unwrap_or(1);
    section.finish();
    Some((place, Impair { loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm, delay, seed }))
}

fn capture(link: &Table, log: &mut Vec<Diagnostic>) -> Option<(Place, Capture)> {
    const FRAMES: u64 = 64;
    let place = link.get("capture")?.key;
    let mut section = Section::new(link, "capture", "link.capture", log);
    let frames = section.get("frames", section::count_in(1..=100_000)).value.unwrap_or(FRAMES) as u32;
    section.finish();
    Some((place, Capture { frames }))
}

/// Defaults suit stateful tests: one address a side (RFC 2544, appendix C.2.2), 40,000 × 100 ports.
fn traffic(root: &Table, log: &mut Vec<Diagnostic>) -> TrafficDraft {
    let mut section = Section::new(root, "traffic", "traffic", log);
    let directions = [("both", Direction::Both), ("forward", Direction::Forward), ("reverse", Direction::Reverse)];
    let orders = [("random", Order::Random), ("round-robin", Order::RoundRobin)];
    let traffic = TrafficDraft {
        frame_size: section.get("frame-size", section::count).or(64),
        ttl: section.get("ttl", section::count_in(2..=255)).value.unwrap_or(10) as u8,
        inside: section.get("inside", section::addresses).or(AddrRange::one([198, 18, 0, 2].into())),
        subscribers: section.get("subscribers", section::count_in(1..=MOST_SUBSCRIBERS)).or(1),
        source_ports: section.get("source-ports", section::ports).or(PortRange { first: 1024, last: 41023 }),
        remote: section.get("remote", section::addresses).or(AddrRange::one([198, 19, 0, 2].into())),
        destination_ports: section.get("destination-ports", section::ports).or(PortRange { first: 1, last: 100 }),
        direction: section.get("direction", section::choice(&directions)).value.unwrap_or(Direction::Both),
        responder_order: section.get("responder-order", section::choice(&orders)).value.unwrap_or_default(),
        seed: section.get("seed", section::count).value.unwrap_or(1),
    };
    section.finish();
    traffic
}

/// Workers of the tester.
fn testers(root: &Table, log: &mut Vec<Diagnostic>) -> Spot<Count> {
    let mut section = Section::new(root, "tester", "tester", log);
    let workers = section.get("workers", section::count_in(1..=MOST_TESTERS)).or(1);
    section.finish();
    workers
}

/// `[measure]` or `[full]` as it stands.
struct Written {
    connections: Given<Vec<Spot<Count>>>,
    metrics: Given<Vec<Spot<String>>>,
    repetitions: Given<Count>,
    duration: Given<Nanos>,
    waits: [Given<Nanos>; 4],
    shares: [Given<u32>; 3],
    alpha: Given<u32>,
    max_rate: Given<WrittenRate>,
    min_rate: Given<WrittenRate>,
    validate_at_most: Given<WrittenRate>,
    verify: Given<Count>,
    phase1_share: Given<u32>,
    time_limit: Given<Nanos>,
}

fn written(root: &Table, name: &str, log: &mut Vec<Diagnostic>) -> Written {
    let hour = || section::duration_in(Nanos(0)..=Nanos::from_secs(3600));
    let mut section = Section::new(root, name, name, log);
    let has_connections = schema::keys(name).contains(&"connections");
    let none = Given { value: None, place: None };
    let has_limit = schema::keys(name).contains(&"time-limit");
    let (least, most) = (Nanos::from_secs(1), Nanos::from_secs(30 * 86_400));
    let written = Written {
        connections: if has_connections { section.list("connections", section::count_in(1..=1 << 32)) } else { none },
        metrics: section.list("metrics", section::text),
        repetitions: section.get("repetitions", section::count_in(1..=10_000)),
        duration: section.get("duration", section::duration_in(Nanos::from_millis(1)..=Nanos::from_secs(86_400))),
        waits: [
            section.get("start-delay", hour()),
            section.get("drain", hour()),
            section.get("settle", hour()),
            // T of RFC 9693: no longer than the drain of RFC 2544, section 23.
            section.get("phase1-drain", section::duration_in(Nanos(0)..=Nanos::from_secs(2))),
        ],
        shares: ["error", "acceptance", "phase1-acceptance"].map(|key| section.get(key, section::share)),
        alpha: section.get("alpha", section::share),
        max_rate: section.get("max-rate", section::rate),
        min_rate: section.get("min-rate", section::rate),
        validate_at_most: section.get("validate-at-most", section::rate),
        verify: section.get("verify", section::count_in(1..=100)),
        phase1_share: section.get("phase1-share", section::share),
        time_limit: if has_limit {
            section.get("time-limit", section::duration_in(least..=most))
        } else {
            Given { value: None, place: None }
        },
    };
    section.finish();
    written
}

/// What counts without and with `--full`. With it, all that makes a run conform comes from `[full]` or the
/// conforming defaults (docs/scenario.md, full), the rest from `[full]` or else from where it stands for the quick run.
fn measures(
    root: &Table,
    connections: &Given<Vec<Spot<Count>>>,
    log: &mut Vec<Diagnostic>,
) -> (MeasureDraft, MeasureDraft) {
    let quick = written(root, "measure", log);
    let mut full = written(root, "full", log);
    full.metrics = full.metrics.or_else(quick.metrics.clone());
    full.alpha = full.alpha.or_else(quick.alpha.clone());
    full.max_rate = full.max_rate.or_else(quick.max_rate.clone());
    full.min_rate = full.min_rate.or_else(quick.min_rate.clone());
    full.validate_at_most = full.validate_at_most.or_else(quick.validate_at_most.clone());
    full.phase1_share = full.phase1_share.or_else(quick.phase1_share.clone());
    full.connections = full.connections.or_else(connections.clone());
    (resolve(Written { connections: connections.clone(), ..quick }), resolve(full))
}

fn resolve(written: Written) -> MeasureDraft {
    let default = |key: &str| Spot { value: key.to_owned(), place: None, sound: true };
    let [start_delay, drain, settle, phase1_drain] = written.waits;
    let [error, acceptance, phase1_acceptance] = written.shares;
    MeasureDraft {
        connections: written.connections,
        metrics: written.metrics.or(vec![default("max_conn_est_rate"), default("throughput")]),
        repetitions: written.repetitions.value.unwrap_or(10) as u32,
        duration: written.duration.or(Nanos::from_secs(60)),
        start_delay: start_delay.value.unwrap_or(Nanos::from_secs(2)),
        drain: drain.value.unwrap_or(Nanos::from_secs(2)),
        settle: settle.value.unwrap_or(Nanos::from_secs(5)),
        phase1_drain: phase1_drain.value.unwrap_or(Nanos::from_millis(500)),
        error_ppm: error.value.unwrap_or(1_000),
        acceptance_ppm: acceptance.value.unwrap_or(1_000_000),
        phase1_acceptance_ppm: phase1_acceptance.value.unwrap_or(1_000_000),
        alpha: Given { value: written.alpha.value.map(Some), place: written.alpha.place }.or(None),
        max_rate: written.max_rate,
        min_rate: written.min_rate,
        validate_at_most: written.validate_at_most,
        verify: written.verify.value.map(|tries| tries as u32),
        phase1_share_ppm: written.phase1_share.value,
        time_limit: written.time_limit.value,
    }
}
