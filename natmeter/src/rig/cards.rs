//! What a card must be set to before its ports are opened: XDP sockets see only the frames of their queues, as the card
//! delivers them.

use super::RigError;
use port::Netns;
use port::interface::LinkFacts;
use scenario::bed::PortKeys;

/// Fails if XDP sockets of a port would not receive the frames that the bed file promises; names driver, setting and
/// command.
pub(super) fn refuse_settings(here: &Netns, side: &str, keys: &PortKeys) -> Result<(), RigError> {
    if !keys.io.is_xdp() {
        return Ok(());
    }
    let facts = LinkFacts::of(here, &keys.interface)?;
    wrong_queues(side, keys, &facts)
        .or_else(|| lost_tags(side, keys, &facts))
        .map_or(Ok(()), |what| Err(RigError::Bed(what)))
}

fn wrong_queues(side: &str, keys: &PortKeys, facts: &LinkFacts) -> Option<String> {
    let LinkFacts { name, driver, rx_queues, .. } = facts;
    let (used, opened) = (facts.used_queues(), keys.queues);
    if used > opened {
        return Some(format!(
            "{name} (driver {driver}) delivers frames to {used} receive queues, and `queues` of [bed.{side}] opens {opened}; XDP sockets \
             do not see the frames of the others: write queues = {used}, or run `ethtool -L {name} combined {opened}` (veth: rx \
             {opened})"
        ));
    }
    (*rx_queues < opened).then(|| {
        format!(
            "{name} (driver {driver}) has {rx_queues} receive queues, and `queues` of [bed.{side}] opens {opened}: write queues = \
             {rx_queues}, or run `ethtool -L {name} combined {opened}` (veth: rx {opened} tx {opened})"
        )
    })
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
            ("", card.clone(), Some("(driver igb) delivers frames to 2 receive queues")),
            ("queues = 2\n", card.clone(), None),
            ("", of_hash(1), None),
            ("queues = 2\n", of_hash(1), None),
            ("queues = 4\n", card.clone(), Some("`ethtool -L eth0 combined 4`")),
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
