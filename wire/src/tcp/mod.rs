//! TCP without a TCP stack (RFC 9293): a [`Script`] determines a connection's segments, whose
//! sequence numbers contain its number ([`Numbers`]), so that each can be answered by itself.

mod exchange;
mod numbers;
mod script;
mod segment;

pub use exchange::{Exchanges, Progress};
pub use numbers::Numbers;
pub use script::{Close, MOST_OCTETS, Script, Segment, Side};
pub use segment::{Ends, ExpectedSegment, SegmentTemplate};

/// Header without options.
pub const HEADER: usize = 20;
/// The window, in octets: the largest without RFC 7323.
pub const WINDOW: u16 = u16::MAX;
/// Flags of a TCP header (RFC 9293, section 3.1).
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push function.
    pub const PSH: u8 = 0x08;
    /// The acknowledgment field is significant.
    pub const ACK: u8 = 0x10;
}
