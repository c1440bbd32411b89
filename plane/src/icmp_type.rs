//! The types of ICMP (RFC 792) and ICMPv6 (RFC 4443) messages.

/// ICMP types.
pub(crate) mod v4 {
    /// Echo reply.
    pub(crate) const ECHO_REPLY: u8 = 0;
    /// Destination unreachable.
    pub(crate) const UNREACHABLE: u8 = 3;
    /// Echo request.
    pub(crate) const ECHO: u8 = 8;
    /// Time exceeded.
    pub(crate) const TIME_EXCEEDED: u8 = 11;
    /// Parameter problem.
    pub(crate) const PARAMETER: u8 = 12;
}

/// ICMPv6 types.
pub(crate) mod v6 {
    /// Destination unreachable.
    pub(crate) const UNREACHABLE: u8 = 1;
    /// Packet too big.
    pub(crate) const TOO_BIG: u8 = 2;
    /// Time exceeded.
    pub(crate) const TIME_EXCEEDED: u8 = 3;
    /// Parameter problem.
    pub(crate) const PARAMETER: u8 = 4;
    /// Echo request.
    pub(crate) const ECHO: u8 = 128;
    /// Echo reply.
    pub(crate) const ECHO_REPLY: u8 = 129;
}

/// Whether an ICMP type is an error message.
pub(crate) fn is_error4(kind: u8) -> bool {
    matches!(kind, 3 | 4 | 5 | 11 | 12)
}

/// Whether an ICMPv6 type is an error message (RFC 4443, section 2.1).
pub(crate) fn is_error6(kind: u8) -> bool {
    kind < 128
}
