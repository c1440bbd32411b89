//! Where technologies differ, as two small interfaces: which IPv6 address represents an IPv4 address ([`Addressing`],
//! for translation) and which tunnel a packet takes ([`Softwires`], for encapsulation). The code that translates and
//! tunnels is the same for all technologies and names none of them.

use crate::event::Event;

/// An end of a packet by its role, independent of the packet's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The customer's.
    Customer,
    /// The remote host's.
    Remote,
}

/// An IPv4 end point as far as a packet shows it: the address, and the UDP or TCP port or ICMP identifier that
/// identifies one of the customers that share the address. `None` where the packet has none (other protocols, later
/// fragments).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point4 {
    /// Address.
    pub addr: u32,
    /// Port or identifier.
    pub port: Option<u16>,
}

/// The address mapping between the two IP versions. For each packet and each quoted packet the translator looks up the
/// remote end first on the way to IPv4, and the customer's end first on the way to IPv6: where several prefixes
/// represent the Internet, the first look-up selects the prefix for the second.
pub trait Addressing: Send {
    /// The IPv6 address for an IPv4 end point.
    ///
    /// # Errors
    /// The reason to drop the packet.
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event>;

    /// The IPv4 address for an IPv6 address; `port` is as in [`Point4`]; where customers share addresses, the port must
    /// belong to the customer with this IPv6 address. May open an entry for a customer that was not known.
    ///
    /// # Errors
    /// The reason to drop the packet.
    fn to_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event>;

    /// The same for an address that occurs only in an ICMP error: as the source of the error, or in the packet that it
    /// quotes. Opens no entry: otherwise a sender of errors could fill every table.
    ///
    /// # Errors
    /// As with [`Self::to_ipv4`]; also when no customer is known there.
    fn known_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        self.to_ipv4(end, addr, port)
    }

    /// Whether several customers share this IPv4 address of an end, so that only the port identifies one. If so, the
    /// ports of a fragment's datagram are looked up.
    fn is_shared(&self, _end: End, _addr: u32) -> bool {
        false
    }

    /// The IPv6 addresses of source and destination of a hairpinned packet, from one IPv6 host to another: `dst6` is
    /// the destination that it was sent to, `src` and `dst` are its IPv4 addresses (RFC 7757, section 4). `None` if it
    /// is not hairpinned.
    fn turned(&self, _dst6: u128, _src: u32, _dst: u32) -> Option<(u128, u128)> {
        None
    }

    /// Whether an IPv4 address belongs to customers that are found by address and port: packets from one of them to
    /// another are translated twice instead of leaving over IPv4.
    #[inline(always)]
    fn serves(&self, _addr: u32) -> bool {
        false
    }

    /// Whether IPv6 packets between ends without counterpart are dropped silently (RFC 7599, section 8.2). A sender
    /// that uses the address or port of another customer gets an error in any case.
    fn is_silent(&self) -> bool {
        false
    }

    /// The IPv6 address to be used for the source of an IPv4 packet that a router may have hairpinned (RFC 7757,
    /// section 4.2.1). `None` when there is none but that of [`Self::to_ipv6`].
    fn hidden(&self, _src: u32) -> Option<u128> {
        None
    }

    /// Whether an IPv6 address at an end belongs to a customer of a rule, which has the whole /64: such a customer may
    /// send ICMPv6 errors only about its own packets. Other routers have addresses outside all rules.
    fn owns(&self, _end: End, _addr: u128) -> bool {
        false
    }

    /// Whether an IPv4 address is that of the gateway itself on an inner link, so that an ICMP error from it is the
    /// gateway's own.
    fn is_gateway(&self, _addr: u32) -> bool {
        false
    }

    /// Prefetch what [`Self::to_ipv6`] will read.
    #[inline(always)]
    fn prefetch_ipv4(&self, _end: End, _point: Point4) {}

    /// Prefetch what [`Self::to_ipv4`] will read.
    #[inline(always)]
    fn prefetch_ipv6(&self, _end: End, _addr: u128) {}

    /// Forget what packets have taught, in constant time.
    fn clear(&mut self) {}

    /// Checks whether [`Self::adopt`] leaves the addresses of every session unchanged. This default is right for
    /// strategies whose addresses are in no session.
    ///
    /// # Errors
    /// The key of the setting that must not change while there are sessions, and why.
    fn can_adopt(&self, _new: &Self) -> Result<(), String>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// Take over the settings of `new` and keep the state; `new` gets the old settings. This default is right for
    /// strategies without state. The caller has called [`Self::can_adopt`].
    fn adopt(&mut self, new: &mut Self)
    where
        Self: Sized,
    {
        std::mem::swap(self, new);
    }
}

