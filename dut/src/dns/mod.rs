//! Beds for DNS: a client, the device, and an authoritative server (Knot DNS), each in a namespace.
//! The device is Unbound as DNS64 server, the kernel, a program, or boxes between two ports of this
//! machine. A bed without a device is for the tester's self-test (RFC 8219, section 9.2.1).

mod folder;
mod knot;
mod links;
mod ports;
mod unbound;
mod zone;

use crate::DutError;
use crate::changes::{Changes, UndoResult};
use crate::facts::{self, Fact};
use crate::host::Namespace;
use crate::lock::{self, Lock, RunDir};
use crate::side::{LEFT, RIGHT};
use crate::started::{Role, RunningProgram};
use crate::step::{Sink, Step, Target};
use crate::tool::{self, ETHTOOL, IP, KNOT, Tool, UNBOUND};
use folder::Folder;
use port::netns::Netns;
pub use ports::Port;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use wire::AddrRange;
pub use zone::{Record, Zone};

const DNS: u16 = 53;

/// The servers that a bed starts, and what they are.
pub const SERVERS: &[(&str, &str)] =
    &[("unbound", "Unbound, a DNS64 server"), ("knot", "Knot DNS, the authoritative server of beds for DNS")];

/// The path of queries between client and server.
#[derive(Clone, Debug)]
pub enum QueryPath {
    /// Connects client and server by a cable.
    Nothing,
    /// Puts Unbound between client and server.
    Dns64 {
        threads: u32,
        /// Prefix in front of the 32 bits of an IPv4 address.
        prefix: Ipv6Addr,
    },
    /// Forwards or translates between interfaces without addresses.
    Program(Program),
    /// Ports of a test bed around boxes: client's, server's.
    Ports(Box<[Port; 2]>),
}

/// A program that runs in the folder of its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Command line, which names [`PROGRAM_CONFIG`].
    pub line: String,
    pub config: String,
    pub pool: Vec<AddrRange>,
}

/// File with the configuration of a program.
pub const PROGRAM_CONFIG: &str = "device.toml";

pub struct Interface {
    pub name: &'static str,
    pub address: Ipv4Addr,
    /// Address of client or server.
    pub neighbour: [u8; 6],
}

pub fn server_line() -> String {
    knot::line()
}

/// Client's side, server's side.
pub fn interfaces() -> [Interface; 2] {
    [LEFT, RIGHT].map(|side| Interface { name: side.name, address: side.dut.into(), neighbour: side.tester_mac() })
}

impl QueryPath {
    fn line(&self) -> Option<String> {
        match self {
            QueryPath::Nothing | QueryPath::Ports(_) => None,
            QueryPath::Dns64 { .. } => Some(unbound::line()),
            QueryPath::Program(program) => Some(program.line.clone()),
        }
    }

    /// Whether the device is restarted before each trial.
    pub fn is_program(&self) -> bool {
        self.line().is_some()
    }

    fn tools(&self) -> Vec<Tool> {
        let own: &[Tool] = match self {
            QueryPath::Nothing | QueryPath::Program(_) | QueryPath::Ports(_) => &[],
            QueryPath::Dns64 { .. } => &[UNBOUND],
        };
        [&[IP, ETHTOOL, KNOT][..], own].concat()
    }

    pub fn ends(&self) -> (IpAddr, SocketAddr) {
        match self {
            QueryPath::Dns64 { .. } => (links::CLIENT6.into(), SocketAddr::new(links::DUT6.into(), DNS)),
            QueryPath::Ports(ports) => (ports[0].address.into(), self.server()),
            QueryPath::Nothing | QueryPath::Program(_) => (client().into(), self.server()),
        }
    }

    pub fn server(&self) -> SocketAddr {
        match self {
            QueryPath::Ports(ports) => SocketAddr::new(ports[1].address.into(), DNS),
            _ => server(),
        }
    }

    /// Place of the server: without a device, the other end of the client's cable.
    fn place_of_server(&self) -> Target {
        if matches!(self, QueryPath::Nothing) { Target::Dut } else { Target::Server }
    }
}

/// Returns the address of the client in front of a device that is no DNS server.
pub fn client() -> Ipv4Addr {
    LEFT.tester.into()
}

fn server() -> SocketAddr {
    SocketAddr::new(Ipv4Addr::from(RIGHT.tester).into(), DNS)
}

/// Dropping it ends the programs and undoes the steps.
pub struct DnsBed {
    between: QueryPath,
    knot: Option<RunningProgram>,
    device: Option<RunningProgram>,
    changes: Changes,
    host: Namespace,
    folder: Folder,
    sink: Sink,
    facts: Vec<Fact>,
    // Dropped after all others.
    _lock: Lock,
}

