//! The test tag: 18 bytes at the start of the UDP payload, all of it in the smallest frame
//! (METHODOLOGY.md, frames). A compensation at its end, zero in most frames, allows any UDP checksum.

use crate::header::word;

/// Length in bytes.
pub const LEN: usize = 18;
/// First bytes of every tag.
pub const MAGIC: [u8; 3] = [0x6e, 0x4d, 0x74];
/// 40 bits: ten hours at 30 Mfps.
pub const MAX_SEQUENCE: u64 = (1 << 40) - 1;

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePurpose {
    /// Opens a connection (phase 1).
    Establish = 1,
    /// Stateless tests and phase 2.
    Data = 2,
    /// Validates a connection.
    Validate = 3,
}

/// The tag as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Trial number, which recognises late frames.
    pub trial: u16,
    /// Kind in the low bits, direction in the top bit ([`Tag::stream`]).
    pub stream: u8,
    /// Sender of this direction.
    pub sender: u8,
    /// Sequence number of this sender, from 0.
    pub sequence: u64,
    /// i: the frame's flow is perm(i).
    pub index: u32,
}

impl Tag {
    /// The second word's last byte.
    pub const SENDER_AT: usize = 15;

    /// The stream byte of a kind and direction.
    pub const fn stream(kind: FramePurpose, reverse: bool) -> u8 {
        kind as u8 | (reverse as u8) << 7
    }

    /// The first 16 bytes.
    #[inline(always)]
    pub fn words(&self) -> [u64; 2] {
        let magic = (MAGIC[0] as u64) << 56 | (MAGIC[1] as u64) << 48 | (MAGIC[2] as u64) << 40;
        let first = magic | (self.stream as u64) << 32 | (self.trial as u64) << 16 | (self.sequence >> 24 & 0xffff);
        let second = self.sequence << 40 | (self.index as u64) << 8 | self.sender as u64;
        [first.to_be(), second.to_be()]
    }

    /// Reads the tag at `at`, if any.
    #[inline(always)]
    pub fn read(frame: &[u8], at: usize) -> Option<Tag> {
        let t: &[u8; LEN] = frame.get(at..at + LEN)?.first_chunk()?;
        let (first, second) = (u64::from_be(word(t, 0)), u64::from_be(word(t, 8)));
        (t[..3] == MAGIC).then_some(Tag {
            trial: (first >> 16) as u16,
            stream: (first >> 32) as u8,
            sender: second as u8,
            sequence: (first & 0xffff) << 24 | second >> 40,
            index: (second >> 8) as u32,
        })
    }
}

/// Common bits of a stream's tags in a trial, compared at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamId(u64);

const SEQUENCE_BITS: u32 = 16;

impl StreamId {
    /// The identifier.
    pub const fn new(trial: u16, stream: u8) -> StreamId {
        let magic = (MAGIC[0] as u64) << 40 | (MAGIC[1] as u64) << 32 | (MAGIC[2] as u64) << 24;
        StreamId(magic | (stream as u64) << 16 | trial as u64)
    }

    /// Both words of the tag at `at`, if the frame is long enough.
    #[inline(always)]
    pub fn words(frame: &[u8], at: usize) -> Option<[u64; 2]> {
        let t: &[u8; LEN] = frame.get(at..at + LEN)?.first_chunk()?;
        Some([u64::from_be(word(t, 0)), u64::from_be(word(t, 8))])
    }

    /// Whether the stream flows Right to Left.
    pub fn is_reverse(self) -> bool {
        self.0 & (1 << 23) != 0
    }

    /// Whether a tag is of this stream.
    #[inline(always)]
    pub fn owns(self, words: [u64; 2]) -> bool {
        words[0] >> SEQUENCE_BITS == self.0
    }

    /// Zero if the second words `first` and `second` are of one sender's tags, the latter sent
    /// `after` frames later, and the first words are equal. (Not zero when the sequence number
    /// carries between words, once in 2^24.)
    #[inline(always)]
    pub fn differs(first: u64, second: u64, after: u64) -> u64 {
        const INDEX: u64 = 0x00ff_ffff_ff00;
        (second & !INDEX) ^ (first & !INDEX).wrapping_add(after << 40)
    }

    /// Sequence number of a tag.
    #[inline(always)]
    pub fn sequence(words: [u64; 2]) -> u64 {
        (words[0] << 24) & (MAX_SEQUENCE ^ 0xff_ffff) | words[1] >> 40
    }

    /// Connection index of a tag.
    #[inline(always)]
    pub fn index(words: [u64; 2]) -> u32 {
        (words[1] >> 8) as u32
    }

    /// Sender of a tag.
    #[inline(always)]
    pub fn sender(words: [u64; 2]) -> u8 {
        words[1] as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_back_as_written(trial: u16, stream: u8, sender: u8, sequence in 0..=MAX_SEQUENCE, index: u32) {
            let tag = Tag { trial, stream, sender, sequence, index };
            let mut b = [0; 20];
            for (k, w) in tag.words().iter().enumerate() {
                b[2 + 8 * k..10 + 8 * k].copy_from_slice(&w.to_ne_bytes());
            }
            prop_assert_eq!(Tag::read(&b, 2), Some(tag));
            let words = StreamId::words(&b, 2).unwrap();
            prop_assert_eq!(StreamId::sequence(words), sequence);
            prop_assert_eq!((StreamId::index(words), StreamId::sender(words)), (index, sender));
            prop_assert!(StreamId::new(trial, stream).owns(words));
            prop_assert_eq!(StreamId::new(trial, stream).is_reverse(), stream & 0x80 != 0);
            prop_assert!(!StreamId::new(trial ^ 1, stream).owns(words));
            prop_assert!(!StreamId::new(trial, stream ^ 1).owns(words));
            prop_assert_eq!(StreamId::words(&b[..19], 2), None);
            b[2] ^= 1;
            prop_assert!(!StreamId::new(trial, stream).owns(StreamId::words(&b, 2).unwrap()));
        }

        #[test]
        fn a_row_is_told_from_anything_else(sequence in 0..=MAX_SEQUENCE, after in 0u64..32, a: u32, b: u32, sender: u8) {
            let first = Tag { trial: 1, stream: 2, sender, sequence, index: a };
            let tag = Tag { sequence: (sequence + after) & MAX_SEQUENCE, index: b, ..first };
            let words = |t: Tag| t.words().map(u64::from_be);
            let differs = |t: Tag| StreamId::differs(words(first)[1], words(t)[1], after) | words(first)[0] ^ words(t)[0];
            // Unless the upper bits change.
            prop_assert_eq!(differs(tag) == 0, sequence >> 24 == tag.sequence >> 24);
            prop_assert_ne!(differs(Tag { sender: sender ^ 1, ..tag }), 0);
            prop_assert_ne!(differs(Tag { sequence: tag.sequence ^ 1, ..tag }), 0);
        }
    }

    #[test]
    fn anything_else_is_foreign() {
        assert_eq!(Tag::read(&[0; 18], 0), None);
        assert_eq!(Tag::read(&[0x6e; 17], 0), None);
    }
}
