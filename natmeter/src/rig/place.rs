//! Where the ports of a bed are: the user's interfaces in this namespace, or ends that natmeter makes for a guest or for a program
//! that a developer starts as the device.

use super::{Process, RigError, boxes, guest};
use crate::bed::{machine, management};
use dut::links::{self, End, Links};
use dut::{On, RunDir, started::Started};
use port::{Netns, handover};
use record::folder::FactTable;
use scenario::bed::{Bed, GuestKind, PortIo, PortKeys};
use scenario::{Point, Scenario};
use std::os::fd::OwnedFd;
use wire::Mac;

/// The ports' namespace, and what stands in it.
pub struct Place {
    tester: Netns,
    // The program and the guest end before their links go.
    programs: Vec<Started>,
    guest: Option<guest::Booted>,
    /// The queues of TAPs whose other end is a guest, left and right: without them the interfaces have no carrier.
    taps: Vec<Vec<OwnedFd>>,
    links: Option<Links>,
}

impl Place {
    /// Finds or makes the ports of a bed.
    ///
    /// # Errors
    /// If the links cannot be made, or if something speaks against test frames through the user's interfaces.
    pub fn of(bed: &Bed, process: &Process) -> Result<Place, RigError> {
        if !bed.makes_links() {
            refuse_dangers(bed)?;
            return Ok(Place {
                tester: Netns::current()?,
                programs: Vec::new(),
                guest: None,
                taps: Vec::new(),
                links: None,
            });
        }
        let of_qemu = bed.guest().filter(|(kind, _)| *kind == GuestKind::Qemu).map(|(_, keys)| keys.guest_cpus);
        let ends = [&bed.left, &bed.right].map(|port| match port.io {
            PortIo::Tap => End::Tap,
            _ if of_qemu.is_some() => End::OfGuest(&port.interface),
            _ => End::Veth(&port.interface),
        });
        let links = Links::make(
            ends,
            of_qemu.unwrap_or(bed.lanes()),
            &RunDir::of_this_user(),
            &process.commands.sink("links"),
        )?;
        let taps = of_qemu.map_or(Ok(Vec::new()), |queues| {
            let ports = [&bed.left, &bed.right];
            ports.into_iter().map(|port| handover::tap(links.tester(), &port.interface, queues)).collect()
        })?;
        Ok(Place { tester: links.tester().clone(), programs: Vec::new(), guest: None, taps, links: Some(links) })
    }

    /// The namespace of the tester's ends.
    pub fn tester(&self) -> &Netns {
        &self.tester
    }

    /// The namespace or the guest of the device, if natmeter made it.
    pub fn device(&self) -> Option<On> {
        let namespace = || self.links.as_ref().map(|links| On::Namespace(links.device().clone()));
        self.guest.as_ref().map(|guest| On::Guest(guest.running.clone())).or_else(namespace)
    }

    /// Boots the guest of a bed, if it has one, and gives it addresses and routes for a point.
    ///
    /// # Errors
    /// If no guest is built, it does not boot, or a step in it fails.
    pub fn boot(&mut self, scenario: &Scenario, bed: &Bed, point: &Point, process: &Process) -> Result<(), RigError> {
        if let (Some(of_guest), Some(links)) = (bed.guest(), &self.links) {
            // The old one ends first.
            self.guest = None;
            let network = guest::network(scenario, bed, point);
            let sink = process.commands.sink(bed.boxes[0].0);
            self.guest = Some(guest::Booted::boot(of_guest, links, &self.taps, &network, &sink)?);
        }
        Ok(())
    }

    /// What a report says about the guest.
    pub fn facts(&self) -> FactTable {
        self.guest.as_ref().map(|guest| guest.facts.clone()).unwrap_or_default()
    }

    /// Namespace and name of the interface of a port. That of a TAP is the device's end.
    pub fn interface<'a>(&'a self, side: &str, keys: &'a PortKeys) -> (&'a Netns, &'a str) {
        match &self.links {
            Some(links) if keys.io == PortIo::Tap => (links.device(), links::ENDS[usize::from(side == "right")]),
            _ => (&self.tester, &keys.interface),
        }
    }

    /// The Ethernet addresses of the device's ends, if natmeter made them: left, right.
    pub fn macs(&self) -> Option<[Mac; 2]> {
        self.links.as_ref().map(|_| links::macs().map(Mac))
    }

    /// Starts the programs of the boxes.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn start(
        &mut self,
        bed: &Bed,
        values: impl Fn(&str) -> Vec<(String, String)>,
        process: &Process,
    ) -> Result<(), RigError> {
        let Some(links) = &self.links else { return Ok(()) };
        for (role, keys) in &bed.boxes {
            let Some(line) = &keys.start else { continue };
            let mut values = values(role);
            values.extend(
                ["left", "right"].into_iter().zip(links::ENDS).map(|(side, end)| (side.to_owned(), end.to_owned())),
            );
            let sink = process.commands.sink(role);
            self.programs.push(Started::spawn(line, &values, links.device(), &boxes::folder(bed), &sink)?);
        }
        Ok(())
    }

    /// How a program ended by itself, if one did.
    pub fn ended(&mut self) -> Option<String> {
        self.programs.iter_mut().find_map(Started::ended)
    }
}

/// Whether no word of the user lifts a danger: frames with the operator's own addresses could leave through a default route.
fn is_final(bed: &Bed, danger: &str) -> bool {
    danger == "default-route" && !bed.keys.allow_addresses.is_empty()
}

/// Refuses ports through which test frames could leave the laboratory, unless the bed file knows about it.
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
