//! Where technologies differ: the IPv6 address for an IPv4 address ([`Addressing`], for
//! translation) and the tunnel of a packet ([`Softwires`], for encapsulation).

use crate::event::Event;

/// An end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The customer's.
    Customer,
    /// The remote host's.
    Remote,
}

/// An IPv4 end point as far as a packet shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point4 {
    /// Address.
    pub addr: u32,
    /// Port of UDP or TCP, or an ICMP identifier; `None` in other protocols and later fragments.
    pub port: Option<u16>,
}

/// The address mapping between the IP versions. For each packet and quoted packet, the translator
/// looks up the remote end first on the way to IPv4, and the customer's end first on the way to
/// IPv6: where several prefixes represent the Internet, the first look-up selects the prefix for
/// the second.
pub trait Addressing: Send {
    /// IPv6 address for an IPv4 end point.
    ///
    /// # Errors
    /// The reason to drop the packet.
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event>;

    /// IPv4 address for an IPv6 address; a port must belong to its customer. May open an entry for a new customer.
    ///
    /// # Errors
    /// The reason to drop the packet.
    fn to_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event>;

    /// As [`Self::to_ipv4`] for an address in an ICMP error. Opens no entry, so that errors cannot fill tables.
    ///
    /// # Errors
    /// As [`Self::to_ipv4`], or no known customer.
    fn known_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        self.to_ipv4(end, addr, port)
    }

    /// Whether customers share this IPv4 address, so that fragments' ports are looked up.
    fn is_shared(&self, _end: End, _addr: u32) -> bool {
        false
    }

    /// The IPv6 addresses of a hairpinned packet between IPv6 hosts: `dst6` is its destination,
    /// `src` and `dst` are its IPv4 addresses (RFC 7757, section 4). `None` if it is not
    /// hairpinned.
    fn turned(&self, _dst6: u128, _src: u32, _dst: u32) -> Option<(u128, u128)> {
        None
    }

    /// Whether customers of this IPv4 address are found by address and port: packets between them
    /// are translated twice.
    #[inline(always)]
    fn serves(&self, _addr: u32) -> bool {
        false
    }

    /// Whether IPv6 packets between ends without counterpart are dropped silently (RFC 7599,
    /// section 8.2), except for a wrong address or port of a customer.
    fn is_silent(&self) -> bool {
        false
    }

    /// IPv6 source of an IPv4 packet that a router may have hairpinned (RFC 7757, section 4.2.1),
    /// if not that of [`Self::to_ipv6`].
    fn hidden(&self, _src: u32) -> Option<u128> {
        None
    }

    /// Whether a customer of a rule has this IPv6 address: it has the whole /64 and may send ICMPv6
    /// errors only about its own packets.
    fn owns(&self, _end: End, _addr: u128) -> bool {
        false
    }

    /// Whether an IPv4 address is the gateway's own on an inner link.
    fn is_gateway(&self, _addr: u32) -> bool {
        false
    }

    /// Prefetches for [`Self::to_ipv6`].
    #[inline(always)]
    fn prefetch_ipv4(&self, _end: End, _point: Point4) {}

    /// Prefetches for [`Self::to_ipv4`].
    #[inline(always)]
    fn prefetch_ipv6(&self, _end: End, _addr: u128) {}

    /// Forgets learned state, in constant time.
    fn clear(&mut self) {}

    /// Checks whether [`Self::adopt`] leaves the addresses of every session unchanged. The default
    /// is for addresses that are in no session.
    ///
    /// # Errors
    /// The key that must not change while there are sessions, and why.
    fn can_adopt(&self, _new: &Self) -> Result<(), String>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// Takes over the settings of `new` after [`Self::can_adopt`]; `new` gets the old settings. The
    /// default is for strategies without state.
    fn adopt(&mut self, new: &mut Self)
    where
        Self: Sized,
    {
        std::mem::swap(self, new);
    }
}

