//! The pseudo-random number generator of the senders.

/// Period 2^64 for one multiplication: a counter times a function of it, both halves XORed.
#[inline(always)]
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let product = *state as u128 * (*state ^ 0xd6e8_feb8_6659_fd93) as u128;
    (product >> 64) as u64 ^ product as u64
}
