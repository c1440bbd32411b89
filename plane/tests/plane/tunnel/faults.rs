//! Faults of other implementations.

use crate::tunnel::packets::*;
use crate::tunnel::rfc7596::{PORT, SHARED, lwaftr};

/// Later fragments are data from their first octet: nothing in them is changed.
#[test]
fn later_fragments_are_left_as_they_are() {
    let (mut end, _) = lwaftr(|_| {});
    let parts =
        fragments(&udp((REMOTE, 80), (SHARED, PORT), &(0..2000).map(|i| i as u8).collect::<Vec<_>>()), 7, &[1000]);
    let out = end.enter_all(&parts);
    for (f, p) in out.iter().zip(&parts) {
        assert_eq!(unwrapped(f).2[20..], p[20..]);
    }
}

#[test]
fn udp_checksums_are_left_as_they_are() {
    let (mut end, _) = lwaftr(|_| {});
    let with_sum = udp((REMOTE, 80), (SHARED, PORT), b"hello");
    let mut without = with_sum.clone();
    without[26..28].fill(0);
    for p in [with_sum, without] {
        assert_eq!(unwrapped(&end.enter(&p)).2[26..28], p[26..28]);
        let back = udp((SHARED, PORT), (REMOTE, 80), b"hello");
        assert_eq!(end.leave(&wrapped(B4, PE, &back))[26..28], back[26..28]);
    }
}

#[test]
fn identification_and_df_are_left_as_they_are() {
    let (mut end, _) = lwaftr(|_| {});
    for field in [0u8, 0x40] {
        let p = with(udp((REMOTE, 80), (SHARED, PORT), b"hello"), |p| {
            p[4..7].copy_from_slice(&[0x12, 0x34, field]);
        });
        assert_eq!(unwrapped(&end.enter(&p)).2[4..8], p[4..8]);
    }
}

/// Neighbour advertisements are the machine's, not swallowed.
#[test]
fn neighbour_advertisements_are_not_swallowed() {
    let (mut end, _) = lwaftr(|_| {});
    let advertisement = icmp6("fe80::1", OWN6, 136, 0, 0x6000_0000, &[0; 16]);
    end.dropped(true, &frame6(&advertisement), "local");
}
