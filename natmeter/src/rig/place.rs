//! Where the ports of a bed are: the user's interfaces in this namespace, or ends of links that
//! natmeter makes for boxes in guests and namespaces.

use super::cores::shared_out;
use super::{RigError, RunContext, configuration, files, guest, machine, management};
use dut::changes::Changes;
use dut::guest::network::with_ipv6;
use dut::host::LocalHost;
use dut::links::{self, Connection, End, Links};
use dut::{Backlog, On, RunDir, Step, started::RunningProgram};
use port::Netns;
use record::folder::FactTable;
use scenario::bed::{self, Bed, BoxKeys, CoresBy, GuestKind, PortIo, PortKeys};
use scenario::{Point, Scenario};
use std::os::fd::OwnedFd;
use wire::Mac;

/// Namespace of the ports, and what natmeter made for the boxes.
pub(crate) struct Place {
    tester: Netns,
    // The programs and the guests end before their links are removed.
    programs: Vec<RunningProgram>,
    /// Guests by the box's number.
    guests: Vec<(usize, guest::GuestWithNetwork)>,
    /// Queues of each box that has TAPs, left and right: without them the interfaces have no
    /// carrier.
    queues: Vec<(usize, [Vec<OwnedFd>; 2])>,
    links: Option<Links>,
    /// The queue in front of the cores to which this machine steers packets of boxes that scripts configure, if it does.
    backlog: Option<(Backlog, Changes)>,
}

impl Place {
    fn new(tester: Netns, links: Option<Links>) -> Place {
        Place { tester, programs: Vec::new(), guests: Vec::new(), queues: Vec::new(), links, backlog: None }
    }

    /// Finds or makes the ports of a bed. Fails if test frames through the user's interfaces would be dangerous.
    pub(crate) fn of(bed: &Bed, process: &RunContext) -> Result<Place, RigError> {
        if !bed.makes_links() {
            refuse_dangers(bed)?;
            return Ok(Place::new(Netns::current()?, None));
        }
        let connections = connections(bed);
        let sink = process.commands.sink("links");
        let links = Links::make(ends(bed), &connections, bed.lanes(), &RunDir::of_this_user(), &sink)?;
        let mut queues = Vec::new();
        for (at, connection) in connections.into_iter().enumerate() {
            if let Connection::Queues(number) = connection {
                queues.push((at, links.open_queues(at, number)?));
            }
        }
        Ok(Place { queues, ..Place::new(links.tester().clone(), Some(links)) })
    }

    /// A cable between the ports of a bed, whose links natmeter makes, in place of its boxes.
    pub(crate) fn of_cable(scenario: &Scenario, bed: &Bed, process: &RunContext) -> Result<Place, RigError> {
        let (dir, sink) = (RunDir::of_this_user(), process.commands.sink("tester"));
        let links = Links::make(ends(bed), &[], bed.lanes(), &dir, &sink)?;
        let delivery = bed.boxes.iter().map(|(role, keys)| delivery(scenario, bed, (role, keys)));
        links.carry_out(0, &delivery.flatten().collect::<Vec<_>>(), &dir, &sink)?;
        Ok(Place::new(links.tester().clone(), Some(links)))
    }

    pub(crate) fn tester(&self) -> &Netns {
        &self.tester
    }

    /// Namespace or guest of a box, if natmeter made it.
    pub(crate) fn device(&self, at: usize) -> Option<On> {
        let namespace = || self.links.as_ref().map(|links| On::Namespace(links.boxes()[at].clone()));
        let guest = self.guests.iter().find(|(number, _)| *number == at);
        guest.map(|(_, guest)| On::Guest(guest.running.clone())).or_else(namespace)
    }

    /// Boots the guests of a bed, and sets addresses and routes for a point in them and in the
    /// namespaces that natmeter configures.
    pub(crate) fn boot(
        &mut self,
        scenario: &Scenario,
        bed: &Bed,
        point: &Point,
        process: &RunContext,
    ) -> Result<(), RigError> {
        let Some(links) = &self.links else { return Ok(()) };
        let is_steered_by_script = |(role, keys): &(&'static str, BoxKeys)| {
            keys.is_steered(role, &scenario.sweep.cores)
                && configuration::of(scenario, bed, (role, keys), point).is_none()
        };
        if self.backlog.is_none() && bed.boxes.iter().any(is_steered_by_script) {
            let sink = process.commands.sink("machine");
            let mut changes = Changes::logged(LocalHost::new(), &RunDir::of_this_user(), &sink);
            self.backlog = Some((Backlog::raise(&mut changes)?, changes));
        }
        // The old guests end first.
        self.guests.clear();
        for (at, (role, keys)) in bed.boxes.iter().enumerate() {
            if !keys.has_network() {
                continue;
            }
            let sink = process.commands.sink(role);
            let bed::On::Guest(kind) = keys.on else {
                let steps = [network(scenario, bed, point, at), delivery(scenario, bed, (role, keys))].concat();
                links.carry_out(at, &steps, &RunDir::of_this_user(), &sink)?;
                continue;
            };
            let cores = &scenario.sweep.cores;
            let is_booted = keys.cores_by() == Some(CoresBy::Boot) && cores.sets(role);
            let ends = guest::Nics {
                namespace: &links.boxes()[at],
                macs: links::macs(at, bed.boxes.len()),
                queues: self.queues.iter().find(|(number, _)| *number == at).map(|(_, queues)| queues),
                cores: is_booted.then(|| cores.of_box(role, point.cores)),
                lanes: bed.lanes(),
            };
            let (network, _) = guest::network(scenario, bed, point, at);
            self.guests.push((at, guest::GuestWithNetwork::boot((kind, keys), &ends, &network, &sink)?));
        }
        Ok(())
    }

