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
    cut(frame, 34, cuts, |at, payload, more| part(frame, at, payload, more, 0x1234))
}

/// What `one` makes of each piece of the payload, which begins at `start`: of its place, its octets, and whether there are more.
pub fn cut(frame: &[u8], start: usize, cuts: &[usize], one: impl Fn(usize, &[u8], bool) -> Vec<u8>) -> Vec<Vec<u8>> {
    let payload = &frame[start..];
    let begins = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([payload.len()]);
    begins.zip(ends).map(|(at, end)| one(at, &payload[at..end], end < payload.len())).collect()
}

/// A fragment of a frame.
pub fn part(frame: &[u8], at: usize, payload: &[u8], more: bool, id: u16) -> Vec<u8> {
    let mut f = frame[..34].to_vec();
    f.extend_from_slice(payload);
    f[16..18].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    f[18..20].copy_from_slice(&id.to_be_bytes());
    f[20..22].copy_from_slice(&((at / 8) as u16 | if more { 0x2000 } else { 0 }).to_be_bytes());
    reseal(&mut f);
    f
}
