//! Comparison with published results: the shipped table, and the search for the value with the nearest conditions. The
//! rules for reading the table are here: totals of both directions, loss tolerance, errata.

use super::Report;
use super::number::{self, grouped};
use super::result::PointResult;
use crate::folder::HASH_TABLE_SIZE;
use crate::published::{self, Conditions, Erratum, PublishedDocument, PublishedFigure, VALUES};
use document::report::Comparison;
use document::{Bound, Cell, Column, Form, Quantity, Table, row};
use method::Direction;
use procedure::Sends;
use procedure::metric::{self, TotalOf, Unit, total_of};
use scenario::axis;
use scenario::{Dut, Imix, Mapping, Plays, Scenario};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::LazyLock;

/// Documents whose figures are also in a later one.
const REPEATED: [&str; 2] = ["transition-scalability-02", "v6ops-slides-2022"];

/// A published median with its conditions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedValue {
    /// Its place and its conditions.
    #[serde(flatten)]
    pub under: Conditions,
    /// Key of the metric.
    pub metric: String,
    /// The value; frames per second are per direction.
    pub value: f64,
    /// Validation factor.
    pub alpha: Option<f64>,
}

/// A measured value and the published one nearest to it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NearestPublished {
    /// Name of the DUT.
    pub dut: String,
    /// Key of the metric.
    pub metric: String,
    /// Measured median, per direction.
    pub measured: f64,
    /// Whether the measured value is a lower bound.
    pub at_least: bool,
    /// Its conditions in words.
    pub conditions: String,
    /// The published value.
    pub published: PublishedValue,
    /// Measured value divided by published value.
    pub ratio: f64,
    /// How the published set-up differs from the measured one: "published (here measured)".
    pub differences: Vec<String>,
    /// Notes for the comparison.
    pub notes: Vec<String>,
}

static MEDIANS: LazyLock<Vec<PublishedValue>> = LazyLock::new(medians);

/// The published median of this metric whose conditions are nearest, for this technology.
pub fn nearest(metric: &str, dut: &Dut, connections: u64, cores: u32) -> Option<&'static PublishedValue> {
    // Published tables of DNS queries are of pairs of edges.
    if is_of_queries(metric) {
        return None;
    }
    // A stateless DUT's throughput is what the tables call forwarding throughput.
    let metric = if dut.is_forwarding() { metric::forwarding() } else { metric };
    let wanted = dut.published()?;
    let software = dut.name().split('-').next().unwrap_or_default();
    MEDIANS
        .iter()
        .filter(|p| p.metric == metric && p.under.technology == wanted && p.is_of(connections))
        .map(|p| (distance(p, software, connections, cores), p))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, p)| p)
}

pub(super) fn is_of_queries(metric: &str) -> bool {
    procedure::of(procedure::ALL, metric).is_some_and(|procedure| procedure.sends == Sends::Queries)
}

/// Distance between two sets of conditions: factors count by their logarithm, cores twice as much as connections.
fn distance(p: &PublishedValue, software: &str, connections: u64, cores: u32) -> f64 {
    let factor = |ours: u64, theirs: Option<u64>| match theirs {
        Some(theirs) if ours > 0 && theirs > 0 => (ours as f64 / theirs as f64).ln().abs(),
        // Not stated: farther than a neighbour in a series, nearer than another order of magnitude.
        _ if ours > 0 => 2.0,
        _ => 0.0,
    };
    let crowded = match (p.under.connections, p.under.hash_table) {
        (Some(n), Some(buckets)) if n > buckets => (n as f64 / buckets as f64).ln(),
        _ => 0.0,
    };
    let other_software = ["iptables", "nftables"].contains(&software) && !p.under.implementation.starts_with(software);
    factor(cores.into(), p.under.cores)
        + 0.5 * factor(connections, p.under.connections)
        + 0.1 * crowded
        + if other_software { 0.7 } else { 0.0 }
}

