//! Sizing: the devices, cores and memory that a measured gateway needs for the demand of an operator. A limit is the lower end
//! of the interval of a result. Loads of throughput and set-up rate are added, as if their costs add. A sizing extrapolates
//! neither over cores nor over connections.

pub mod demand;
mod notes;
mod point;

use crate::report::Report;
use demand::Demand;
use method::Count;
use notes::notes;
use point::{PointLimits, points};
use scenario::axis::AxisValues;
use schemars::JsonSchema;
use serde::Serialize;

/// The sizing of all measured devices for one demand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sizing {
    /// The demand.
    pub demand: Demand,
    /// Sessions of all subscribers.
    pub sessions: f64,
    /// New sessions per second of all subscribers.
    pub new_sessions: f64,
    /// Packets per second of all subscribers, in the busier direction.
    pub packets: f64,
    /// One for each device and combination of other axes of each run.
    pub devices: Vec<DeviceSizing>,
}

/// The sizing of one measured device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeviceSizing {
    /// Name of the run.
    pub run: String,
    /// Name of the device in it.
    pub device: String,
    /// Its technology.
    pub technology: String,
    /// Values of further axes, without frame size and subscribers.
    #[serde(skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
    /// Frame size of the results, octets with FCS.
    pub frame_size: usize,
    /// One for each number of cores that was measured; the first is the choice: fewest limits missing, then fewest devices,
    /// then fewest cores.
    pub options: Vec<Choice>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Devices with a number of cores each.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// Devices among which the subscribers are divided equally.
    pub devices: Count,
    /// Cores of each; `None` if the scenario leaves them as they are.
    pub cores: Option<u32>,
    /// Connections of the measured point; 0 for a device without sessions.
    pub connections: Count,
    /// Subscribers, or inside addresses, of the measured point.
    pub subscribers: Count,
    /// The limits, for each device.
    pub limits: Vec<Limit>,
    /// The limit with the largest load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<LimitKind>,
    /// The share of the binding limit that stays free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<f64>,
    /// Limits that were not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<LimitKind>,
    /// Octets of the sessions of each device, with headroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MeasuredValue>,
    /// Sessions lost in a restart of one device, and the time to set them up again; none for a device without sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
}

/// One limit of one device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Limit {
    /// The limited quantity.
    pub kind: LimitKind,
    /// The demand on each device, without headroom.
    pub needed: f64,
    /// The measured value of a device.
    pub measured: MeasuredValue,
    /// `needed` divided by the lower end of the measured value.
    pub load: f64,
}

method::worded! {
    /// What can limit a device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum LimitKind: in_words {
        /// Frames per second and direction.
        Throughput = "throughput",
        /// New sessions per second.
        SetUpRate = "set-up rate",
        /// Sessions in the table: as many as were measured, or as fit into it.
        Table = "table",
        /// Octets of a session.
        Memory = "memory of a session",
        /// Throughput and set-up rate together: the sum of their loads, of 1. It assumes that their costs add.
        Both = "both at once",
        /// Subscribers of a device without sessions: as many as were measured.
        Subscribers = "subscribers",
    }
}

/// A measured value with its interval or range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredValue {
    /// The median.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Repetitions; 0 if it is a setting of the measured point.
    pub repetitions: usize,
    /// Whether the device may do more.
    pub at_least: bool,
}

impl MeasuredValue {
    const WHOLE: MeasuredValue = MeasuredValue { value: 1.0, low: 1.0, high: 1.0, repetitions: 0, at_least: false };

    fn setting(value: Count) -> MeasuredValue {
        let value = value as f64;
        MeasuredValue { value, low: value, high: value, repetitions: 0, at_least: true }
    }

    fn times(self, factor: f64) -> MeasuredValue {
        let MeasuredValue { value, low, high, .. } = self;
        MeasuredValue { value: value * factor, low: low * factor, high: high * factor, ..self }
    }
}

/// A restart of one device that forgets all sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Restart {
    /// Sessions lost.
    pub sessions: f64,
    /// Seconds until all are set up again at the measured set-up rate; `None` if that was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<MeasuredValue>,
}

impl Sizing {
    pub fn of(demand: Demand, reports: &[Report]) -> Sizing {
        Sizing {
            sessions: demand.all_sessions(),
            new_sessions: demand.all_new_sessions(),
            packets: demand.packets(),
            devices: reports.iter().flat_map(|report| of_report(&demand, report)).collect(),
            demand,
        }
    }
}

