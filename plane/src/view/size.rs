//! Frame sizes of a view on both links, and what follows from them: the line rate, and the MTU that every interface on
//! the path must have. One file for this arithmetic (METHODOLOGY.md, frame sizes).

use wire::View;
use wire::header::{ETH, FCS};

/// Frame sizes in octets with FCS on the left and on the right link: the same in both directions.
pub fn frame_sizes(view: &View) -> [usize; 2] {
    [&view.left, &view.right].map(|sent| sent.len() + FCS)
}

/// The MTU that the left and the right link must have; otherwise the DUT fragments, and the measurement is of something
/// else.
pub fn mtus(view: &View) -> [usize; 2] {
    let native = view.background.as_ref().map_or(0, |background| background.view.longest());
    [&view.left, &view.right].map(|sent| sent.len().max(native) - ETH)
}
