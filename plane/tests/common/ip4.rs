//! IPv4 frames as the tests of several functions want them: sealed, with and without DF, and cut into fragments.

use etherparse::Ipv4HeaderSlice;

/// Make the header checksum of a frame right again.
pub fn reseal(frame: &mut [u8]) {
    let sum = Ipv4HeaderSlice::from_slice(&frame[14..]).unwrap().to_header().calc_header_checksum();
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// `etherparse` sets DF; here it is off unless asked for. A frame of IPv6 is left alone.
pub fn clear_df(mut frame: Vec<u8>) -> Vec<u8> {
    if frame[14] >> 4 == 4 {
        frame[20] &= !0x40;
        reseal(&mut frame);
    }
    frame
}

pub fn set_df(frame: &mut [u8]) {
    frame[20] |= 0x40;
    reseal(frame);
}

/// Cut the payload of a frame at these offsets (multiples of eight).
pub fn fragments(frame: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let payload = &frame[34..];
    let ends: Vec<usize> = cuts.iter().copied().chain([payload.len()]).collect();
    let mut at = 0;
    ends.iter()
        .map(|&end| {
            let mut f = frame[..34].to_vec();
            f.extend_from_slice(&payload[at..end]);
            let more = if end < payload.len() { 0x2000 } else { 0 };
            f[16..18].copy_from_slice(&((20 + end - at) as u16).to_be_bytes());
            f[18..20].copy_from_slice(&0x1234u16.to_be_bytes());
            f[20..22].copy_from_slice(&((at / 8) as u16 | more).to_be_bytes());
            at = end;
            reseal(&mut f);
            f
        })
        .collect()
}
