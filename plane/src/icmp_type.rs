//! The types of ICMP (RFC 792) and ICMPv6 (RFC 4443) messages.

pub(crate) mod v4 {
    pub(crate) const ECHO_REPLY: u8 = 0;
    pub(crate) const UNREACHABLE: u8 = 3;
    pub(crate) const ECHO: u8 = 8;
    pub(crate) const TIME_EXCEEDED: u8 = 11;
    pub(crate) const PARAMETER: u8 = 12;
}

pub(crate) mod v6 {
    pub(crate) const UNREACHABLE: u8 = 1;
    pub(crate) const TOO_BIG: u8 = 2;
    pub(crate) const TIME_EXCEEDED: u8 = 3;
    pub(crate) const PARAMETER: u8 = 4;
    pub(crate) const ECHO: u8 = 128;
    pub(crate) const ECHO_REPLY: u8 = 129;
}

pub(crate) fn is_error4(kind: u8) -> bool {
    matches!(kind, 3 | 4 | 5 | 11 | 12)
}

pub(crate) fn is_error6(kind: u8) -> bool {
    kind < 128
}
