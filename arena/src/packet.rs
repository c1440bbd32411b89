//! The interface of a frame in memory. It is in this crate because `port`, which moves frames, and `plane`, which
//! rewrites them, do not depend on each other.

/// A frame that may be rewritten in place, lengthened and shortened. It starts at the Ethernet header.
pub trait Packet: 'static {
    /// Returns the bytes from the Ethernet header on, without FCS.
    fn bytes(&self) -> &[u8];
    /// Returns the same bytes, to be changed in place.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Lengthens the frame by `n` bytes at the front (contents undefined). Returns false, and changes nothing, without
    /// room.
    fn grow_front(&mut self, n: usize) -> bool;
    /// Removes `n` bytes from the front. Returns false, and changes nothing, if the frame has fewer.
    fn shrink_front(&mut self, n: usize) -> bool;
    /// Sets the length by moving the end (new bytes undefined). Returns false, and changes nothing, without room.
    fn set_len(&mut self, len: usize) -> bool;
}
