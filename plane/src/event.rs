//! Counters and drop reasons of the functions with an IPv6 side (translation, tunnels).

use crate::count::events;

events! {
    /// Forwarded from IPv4 to IPv6.
    ToIpv6 = "ipv4-to-ipv6",
    /// Forwarded from IPv6 to IPv4.
    ToIpv4 = "ipv6-to-ipv4",
    /// Hairpinned.
    Hairpinned = "hairpinned",
    /// Left to the machine itself.
    Local = "local",
    /// Given to another worker.
    HandedOver = "handed-over",
    /// ICMP errors sent.
    IcmpSent = "icmp-sent",
    /// ICMP errors not sent: over the rate limit, or switched off.
    IcmpSuppressed = "icmp-suppressed",
    /// Packets fragmented.
    Fragmented = "fragmented",
    /// Packets reassembled from fragments.
    Reassembled = "reassembled",
    /// Fragments that wait for the rest of their packet.
    FragmentHeld = "fragment-held",
    /// Drop: shorter than the headers it claims to have.
    Short = "short-frame",
    /// Drop: sent to another Ethernet address.
    OtherMac = "other-mac",
    /// Drop: an IP packet sent to an Ethernet group address.
    LinkMulticast = "link-multicast",
    /// Drop: IP version or header length.
    BadHeader = "bad-ip-header",
    /// Drop: a length that does not fit another.
    BadLength = "bad-length",
    /// Drop: IPv4 header checksum.
    BadHeaderChecksum = "bad-header-checksum",
    /// Drop: IPv4 options that do not parse, or that route by the source.
    BadOption = "bad-ip-option",
    /// Drop: unparsable or too many IPv6 extension headers.
    BadExtension = "bad-extension-header",
    /// Drop: an IPv6 routing header with segments left (RFC 7915, section 5.1).
    SourceRoute = "source-route",
    /// Drop: a source that no host may have.
    MartianSource = "martian-source",
    /// Drop: a destination that no host may have.
    MartianDestination = "martian-destination",
    /// Drop: to a multicast address.
    Multicast = "multicast",
    /// Drop: time to live or hop limit ran out.
    HopLimit = "hop-limit-expired",
    /// Drop: larger than the next link, and must not be fragmented.
    TooBig = "too-big",
    /// Drop: a transport protocol that cannot be handled here.
    Protocol = "protocol",
    /// Drop: a UDP checksum of zero where none may be (RFC 7915, section 4.5).
    UdpChecksumZero = "udp-checksum-zero",
    /// Drop: the checksum of an ICMP message.
    IcmpChecksum = "icmp-checksum",
    /// Drop: an ICMP message without counterpart.
    IcmpUntranslatable = "icmp-untranslatable",
    /// Drop: a source address without counterpart.
    SourceUnmapped = "source-unmapped",
    /// Drop: a destination address without counterpart.
    DestinationUnmapped = "destination-unmapped",
    /// Drop: the source does not belong to the subscriber.
    Spoofed = "spoofed-source",
    /// Drop: a port outside every port set.
    OutsidePortSet = "outside-port-set",
    /// Drop: no subscriber has this softwire.
    UnknownSoftwire = "unknown-softwire",
    /// Drop: not an IPv4 packet inside.
    NotTunnel = "not-a-tunnel-packet",
    /// Drop: the well-known prefix with a private IPv4 address (RFC 6052, section 3.1).
    WellKnownPrefixPrivate = "well-known-prefix-private",
    /// Drop: the table of subscribers is full.
    TableFull = "table-full",
    /// Drop: a fragment whose datagram cannot be tracked.
    FragmentFull = "fragment-store-full",
    /// Drop: fragments that overlap or do not fit.
    FragmentOverlap = "fragment-overlap",
    /// Drop: the rest of the datagram did not arrive in time.
    FragmentLate = "fragment-late",
    /// Drop: no memory for a further packet.
    NoMemory = "no-memory",
    /// Drop: ECN marked congestion in the tunnel, but the inner packet is not ECN-capable (RFC 6040, section 4.2).
    EcnLost = "ecn-not-capable",
    /// Drop: between customers, with hairpinning off.
    HairpinOff = "hairpin-off",
    /// Drop: an ICMP message that the policy rejects (RFC 7596, section 8.1).
    IcmpFiltered = "icmp-filtered",
    /// ICMPv6 errors about tunnel packets, relayed as ICMPv4 errors.
    Relayed = "icmp-relayed",
}