/// All comparisons of a report. If several results of a DUT have the same nearest published value, only the nearest result
/// is compared with it.
pub fn beside(report: &Report) -> Vec<NearestPublished> {
    let scenario = &report.header.scenario;
    let mut found: Vec<(f64, &PointResult, &'static PublishedValue)> = Vec::new();
    for result in report.results.iter().filter(|c| c.summary.is_some() && !c.nothing_passed()) {
        let Some(dut) = scenario.duts.get(result.dut) else { continue };
        let Some(published) = nearest(&result.metric, dut, result.connections, result.cores) else { continue };
        let distance = distance(published, "", result.connections, result.cores);
        let same = |(_, c, p): &&mut (f64, &PointResult, &PublishedValue)| {
            c.dut == result.dut && c.metric == result.metric && std::ptr::eq(*p, published)
        };
        match found.iter_mut().find(same) {
            Some(other) if distance < other.0 => *other = (distance, result, published),
            Some(_) => {}
            None => found.push((distance, result, published)),
        }
    }
    found.into_iter().filter_map(|(_, result, published)| compare(scenario, result, published)).collect()
}

fn compare(scenario: &Scenario, result: &PointResult, published: &PublishedValue) -> Option<NearestPublished> {
    // An upper bound cannot be compared with a value.
    let measured = result
        .median()
        .filter(|&median| result.bound_of(median) != Bound::LessThan && published.compares_with(result))?;
    let mut conditions = vec![result.cores_in_words()];
    if result.connections > 0 {
        conditions.push(format!("{} connections", number::si(result.connections as f64, 4)));
    }
    let here = scenario.at(result.dut, result.connections, &result.axes);
    let flows = &here.traffic.flows;
    conditions.push(ports(flows.source_ports.count().into(), flows.destination_ports.count().into()));
    conditions.extend(axis::in_order(&result.axes).map(|(axis, n)| axis.phrase(n)));
    let differences = differences(scenario, result, published);
    let mut notes = Vec::new();
    if !differences.is_empty() {
        notes.push(format!("The published set-up differs: {}.", differences.join("; ")));
    }
    if let Some(tolerance) = published.under.tolerance.filter(|&t| t > 0.0) {
        let accepted = number::significant((1.0 - tolerance) * 100.0, 6);
        notes
            .push(format!("The published value has an acceptance of {accepted} %; its zero-loss rate would be lower."));
    }
    notes.extend(errata(published).map(str::to_owned));
    Some(NearestPublished {
        dut: result.dut_name.clone(),
        metric: result.metric.clone(),
        measured,
        at_least: result.at_least(),
        conditions: conditions.join(", "),
        published: published.clone(),
        ratio: measured / published.value,
        differences,
        notes,
    })
}

/// How the set-up of a published value differs from that of a result: test bed, part of the technology, frame size, mapping,
/// directions. Connections, cores and ports are conditions, which stand beside each value.
pub(super) fn differences(scenario: &Scenario, result: &PointResult, published: &PublishedValue) -> Vec<String> {
    if scenario.duts.get(result.dut).is_none() {
        return Vec::new();
    }
    let scenario = &*scenario.at(result.dut, result.connections, &result.axes);
    let (dut, traffic) = (&scenario.duts[result.dut], &scenario.traffic);
    let mut differences = Vec::new();
    if let Some((plays, technology)) = dut.technology()
        && technology.names().has_edges()
        && plays != Plays::Dual
        && published.under.setup.starts_with("dual DUT")
    {
        let words = technology.names().words(plays);
        differences.push(format!("customer edge and provider edge as a pair (here one edge: {words})"));
    }
    if published.under.setup.contains("two routers in series") {
        differences.push("two routers in a row (here one)".to_owned());
    }
    if published.under.setup.contains("split") {
        differences.push("a customer edge of two devices, NAT44 and NAT46 (here of one)".to_owned());
    }
    if let Some(size) =
        published.under.frame_size.filter(|&size| size != traffic.frame_size as u64 || traffic.frame_sizes.is_some())
    {
        let here = traffic.frame_sizes.as_ref().map_or_else(|| traffic.frame_size.to_string(), Imix::in_words);
        differences.push(format!("frames of {size} octets (here {here})"));
    }
    if traffic.mixed_foreground().is_some() {
        differences.push("translated or tunnelled frames alone (here native IPv6 beside them)".to_owned());
    }
    differences.extend(mapping(dut, published));
    let is_rate = result.known.is_some_and(|metric| metric.unit == Unit::FramesPerSecond);
    match traffic.direction {
        _ if !is_rate => {}
        Direction::Both => {}
        Direction::Mixed(ratio) => differences.push(format!("the same rate in both directions (here {ratio})")),
        Direction::Forward | Direction::Reverse => {
            differences.push("frames in both directions (here in one)".to_owned());
        }
    }
    let here = dut.place(scenario).beside_tester();
    differences.extend(here.map(|here| format!("tester and device on machines of their own (here {here})")));
    differences
}

/// The difference between the mapping behaviours, where that of the published software is known: iptables and nftables map
/// each four-tuple, and Jool's NAT64 is that of RFC 6146.
fn mapping(dut: &Dut, published: &PublishedValue) -> Option<String> {
    let theirs = match (published.software(), published.under.technology.as_str()) {
        ("iptables" | "nftables", "stateful NAT44") => Mapping::AddressAndPortDependent,
        ("Jool", "stateful NAT64" | "464XLAT") => Mapping::EndpointIndependent,
        _ => return None,
    };
    let (plays, technology) = dut.technology()?;
    let ours = technology.state().filter(|_| technology.is_stateful(plays))?.mapping;
    (ours != theirs).then(|| match theirs {
        Mapping::AddressAndPortDependent => "address-and-port-dependent mapping (here endpoint-independent)".to_owned(),
        Mapping::EndpointIndependent => "endpoint-independent mapping (here address-and-port-dependent)".to_owned(),
    })
}

fn ports(source: u64, destination: u64) -> String {
    format!("{} × {} ports", grouped(source), grouped(destination))
}

fn errata(p: &PublishedValue) -> impl Iterator<Item = &'static str> {
    let touches = |e: &&Erratum| {
        e.tables.contains(&p.under.table)
            && (e.metrics.is_empty() || e.metrics.contains(&p.metric))
            && (e.connections.is_empty() || p.under.connections.is_some_and(|n| e.connections.contains(&n)))
    };
    published::ERRATA.iter().filter(touches).filter_map(|e| e.note.as_deref())
}

