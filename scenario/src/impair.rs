//! Impairments of frames: their keys, and how reports name them.

use crate::quantity::show_duration;
use key::kind::{any_number, duration, share_or_none};
use key::or;
use method::Nanos;

key::table! {
    /// Impairs frames on their way to the tester, on both sides: for teaching, and to check that a set-up notices.
    pub struct Impair {
        /// Frames lost, in parts per million.
        loss_ppm: u32 = "loss", share_or_none(), or("0");
        /// Frames duplicated.
        duplicate_ppm: u32 = "duplicate", share_or_none(), or("0");
        /// Frames reordered: a later one comes first.
        reorder_ppm: u32 = "reorder", share_or_none(), or("0");
        /// Frames with one bit inverted behind the Ethernet header.
        corrupt_ppm: u32 = "corrupt", share_or_none(), or("0");
        /// How long every frame is held.
        delay: Nanos = "delay", duration(Nanos(0)..=Nanos::from_secs(1)), or("0");
        /// Chooses the frames.
        seed: u64 = "seed", any_number(), or("1");
    }
}

impl Impair {
    pub fn in_words(&self) -> String {
        let shares = [
            (self.loss_ppm, "lost"),
            (self.duplicate_ppm, "duplicated"),
            (self.reorder_ppm, "reordered"),
            (self.corrupt_ppm, "corrupted"),
        ];
        let mut parts: Vec<String> =
            shares.iter().filter(|(ppm, _)| *ppm > 0).map(|(ppm, what)| format!("{ppm} in a million {what}")).collect();
        if self.delay.0 > 0 {
            parts.push(format!("each held for {}", show_duration(self.delay)));
        }
        format!("{} (seed {}), on both sides of the tester", parts.join(", "), self.seed)
    }
}
