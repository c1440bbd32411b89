//! A frame in memory as the code that works on it sees it. Here, because the code that moves frames and the code that rewrites them know
//! nothing of each other.

/// A frame that may be rewritten in place, lengthened and shortened. Starts at the Ethernet header.
pub trait Packet: 'static {
    /// The bytes, from the Ethernet header on, without FCS.
    fn bytes(&self) -> &[u8];
    /// The bytes, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Make it `n` bytes longer at the front (contents undefined); false and unchanged without room.
    fn grow_front(&mut self, n: usize) -> bool;
    /// Take `n` bytes off the front; false and unchanged if there are fewer.
    fn shrink_front(&mut self, n: usize) -> bool;
    /// Move the end (new bytes undefined); false and unchanged without room.
    fn set_len(&mut self, len: usize) -> bool;
}
