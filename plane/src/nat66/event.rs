//! Counters and drop reasons of a NAT66.

use crate::count::events;
use crate::event::Event as Reading;
use crate::nat44::counters::Event as State;

events! {
    /// Forwarded from the customers to the Internet.
    In2Out = "in2out",
    /// Forwarded from the Internet to the customers.
    Out2In = "out2in",
    /// Forwarded from one customer to another.
    Hairpinned = "hairpinned",
    /// Handed over to another worker.
    HandedOver = "handed-over",
    /// Left to the machine itself.
    Local = "local",
    /// ICMPv6 errors sent.
    IcmpSent = "icmp-sent",
    /// ICMPv6 errors not sent: over the rate limit, or switched off.
    IcmpSuppressed = "icmp-suppressed",
    /// Fragments that wait for the first.
    FragmentHeld = "fragment-held",
    /// Drop: shorter than the headers it claims to have.
    Short = "short-frame",
    /// Drop: sent to another Ethernet address.
    OtherMac = "other-mac",
    /// Drop: an IP packet sent to an Ethernet group address.
    LinkMulticast = "link-multicast",
    /// Drop: IP version.
    BadHeader = "bad-ip-header",
    /// Drop: a length that does not fit another.
    BadLength = "bad-length",
    /// Drop: unparsable or too many extension headers, or some behind a fragment header.
    BadExtension = "bad-extension-header",
    /// Drop: a source that no host may have, or that is the gateway's own.
    MartianSource = "martian-source",
    /// Drop: a destination that no router may forward to.
    MartianDestination = "martian-destination",
    /// Drop: to a multicast address.
    Multicast = "multicast",
    /// Drop: from the customers' side, but not from an address that customers may have.
    NotInside = "not-inside",
    /// Drop: from the Internet, but not to an outside address.
    NotPool = "not-pool",
    /// Drop: hop limit ran out.
    HopLimit = "hop-limit-expired",
    /// Drop: a routing header with segments left, whose final destination the checksum covers.
    SourceRoute = "source-route",
    /// Drop: neither UDP, TCP nor ICMPv6.
    Protocol = "protocol",
    /// Drop: larger than the next link.
    TooBig = "too-big",
    /// Drop: an ICMPv6 message that a NAT cannot relate to anything.
    IcmpOther = "icmp-other",
    /// Drop: checksum of an ICMPv6 error.
    IcmpChecksum = "icmp-checksum",
    /// Drop: an ICMPv6 error about a packet of no session.
    IcmpNoSession = "icmp-no-session",
    /// Drop: from the Internet, without a session or mapping.
    NoSession = "no-session",
    /// Drop: a mapping exists but filtering forbids this sender.
    Filtered = "filtered",
    /// Drop: a TCP segment without a session that does not open a connection.
    TcpNotSyn = "tcp-not-syn",
    /// An unsolicited SYN, answered with an ICMPv6 error after six seconds (RFC 5382, REQ-4).
    SynHeld = "syn-held",
    /// Drop: hairpinning is switched off.
    HairpinOff = "hairpin-off",
    /// Drop: the session table is full, or no room for a further customer.
    TableFull = "table-full",
    /// Drop: no room for a further remote address.
    RemotesFull = "remotes-full",
    /// Drop: the table of mappings or permissions is full.
    MappingFull = "mapping-full",
    /// Drop: no outside port is free.
    NoPort = "no-port",
    /// Drop: quota of the customer.
    Quota = "quota",
    /// Drop: a first fragment without the whole transport header (RFC 7112).
    TinyFragment = "tiny-fragment",
    /// Drop: a fragment whose datagram cannot be tracked.
    FragmentFull = "fragment-store-full",
    /// Drop: a fragment that cannot be a part of its datagram.
    FragmentOverlap = "fragment-overlap",
    /// Drop: the first fragment did not arrive in time.
    FragmentLate = "fragment-late",
    /// Drop: no memory for a further packet.
    NoMemory = "no-memory",
}

/// Events of the checks of a packet and of its fragments.
impl From<Reading> for Event {
    fn from(e: Reading) -> Event {
        match e {
            Reading::Short => Event::Short,
            Reading::BadLength => Event::BadLength,
            Reading::BadExtension => Event::BadExtension,
            Reading::FragmentOverlap => Event::FragmentOverlap,
            Reading::FragmentFull => Event::FragmentFull,
            _ => Event::BadHeader,
        }
    }
}

/// Events of the state.
impl From<State> for Event {
    fn from(e: State) -> Event {
        match e {
            State::TableFull => Event::TableFull,
            State::MappingFull => Event::MappingFull,
            State::NoPort => Event::NoPort,
            State::Quota => Event::Quota,
            State::Filtered => Event::Filtered,
            State::TcpNotSyn => Event::TcpNotSyn,
            _ => Event::NoSession,
        }
    }
}