    /// Facts about the guests, and about the queues in front of cores.
    pub(super) fn facts(&self, bed: &Bed) -> FactTable {
        let of_guest = |(at, guest): &(usize, guest::GuestWithNetwork)| {
            let role = bed.boxes[*at].0;
            guest.facts.clone().into_iter().map(move |(name, words)| (named(role, &name), words))
        };
        let of_machine = self.backlog.as_ref().and_then(|(backlog, _)| backlog.fact());
        self.guests.iter().flat_map(of_guest).chain(of_machine).collect()
    }

    pub(crate) fn doubts(&self) -> Option<String> {
        self.backlog.as_ref().and_then(|(backlog, _)| backlog.doubt())
    }

    /// The interface of a side; for a TAP, the device's end.
    pub(crate) fn interface<'a>(&'a self, side: &str, keys: &'a PortKeys) -> (&'a Netns, &'a str) {
        let is_right = side == "right";
        match self.links.as_ref().map(Links::boxes) {
            Some([first, .., last]) if keys.io == PortIo::Tap => {
                (if is_right { last } else { first }, links::ENDS[usize::from(is_right)])
            }
            Some([only]) if keys.io == PortIo::Tap => (only, links::ENDS[usize::from(is_right)]),
            _ => (&self.tester, &keys.interface),
        }
    }

    /// Boxes' ends of the links to the tester, if natmeter made them: left, right.
    pub(crate) fn macs(&self) -> Option<[Mac; 2]> {
        self.links.as_ref().map(|_| links::macs(0, 1).map(Mac))
    }

    pub(crate) fn start(
        &mut self,
        bed: &Bed,
        values: impl Fn(&str) -> Vec<(String, String)>,
        process: &RunContext,
    ) -> Result<(), RigError> {
        let Some(links) = &self.links else { return Ok(()) };
        for ((role, keys), namespace) in bed.boxes.iter().zip(links.boxes()) {
            let Some(line) = &keys.start else { continue };
            let mut values = values(role);
            values.extend(links::ENDS.map(|end| (end.to_owned(), end.to_owned())));
            let sink = process.commands.sink(role);
            self.programs.push(RunningProgram::spawn(line, &values, namespace, &files::folder(bed), &sink)?);
        }
        Ok(())
    }

    pub(super) fn links(&mut self) -> Option<&mut Links> {
        self.links.as_mut()
    }

    /// The program that ended; `None` if all run.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.programs.iter_mut().find_map(RunningProgram::ended)
    }
}

/// The name of a fact about one of several boxes.
pub(super) fn named(role: &str, name: &str) -> String {
    if role == "dut" { name.to_owned() } else { format!("{role} {name}") }
}

/// If cores of this machine forward the packets of a box, they must not deliver the packets to the tester, too.
pub(crate) fn delivery(scenario: &Scenario, bed: &Bed, (role, keys): (&str, &BoxKeys)) -> Vec<Step> {
    if !keys.is_steered(role, &scenario.sweep.cores) {
        return Vec::new();
    }
    let interfaces = bed.ports().into_iter().filter(|(_, port)| port.io != PortIo::Tap);
    let interfaces: Vec<&str> = interfaces.map(|(_, port)| port.interface.as_str()).collect();
    let [tester, _] = shared_out(bed.lanes() as usize, 0);
    links::delivery(&interfaces, bed.lanes(), &tester)
}

/// The steps that give a box in a namespace its addresses and routes.
pub(crate) fn network(scenario: &Scenario, bed: &Bed, point: &Point, at: usize) -> Vec<Step> {
    let (network, has_ipv6) = guest::network(scenario, bed, point, at);
    let quiet = if has_ipv6 { with_ipv6() } else { Vec::new() };
    [quiet, network].concat()
}

pub(crate) fn ends(bed: &Bed) -> [End<'_>; 2] {
    [&bed.left, &bed.right].map(|port| match port.io {
        PortIo::Tap => End::Queues(1),
        _ => End::Interface(&port.interface),
    })
}

pub(crate) fn connections(bed: &Bed) -> Vec<Connection> {
    bed.boxes.iter().map(|(_, keys)| connection(keys)).collect()
}

fn connection(keys: &BoxKeys) -> Connection {
    match keys.on {
        bed::On::Guest(GuestKind::Qemu) => Connection::Queues(keys.guest_cpus),
        _ => Connection::Interfaces,
    }
}

/// Whether `i-know` cannot override the danger: frames with the operator's own addresses could leave through a default route.
fn is_final(bed: &Bed, danger: &str) -> bool {
    danger == "default-route" && !bed.keys.allow_addresses.is_empty()
}

/// Refuses test frames that could leave the laboratory, unless `i-know` of the bed file names the danger.
fn refuse_dangers(bed: &Bed) -> Result<(), RigError> {
    let all = machine::interfaces().map_err(RigError::Bed)?;
    for (_, port) in bed.ports() {
        let Some(found) = all.iter().find(|found| found.name == port.interface) else { continue };
        if let Some((danger, sentence)) =
            found.dangers().into_iter().find(|(name, _)| !bed.knows(name) || is_final(bed, name))
        {
            let way_out = format!("use another interface, or add i-know = [\"{danger}\"] to [bed]");
            return Err(RigError::Bed(format!("{sentence}; {way_out}")));
        }
        if let Some(sentence) = management::through(found, bed) {
            return Err(RigError::Bed(sentence));
        }
    }
    Ok(())
}
