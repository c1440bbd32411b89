//! The loads of the frame loss rate (RFC 2544, section 26.3).

use key::kind::{list, maybe, rate, share};
use key::quantity::WrittenRate;
use key::{computed, or};
use method::Rate;
use procedure::frame_loss::falling;

key::table! {
    /// The loads at which the frame loss rate is measured.
    pub struct FrameLoss {
        /// Distance of two loads, as a share of the highest; RFC 2544 allows at most 10 %.
        step_ppm: u32 = "step", share(), or("10 %").conforms();
        /// The loads themselves, for devices far below the line rate.
        loads: Option<Vec<WrittenRate>> = "loads", maybe(list(rate())), computed("from `max-rate` down in steps");
    }
}

impl FrameLoss {
    /// Returns the loads per direction, the highest first, for frames of this size. `highest` is the upper end of all
    /// searches; no load is above it.
    pub fn loads(&self, highest: Rate, frame: usize) -> Vec<Rate> {
        let Some(written) = &self.loads else { return falling(highest, self.step_ppm) };
        let mut loads: Vec<Rate> =
            written.iter().map(|load| Rate(load.frames_per_second(frame)).min(highest)).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.reverse();
        loads
    }
}