/// The tunnel for an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrap {
    /// Source of the outer header.
    pub src: u128,
    /// Destination of the outer header.
    pub dst: u128,
    /// The customer's IPv4 address inside the tunnel: that of the packet, unless customers' addresses overlap and are
    /// replaced outside.
    pub customer: u32,
}

/// Which softwires there are.
pub trait Softwires: Send {
    /// The tunnel for a packet of this customer. `customer` is its IPv4 end point, `remote` that of the remote host.
    ///
    /// # Errors
    /// The reason to drop the packet. [`Event::OutsidePortSet`] also when a port is needed and the packet shows none:
    /// then the ports of a fragment's datagram are looked up.
    fn wrap(&self, customer: Point4, remote: Point4) -> Result<Wrap, Event>;

    /// Checks that a packet may leave this tunnel, and returns the customer's address outside the tunnel.
    ///
    /// # Errors
    /// The reason to drop the packet, as with [`Self::wrap`].
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event>;

    /// The same for the ends of a packet that an ICMPv6 error quotes; `src` is the far end. Opens no entry: otherwise a
    /// sender of errors could fill every table.
    ///
    /// # Errors
    /// As with [`Self::unwrap`]; also when no customer is known there.
    fn unwrap_quoted(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        self.unwrap(src, dst, customer, remote)
    }

    /// Whether customers' addresses are replaced outside the tunnel, because they overlap.
    const RENAMES: bool = false;

    /// Where customers' addresses are replaced: the outside address of the customer whose packet an ICMP error from a
    /// tunnel quotes. This need not be the customer that sends the error, but is one behind the same far end `src`.
    ///
    /// # Errors
    /// When no customer behind `src` has that address: outside, it may be the address of another customer.
    fn quoted(&self, _src: u128, customer: u32) -> Result<u32, Event> {
        Ok(customer)
    }

    /// Whether an outside address belongs to a customer of these softwires: packets from one customer to another are
    /// hairpinned.
    #[inline(always)]
    fn serves(&self, _addr: u32) -> bool {
        false
    }

    /// Whether several customers share this IPv4 address, and [`Self::unwrap`] accepts packets that show no port, such
    /// as later fragments.
    fn is_shared(&self, _addr: u32) -> bool {
        false
    }

    /// Whether an IPv6 address is this end's own: such a tunnel would be a loop (RFC 2473, section 4.1.2).
    fn is_own(&self, addr: u128) -> bool;

    /// Whether there is one tunnel only, so that a path MTU that a router reports applies to all packets.
    fn is_single(&self) -> bool {
        false
    }

    /// Take over changes by other threads; called before a batch.
    #[inline(always)]
    fn settle(&mut self) {}

    /// Prefetch what [`Self::wrap`] will read.
    #[inline(always)]
    fn prefetch_wrap(&self, _customer: Point4) {}

    /// Prefetch what [`Self::unwrap`] will read.
    #[inline(always)]
    fn prefetch_unwrap(&self, _src: u128, _customer: Point4) {}

    /// The first step of a look-up, for strategies that need two; it also prefetches, as [`Self::prefetch_wrap`] does.
    /// Its result is passed to [`Self::wrap_at`] in the same batch.
    #[inline(always)]
    fn seek_wrap(&self, customer: Point4) -> u32 {
        self.prefetch_wrap(customer);
        0
    }

    /// The second step. Whenever it fails, the caller gets the reason from [`Self::wrap`].
    ///
    /// # Errors
    /// Some reason.
    #[inline(always)]
    fn wrap_at(&self, _place: u32, customer: Point4, remote: Point4) -> Result<Wrap, Event> {
        self.wrap(customer, remote)
    }

    /// As [`Self::seek_wrap`], for [`Self::unwrap_at`].
    #[inline(always)]
    fn seek_unwrap(&self, src: u128, customer: Point4) -> u32 {
        self.prefetch_unwrap(src, customer);
        0
    }

    /// The second step. Whenever it fails, the caller gets the reason from [`Self::unwrap`].
    ///
    /// # Errors
    /// Some reason.
    #[inline(always)]
    fn unwrap_at(&mut self, _place: u32, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        self.unwrap(src, dst, customer, remote)
    }

    /// Forget what packets have taught, in constant time.
    fn clear(&mut self) {}

    /// Take over the settings of `new` and keep the state; `new` gets the old settings. This default is right for
    /// strategies without state.
    fn adopt(&mut self, new: &mut Self)
    where
        Self: Sized,
    {
        std::mem::swap(self, new);
    }
}
