//! Frame sizes of a view, and the MTUs that follow (METHODOLOGY.md, frame sizes).

use wire::View;
use wire::header::{ETH, FCS};

/// Frame sizes in octets with FCS, left and right.
pub fn frame_sizes(view: &View) -> [usize; 2] {
    [&view.left, &view.right].map(|sent| sent.len() + FCS)
}

/// Left and right; with less, the DUT would fragment.
pub fn mtus(view: &View) -> [usize; 2] {
    let native = view.background.as_ref().map_or(0, |background| background.view.longest());
    [&view.left, &view.right].map(|sent| sent.len().max(native) - ETH)
}
