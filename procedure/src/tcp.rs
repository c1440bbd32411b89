//! TCP connections: the highest rate at which connections are opened, used and closed while others
//! are held, and the throughput of segments on held connections. Trials count connections and
//! exchanges.

use crate::known;
use crate::prelude::*;
use document::{Cell, number};
use key::kind::{choice, number, seconds_from, share};
use key::quantity::show_grouped;
use method::trial::{Direction, Emptying, Tcp, TcpClose, TcpCounts, TrialOutcome};

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "tcp",
    title: "TCP life cycle",
    reference: "RFC 3511 section 5.3; RFC 9411 section 7.2; RFC 5382",
    summary: "binary search for the highest rate of TCP connections that complete beside those that are held, or of segments \
              on these",
    metrics: &[MAX_TCP_CONN_RATE, ENTRIES, TRANSITORY_TIME, TCP_THROUGHPUT],
    sends: Sends::Segments,
    stateful: true,
    tables: &[KeyTable::of::<TcpKeys>("tcp")],
    check,
    search,
    sections: &[section],
    known: KNOWN,
    ..Procedure::USUAL
};

/// New TCP connections while others are held.
pub const MAX_TCP_CONN_RATE: Metric = Metric {
    key: "max_tcp_conn_rate",
    title: "Maximum TCP connection rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 3511 section 5.3; RFC 9411 section 7.2",
    definition: "The highest rate at which new TCP connections are opened, have their data and are closed, and each of them \
                 completes, while N others are held open.",
    ..Metric::USUAL
};

/// Connections that the device reports.
const ENTRIES: Metric = Metric {
    higher_is_better: true,
    ..MAX_TCP_CONN_RATE.part(
        "tcp_entries",
        "Entries of the DUT after the trial",
        Unit::Connections,
        "The entries of the connection tracking table after the trial at the maximum TCP connection rate, if the DUT \
         counts them.",
    )
};

/// How long closed connections stay in the table.
const TRANSITORY_TIME: Metric = Metric {
    reference: "RFC 5382 section 5",
    ..MAX_TCP_CONN_RATE.part(
        "tcp_transitory_time",
        "Time to forget closed TCP connections",
        Unit::Nanoseconds,
        "The time from the end of a trial to the first reading of the DUT's table that shows no more entries than before \
         the trial.",
    )
};

/// Requests and answers on TCP connections that are held.
pub const TCP_THROUGHPUT: Metric = Metric {
    key: "tcp_throughput",
    title: "Throughput of TCP segments",
    unit: Unit::FramesPerSecond,
    reference: "RFC 2544 section 26.1; RFC 9693 section 4.7",
    definition: "The highest rate per direction of segments with data on N established TCP connections at which each request \
                 and its answer arrive.",
    ..Metric::USUAL
};

key::table! {
    /// TCP connections that are opened, used and closed while others are held.
    pub struct TcpKeys {
        /// Share of the connections of the point that phase 1 opens and that are held; all others are new ones.
        held_ppm: u32 = "held", share(), or("25 %");
        /// Segments with data from each side of a new connection: requests of the Initiator, each answered by the Responder. They
        /// are as long as UDP frames.
        data: u64 = "data", number(0..=10_000), or("0");
        /// How a new connection ends.
        close: TcpClose = "close", choice(&[
            ("fin", TcpClose::Fin, "FIN of both sides"),
            ("rst", TcpClose::Rst, "RST of the Initiator"),
            ("none", TcpClose::None, "it stays open"),
        ]), or("fin");
        /// After the search, natmeter reads the table of the device until it has forgotten the closed connections, for this long at
        /// most.
        watch: Option<Nanos> = "watch", maybe(seconds_from(1)), computed("the table is not watched");
    }
}

/// Octets of a frame beside the data of its segment: Ethernet, IPv4, TCP and FCS.
const AROUND_DATA: usize = 58;

/// Octets of data in a segment of a frame of this size.
fn payload(frame: usize) -> Count {
    frame.saturating_sub(AROUND_DATA) as Count
}

impl TcpKeys {
    /// Held connections of so many, and what the new ones do.
    fn life(&self, connections: Count) -> (Count, Life) {
        let held = (u128::from(connections) * u128::from(self.held_ppm) / 1_000_000) as Count;
        let exchanges = u16::try_from(self.data).unwrap_or(u16::MAX);
        (held, Life { different: connections - held, exchanges, close: self.close, watch: self.watch })
    }
}

