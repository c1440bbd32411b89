//! What a card must be set to before its ports are opened: XDP sockets see only the frames of their queues, as the card
//! delivers them.

use super::{RigError, RunContext};
use dut::changes::Changes;
use dut::host::LocalHost;
use dut::{Action, RunDir, Setting, Step};
use port::Netns;
use port::backend::af_xdp::Programs;
use port::interface::LinkFacts;
use scenario::bed::PortKeys;
use std::sync::{Arc, Mutex, PoisonError};

/// XDP programs and settings of the user's cards, from the first opening of their ports until the process ends.
#[derive(Clone, Default)]
pub struct Cards(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    // Detached first: a card with a program refuses the old settings.
    programs: Programs,
    changes: Option<Changes>,
}

/// Features that the kernel switches off for an XDP program, and does not restore.
const MERGING: [&str; 2] = ["large-receive-offload", "rx-gro-hw"];

impl Cards {
    pub(super) fn programs(&self) -> Programs {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).programs.clone()
    }

    /// Switches off what an XDP program cannot have. The journal restores it when the process ends.
    fn prepare(&self, interface: &str, process: &RunContext) -> Result<(), RigError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = held.changes.get_or_insert_with(|| {
            Changes::logged(LocalHost::new(), &RunDir::of_this_user(), &process.commands.sink("tester"))
        });
        merging_off(interface).iter().try_for_each(|step| Ok(changes.attempt(step)?))
    }
}

fn merging_off(interface: &str) -> [Step; 2] {
    MERGING.map(|feature| {
        let setting = Setting::Ethtool { interface: interface.to_owned(), feature: feature.to_owned() };
        let step = Step::dut("XDP needs frames as they arrived", Action::set(&setting, "off"));
        Step { target: dut::Target::Machine, ..step.where_present() }
    })
}

/// Prepares a card for XDP sockets. Fails if they would not receive the frames that the bed file promises; names driver,
/// setting and command.
pub(super) fn prepare(here: &Netns, side: &str, keys: &PortKeys, process: &RunContext) -> Result<(), RigError> {
    if !keys.io.is_xdp() {
        return Ok(());
    }
    let facts = LinkFacts::of(here, &keys.interface)?;
    match wrong_queues(side, keys, &facts).or_else(|| lost_tags(side, keys, &facts)) {
        Some(what) => Err(RigError::Bed(what)),
        None if facts.kind.is_empty() => process.cards.prepare(&keys.interface, process),
        None => Ok(()),
    }
}

fn wrong_queues(side: &str, keys: &PortKeys, facts: &LinkFacts) -> Option<String> {
    let LinkFacts { name, driver, rx_queues, kind, .. } = facts;
    let (used, opened) = (facts.used_queues(), keys.queues);
    let channels = if kind == "veth" { format!("rx {opened} tx {opened}") } else { format!("combined {opened}") };
    let has = if used > opened {
        format!("delivers frames to {used} receive queues, and XDP sockets do not see those of queues without a socket")
    } else if *rx_queues < opened {
        format!("has {rx_queues} receive queues")
    } else {
        return None;
    };
    Some(format!(
        "{name} (driver {driver}) {has}: write queues = {used} into [bed.{side}], or run `ethtool -L {name} {channels}`"
    ))
}

/// The kernel keeps the tag of a frame of a veth in the frame that XDP sees.
fn lost_tags(side: &str, keys: &PortKeys, facts: &LinkFacts) -> Option<String> {
    let LinkFacts { name, driver, kind, rxvlan, .. } = facts;
    (keys.vlan.is_some() && kind.is_empty() && *rxvlan == Some(true)).then(|| {
        format!(
            "{name} (driver {driver}) takes VLAN tags out of received frames, so that XDP sockets see no frame of the `vlan` of \
             [bed.{side}]: run `ethtool -K {name} rxvlan off`, or write io = \"af-packet\""
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::bed::{BedText, parse};

    #[test]
    fn a_card_merges_no_frames_under_an_xdp_program() {
        let steps: Vec<String> = merging_off("eth0").iter().map(|step| step.action.to_string()).collect();
        assert_eq!(steps, ["ethtool -K eth0 large-receive-offload off", "ethtool -K eth0 rx-gro-hw off"]);
        assert!(merging_off("eth0").iter().all(|step| step.is_machine_wide() && step.optional));
    }

    #[test]
    fn a_card_that_hides_frames_from_xdp_is_refused() {
        let bed = |keys: &str| {
            let side = |side: &str, net: u8| {
                format!(
                    "[bed.{side}]\ninterface = \"{side}\"\nmac = \"02:00:00:00:01:0{net}\"\naddresses = \"198.1{net}.0.2/24\"\n"
                )
            };
            let text = format!("{}{keys}{}[dut]\n", side("left", 8), side("right", 9));
            parse(&BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() }).unwrap().left
        };
        let card = LinkFacts { name: "eth0".into(), driver: "igb".into(), rx_queues: 2, ..LinkFacts::default() };
        let of_hash = |queues| LinkFacts { hash_queues: Some(queues), ..card.clone() };
        let tags = |rxvlan| LinkFacts { rxvlan: Some(rxvlan), rx_queues: 1, ..card.clone() };
        for (keys, facts, expected) in [
            ("", card.clone(), Some("(driver igb) delivers frames to 2 receive queues, and XDP")),
            ("queues = 2\n", card.clone(), None),
            ("", of_hash(1), None),
            ("queues = 2\n", of_hash(1), None),
            (
                "queues = 4\n",
                card.clone(),
                Some("write queues = 2 into [bed.left], or run `ethtool -L eth0 combined 4`"),
            ),
            ("vlan = 5\n", tags(true), Some("run `ethtool -K eth0 rxvlan off`")),
            ("vlan = 5\n", tags(false), None),
            ("vlan = 5\n", LinkFacts { kind: "veth".into(), ..tags(true) }, None),
            ("", tags(true), None),
        ] {
            let keys = bed(&format!("io = \"af-xdp\"\n{keys}"));
            let said = wrong_queues("left", &keys, &facts).or_else(|| lost_tags("left", &keys, &facts));
            match expected {
                Some(words) => assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{said:?}"),
                None => assert_eq!(said, None),
            }
        }
    }
}
