//! Classic capture files (pcap) with nanoseconds.

/// Octets in front of all frames.
pub const FILE_HEADER: usize = 24;
/// Octets in front of each frame.
pub const RECORD_HEADER: usize = 16;

/// Nanoseconds, lowest octet first.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: u32 = 2 | 4 << 16;
const ETHERNET: u32 = 1;

/// Ethernet frames with at most `octets` of each.
pub fn file_header(octets: usize) -> [u8; FILE_HEADER] {
    words([MAGIC, VERSION, 0, 0, octets as u32, ETHERNET])
}

/// A frame at `nanos` since 1970 (UTC): `kept` octets of `whole`.
pub fn record_header(nanos: u64, kept: usize, whole: usize) -> [u8; RECORD_HEADER] {
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    words([seconds as u32, rest as u32, kept as u32, whole as u32])
}

fn words<const WORDS: usize, const OCTETS: usize>(words: [u32; WORDS]) -> [u8; OCTETS] {
    let mut octets = [0; OCTETS];
    for (to, word) in octets.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// draft-ietf-opsawg-pcap, sections 4 and 5: magic, version 2.4, two reserved words, limit, link type; then seconds,
    /// fraction, captured and original length.
    #[test]
    fn headers_are_those_of_the_format() {
        let file = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        assert_eq!(file_header(1 << 18), file);
        let record = [1, 0, 0, 0, 2, 0, 0, 0, 60, 0, 0, 0, 0xdc, 5, 0, 0];
        assert_eq!(record_header(1_000_000_002, 60, 1500), record);
    }
}