/// Some connections are held, some are new, their data fit their sequence numbers, and the Initiator begins.
fn check(asked: &mut MeasureRequest<'_>) {
    let Some(at) = asked.metric_at(&MAX_TCP_CONN_RATE) else { return };
    let keys = asked.keys.get::<TcpKeys>();
    let what = ("TCP connections", "tcp.held");
    asked.needs_held_and_new(what, &at, |all| keys.life(all).0, "write a share between, such as held = \"25 %\"");
    let octets = payload(asked.frame[0]);
    let most = (MOST_OCTETS - 2) / octets.max(1);
    if keys.data > most {
        let data = show_grouped(keys.data);
        let fault = Fault::new(format!("a TCP connection cannot have {data} segments of {octets} octets"));
        let fault =
            fault.at(asked.at("tcp.data"), "of each side: more than 65,533 octets").at(at.clone(), "has these data");
        asked.refuse(fault.instead(format!("write data = {most}, or a smaller frame-size")));
    }
    if let Some(direction) = (asked.reverse_at)(MAX_TCP_CONN_RATE.key) {
        let fault = Fault::new("no TCP connection is opened");
        let fault = fault.at(direction, "the Initiator sends nothing");
        let fault = fault.at(asked.at("metrics"), "the Initiator opens connections");
        asked.refuse(fault.instead("write \"forward\" or \"both\" in place of \"reverse\""));
    }
}

/// Most octets from a side of a connection, SYN and FIN included: a window without scaling.
const MOST_OCTETS: u64 = 65_535;

/// The life of the new connections in a trial.
#[derive(Clone, Copy)]
struct Life {
    different: Count,
    /// Data segments from each side.
    exchanges: u16,
    close: TcpClose,
    /// How long the table is watched for closed connections after the search; `None` for not at all.
    watch: Option<Nanos>,
}

impl Life {
    fn tcp(&self, watch: Option<Nanos>) -> Tcp {
        let Life { exchanges, close, different, .. } = *self;
        Tcp::Life { exchanges, close, different, watch }
    }
}

/// Highest rate of exchanges on `held` connections, in trials of this length, within the octets that each can send.
fn most_exchanges(held: Count, payload: Count, duration: Nanos) -> Rate {
    Rate::of(held.saturating_mul((MOST_OCTETS - 2) / payload.max(1)), duration)
}

fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let all = context.connected("a TCP metric needs at least 1 connection; set `connections` in [sweep]")?;
    if context.metric.key == TCP_THROUGHPUT.key {
        return throughput(context, all, trials, watch);
    }
    let (connections, life) = context.keys.get::<TcpKeys>().life(context.connections);
    connection_rate(context.settings, Phase2 { connections, ..all }, life, trials, watch)
}

/// Measures the maximum TCP connection rate. The connections of `phase2` are held; `settings.hi`
/// bounds the segments per second of the Initiator, whose side is the busier one.
fn connection_rate(
    settings: &SearchSettings,
    phase2: Phase2,
    life: Life,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    let most = Rate(settings.hi.0 / life.tcp(None).segments()[0]).min(Rate::of(life.different, settings.duration));
    if most.0 == 0 {
        return Err(TrialError::Refused(format!(
            "no TCP connection fits into a trial: {} different ones, and {} segments/s at most; raise `max-rate`, use more \
             connections, or shorter trials",
            life.different, settings.hi
        )));
    }
    let (mut result, best) = find(settings, phase2, (life.tcp(None), most), trials, watch)?;
    if result.rate.0 == 0 {
        return Ok(result);
    }
    if let Some(entries) = best.and_then(|best| best.store?.dut_entries_after) {
        result.parts.insert(ENTRIES.key.to_owned(), entries.cast_signed());
    }
    if life.watch.is_some() {
        let spec = TrialSpec { rate: result.rate, ..trial(settings, phase2, life.tcp(life.watch))? };
        // No step of the search: it measures a time, so its losses do not matter.
        let emptying = trials.run(&spec)?.observed.tcp.and_then(|tcp| tcp.emptying);
        if let Some(emptied) = emptying.and_then(|emptying| emptying.emptied) {
            result.parts.insert(TRANSITORY_TIME.key.to_owned(), emptied.0.cast_signed());
        }
        if let Some(counts) = &mut result.observed.tcp {
            counts.emptying = emptying;
        }
    }
    Ok(result)
}

/// Measures the throughput of data segments on all connections.
fn throughput(
    context: &Context<'_>,
    all: Phase2,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    let (settings, payload) = (context.settings, payload(context.frame[0]));
    let most = settings.hi.min(most_exchanges(all.connections, payload, settings.duration));
    if most.0 == 0 {
        return Err(TrialError::Refused(format!(
            "{} TCP connections cannot have one exchange of {payload} octets in a trial of {} s; use more connections, \
             smaller frames, or shorter trials",
            all.connections,
            settings.duration.as_secs_f64()
        )));
    }
    Ok(find(settings, all, (Tcp::Exchange, most), trials, watch)?.0)
}

/// The trial of a phase 2 with TCP connections; its rate is 0.
fn trial(settings: &SearchSettings, phase2: Phase2, tcp: Tcp) -> Result<TrialSpec, TrialError> {
    // All other segments are responses.
    let options = TrialOptions { tcp: Some(tcp), ..TrialOptions::default() };
    Ok(TrialSpec { direction: Direction::Forward, options, ..data_trial(settings, Some(phase2))? })
}

