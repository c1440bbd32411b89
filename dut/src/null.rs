//! The null device of this machine's kernel: a rule at the ingress of each interface of the DUT
//! returns every frame on the other one before the IP stack, on the same core.

use crate::DutError;
use crate::changes::Changes;
use crate::cpu;
use crate::side::{LEFT, RIGHT};
use crate::step::{Action, Target};
use crate::tool::{self, NFT};

pub fn is_available() -> bool {
    tool::find(NFT.program).is_some()
}

/// Switches the null device, which vanishes with the namespace. `is_generic`: XDP programs of the generic receive path
/// receive its frames.
pub(crate) fn set(changes: &mut Changes, is_generic: bool, on: bool) -> Result<(), DutError> {
    let (why, action) = if on {
        ("the null device: frames leave on the other side, unchanged", Action::reading("nft -f -", table(is_generic)))
    } else {
        ("the device in place of the null device", Action::words("nft delete table netdev natmeter"))
    };
    changes.perform(Target::Dut, why, &action).map(drop)
}

fn table(is_generic: bool) -> String {
    let chain = |from: &str, to: &str| {
        // `fwd` marks frames as redirected, which the generic receive path hides from XDP programs.
        let rule = if is_generic { format!("dup to \"{to}\" drop") } else { format!("fwd to \"{to}\"") };
        format!("\tchain {from} {{\n\t\ttype filter hook ingress device \"{from}\" priority 0;\n\t\t{rule}\n\t}}\n")
    };
    let chains = [chain(LEFT.name, RIGHT.name), chain(RIGHT.name, LEFT.name)].concat();
    format!("table netdev natmeter {{\n{chains}}}")
}

/// Idle time and sent frames of a device's cores.
pub struct Work {
    cores: Vec<usize>,
}

/// Sums of all cores since some time in the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounters {
    /// Idle nanoseconds, in ticks of 10 ms.
    pub idle: u64,
    /// Frames sent by the interfaces of the DUT.
    pub frames: u64,
}

impl Work {
    /// The work of these cores, if the kernel tells idle times.
    pub fn of(cores: &[usize]) -> Option<Work> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        (!cores.is_empty() && cores.iter().all(|core| idle(&stat, *core).is_some()))
            .then(|| Work { cores: cores.to_vec() })
    }

    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    pub(crate) fn read(&self, changes: &mut Changes) -> Option<WorkCounters> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let interfaces = changes.read(Target::Dut, "/proc/thread-self/net/dev").ok()?;
        let idle = self.cores.iter().map(|core| idle(&stat, *core)).sum::<Option<u64>>()?;
        let frames = [LEFT, RIGHT].iter().map(|side| sent(&interfaces, side.name)).sum::<Option<u64>>()?;
        Some(WorkCounters { idle, frames })
    }
}

fn idle(stat: &str, core: usize) -> Option<u64> {
    cpu::core_times(stat).into_iter().find(|times| times.core == core).map(|times| times.idle)
}

fn sent(interfaces: &str, name: &str) -> Option<u64> {
    let line = interfaces.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_on_the_other_side() {
        insta::assert_snapshot!(table(false));
        assert!(table(true).contains("dup to \"left\" drop"));
    }

    #[test]
    fn idle_time_and_sent_frames_are_read() {
        let stat = "cpu  9 9 9 9 9 9 9\ncpu1 1 2 3 400 5 6 7\ncpu10 1 2 3 4 5 6 7\n";
        assert_eq!((idle(stat, 1), idle(stat, 10), idle(stat, 0)), (Some(4_050_000_000), Some(90_000_000), None));
        let interfaces =
            "Inter-|   Receive\n face |bytes\n  left: 1 2 3 4 5 6 7 8 9 10 11\nright:1 2 3 4 5 6 7 8 9 20 11\n";
        assert_eq!(
            (sent(interfaces, "left"), sent(interfaces, "right"), sent(interfaces, "lef")),
            (Some(10), Some(20), None)
        );
    }
}
