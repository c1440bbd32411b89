//! Two links between a namespace of the tester and one of a device, for a program that a developer starts as the device: veth
//! pairs, or TAPs. Both namespaces vanish with natmeter.

use crate::DutError;
use crate::bed::{LEFT, RIGHT, prepared, quiet};
use crate::changes::Changes;
use crate::host::{Host, Log, Namespace};
use crate::lock::RunDir;
use crate::step::{Action, NETNS_OF_DUT, Sink, Step, Target};
use crate::tool::{self, ETHTOOL, IP};
use port::Netns;
use std::sync::Arc;

/// Names of the device's ends: left, right.
pub const ENDS: [&str; 2] = [LEFT.name, RIGHT.name];
/// Ethernet addresses of the device's ends: left, right.
pub fn macs() -> [[u8; 6]; 2] {
    [LEFT.dut_mac(), RIGHT.dut_mac()]
}

/// Ethernet addresses of the tester's ends: left, right.
pub fn tester_macs() -> [[u8; 6]; 2] {
    [LEFT.tester_mac(), RIGHT.tester_mac()]
}

/// The tester's end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'a> {
    /// The end of a veth pair, with this name.
    Veth(&'a str),
    /// The file descriptor of a TAP.
    Tap,
    /// A TAP with this name. A guest has its descriptors.
    OfGuest(&'a str),
}

/// The links and both namespaces; they vanish when it is dropped.
pub struct Links {
    host: Namespace,
    _changes: Changes,
}

impl Links {
    /// Makes the links, left and right, with so many queues of a veth pair.
    ///
    /// # Errors
    /// Without the privilege or the programs for it, or for a name that is none of an interface.
    pub fn make(ends: [End; 2], queues: u32, dir: &RunDir, sink: &Sink) -> Result<Links, DutError> {
        tool::require(&[IP, ETHTOOL])?;
        let host = Namespace::new()?;
        let logged: Box<dyn Host> = Box::new(Log::over(host.clone(), Arc::clone(sink)));
        let mut changes = Changes::on(logged, dir.clone(), Arc::clone(sink));
        changes.carry_out(&steps(ends, queues))?;
        Ok(Links { host, _changes: changes })
    }

    /// The namespace of the tester's ends.
    pub fn tester(&self) -> &Netns {
        self.host.at(Target::Tester).expect("a namespace")
    }

    /// The namespace of the device's ends.
    pub fn device(&self) -> &Netns {
        self.host.at(Target::Dut).expect("a namespace")
    }
}

fn steps(ends: [End; 2], queues: u32) -> Vec<Step> {
    let mut steps = quiet(Target::Dut);
    steps.extend(quiet(Target::Tester));
    steps.push(Step::dut("switch the loopback interface on", Action::words("ip link set lo up")));
    for (side, end) in [LEFT, RIGHT].into_iter().zip(ends) {
        let why = format!("a link from the tester to the {} of the device", side.name);
        match end {
            End::Veth(own) => {
                steps.push(Step::tester(why, pair(own, side.name, queues)));
                steps.extend(prepared(Target::Tester, own, side.tester_mac()));
            }
            End::Tap => {
                let add = Action::words(&format!("ip tuntap add {} mode tap", side.name));
                steps.push(Step::dut(format!("{why}: a TAP, which the tester opens"), add));
            }
            End::OfGuest(own) => {
                let several = if queues > 1 { " multi_queue" } else { "" };
                let add = Action::words(&format!("ip tuntap add {own} mode tap{several}"));
                steps.push(Step::tester(format!("{why}: a TAP, whose other end is a guest"), add));
                steps.extend(prepared(Target::Tester, own, side.tester_mac()));
                continue;
            }
        }
        steps.extend(prepared(Target::Dut, side.name, side.dut_mac()));
    }
    steps
}

/// Makes a veth pair between both namespaces.
fn pair(own: &str, far: &str, queues: u32) -> Action {
    let queues = format!("numtxqueues {queues} numrxqueues {queues}");
    let mut add = Action::words(&format!("ip link add {own} {queues} type veth peer name {far} {queues} netns"));
    if let Action::Command { args, .. } = &mut add {
        args.push(NETNS_OF_DUT.to_owned());
    }
    add
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::listing;

    #[test]
    fn links_have_queues_and_addresses() {
        insta::assert_snapshot!(listing(&steps([End::Veth("t-left"), End::Tap], 2)));
        insta::assert_snapshot!(
            "a_guest_with_two_queues",
            listing(&steps([End::OfGuest("t-left"), End::OfGuest("t-right")], 2))
        );
    }
}
