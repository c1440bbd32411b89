//! Explicit congestion notification through tunnels (RFC 6040).

use super::config::Ecn;

pub(super) const CE: u8 = 3;
pub(super) const ECT1: u8 = 1;

/// ECN of the outer header (RFC 6040, section 4.1).
#[inline(always)]
pub(super) fn enter(mode: Ecn, inner: u8) -> u8 {
    if mode == Ecn::Normal { inner & 3 } else { 0 }
}

/// `None` when the packet must be dropped (RFC 6040, figure 4).
#[inline(always)]
pub(super) fn leave(inner: u8, outer: u8) -> Option<u8> {
    match (inner & 3, outer & 3) {
        (0, CE) => None,
        (0, _) => Some(0),
        (_, CE) => Some(CE),
        (inner, ECT1) if inner != CE => Some(ECT1),
        (inner, _) => Some(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6040, figure 4: rows Not-ECT, ECT(0), ECT(1), CE inside; columns likewise outside.
    #[test]
    fn figure_4_of_rfc_6040() {
        let order = [0u8, 2, 1, 3];
        let figure = [
            [Some(0), Some(0), Some(0), None],
            [Some(2), Some(2), Some(1), Some(3)],
            [Some(1), Some(1), Some(1), Some(3)],
            [Some(3), Some(3), Some(3), Some(3)],
        ];
        for (inner, row) in order.into_iter().zip(figure) {
            for (outer, want) in order.into_iter().zip(row) {
                assert_eq!(leave(inner, outer), want, "inner {inner}, outer {outer}");
            }
        }
    }

    #[test]
    fn entering_copies_or_hides() {
        for field in 0..4 {
            assert_eq!((enter(Ecn::Normal, field), enter(Ecn::Compatibility, field)), (field, 0));
        }
    }
}
