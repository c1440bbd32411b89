//! What procedures may ask of a device. The device answers; a procedure knows no kind of device.

use method::Nanos;

/// The capabilities of a device under test.
pub trait Capabilities {
    /// How long it keeps a UDP connection without frames, as far as the scenario says.
    fn forgets_after(&self) -> Nanos;

    /// The boxes of which it consists; each is sampled in a trial of its own.
    fn boxes(&self) -> u32;
}
