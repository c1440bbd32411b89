//! Fragmentation of IPv4 packets (RFC 791, section 3.2).

use std::ops::Range;
use wire::checksum::Sum;
use wire::header::{be16, put16};

const MORE: u16 = 0x2000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    ihl: usize,
    payload: usize,
    /// Octets of all fragments but the last.
    piece: usize,
    /// Fragment field of the header: fragments may be fragmented again.
    fragment: u16,
}

impl Cut {
    /// Fragments of `mtu` octets; `None` where not even eight octets of payload fit. Does not check DF.
    pub(crate) fn of(b: &[u8], mtu: usize) -> Option<Cut> {
        let (total, ihl) = (usize::from(be16(b, 2)), usize::from(b[0] & 15) * 4);
        let piece = mtu.checked_sub(ihl)? & !7;
        (piece > 0).then_some(Cut { ihl, payload: total - ihl, piece, fragment: be16(b, 6) })
    }

    /// Ranges of the payload behind the first fragment.
    pub(crate) fn rest(self) -> impl Iterator<Item = Range<usize>> {
        (self.piece..self.payload).step_by(self.piece).map(move |at| at..self.payload.min(at + self.piece))
    }

    pub(crate) fn len(&self, part: &Range<usize>) -> usize {
        self.ihl + part.len()
    }

    pub(crate) fn write(&self, b: &[u8], part: &Range<usize>, o: &mut [u8]) {
        o[..self.ihl].copy_from_slice(&b[..self.ihl]);
        keep_copied_options(&mut o[20..self.ihl]);
        o[self.ihl..self.len(part)].copy_from_slice(&b[self.ihl + part.start..self.ihl + part.end]);
        let more = if part.end < self.payload { MORE } else { self.fragment & MORE };
        self.finish(o, part.len(), ((self.fragment & 0x1fff) + (part.start / 8) as u16) | more);
    }

    /// Returns the length to which the caller must shorten the frame.
    pub(crate) fn first(&self, b: &mut [u8]) -> usize {
        self.finish(b, self.piece, (self.fragment & 0x1fff) | MORE);
        self.ihl + self.piece
    }

    fn finish(&self, b: &mut [u8], payload: usize, fragment: u16) {
        put16(b, 2, (self.ihl + payload) as u16);
        put16(b, 6, fragment);
        b[10..12].fill(0);
        let sum = Sum::default().bytes(&b[..self.ihl]).checksum();
        b[10..12].copy_from_slice(&sum);
    }
}

/// Options without the "copied" bit stay in the first fragment (RFC 791, section 3.1).
fn keep_copied_options(o: &mut [u8]) {
    let mut at = 0;
    while at < o.len() {
        let len = match o[at] {
            0 => return,
            1 => 1,
            _ => usize::from(*o.get(at + 1).unwrap_or(&1)).clamp(1, o.len() - at),
        };
        if o[at] & 0x80 == 0 {
            o[at..at + len].fill(1);
        }
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of `ihl` octets in front of `payload` octets, all different.
    fn packet(ihl: usize, payload: usize, fragment: u16) -> Vec<u8> {
        let mut b = vec![0; ihl];
        b[0] = 0x40 | (ihl / 4) as u8;
        put16(&mut b, 2, (ihl + payload) as u16);
        put16(&mut b, 6, fragment);
        b.extend((0..payload).map(|i| i as u8));
        b
    }

    fn pieces(b: &mut Vec<u8>, mtu: usize) -> Vec<Vec<u8>> {
        let cut = Cut::of(b, mtu).unwrap();
        let others = cut.rest().map(|part| {
            let mut o = vec![0; cut.len(&part)];
            cut.write(b, &part, &mut o);
            o
        });
        let others: Vec<Vec<u8>> = others.collect();
        let first = cut.first(b);
        b.truncate(first);
        [b.clone()].into_iter().chain(others).collect()
    }

    #[test]
    fn pieces_are_in_order_fit_and_hold_everything_once() {
        for (ihl, payload, mtu) in [(20, 100, 68), (24, 1480, 576), (60, 33, 68), (20, 49, 68)] {
            let whole = packet(ihl, payload, 0);
            let mut together = Vec::new();
            let all = pieces(&mut whole.clone(), mtu);
            for (i, piece) in all.iter().enumerate() {
                assert!(piece.len() <= mtu && usize::from(be16(piece, 2)) == piece.len());
                assert_eq!(usize::from(be16(piece, 6) & 0x1fff) * 8, together.len());
                assert_eq!(be16(piece, 6) & MORE == 0, i + 1 == all.len());
                assert_eq!(Sum::default().bytes(&piece[..ihl]).checksum(), [0, 0]);
                together.extend_from_slice(&piece[ihl..]);
            }
            assert_eq!(together, whole[ihl..]);
        }
    }

    #[test]
    fn a_fragment_is_cut_again_in_its_place() {
        let all = pieces(&mut packet(20, 96, MORE | 0x64), 68);
        let fields: Vec<u16> = all.iter().map(|piece| be16(piece, 6)).collect();
        assert_eq!(fields, [MORE | 0x64, MORE | 0x6a], "the last of a fragment in the middle is none of the packet");
        assert_eq!(pieces(&mut packet(20, 96, 0x64), 68).last().map(|piece| be16(piece, 6)), Some(0x6a));
    }

    #[test]
    fn options_are_copied_by_their_bit_alone() {
        let mut b = packet(28, 80, 0);
        // Record route of three octets (not copied), router alert of four (copied), end.
        b[20..28].copy_from_slice(&[7, 3, 4, 0x94, 4, 0, 0, 0]);
        let all = pieces(&mut b, 68);
        assert_eq!(all[0][20..28], [7, 3, 4, 0x94, 4, 0, 0, 0]);
        assert_eq!(all[1][20..28], [1, 1, 1, 0x94, 4, 0, 0, 0]);
    }

    #[test]
    fn nothing_is_cut_to_less_than_eight_octets() {
        assert!(Cut::of(&packet(60, 100, 0), 67).is_none());
        assert!(Cut::of(&packet(60, 100, 0), 20).is_none());
        assert!(Cut::of(&packet(60, 100, 0), 68).is_some());
    }
}
