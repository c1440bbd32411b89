//! A frame in memory, as `port` moves and `plane` rewrites it.

/// An Ethernet frame that may be rewritten, lengthened and shortened in place.
pub trait Packet: 'static {
    /// Bytes from the Ethernet header on, without FCS.
    fn bytes(&self) -> &[u8];
    /// Mutable bytes from the Ethernet header on.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Lengthens the frame by `n` undefined bytes at the front. False, and unchanged, without room.
    fn grow_front(&mut self, n: usize) -> bool;
    /// Shortens the frame at the front. False, and unchanged, if it is shorter.
    fn shrink_front(&mut self, n: usize) -> bool;
    /// Moves the end (new bytes undefined). False, and unchanged, without room.
    fn set_len(&mut self, len: usize) -> bool;
}
