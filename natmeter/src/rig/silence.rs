//! Listens for foreign frames on the ports of a bed, before test frames are sent.

use super::ports::PortPair;
use super::{RigError, RunContext, protocols};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Counts the frames that arrive on the left and on the right, by protocol, without requests to the
/// tester, which it answers.
pub(crate) fn listen(
    opened: &mut PortPair,
    time: Duration,
    process: &RunContext,
) -> Result<[BTreeMap<&'static str, u64>; 2], RigError> {
    let mut heard = [BTreeMap::new(), BTreeMap::new()];
    opened.listen(time, process, &mut |is_left, frame| {
        *heard[usize::from(!is_left)].entry(protocols::name(frame)).or_insert(0) += 1;
    })?;
    Ok(heard)
}

/// Refuses an isolated bed with the operator's own prefixes if foreign frames arrive at its ports.
/// Listens once in a run.
pub(super) fn require(opened: &mut PortPair, time: Duration, process: &RunContext) -> Result<(), RigError> {
    if process.silence_checked.load(Ordering::Relaxed) {
        return Ok(());
    }
    let heard = listen(opened, time, process)?;
    for (side, seen) in ["left", "right"].into_iter().zip(&heard) {
        if let Some((kind, n)) = seen.iter().next() {
            let what = format!("the bed is not isolated: {n} {kind} came in on the {side} within {time:?}");
            return Err(RigError::Bed(format!("{what}; switch off what sends them, or use addresses for benchmarks")));
        }
    }
    process.silence_checked.store(true, Ordering::Relaxed);
    Ok(())
}
