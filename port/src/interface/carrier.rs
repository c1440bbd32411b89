//! The carrier of a card: attaching an XDP program resets the link of many cards, which then needs seconds.

use super::statistics::has_card;
use super::{Interfaces, LinkFacts};
use crate::{Netns, PortError};
use std::time::{Duration, Instant};

/// Waits until the link of a card is up. Returns at once for an interface that is switched off or has no card.
///
/// # Errors
/// No interface has this name, or no carrier appeared within `most`.
pub fn wait_for_carrier(ns: &Netns, name: &str, most: Duration) -> Result<(), PortError> {
    ns.run_in(|| {
        let (mut interfaces, deadline) = (Interfaces::here()?, Instant::now() + most);
        loop {
            let now = interfaces.get(name)?;
            if now.running || !now.up || !has_card(&now.kind) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let LinkFacts { driver, .. } = interfaces.link_facts(name)?;
                return Err(PortError::Unsupported(format!(
                    "{name} (driver {driver}) has had no carrier for {most:?}: check the cable, and that the far end is switched on \
                     (`ethtool {name}` shows the link)"
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    })?
}
