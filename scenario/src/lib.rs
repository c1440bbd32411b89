//! Scenarios as typed, validated values, and the files of `natmeter gateway`. `tables` declares the keys, `reader` turns a file
//! into a scenario, `rules` refuse what cannot be measured: all errors at once, under the words at fault. `axis` sets the values
//! of a point of the matrix, `summary` and `conformance` describe a scenario. Callers pass the technologies as an argument.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

pub mod axis;
mod axis_values;
pub mod bed;
mod capabilities;
mod cell;
mod conformance;
mod cores;
pub mod device;
mod dns;
pub mod exclude;
mod faults;
mod file;
mod foreground;
mod frame_size;
pub mod gateway;
mod imix;
mod impair;
pub mod limits;
#[cfg(test)]
mod long_files;
mod nat;
mod over_bed;
mod overrides;
mod point;
mod ranges;
mod reader;
pub mod repetitions;
mod rules;
mod scale;
mod search;
mod search_error;
mod search_keys;
mod settle;
mod summary;
mod tables;
#[cfg(test)]
mod test_scenarios;
mod truth;
mod uncleared;
mod words;

pub use capabilities::DeviceCapabilities;
pub use cell::Cell;
pub use conformance::{conformance, label};
pub use cores::{BoxCores, Cores};
pub use device::{Device, Dut, Null, Setup, TestBed};
pub use faults::fault_names;
pub use file::{LONGEST_FILE, ScenarioError};
pub use impair::Impair;
pub use key::quantity;
pub use key::{Complaints, Wrong, did_you_mean};
pub use point::Point;
pub use ranges::DerivedRanges;
pub use reader::{LoadedScenario, Options, RecordedDefaults, about, parse, parse_recorded, read};
pub use rules::compare::{PUBLISHED, published_numbers};
pub use search::{Method, WrittenGoal};
pub use search_error::SearchError;
pub use search_keys::{Alpha, WarmStart};
pub use settle::SLACK;
pub use summary::{Summary, show_ends, show_range, technologies};
pub use tables::{Capture, Measure, Sweep, Tester, Traffic, VETH_IO, VethIo, book};
pub use tech::{AXES, Flows, MOST_BUCKETS, MOST_ENTRIES, Mapping, Plays, Technology};
pub use truth::{Faults, FullTable, InjectedFault, KnownTruth, Simulated, Times};
pub use words::{Sequence, WithoutClear};

pub use imix::Imix;
use method::trial::WarmUp;
use method::{Count, Nanos, Rate};
use procedure::metric::Gives;
use std::collections::BTreeMap;
use wire::AddrRange;
use wire::header::{IPV4, IPV6};

/// The technologies that a file may name.
pub type Technologies = &'static [&'static tech::ListEntry];

/// The technologies, kinds of devices and procedures that a file may name.
#[derive(Clone, Copy)]
pub struct Lists {
    pub technologies: Technologies,
    pub kinds: device::Kinds,
    pub procedures: procedure::List,
}

impl From<Technologies> for Lists {
    /// These technologies, with all devices and procedures.
    fn from(technologies: Technologies) -> Lists {
        Lists { technologies, kinds: device::KINDS, procedures: procedure::ALL }
    }
}

impl<const N: usize> From<&'static [&'static tech::ListEntry; N]> for Lists {
    fn from(technologies: &'static [&'static tech::ListEntry; N]) -> Lists {
        Lists::from(&technologies[..])
    }
}

/// One scenario, all defaults filled in and all rules passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name: part of the run folder's name.
    pub name: String,
    /// One sentence for people.
    pub about: String,
    /// Published tables beside which the report prints the run, by their numbers.
    pub compare: Vec<String>,
    /// What values must be; nothing that is measured.
    pub limits: limits::Limits,
    /// Reserved IPv4 blocks that may be used besides.
    pub allow_addresses: Vec<AddrRange>,
    /// Devices under test, measured one after the other.
    pub duts: Vec<Dut>,
    /// The device of a point, by number, if the devices of a bed have frames of different lengths.
    pub device: Option<usize>,
    pub link: Link,
    /// The test bed, if the device is a box between two ports of the tester.
    pub bed: Option<bed::Bed>,
    pub impair: Option<Impair>,
    pub capture: Option<Capture>,
    pub tester: Tester,
    /// Test frames. Port ranges that follow from the number of connections are those of the largest number;
    /// [`Point::of`] has those of a point.
    pub traffic: Traffic,
    /// Which port ranges follow from the number of connections.
    pub following: DerivedRanges,
    /// Connections (N; one entry 0 for stateless scenarios) and cores of the DUT.
    pub sweep: Sweep,
    /// Further axes with their values, in the order of `tech::AXES`.
    pub axes: Vec<axis_values::SweptAxis>,
    pub measure: Measure,
    /// The procedures that it may ask for, with the keys of each.
    pub procedures: procedure::Keys,
    /// No further repetition of a search is begun when this time would not suffice for a first one of each that is left.
    pub time_limit: Option<Nanos>,
    /// The parameters of each technology as they are given: keys and values.
    pub parameters: BTreeMap<String, Vec<(String, String)>>,
    /// A conforming run (`--full`), or the scenario's quick values.
    pub full: bool,
    /// The part of the matrix that is measured; `None`: all of it.
    pub cell: Option<Cell>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// In-process link to the embedded gateway.
    InProcess {
        /// Frames a ring holds: the DUT's buffer.
        depth: usize,
    },
    /// A TAP pair into a kernel DUT.
    Tap,
    /// Two veth pairs into a kernel DUT.
    Veth {
        /// Back-end of the tester's ends.
        io: VethIo,
    },
    /// Ports of a test bed.
    Ports,
}

