//! The test tag: 18 bytes at the start of the UDP payload, all that the smallest frame holds
//! (methodology 2.3). It names trial, stream, sequence number and connection index of a frame, and ends in
//! a compensation that keeps the UDP checksum right whatever the rest of the frame says.

use crate::header::{be16, be32, put16, put32};

/// Length of a tag in bytes.
pub const LEN: usize = 18;
/// First three bytes of every tag.
pub const MAGIC: [u8; 3] = [0x6e, 0x4d, 0x74];
/// Largest sequence number (40 bits: ten hours at 30 Mfps).
pub const MAX_SEQUENCE: u64 = (1 << 40) - 1;

/// What a tagged frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a connection (phase 1).
    Establish = 1,
    /// Test traffic proper (stateless tests and phase 2).
    Data = 2,
    /// Validates a connection.
    Validate = 3,
}

/// A tag as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Number of the trial, so that leftovers show.
    pub trial: u16,
    /// Kind in the low bits, direction in the top bit: see [`Tag::stream`].
    pub stream: u8,
    /// Which of several senders of this direction.
    pub sender: u8,
    /// Sequence number of this sender, from 0.
    pub sequence: u64,
    /// Connection index i: the frame's flow is perm(i).
    pub index: u32,
}

impl Tag {
    /// The stream byte of a kind and direction.
    pub const fn stream(kind: Kind, reverse: bool) -> u8 {
        kind as u8 | (reverse as u8) << 7
    }

    /// Write the first 16 bytes at `at`; the compensation is the template's business.
    #[inline(always)]
    pub fn write(&self, frame: &mut [u8], at: usize) {
        let t = &mut frame[at..at + 16];
        t[..3].copy_from_slice(&MAGIC);
        t[3] = self.stream;
        put16(t, 4, self.trial);
        t[6] = (self.sequence >> 32) as u8;
        put32(t, 7, self.sequence as u32);
        put32(t, 11, self.index);
        t[15] = self.sender;
    }

    /// Read the tag at `at`, if there is one.
    #[inline(always)]
    pub fn read(frame: &[u8], at: usize) -> Option<Tag> {
        let t = frame.get(at..at + LEN)?;
        (t[..3] == MAGIC).then(|| Tag {
            trial: be16(t, 4),
            stream: t[3],
            sender: t[15],
            sequence: (t[6] as u64) << 32 | be32(t, 7) as u64,
            index: be32(t, 11),
        })
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
            tag.write(&mut b, 2);
            prop_assert_eq!(Tag::read(&b, 2), Some(tag));
        }
    }

    #[test]
    fn anything_else_is_foreign() {
        assert_eq!(Tag::read(&[0; 18], 0), None);
        assert_eq!(Tag::read(&[0x6e; 17], 0), None);
    }
}
