//! Where technologies differ, as two small interfaces: which IPv6 address stands for an IPv4 address
//! ([`Addressing`], for translation) and which tunnel a packet belongs into ([`Softwires`], for encapsulation).
//! Translating and tunnelling themselves are the same for all of them and know none by name.

use crate::event::Event;

/// An end of a packet by its role, whichever way the packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The customer's.
    Customer,
    /// The other one's.
    Remote,
}

/// An IPv4 end point as far as a packet shows it: the address, and the UDP or TCP port or ICMP identifier that says
/// which of the customers sharing the address is meant. `None` where the packet has none (other protocols, later
/// fragments).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point4 {
    /// Address.
    pub addr: u32,
    /// Port or identifier.
    pub port: Option<u16>,
}

/// Which addresses stand for each other in the two IP versions. For each packet and each quoted packet the
/// translator asks for the remote end first on the way to IPv4, and for the customer's end first on the way to
/// IPv6: where several prefixes stand for the Internet, the first answer selects the prefix for the second.
pub trait Addressing: Send {
    /// The IPv6 address for an IPv4 end point.
    ///
    /// # Errors
    /// The reason to drop the packet.
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event>;

    /// The IPv4 address for an IPv6 address; `port` is as in [`Point4`], and what the packet shows must belong to the
    /// address where ports are shared out. May open an entry for a customer that was not known.
    ///
    /// # Errors
    /// The reason to drop the packet.
    fn to_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event>;

    /// The same for an address that only an ICMP error shows: as the source of the error, or in the packet that it quotes. Opens
    /// nothing: otherwise a sender of errors could fill every table.
    ///
    /// # Errors
    /// As with [`Self::to_ipv4`]; also when no customer is known there.
    fn known_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        self.to_ipv4(end, addr, port)
    }

    /// Whether several customers share this IPv4 address of an end, so that only the port says which of them is meant. Then
    /// the ports of a fragment's datagram are looked for.
    fn is_shared(&self, _end: End, _addr: u32) -> bool {
        false
    }

    /// The IPv6 addresses of source and destination for a packet over IPv6 that goes on to another host there: `dst6` is
    /// where it was sent to, `src` and `dst` are its IPv4 addresses (RFC 7757, section 4). `None` when it does not.
    fn turned(&self, _dst6: u128, _src: u32, _dst: u32) -> Option<(u128, u128)> {
        None
    }

    /// Whether an IPv4 address stands for customers of these addresses that are found by address and port: packets from one
    /// of them to another are translated twice instead of leaving over IPv4.
    #[inline(always)]
    fn serves(&self, _addr: u32) -> bool {
        false
    }

    /// Whether packets over IPv6 between ends without counterpart are dropped without a word (RFC 7599, section 8.2). A sender
    /// who uses what belongs to another is told in any case.
    fn is_silent(&self) -> bool {
        false
    }

    /// The IPv6 address to be shown for the source of an IPv4 packet where a router may have sent it back to where it came
    /// from (RFC 7757, section 4.2.1). `None` when there is none but that of [`Self::to_ipv6`].
    fn hidden(&self, _src: u32) -> Option<u128> {
        None
    }

    /// Whether an IPv6 address at an end is that of a customer that has it by a rule, with all others of its /64: what it sends must
    /// be its own, also ICMPv6 errors. Routers elsewhere have addresses of no rule.
    fn owns(&self, _end: End, _addr: u128) -> bool {
        false
    }

    /// Whether an IPv4 address is that of the gateway itself on an inner link: an ICMP error from it is its own.
    fn is_gateway(&self, _addr: u32) -> bool {
        false
    }

    /// Bring closer what [`Self::to_ipv6`] will read.
    #[inline(always)]
    fn prefetch_ipv4(&self, _end: End, _point: Point4) {}

    /// Bring closer what [`Self::to_ipv4`] will read.
    #[inline(always)]
    fn prefetch_ipv6(&self, _end: End, _addr: u128) {}

    /// Forget what packets have taught, in constant time.
    fn clear(&mut self) {}

    /// Whether [`Self::adopt`] keeps every session where it is seen. As it stands here it is right for those whose addresses
    /// no session has been given.
    ///
    /// # Errors
    /// The key of the setting that must not change while there are sessions, and why.
    fn can_adopt(&self, _new: &Self) -> Result<(), String>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// Go on with the settings of `new`, and with what packets have taught; `new` has the settings of before, then. As it stands
    /// here it is right for those whom packets teach nothing. The caller has asked [`Self::can_adopt`].
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
    /// The customer's IPv4 address inside the tunnel: that of the packet, unless customers' addresses overlap and stand
    /// for something else outside.
    pub customer: u32,
}