fn of_report(demand: &Demand, report: &Report) -> Vec<DeviceSizing> {
    let mut found = Vec::new();
    for (dut, device) in report.header.scenario.duts.iter().enumerate().filter(|(_, dut)| !dut.is_forwarding()) {
        for (axes, of_axes) in point::by_axes(points(report, dut)) {
            let (frame_size, of_size) = point::of_frame(of_axes, demand.frame());
            let Some(first) = of_size.first() else { continue };
            let mut options = options(demand, &of_size);
            options.sort_by_key(|choice| (choice.missing.len(), choice.devices, choice.cores));
            found.push(DeviceSizing {
                run: report.run_name(),
                device: first.name.clone(),
                technology: device.function().to_owned(),
                notes: notes(demand, report, &of_size, options.first()),
                axes,
                frame_size,
                options,
            });
        }
    }
    found
}

fn options(demand: &Demand, points: &[PointLimits]) -> Vec<Choice> {
    let mut cores: Vec<u32> = points.iter().map(|point| point.cores).collect();
    cores.sort_unstable();
    cores.dedup();
    let best = |cores: u32| {
        let own = points.iter().filter(|point| point.cores == cores);
        let choices = own.filter(|point| point.throughput.is_some() || point.set_up.is_some());
        choices
            .map(|point| choice(demand, point))
            .min_by_key(|c| (c.missing.len(), c.devices, c.connections, c.subscribers))
    };
    cores.into_iter().filter_map(best).collect()
}

/// The number of devices for the demand, each measured at this point.
fn choice(demand: &Demand, point: &PointLimits) -> Choice {
    let all = needs(demand, point);
    let free = 1.0 - demand.headroom;
    let known = || all.iter().filter_map(|&(kind, needed, measured)| Some((kind, needed, measured?)));
    let devices = known().map(|(_, needed, measured)| (needed / free / measured.low - 1e-9).ceil()).fold(1.0, f64::max);
    let limit = |(kind, needed, measured): (LimitKind, f64, MeasuredValue)| {
        let needed = needed / devices;
        Limit { kind, needed, measured, load: needed / measured.low }
    };
    let limits: Vec<Limit> = known().map(limit).collect();
    let mut missing: Vec<LimitKind> = all.iter().filter(|need| need.2.is_none()).map(|need| need.0).collect();
    let is_stateful = point.connections > 0;
    if is_stateful && point.memory.is_none() {
        missing.push(LimitKind::Memory);
    }
    let binding = limits.iter().max_by(|a, b| a.load.total_cmp(&b.load));
    let sessions = demand.all_sessions() / devices;
    let to_set_up = |rate: MeasuredValue| MeasuredValue {
        value: sessions / rate.value,
        low: sessions / rate.high,
        high: sessions / rate.low,
        ..rate
    };
    Choice {
        devices: devices as Count,
        cores: point.known_cores,
        connections: point.connections,
        subscribers: point.subscribers,
        binding: binding.map(|limit| limit.kind),
        headroom: binding.map(|limit| 1.0 - limit.load),
        memory: if is_stateful { point.memory.map(|m| m.times(sessions / free)) } else { point.table_memory },
        restart: is_stateful
            .then(|| Restart { sessions, seconds: point.set_up.filter(|rate| rate.low > 0.0).map(to_set_up) }),
        limits,
        missing,
    }
}

/// Returns the demand of all subscribers and the measured value of one device for each limit of the device. The value
/// is `None` where its lower end is 0.
fn needs(demand: &Demand, point: &PointLimits) -> Vec<(LimitKind, f64, Option<MeasuredValue>)> {
    let above_0 = |measured: Option<MeasuredValue>| measured.filter(|measured| measured.low > 0.0);
    let throughput = (LimitKind::Throughput, demand.packets(), above_0(point.throughput));
    if point.connections == 0 {
        let subscribers = above_0(Some(MeasuredValue::setting(point.subscribers)));
        return vec![throughput, (LimitKind::Subscribers, demand.subscribers, subscribers)];
    }
    let set_up = (LimitKind::SetUpRate, demand.all_new_sessions(), above_0(point.set_up));
    let load = |(_, needed, measured): (LimitKind, f64, Option<MeasuredValue>)| Some(needed / measured?.low);
    let both = load(throughput).zip(load(set_up)).map(|(throughput, set_up)| throughput + set_up);
    let both = both.map(|load| (LimitKind::Both, load, Some(MeasuredValue::WHOLE)));
    let table = (LimitKind::Table, demand.all_sessions(), above_0(Some(point.table)));
    [throughput, set_up].into_iter().chain(both).chain([table]).collect()
}