impl DnsBed {
    /// Builds the bed and starts its programs. The server loads its zone in the background, so ask it before the first
    /// trial. If it fails, it undoes everything.
    pub fn build(between: QueryPath, zone: &Zone, dir: &RunDir, sink: &Sink) -> Result<DnsBed, DutError> {
        let tools = between.tools();
        tool::require(&tools)?;
        let lock = Lock::take(dir, lock::TEST_BED)?;
        let host = Namespace::with_server()?;
        let mut changes = Changes::logged(host.clone(), dir, sink);
        bring_up(&mut changes, &between)?;
        if let QueryPath::Ports(ports) = &between {
            for (port, target) in ports.iter().zip([Target::Tester, Target::Server]) {
                port.attach(host.at(target).expect("made with a server"), dir, sink)?;
            }
        }
        let folder = Folder::new()?;
        folder.write_with(knot::ZONE_FILE, |out| zone.write(out, between.server()))?;
        folder.write(knot::CONFIG, &knot::config(folder.path(), zone.name, between.server()))?;
        match &between {
            QueryPath::Dns64 { threads, prefix } => {
                folder.write(unbound::CONFIG, &unbound::config(folder.path(), *threads, *prefix, zone.name))?;
            }
            QueryPath::Program(program) => folder.write(PROGRAM_CONFIG, &program.config)?,
            QueryPath::Nothing | QueryPath::Ports(_) => {}
        }
        let facts = facts::of_dns(&mut changes, &tools);
        let sink = Arc::clone(sink);
        let mut bed = DnsBed { between, knot: None, device: None, changes, host, folder, sink, facts, _lock: lock };
        bed.knot = Some(bed.start("the authoritative server", bed.between.place_of_server(), &knot::line())?);
        if matches!(bed.between, QueryPath::Program(_)) {
            bed.start_device()?;
        }
        Ok(bed)
    }

    /// Makes the device forget earlier queries: restarts a program, or empties the connection tracking table. A program
    /// answers a moment later.
    pub fn clear(&mut self) -> Result<(), DutError> {
        self.see_that_programs_run()?;
        self.start_device()
    }

    fn start_device(&mut self) -> Result<(), DutError> {
        self.device = None;
        let name = if matches!(self.between, QueryPath::Dns64 { .. }) { "the DNS64 server" } else { "the device" };
        self.device = self.between.line().map(|line| self.start(name, Target::Dut, &line)).transpose()?;
        Ok(())
    }

    /// Checks that no program has ended by itself. The error has the last lines of one that has.
    pub fn see_that_programs_run(&mut self) -> Result<(), DutError> {
        let ended = [&mut self.knot, &mut self.device].into_iter().flatten().find_map(RunningProgram::ended);
        ended.map_or(Ok(()), |how| Err(DutError::Dead(format!("a program of the bed has ended: {how}"))))
    }

    pub fn client(&self) -> &Netns {
        self.host.at(Target::Tester).expect("a namespace")
    }

    pub fn server(&self) -> &Netns {
        self.host.at(self.between.place_of_server()).expect("made with a server")
    }

    pub fn between(&self) -> &QueryPath {
        &self.between
    }

    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Ends the programs, removes the folder and undoes all steps.
    pub fn teardown(mut self) -> UndoResult {
        (self.device, self.knot) = (None, None);
        self.changes.undo_all()
    }

    fn start(&self, name: &'static str, target: Target, line: &str) -> Result<RunningProgram, DutError> {
        let ns = self.host.at(target).expect("made with a server");
        RunningProgram::spawn_as(Role { name, target }, line, ns, self.folder.path(), &self.sink)
            .map_err(|why| DutError::refused(format!("`{line}`"), why))
    }
}

/// Returns the actions of [`DnsBed::build`] and the programs that it would start.
pub fn plan(between: &QueryPath) -> Result<(Vec<Step>, Vec<String>), DutError> {
    let steps = Changes::rehearsed(|changes| bring_up(changes, between))?;
    Ok((steps, std::iter::once(knot::line()).chain(between.line()).collect()))
}

/// Checks that the programs for this bed are installed.
pub fn see_that_tools_are_there(between: &QueryPath) -> Result<(), DutError> {
    Ok(tool::require(&between.tools())?)
}

fn bring_up(changes: &mut Changes, between: &QueryPath) -> Result<(), DutError> {
    if changes.is_journal_left() {
        changes.begin_journal()?;
    }
    changes.carry_out(&links::steps(between)?)
}
