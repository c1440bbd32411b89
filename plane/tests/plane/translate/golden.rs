//! Golden packets (`golden.txt` says how they were made): what comes out must be these octets.

use crate::translate::bed::*;
use testbed::hex;

/// Identification and header checksum of an IPv4 packet without DF and fragment field are the translator's choice.
fn without_identification(mut frame: Vec<u8>) -> Vec<u8> {
    if frame[12..14] == [8, 0] && frame[20..22] == [0, 0] {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    }
    frame.resize(frame.len().max(60), 0);
    frame
}

#[test]
fn golden_packets() {
    let mut lines = include_str!("golden.txt").lines().filter(|l| !l.starts_with('#'));
    let mut cases = 0;
    while let (Some(name), Some(sent), Some(want)) = (lines.next(), lines.next(), lines.next()) {
        let mut b = bed(|_| {});
        let over6 = name.starts_with("6to4");
        let got = b.one(over6, &hex(sent.trim()), !over6);
        assert_eq!(without_identification(got), without_identification(hex(want.trim())), "{name}");
        cases += 1;
    }
    assert_eq!(cases, 24);
}
