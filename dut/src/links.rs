//! Two veth pairs between a namespace of the tester and one of a device, for a program that a developer starts as the device.
//! Both namespaces vanish with natmeter.

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

/// The pairs and both namespaces; they vanish when it is dropped.
pub struct Links {
    host: Namespace,
    _changes: Changes,
}

impl Links {
    /// Makes the pairs: left and right, with these names of the tester's ends and so many queues.
    ///
    /// # Errors
    /// Without the privilege or the programs for it, or for a name that is none of an interface.
    pub fn make(ends: [&str; 2], queues: u32, dir: &RunDir, sink: &Sink) -> Result<Links, DutError> {
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

fn steps(ends: [&str; 2], queues: u32) -> Vec<Step> {
    let mut steps = quiet(Target::Dut);
    steps.extend(quiet(Target::Tester));
    steps.push(Step::dut("switch the loopback interface on", Action::words("ip link set lo up")));
    for (side, own) in [LEFT, RIGHT].into_iter().zip(ends) {
        let queues = format!("numtxqueues {queues} numrxqueues {queues}");
        let mut add =
            Action::words(&format!("ip link add {own} {queues} type veth peer name {} {queues} netns", side.name));
        if let Action::Command { args, .. } = &mut add {
            args.push(NETNS_OF_DUT.to_owned());
        }
        steps.push(Step::tester(format!("a link from the tester to the {} of the device", side.name), add));
        steps.extend(prepared(Target::Dut, side.name, side.dut_mac()));
        steps.extend(prepared(Target::Tester, own, side.tester_mac()));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::listing;

    #[test]
    fn both_pairs_have_queues_and_addresses() {
        insta::assert_snapshot!(listing(&steps(["t-left", "t-right"], 2)));
    }
}
