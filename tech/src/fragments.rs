//! Groups of keys for fragments, reassembly and ICMP errors.

use key::computed;
use key::kind::{duration, maybe, number};
use method::Nanos;
use plane::fragment::PartLimits;
use plane::nat44::config::Config as NatConfig;

/// Twice the largest datagram.
const LEAST_OCTETS: u64 = 128 << 10;
const MOST_OCTETS: u64 = 1 << 30;
const SHORTEST: Nanos = Nanos::from_millis(1);
const LONGEST: Nanos = Nanos::from_secs(600);

key::table! {
    /// Fragments, of which only the first has ports.
    pub struct Fragments {
        /// Fragmented datagrams that each worker tracks at a time (RFC 4787, REQ-14; RFC 7597, section 8.3.2).
        fragment_datagrams: Option<u16> = "fragment-datagrams", maybe(number(1..=65_535)), computed("1,024");
        /// How long the fragments of a datagram may take.
        fragment_timeout: Option<Nanos> = "fragment-timeout", maybe(duration(SHORTEST..=LONGEST)), computed("`\"15 s\"`");
    }
}

key::table! {
    /// Room for fragments.
    pub struct FragmentOctets {
        /// Octets of fragments that each worker holds until the first one comes.
        fragment_octets: Option<u32> = "fragment-octets", maybe(number(LEAST_OCTETS..=MOST_OCTETS)), computed("1 MiB");
    }
}

key::table! {
    /// Fragments that wait in a NAT.
    pub struct FragmentStore {
        /// Fragments that each worker holds until the first one of their datagram comes.
        fragments_held: Option<u16> = "fragments-held", maybe(number(0..=65_535)), computed("128");
    }
}

key::table! {
    /// Datagrams that are reassembled.
    pub struct Reassembly {
        /// Datagrams that each worker reassembles at a time: tunnel packets (RFC 6333, section 6.3), and UDP without checksum, the latter no longer than `fragment-timeout` (RFC 6146, section 3.4).
        datagrams: Option<u16> = "reassembly-datagrams", maybe(number(1..=65_535)), computed("1,024");
        /// Octets of their fragments.
        octets: Option<u32> = "reassembly-octets", maybe(number(LEAST_OCTETS..=MOST_OCTETS)), computed("4 MiB");
        /// How long the fragments of a datagram may take (RFC 8200, section 4.5).
        timeout: Option<Nanos> = "reassembly-timeout", maybe(duration(SHORTEST..=LONGEST)), computed("`\"60 s\"`");
    }
}

key::table! {
    /// ICMP errors that a gateway sends itself.
    pub struct Errors {
        /// ICMP errors that each worker sends in a second, at most; 0 for none (RFC 1812, section 4.3.2.8; RFC 4443, section 2.4 f).
        icmp_errors_per_second: Option<u32> = "icmp-errors-per-second", maybe(number(0..=1_000_000)), computed("1,000");
    }
}

impl Fragments {
    pub(crate) fn set_nat(&self, c: &mut NatConfig) {
        c.fragments.datagrams = self.fragment_datagrams.unwrap_or(c.fragments.datagrams);
        c.fragments.lifetime = self.fragment_timeout.map_or(c.fragments.lifetime, Into::into);
    }

    pub(crate) fn set(&self, octets: &FragmentOctets, limits: &mut PartLimits) {
        set(limits, self.fragment_datagrams, octets.fragment_octets, self.fragment_timeout);
    }
}

impl FragmentStore {
    pub(crate) fn set(&self, c: &mut NatConfig) {
        c.fragments.held = self.fragments_held.unwrap_or(c.fragments.held);
    }
}

impl Reassembly {
    pub(crate) fn set(&self, limits: &mut PartLimits) {
        set(limits, self.datagrams, self.octets, self.timeout);
    }
}

fn set(limits: &mut PartLimits, datagrams: Option<u16>, octets: Option<u32>, lifetime: Option<Nanos>) {
    limits.datagrams = datagrams.map_or(limits.datagrams, Into::into);
    limits.octets = octets.unwrap_or(limits.octets);
    limits.lifetime = lifetime.map_or(limits.lifetime, Into::into);
}
