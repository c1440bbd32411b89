//! Foreground frames, which the device translates or tunnels, and native IPv6 (RFC 8219, section
//! 5.3): one mix for the scenario, or those that it sweeps.

use crate::quantity::show_share;
use crate::{Scenario, Traffic};
use method::Count;
use tech::FOREGROUND;
use wire::Prefix6;

const ALL: u32 = 1_000_000;

pub(crate) fn ppm(percent: Count) -> u32 {
    percent as u32 * (ALL / 100)
}

impl Traffic {
    /// Foreground frames in parts per million; none without others.
    pub fn mixed_foreground(&self) -> Option<u32> {
        Some(self.foreground_ppm).filter(|&ppm| ppm < ALL)
    }
}

impl Scenario {
    /// Left and right networks of native frames; none where all frames are foreground.
    pub fn native_networks(&self) -> Option<[Prefix6; 2]> {
        tech::ipv6_forwarding().networks().filter(|_| self.traffic.mixed_foreground().is_some())
    }

    /// Takes the smallest swept share, so that it has native frames if a point has: what holds for
    /// it holds at every point.
    pub(crate) fn take_smallest_foreground(&mut self) {
        if let Some(&least) = self.swept(FOREGROUND).and_then(|swept| swept.values.iter().min()) {
            self.traffic.foreground_ppm = ppm(least);
        }
    }

    /// Mix of foreground and native frames; none where all are foreground.
    pub fn foreground_in_words(&self) -> Option<String> {
        self.native_networks()?;
        let shares = match self.swept(FOREGROUND) {
            Some(swept) => swept.values.iter().map(Count::to_string).collect::<Vec<_>>().join(", ") + " %",
            None => show_share(self.traffic.foreground_ppm),
        };
        Some(format!("{shares} foreground, the rest native IPv6 (RFC 8219, section 5.3)"))
    }
}
