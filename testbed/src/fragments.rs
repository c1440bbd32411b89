//! Fragments of frames of either IP version, and the datagrams that they make.

use crate::ip4::reseal;

/// The fragments of a frame; the offsets between them are multiples of eight.
pub fn fragments(frame: &[u8], cuts: &[usize], id: u32) -> Vec<Vec<u8>> {
    let over6 = frame[14] >> 4 == 6;
    cut(frame, if over6 { 54 } else { 34 }, cuts, |at, payload, more| {
        if over6 { part6(frame, at, payload, more, id) } else { part(frame, at, payload, more, id as u16) }
    })
}

fn part6(frame: &[u8], at: usize, payload: &[u8], more: bool, id: u32) -> Vec<u8> {
    let mut f = frame[..54].to_vec();
    f.extend_from_slice(&[frame[20], 0]);
    f.extend_from_slice(&(at as u16 | u16::from(more)).to_be_bytes());
    f.extend_from_slice(&id.to_be_bytes());
    f.extend_from_slice(payload);
    f[20] = 44;
    f[18..20].copy_from_slice(&((8 + payload.len()) as u16).to_be_bytes());
    f
}

/// The datagram that fragments make, as a frame with the headers of the first.
pub fn reassemble(parts: &[Vec<u8>]) -> Vec<u8> {
    let over6 = parts[0][14] >> 4 == 6;
    let mut pieces: Vec<(usize, &[u8])> = parts
        .iter()
        .map(|f| {
            if over6 {
                let field = u16::from_be_bytes([f[56], f[57]]);
                let len = usize::from(u16::from_be_bytes([f[18], f[19]]));
                (usize::from(field & !7), &f[62..54 + len])
            } else {
                let field = u16::from_be_bytes([f[20], f[21]]);
                let len = usize::from(u16::from_be_bytes([f[16], f[17]]));
                (usize::from(field & 0x1fff) * 8, &f[34..14 + len])
            }
        })
        .collect();
    pieces.sort_by_key(|p| p.0);
    let mut payload = Vec::new();
    for (at, bytes) in pieces {
        assert_eq!(at, payload.len(), "fragments must join");
        payload.extend_from_slice(bytes);
    }
    let mut f = parts[0][..if over6 { 54 } else { 34 }].to_vec();
    if over6 {
        f[20] = parts[0][54];
        f[18..20].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        f.extend_from_slice(&payload);
    } else {
        f[16..18].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
        f[20..22].fill(0);
        f.extend_from_slice(&payload);
        reseal(&mut f);
    }
    f
}

/// What `one` makes of each piece of the payload, which begins at `start`: of its place, its octets, and whether there are more.
fn cut(frame: &[u8], start: usize, cuts: &[usize], one: impl Fn(usize, &[u8], bool) -> Vec<u8>) -> Vec<Vec<u8>> {
    let payload = &frame[start..];
    let begins = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([payload.len()]);
    begins.zip(ends).map(|(at, end)| one(at, &payload[at..end], end < payload.len())).collect()
}

fn part(frame: &[u8], at: usize, payload: &[u8], more: bool, id: u16) -> Vec<u8> {
    let mut f = frame[..34].to_vec();
    f.extend_from_slice(payload);
    f[16..18].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    f[18..20].copy_from_slice(&id.to_be_bytes());
    f[20..22].copy_from_slice(&((at / 8) as u16 | if more { 0x2000 } else { 0 }).to_be_bytes());
    reseal(&mut f);
    f
}