/// Octets of a frame beside its packet: header and FCS.
const ETHERNET: usize = 18;

impl Scenario {
    /// Octets with FCS of a test frame where it is longest: a line carries no more than these. Of a mix, the mean.
    pub fn widest_frame(&self) -> usize {
        self.widest(self.traffic.frame_sizes.as_ref().map_or(self.traffic.frame_size, Imix::mean))
    }

    fn widest(&self, size: usize) -> usize {
        size + self.overhead()
    }

    /// Octets by which its frames are longer than as IPv4, where they are longest.
    pub fn overhead(&self) -> usize {
        let native = self.native_networks().map(|_| IPV6 - IPV4);
        let all = self.duts.iter().enumerate().filter(|(at, _)| self.device.is_none_or(|device| device == *at));
        all.map(|(_, dut)| dut.overhead()).chain(native).max().unwrap_or(0)
    }

    /// Octets of the longest frames of its device, where the devices of a bed have frames of different lengths: the line rate, and
    /// the tester ceiling with it, differ. None where one ceiling holds for all.
    pub fn own_frame(&self) -> Option<usize> {
        self.device.map(|_| self.widest_frame())
    }

    /// Octets of the packet in the largest one.
    fn widest_packet(&self) -> usize {
        self.widest(self.traffic.frame_size).saturating_sub(ETHERNET)
    }

    /// Upper end of every search, frames (DNS queries) a second and direction; `None`: what calibration allows.
    pub fn max_rate(&self) -> Option<Count> {
        let written = self.measure.max_rate.map(|rate| rate.frames_per_second(self.widest_frame()));
        written.into_iter().chain(self.rate_of_names()).chain(self.rate_of_ids()).min()
    }

    /// Lower end of every search, frames a second and direction; `None`: a trial of one frame.
    pub fn min_rate(&self) -> Option<Count> {
        self.measure.min_rate.map(|rate| rate.frames_per_second(self.widest_frame()))
    }

    /// Rate of phase 1 before phase 2, connections a second; `None`: a share of the measured establishment rate.
    pub fn phase1_rate(&self) -> Option<Count> {
        self.measure.phase1_rate.map(|rate| rate.frames_per_second(self.widest_frame()))
    }

    /// Connections are validated at no higher rate, whatever alpha is.
    pub fn validate_at_most(&self) -> Option<Count> {
        self.measure.validate_at_most.map(|rate| rate.frames_per_second(self.widest_frame()))
    }

    /// The parameters of a device's technology as they are given; empty without a technology.
    pub fn parameters_of(&self, dut: &Dut) -> &[(String, String)] {
        let given = dut.technology().and_then(|(_, technology)| self.parameters.get(technology.name()));
        given.map_or(&[], Vec::as_slice)
    }

    /// Whether a metric is among those that the scenario asks for.
    pub fn measures(&self, metric: &str) -> bool {
        self.measure.metrics.iter().any(|key| key == metric)
    }

    /// Traffic before each trial that is not counted.
    pub fn warm_up(&self) -> Option<WarmUp> {
        let rate = self.measure.warm_up_rate.map(|rate| Rate(rate.frames_per_second(self.widest_frame())));
        self.measure.warm_up.map(|duration| WarmUp { duration, rate })
    }

    /// Returns the largest number of connections of the sweep; 0 for stateless scenarios.
    pub fn most_connections(&self) -> Count {
        self.sweep.connections.iter().copied().max().unwrap_or(0)
    }

    /// Whether the capacity of tables is all that is measured, so that a table may have fewer entries than there are connections.
    pub fn fills_tables(&self) -> bool {
        self.measure
            .metrics
            .iter()
            .all(|key| self.procedures.metric(key).is_some_and(|metric| metric.gives == Some(Gives::TableSize)))
    }

    /// Returns the largest number of cores of the sweep, which is that of a gateway's workers.
    pub fn most_workers(&self) -> u64 {
        self.sweep.cores.values.iter().copied().max().unwrap_or(1).into()
    }

    /// The table that its measurement comes from: `measure`, or `full`.
    fn measure_path(&self) -> &'static str {
        if self.full { "full" } else { "measure" }
    }
}