impl PublishedValue {
    pub fn source(&self) -> &'static PublishedDocument {
        published::DOCUMENTS.iter().find(|d| d.id == self.under.document).expect("every table has its document: tested")
    }

    /// The software without its version.
    pub fn software(&self) -> &str {
        self.under.implementation.split(' ').next().unwrap_or_default()
    }

    /// Whether it compares with values at this number of connections: a total of all connections only does at its own.
    fn is_of(&self, connections: u64) -> bool {
        total_of(&self.metric) != Some(TotalOf::Connections) || self.under.connections == Some(connections)
    }

    /// Whether it compares with a result of its metric: a total of all buckets only does at the same size of the hash table.
    pub(super) fn compares_with(&self, result: &PointResult) -> bool {
        let here = || result.extra.get(HASH_TABLE_SIZE).copied();
        self.is_of(result.connections)
            && (total_of(&self.metric) != Some(TotalOf::Buckets) || self.under.hash_table.map(|n| n as f64) == here())
    }

    pub fn conditions(&self) -> String {
        let under = &self.under;
        let of = |value: Option<u64>, unit: &str| value.map(|value| format!("{} {unit}", grouped(value)));
        let counted = |value: Option<u64>, one: &str| value.map(|value| number::plural(value, one));
        let words = [
            Some(under.technology.clone()),
            Some(under.implementation.clone()),
            Some(under.setup.clone()),
            counted(under.cores, "core"),
            of(under.connections, "connections"),
            under.source_ports.zip(under.destination_ports).map(|(source, destination)| ports(source, destination)),
            of(under.hash_table, "hash buckets"),
            of(under.frame_size, "octets"),
            counted(under.experiments, "repetition"),
            self.alpha.map(|alpha| format!("alpha {}", number::significant(alpha, 3))),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A value with its unit in full.
pub fn with_unit(metric: &str, value: f64) -> Quantity {
    Quantity::new(value, Form::Whole(metric::by_key(metric).map_or("", |metric| metric.unit.symbol())))
}

/// Comparisons by published value.
pub fn compared(beside: &[NearestPublished]) -> Vec<Comparison> {
    let line = |b: &&NearestPublished| {
        let bound = if b.at_least { Bound::AtLeast } else { Bound::Exact };
        let form = if b.ratio < 9.995 { Form::Decimals(2, " ×") } else { Form::Digits(3, " ×") };
        let [measured, ratio] =
            [with_unit(&b.metric, b.measured), Quantity::new(b.ratio, form)].map(|quantity| quantity.bounded(bound));
        row(&b.dut, [Cell::from(measured), ratio.into(), b.conditions.as_str().into()])
    };
    let compared = |(p, of): (&PublishedValue, Vec<&NearestPublished>)| {
        let metric = &of[0].metric;
        let title = metric::by_key(metric).map_or("", |metric| metric.title);
        let columns = ["measured", "measured / published"].map(Column::from).into_iter();
        let table = Table::new(title, "device", columns.chain([Column::of_words("conditions")]));
        Comparison {
            table: table.with_parameters(of.iter().map(line)),
            published: format!("{}: {}", with_unit(metric, p.value), p.conditions()),
            source: format!("{}, {}", p.source().cite, p.under.label),
            notes: document::distinct(of.iter().flat_map(|b| &b.notes).cloned()),
        }
    };
    document::grouped_by(beside, |b| &b.published).into_iter().map(compared).collect()
}

/// The conditions common to all measured values of a report.
pub fn common_conditions(report: &Report) -> String {
    let scenario = &report.header.scenario;
    format!(
        "Measured with frames of {} octets, trials of {}, {} ({}).",
        scenario.traffic.frame_size,
        number::duration(scenario.measure.duration.0),
        scenario.measure.repetitions.counted(),
        report.conformance.label
    )
}

/// The documents cited, with their machines, each once.
pub fn documents(beside: &[NearestPublished]) -> Vec<String> {
    let cited = |d: &&PublishedDocument| beside.iter().any(|b| b.published.under.document == d.id);
    let note = |d: &PublishedDocument| d.note.as_ref().map_or_else(String::new, |n| format!(" {n}."));
    published::DOCUMENTS
        .iter()
        .filter(cited)
        .map(|d| format!("{}: {}. {}.{}", d.cite, d.full, d.hardware, note(d)))
        .collect()
}

/// The published medians, in their order, of the last version of each document.
fn medians() -> Vec<PublishedValue> {
    let is_last = |value: &&PublishedFigure| !REPEATED.contains(&value.under.document.as_str());
    VALUES.iter().filter(|value| is_median(value)).filter(is_last).map(median).collect()
}

/// Whether a value is a median, or computed by the document from medians, such as a net time.
pub(super) fn is_median(value: &PublishedFigure) -> bool {
    ["median", "computed"].contains(&value.stat.as_str())
}

pub(super) fn median(value: &PublishedFigure) -> PublishedValue {
    // Throughput is printed as the total of both directions everywhere; a rate here is of one direction. Times here are
    // nanoseconds.
    let factor = match value.unit.as_str() {
        "fps, both directions" => 0.5,
        "s" => 1e9,
        _ => 1.0,
    };
    PublishedValue {
        under: value.under.clone(),
        metric: value.metric.clone(),
        value: value.value * factor,
        alpha: value.place().filter(|_| value.x_name == "alpha"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    const QUICKSTART: &str = include_str!("../../../scenarios/quickstart.toml");
    const KERNEL: &str = include_str!("../../../scenarios/kernel-nat44.toml");
    const SIMULATED: &str = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"1M\"\n";

    /// The device of this name in a scenario.
    fn device(text: &str, name: &str) -> Dut {
        let loaded = parse("x.toml", text, &Options::default(), tech::ALL);
        let scenario = loaded.unwrap_or_else(|complaints| panic!("{}", complaints.render(false))).scenario;
        scenario.duts.into_iter().find(|dut| dut.name() == name).unwrap()
    }

    #[test]
    fn medians_are_those_printed() {
        // draft-lencse-v6ops-transition-scalability-05, Figure 2: 223.5 k connections/s, 414.9 k packets/s in both
        // directions, 910.9 k forwarded, on one core.
        let one = nearest("max_conn_est_rate", &device(QUICKSTART, "embedded"), 1_000_000, 1).unwrap();
        assert_eq!((one.value, one.software(), one.under.label.as_str()), (223_500.0, "iptables", "Figure 2"));
        let throughput = nearest("throughput", &device(KERNEL, "iptables-legacy"), 4_000_000, 1).unwrap();
        assert_eq!(with_unit("throughput", throughput.value).to_string(), "207,450 frames/s per direction");
        let forwarding = nearest("throughput", &device(KERNEL, "linux-forwarding"), 0, 1).unwrap();
        assert_eq!((forwarding.value, forwarding.metric.as_str()), (910_900.0 / 2.0, "ipv4_forwarding_throughput"));
    }

    #[test]
    fn the_nearest_conditions_win() {
        let dut = device(KERNEL, "nftables");
        let near = |n, cores| nearest("max_conn_est_rate", &dut, n, cores).unwrap();
        assert_eq!((near(1_000_000, 1).software(), near(1_000_000, 1).under.cores), ("iptables", Some(1)));
        assert_eq!(near(40_000_000, 16).software(), "nftables");
        assert_eq!(near(800_000_000, 16).under.connections, Some(800_000_000));
    }

    /// Figure 5 of draft-lencse-v6ops-transition-scalability-05: 4.33 s for 1,562,500 connections. Another number of them takes
    /// another time.
    #[test]
    fn a_total_of_all_connections_is_compared_at_their_number_only() {
        let dut = device(KERNEL, "iptables-legacy");
        let at = |metric: &str, connections| nearest(metric, &dut, connections, 16).map(|p| p.value);
        assert_eq!(at("filled_table_deletion_time", 1_562_500), Some(4.33e9));
        assert_eq!(at("filled_table_deletion_time", 1_562_501), None);
        assert_eq!(at("net_deletion_time", 2_000), None);
        assert_eq!(at(procedure::tear_down::MEMORY_CONNTRACK_ENTRIES, 2_000), None);
        assert!(
            at(procedure::tear_down::MEMORY_PER_CONNTRACK_ENTRY.key, 2_000).is_some(),
            "that of a connection is no total"
        );
    }

    #[test]
    fn a_simulated_device_is_compared_with_nothing() {
        let dut = device(SIMULATED, "simulated");
        assert_eq!(nearest("throughput", &dut, 1, 1), None);
    }

    #[test]
    fn a_corrected_label_is_said() {
        let value = MEDIANS
            .iter()
            .find(|p| p.under.table == "transition-scalability-05/figure-9" && p.under.connections == Some(6_250_000))
            .unwrap();
        assert!(errata(value).any(|note| note.contains("prints 6.35M")));
    }
}
