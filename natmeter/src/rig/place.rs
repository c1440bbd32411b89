//! Where the ports of a bed are: the user's interfaces in this namespace, or ends that natmeter makes for a program that a developer
//! starts as the device.

use super::{Process, RigError, boxes};
use crate::bed::{machine, management};
use dut::links::{self, End, Links};
use dut::{RunDir, started::Started};
use port::Netns;
use scenario::bed::{Bed, PortIo, PortKeys};
use wire::Mac;

/// The ports' namespace, and what stands in it.
pub struct Place {
    tester: Netns,
    // The program ends before its links go.
    programs: Vec<Started>,
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
            return Ok(Place { tester: Netns::current()?, programs: Vec::new(), links: None });
        }
        let ends = [&bed.left, &bed.right].map(|port| match port.io {
            PortIo::Tap => End::Tap,
            _ => End::Veth(&port.interface),
        });
        let links = Links::make(ends, bed.lanes(), &RunDir::of_this_user(), &process.commands.sink("links"))?;
        Ok(Place { tester: links.tester().clone(), programs: Vec::new(), links: Some(links) })
    }

    /// The namespace of the tester's ends.
    pub fn tester(&self) -> &Netns {
        &self.tester
    }

    /// The namespace of the device, if natmeter made it.
    pub fn device(&self) -> Option<&Netns> {
        self.links.as_ref().map(Links::device)
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
