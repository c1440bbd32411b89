//! Finds loops in front of the box: frames that come back to the port that sent them, or that reach
//! the other port without the box.

use super::ports::PortPair;
use super::{RigError, RunContext};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time for a frame to come back.
const LISTEN_TIME: Duration = Duration::from_millis(100);

/// EtherType for experiments within a site (IEEE Std 802-2014, section 9.2.4): no router forwards
/// such frames.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// Numbers of frames from one port that arrived at the same port, and at the other port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopCounts {
    same_port: u64,
    other_port: u64,
}

/// Sends one broadcast frame from each port, left first, and counts where it arrives.
pub(crate) fn count_loops(opened: &mut PortPair, process: &RunContext) -> Result<[LoopCounts; 2], RigError> {
    let mut seen = [LoopCounts::default(); 2];
    for (at, from_left) in [true, false].into_iter().enumerate() {
        let frame = frame(opened.own_mac(from_left), process.clock.now(), from_left);
        opened.send(from_left, &frame)?;
        let seen = &mut seen[at];
        opened.listen(LISTEN_TIME, process, &mut |is_left, octets| {
            if octets.starts_with(&frame) {
                let count = if is_left == from_left { &mut seen.same_port } else { &mut seen.other_port };
                *count += 1;
            }
        })?;
    }
    Ok(seen)
}

/// A frame with time and process, so that no other tester sends it.
fn frame(from: [u8; 6], time: u64, from_left: bool) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&from);
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[14..22].copy_from_slice(b"natmeter");
    frame[22..30].copy_from_slice(&time.to_be_bytes());
    frame[30..34].copy_from_slice(&std::process::id().to_be_bytes());
    frame[34] = u8::from(from_left);
    frame
}

/// The finding, with a remedy; `None` if nothing is wrong.
pub(crate) fn describe(seen: [LoopCounts; 2]) -> Option<String> {
    for (side, other, seen) in [("left", "right", seen[0]), ("right", "left", seen[1])] {
        let wrong = match seen {
            LoopCounts { same_port: 0, other_port: 0 } => continue,
            LoopCounts { same_port: 0, other_port } => format!(
                "a broadcast frame that was sent on the {side} came in on the {other} ({other_port} times): both ports are in one Ethernet broadcast \
                 domain. Remove the bridge, put the ports into different VLANs of the switch, or remove the cable from left to right"
            ),
            LoopCounts { same_port, other_port } => {
                let both =
                    if other_port > 0 { format!(", and on the {other} ({other_port} times)") } else { String::new() };
                format!(
                    "a broadcast frame that was sent on the {side} came back to it ({same_port} times){both}: there is a loop. Remove the second \
                     cable between the switches or bridges, or the loopback plug"
                )
            }
        };
        return Some(wrong);
    }
    None
}

/// Refuses a bed with a loop, unless `i-know` of the bed file names it. Checks once in a run.
pub(super) fn refuse_loops(opened: &mut PortPair, is_known: bool, process: &RunContext) -> Result<(), RigError> {
    if is_known || process.is_check || process.loops_checked.load(Ordering::Relaxed) {
        return Ok(());
    }
    if let Some(wrong) = describe(count_loops(opened, process)?) {
        return Err(RigError::Bed(format!("{wrong}; or add i-know = [\"{I_KNOW_BRIDGE}\"] to [bed]")));
    }
    process.loops_checked.store(true, Ordering::Relaxed);
    Ok(())
}

/// Word of a bridge in `i-know`.
pub(crate) const I_KNOW_BRIDGE: &str = "bridge";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_told_from_bridges() {
        let none = LoopCounts::default();
        assert_eq!(describe([none; 2]), None);
        for (seen, says) in [
            ([LoopCounts { same_port: 0, other_port: 1 }, none], "both ports are in one Ethernet broadcast domain"),
            (
                [none, LoopCounts { same_port: 3, other_port: 0 }],
                "sent on the right came back to it (3 times): there is a loop",
            ),
            ([LoopCounts { same_port: 2, other_port: 5 }, none], "and on the right (5 times): there is a loop"),
        ] {
            let said = describe(seen).unwrap();
            assert!(said.contains(says), "{said}");
        }
    }
}
