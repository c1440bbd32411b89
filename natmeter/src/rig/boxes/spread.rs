//! How the packets that a box received were spread over the queues of its interfaces.

use crate::rig::RigError;
use dut::external::External;
use dut::queues::Queues;
use scenario::bed::{self, BoxKeys};

/// Packets received before the trials, for each interface.
pub(super) struct ReceiveCounts {
    role: String,
    interfaces: Vec<(String, Queues)>,
}

impl ReceiveCounts {
    pub(super) fn by(role: &str, keys: &BoxKeys, running: &mut External) -> Result<ReceiveCounts, RigError> {
        let mut interfaces = Vec::new();
        // A box with software of the user may not run Linux.
        let names = keys.both_interfaces().filter(|_| keys.software.is_some_and(bed::Software::is_of_linux));
        if let Some(names) = names {
            let queues = running.queues(names)?;
            interfaces.extend(names.map(str::to_owned).into_iter().zip(queues));
        }
        Ok(ReceiveCounts { role: role.to_owned(), interfaces })
    }

    pub(super) fn lopsided(self, running: &mut External) -> Vec<String> {
        let [left, right] = &self.interfaces[..] else { return Vec::new() };
        let Ok(now) = running.queues([&left.0, &right.0]) else { return Vec::new() };
        let found = self.interfaces.iter().zip(&now);
        let found = found.filter_map(|((name, before), now)| Some((name, dut::queues::lopsided(before, now)?)));
        let sentence = |(name, words): (&String, String)| {
            format!(
                "The interface {name} of the box {} does not spread packets evenly over its queues: {words}. Use more flows, or \
                 spread by ports, too: `ethtool -N {name} rx-flow-hash udp4 sdfn`.",
                self.role
            )
        };
        found.map(sentence).collect()
    }
}
