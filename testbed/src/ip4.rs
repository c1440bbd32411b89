//! IPv4 headers of frames: the checksum, and DF on and off.

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

/// Sets DF.
pub fn set_df(frame: &mut [u8]) {
    frame[20] |= 0x40;
    reseal(frame);
}

/// Returns a frame without IPv4 options with these options added.
pub fn with_options(frame: &[u8], options: &[u8]) -> Vec<u8> {
    let mut f = [&frame[..34], options, &frame[34..]].concat();
    f[14] += (options.len() / 4) as u8;
    let total = u16::from_be_bytes([f[16], f[17]]) + options.len() as u16;
    f[16..18].copy_from_slice(&total.to_be_bytes());
    reseal(&mut f);
    f
}