/// Tunnel of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrap {
    /// Outer source.
    pub src: u128,
    /// Outer destination.
    pub dst: u128,
    /// Customer's IPv4 address inside the tunnel.
    pub customer: u32,
}

/// The softwires of a device.
pub trait Softwires: Send {
    /// Tunnel of a packet.
    ///
    /// # Errors
    /// The reason to drop the packet. [`Event::OutsidePortSet`] also when a needed port is missing:
    /// then a fragment's ports are looked up.
    fn wrap(&self, customer: Point4, remote: Point4) -> Result<Wrap, Event>;

    /// Checks that a packet may leave this tunnel; returns the customer's address outside.
    ///
    /// # Errors
    /// As [`Self::wrap`].
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event>;

    /// As [`Self::unwrap`] for the packet quoted by an ICMPv6 error; `src` is the far end. Opens no
    /// entry, so that errors cannot fill tables.
    ///
    /// # Errors
    /// As [`Self::unwrap`], or no known customer.
    fn unwrap_quoted(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        self.unwrap(src, dst, customer, remote)
    }

    /// Whether customers' addresses overlap and are replaced outside the tunnel.
    const RENAMES: bool = false;

    /// Outside address of the customer behind `src` whose packet an ICMP error quotes.
    ///
    /// # Errors
    /// No customer behind `src` has that address.
    fn quoted(&self, _src: u128, customer: u32) -> Result<u32, Event> {
        Ok(customer)
    }

    /// Whether an outside address belongs to a customer: packets between customers are hairpinned.
    #[inline(always)]
    fn serves(&self, _addr: u32) -> bool {
        false
    }

    /// Whether customers share this IPv4 address, and [`Self::unwrap`] accepts packets without port.
    fn is_shared(&self, _addr: u32) -> bool {
        false
    }

    /// Whether an IPv6 address is this end's: such a tunnel would be a loop (RFC 2473, section 4.1.2).
    fn is_own(&self, addr: u128) -> bool;

    /// Whether there is only one tunnel: a reported path MTU applies to all packets.
    fn is_single(&self) -> bool {
        false
    }

    /// Takes over changes by other threads, before a batch.
    #[inline(always)]
    fn settle(&mut self) {}

    /// Prefetches for [`Self::wrap`].
    #[inline(always)]
    fn prefetch_wrap(&self, _customer: Point4) {}

    /// Prefetches for [`Self::unwrap`].
    #[inline(always)]
    fn prefetch_unwrap(&self, _src: u128, _customer: Point4) {}

    /// First step of a look-up, which also prefetches. [`Self::wrap_at`] gets the result in the same batch.
    #[inline(always)]
    fn seek_wrap(&self, customer: Point4) -> u32 {
        self.prefetch_wrap(customer);
        0
    }

    /// Second step; [`Self::wrap`] gives the reason when it fails.
    ///
    /// # Errors
    /// Any reason.
    #[inline(always)]
    fn wrap_at(&self, _place: u32, customer: Point4, remote: Point4) -> Result<Wrap, Event> {
        self.wrap(customer, remote)
    }

    /// Seeks as [`Self::seek_wrap`] does, for [`Self::unwrap_at`].
    #[inline(always)]
    fn seek_unwrap(&self, src: u128, customer: Point4) -> u32 {
        self.prefetch_unwrap(src, customer);
        0
    }

    /// Second step; [`Self::unwrap`] gives the reason when it fails.
    ///
    /// # Errors
    /// Any reason.
    #[inline(always)]
    fn unwrap_at(&mut self, _place: u32, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        self.unwrap(src, dst, customer, remote)
    }

    /// Forgets learned state, in constant time.
    fn clear(&mut self) {}

    /// Takes over the settings of `new`, which gets the old ones. The default is for strategies without state.
    fn adopt(&mut self, new: &mut Self)
    where
        Self: Sized,
    {
        std::mem::swap(self, new);
    }
}
