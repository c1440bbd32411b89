//! What procedures may ask of a device, whatever kind it is.

use method::Nanos;

/// The capabilities of a device under test.
pub trait Capabilities {
    /// How long it keeps an idle UDP connection, as far as the scenario says.
    fn forgets_after(&self) -> Nanos;

    /// Boxes, each sampled in a trial of its own.
    fn boxes(&self) -> u32;
}
