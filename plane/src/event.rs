//! What may happen to a packet in the functions that have an IPv6 side (translation, tunnels): one list, because they
//! check the same headers and drop for the same reasons, and the pages of the technologies draw them in the same way.

use crate::count::events;

events! {
    /// Forwarded from IPv4 to IPv6.
    ToIpv6 = "ipv4-to-ipv6",
    /// Forwarded from IPv6 to IPv4.
    ToIpv4 = "ipv6-to-ipv4",
    /// Hairpinned: it left on the side on which it came in.
    Hairpinned = "hairpinned",
    /// Left to the machine itself.
    Local = "local",
    /// Given to another worker.
    HandedOver = "handed-over",
    /// ICMP errors that this gateway made.
    IcmpSent = "icmp-sent",
    /// ICMP errors that it did not make: too many in this second, or switched off.
    IcmpSuppressed = "icmp-suppressed",
    /// Packets that it fragmented.
    Fragmented = "fragmented",
    /// Packets reassembled from fragments.
    Reassembled = "reassembled",
    /// Fragments that wait for the rest of their packet; the packets themselves end.
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
    /// Drop: IPv6 extension headers that do not parse, or too many of them.
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
    /// Drop: an ICMP message that has no counterpart in the other IP version.
    IcmpUntranslatable = "icmp-untranslatable",
    /// Drop: a source address without counterpart.
    SourceUnmapped = "source-unmapped",
    /// Drop: a destination address without counterpart.
    DestinationUnmapped = "destination-unmapped",
    /// Drop: a source address or port that does not belong to the subscriber it comes from.
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
    /// Drop: congestion was marked in the tunnel, and the packet inside is not ECN-capable (RFC 6040, section 4.2).
    EcnLost = "ecn-not-capable",
    /// Drop: between two customers, and hairpinning is switched off.
    HairpinOff = "hairpin-off",
    /// Drop: an ICMP message that the policy rejects (RFC 7596, section 8.1).
    IcmpFiltered = "icmp-filtered",
    /// ICMPv6 errors about tunnel packets, relayed to the sender of the inner packet as ICMPv4 errors.
    Relayed = "icmp-relayed",
}