/// Which softwires there are.
pub trait Softwires: Send {
    /// The tunnel for a packet of this customer. `customer` is its IPv4 end, `remote` the other one's.
    ///
    /// # Errors
    /// The reason to drop the packet. [`Event::OutsidePortSet`] also when a port is needed and the packet shows none: then
    /// the ports of a fragment's datagram are looked for.
    fn wrap(&self, customer: Point4, remote: Point4) -> Result<Wrap, Event>;

    /// Whether a packet may come out of this tunnel, and the address that stands for the customer from here on.
    ///
    /// # Errors
    /// The reason to drop the packet, as with [`Self::wrap`].
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event>;

    /// The same for the ends of a packet that an ICMPv6 error quotes, `src` being the far end. Opens nothing: otherwise a sender of
    /// errors could fill every table.
    ///
    /// # Errors
    /// As with [`Self::unwrap`]; also when no customer is known there.
    fn unwrap_quoted(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        self.unwrap(src, dst, customer, remote)
    }

    /// Whether something else stands for customers' addresses outside, because they overlap.
    const RENAMES: bool = false;

    /// Where something else stands for customers' addresses: what stands for the one that an ICMP error out of a tunnel
    /// quotes a packet of. It need not be the customer that sends the error, but is one behind the same far end `src`.
    ///
    /// # Errors
    /// When no customer there has that address: what it looks like outside may be another customer.
    fn quoted(&self, _src: u128, customer: u32) -> Result<u32, Event> {
        Ok(customer)
    }

    /// Whether an outside address stands for a customer of these softwires: packets from one customer to another turn
    /// round instead of leaving.
    #[inline(always)]
    fn serves(&self, _addr: u32) -> bool {
        false
    }

    /// Whether several customers share this IPv4 address, and [`Self::unwrap`] lets pass what shows no port, as later fragments do.
    fn is_shared(&self, _addr: u32) -> bool {
        false
    }

    /// Whether an IPv6 address is this end's own: no tunnel ends there at both ends (RFC 2473, section 4.1.2).
    fn is_own(&self, addr: u128) -> bool;

    /// Whether there is one tunnel only, so that what a router says of its path holds for everything.
    fn is_single(&self) -> bool {
        false
    }

    /// Before a batch: take over what has been changed from outside.
    #[inline(always)]
    fn settle(&mut self) {}

    /// Bring closer what [`Self::wrap`] will read.
    #[inline(always)]
    fn prefetch_wrap(&self, _customer: Point4) {}

    /// Bring closer what [`Self::unwrap`] will read.
    #[inline(always)]
    fn prefetch_unwrap(&self, _src: u128, _customer: Point4) {}

    /// For strategies whose look-ups have two steps: the first one, with what [`Self::prefetch_wrap`] does. What it gives
    /// is handed to [`Self::wrap_at`] in the same batch.
    #[inline(always)]
    fn seek_wrap(&self, customer: Point4) -> u32 {
        self.prefetch_wrap(customer);
        0
    }

    /// The second step. Whenever it fails, [`Self::wrap`] is asked for the reason.
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

    /// The second step. Whenever it fails, [`Self::unwrap`] is asked for the reason.
    ///
    /// # Errors
    /// Some reason.
    #[inline(always)]
    fn unwrap_at(&mut self, _place: u32, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        self.unwrap(src, dst, customer, remote)
    }

    /// Forget what packets have taught, in constant time.
    fn clear(&mut self) {}

    /// Go on with the settings of `new`, and with what packets have taught; `new` has the settings of before, then. As it stands
    /// here it is right for those whom packets teach nothing.
    fn adopt(&mut self, new: &mut Self)
    where
        Self: Sized,
    {
        std::mem::swap(self, new);
    }
}
