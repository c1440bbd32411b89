//! Frame sizes of a view on both links, and the MTUs that follow (METHODOLOGY.md, frame sizes).

use wire::View;
use wire::header::{ETH, FCS};

/// Frame sizes in octets with FCS on the left and right link.
pub fn frame_sizes(view: &View) -> [usize; 2] {
    [&view.left, &view.right].map(|sent| sent.len() + FCS)
}

/// The MTU of the left and right link; with less, the DUT would fragment.
pub fn mtus(view: &View) -> [usize; 2] {
    let native = view.background.as_ref().map_or(0, |background| background.view.longest());
    [&view.left, &view.right].map(|sent| sent.len().max(native) - ETH)
}
