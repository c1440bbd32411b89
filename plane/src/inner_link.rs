//! Ethernet addresses and marks on the inner link of a [`crate::Chain`].

use crate::hash::Hasher;
use crate::side::Side;
use wire::Mac;

/// Address of the customer's half.
pub const CUSTOMER_HALF: Mac = Mac([0x02, 0x6e, 0x6d, 0, 0, 0x0a]);
/// Address of the Internet's half.
pub const INTERNET_HALF: Mac = Mac([0x02, 0x6e, 0x6d, 0, 0, 0x0b]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Customer,
    Internet,
}

impl Half {
    pub(crate) fn facing(side: Side) -> Half {
        if side == Side::Customer { Half::Customer } else { Half::Internet }
    }
    pub(crate) fn other(self) -> Half {
        if self == Half::Customer { Half::Internet } else { Half::Customer }
    }
    pub(crate) fn outer(self) -> Side {
        if self == Half::Customer { Side::Customer } else { Side::Internet }
    }
    pub(crate) fn inner(self) -> Side {
        self.outer().other()
    }
    pub(crate) fn mac(self) -> [u8; 6] {
        if self == Half::Customer { CUSTOMER_HALF.0 } else { INTERNET_HALF.0 }
    }
}

/// What a function in a chain must know of it.
#[derive(Clone, Copy, Debug)]
pub struct Nesting {
    pub(crate) marks: Option<Marks>,
    pub(crate) depth: u32,
}

/// Ethernet destinations of packets handed over between the halves: a group address, four octets
/// that cannot be guessed, and the way through nested chains. A step of the way is a bit, the
/// outermost chain's the lowest; a one precedes the first step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks([u8; 5]);

impl Marks {
    pub(crate) fn new(seed: u64) -> Marks {
        let [a, b, c, d, ..] = Hasher::new(!seed).one(2).to_be_bytes();
        Marks([3, a, b, c, d])
    }

    /// The way of a marked packet.
    #[inline(always)]
    pub(crate) fn way(self, b: &[u8]) -> Option<u8> {
        // Nearly always unicast.
        if b.first() != Some(&3) || b.len() < 6 || b[..5] != self.0 { None } else { Some(b[5]) }
    }

    /// The half that must process the packet next.
    #[inline(always)]
    pub(crate) fn half(self, b: &[u8]) -> Option<Half> {
        self.way(b).map(|way| if way & 1 == 1 { Half::Internet } else { Half::Customer })
    }

    /// Steps that an inner chain has marked remain.
    pub(crate) fn put(self, half: Half, b: &mut [u8]) {
        let way = self.way(b).unwrap_or(1) << 1 | u8::from(half == Half::Internet);
        if let Some(d) = b.get_mut(..6) {
            d[..5].copy_from_slice(&self.0);
            d[5] = way;
        }
    }

    /// The half gets the rest of the mark.
    pub(crate) fn step(half: Half, b: &mut [u8]) {
        match b[5] >> 1 {
            0 | 1 => b[..6].copy_from_slice(&half.mac()),
            rest => b[5] = rest,
        }
    }
}