/// The search, which observes the trial at the rate found.
fn find(
    settings: &SearchSettings,
    phase2: Phase2,
    (tcp, most): (Tcp, Rate),
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<(SearchResult, Option<TrialOutcome>), TrialError> {
    settings.check()?;
    let trial = trial(settings, phase2, tcp)?;
    let mut decider = Decider::new(trials, settings);
    let mut best: Option<(Rate, TrialOutcome)> = None;
    let decide = |rate: Rate, patience: Patience| {
        let spec = TrialSpec { rate, ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec, tcp), patience)?;
        if judgement.decision.passed() && best.as_ref().is_none_or(|(highest, _)| rate >= *highest) {
            best = Some((rate, judgement.last().outcome.clone()));
        }
        Ok(judgement)
    };
    let ends = (settings.lo.min(Rate(most.0 - 1)), most);
    let least = Rate::of(1, settings.duration).max(Rate(1));
    let mut result = binary::search(None, ends, (least, least), (settings.precision, binary::never), decide, watch)?;
    let best = best.filter(|(rate, _)| *rate == result.rate).map(|(_, outcome)| outcome);
    result.observed = best.as_ref().map(|outcome| outcome.observed.clone()).unwrap_or_default();
    Ok((result, best))
}

/// A probe: at least one of these completes with a working DUT.
fn probe(spec: &TrialSpec, tcp: Tcp) -> TrialSpec {
    const MOST: Count = 1_000;
    let count = match tcp {
        Tcp::Life { different, .. } => different.clamp(1, MOST),
        Tcp::Exchange => spec.connections.clamp(1, MOST),
    };
    TrialSpec { rate: spec.rate.min(Rate(MOST)), load: Load::Frames(count), ..spec.clone() }
}

/// The trial behind the rate of a point, in the first repetition that has one.
struct Connections {
    name: String,
    counts: TcpCounts,
}

fn section(results: &Results<'_>) -> Option<Section> {
    let all = results.of(&[MAX_TCP_CONN_RATE.key, TCP_THROUGHPUT.key]);
    let all: Vec<Connections> = all.into_iter().filter_map(connections).collect();
    section_of(
        &all,
        "TCP connections",
        "Segments of the trial at the rate found, without those of phase 1, in the first repetition. A connection counts \
                if its last segment arrived. Reading the table of the device takes time, so that a time to forget closed \
                connections is too long by one interval at most.",
        |named| Section { tables: vec![table(&all)], ..named },
    )
}

fn connections(result: &MetricResult<'_>) -> Option<Connections> {
    let counts = result.observed(|observed| observed.tcp.clone()).next()?;
    Some(Connections { name: result.name.clone(), counts })
}

fn table(all: &[Connections]) -> Table {
    let count = |label: &str, of: fn(&TcpCounts) -> u64| row(label, all.iter().map(|c| Quantity::count(of(&c.counts))));
    let emptying =
        |label: &str, of: fn(&Emptying) -> Cell| row(label, all.iter().map(|c| c.counts.emptying.as_ref().map(of)));
    let mut rows = vec![
        count("segments of the Initiator", |counts| counts.from_initiator),
        count("segments of the Responder", |counts| counts.from_responder),
        count("right segments received", |counts| counts.received),
        count("handshakes completed", |counts| counts.established),
    ];
    if all.iter().any(|c| c.counts.emptying.is_some()) {
        rows.extend([
            emptying("entries at the end", |e| Quantity::count(e.at_end).into()),
            emptying("entries at the last reading", |e| Quantity::count(e.at_last).into()),
            emptying("closed connections forgotten after", |e| e.emptied.map(|time| number::duration(time.0)).into()),
            emptying("time between two readings", |e| number::duration(e.interval.0).into()),
        ]);
    }
    Table::new("TCP segments", "TCP connections", all.iter().map(|c| c.name.as_str())).with_parameters(rows)
}

fn known_point(watch: Option<Nanos>, device: Truth) -> KnownPoint {
    let keys = TcpKeys { held_ppm: 1_000, data: 0, close: TcpClose::Fin, watch };
    let phase2 = Some(Phase2 { connections: 30_000_000, ..HELD });
    KnownPoint { phase2, ..KnownPoint::new(keys, device) }
}

const KNOWN: &[KnownValue] = &[
    KnownValue {
        metric: TCP_THROUGHPUT.key,
        device: "forwards 300,000 segments/s in reverse",
        truth: Some(300_000),
        error: of_search(300_000),
        point: || known_point(None, Truth { reverse_capacity: Rate(300_000), ..known::simulated() }),
    },
    KnownValue {
        metric: MAX_TCP_CONN_RATE.key,
        device: "forwards 600,000 segments/s, 4 a connection",
        truth: Some(150_000),
        error: of_search(150_000),
        point: || known_point(None, known::simulated()),
    },
    KnownValue {
        metric: TRANSITORY_TIME.key,
        device: "forgets closed connections after 10 s",
        truth: Some(10_000_000_000),
        error: EXACT,
        point: || {
            let forgets = Truth { tcp_transitory: Nanos::from_secs(10), ..known::simulated() };
            known_point(Some(Nanos::from_secs(60)), forgets)
        },
    },
];
