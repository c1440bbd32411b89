//! The state of a TCP connection that selects its timer (RFC 5382, REQ-2 and REQ-5). Ignores sequence numbers.

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// What was seen in which direction.
const SYN_OUT: u8 = 1 << 0;
const SYN_IN: u8 = 1 << 1;
const FIN_OUT: u8 = 1 << 2;
const FIN_IN: u8 = 1 << 3;
const RESET: u8 = 1 << 4;
const STATE: u8 = SYN_OUT | SYN_IN | FIN_OUT | FIN_IN | RESET;

/// SYNs in both directions, in any order (simultaneous open, RFC 5382, REQ-2a), establish a
/// connection. FINs in both directions, or a reset of an established connection, end it. A segment
/// after a reset shows that an end point did not accept the reset. A new SYN after the end starts
/// again. With `rfc6146` a reset counts only before the first FIN (section 3.5.2.2, V4 FIN RCV and
/// V6 FIN RCV).
#[inline]
pub(crate) fn step(state: u8, segment: u8, outbound: bool, rfc6146: bool) -> u8 {
    let kept = state & !STATE;
    let mut s = state & STATE;
    let (syn, fin) = if outbound { (SYN_OUT, FIN_OUT) } else { (SYN_IN, FIN_IN) };
    if segment & RST != 0 {
        let ending = rfc6146 && s & (FIN_OUT | FIN_IN) != 0;
        let established = s & (SYN_OUT | SYN_IN) == SYN_OUT | SYN_IN && !ending;
        return if established { kept | s | RESET } else { state };
    }
    if segment & SYN != 0 {
        if is_closed(s) && segment & ACK == 0 {
            s = 0;
        }
        s |= syn;
    }
    if segment & FIN != 0 {
        s |= fin;
    }
    kept | (s & !RESET)
}

/// Whether both SYNs were seen, not both FINs, and no reset.
#[inline(always)]
pub(crate) fn is_established(state: u8) -> bool {
    state & (SYN_OUT | SYN_IN) == SYN_OUT | SYN_IN && !is_closed(state)
}

#[inline(always)]
fn is_closed(state: u8) -> bool {
    state & RESET != 0 || state & (FIN_OUT | FIN_IN) == FIN_OUT | FIN_IN
}

/// RFC 6146, section 3.5.2.2: a change of state, an established connection, or a SYN restarts the
/// timer; nothing does after both FINs, no further reset after a reset.
#[inline(always)]
pub(crate) fn restarts(old: u8, new: u8, segment: u8) -> bool {
    new != old || is_established(new) || segment & (SYN | RST) == SYN
}

#[inline(always)]
pub(crate) fn opens(segment: u8) -> bool {
    segment & (SYN | RST | ACK | FIN) == SYN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(segments: &[(u8, bool)]) -> u8 {
        segments.iter().fold(0, |s, &(f, out)| step(s, f, out, false))
    }

    #[test]
    fn three_way_handshake_establishes_from_either_side() {
        assert!(!is_established(run(&[(SYN, true)])));
        assert!(is_established(run(&[(SYN, true), (SYN | ACK, false), (ACK, true)])));
        assert!(is_established(run(&[(SYN, false), (SYN | ACK, true)])));
    }

    #[test]
    fn simultaneous_open_establishes() {
        assert!(is_established(run(&[(SYN, true), (SYN, false), (SYN | ACK, true), (SYN | ACK, false)])));
    }

    #[test]
    fn half_closed_is_still_established() {
        let open = [(SYN, true), (SYN | ACK, false)];
        assert!(is_established(run(&[open[0], open[1], (FIN | ACK, true), (ACK, false)])));
        assert!(!is_established(run(&[open[0], open[1], (FIN | ACK, true), (FIN | ACK, false)])));
    }

    #[test]
    fn a_reset_is_transitory_until_another_segment() {
        let s = run(&[(SYN, true), (SYN | ACK, false), (RST, false)]);
        assert!(!is_established(s));
        assert!(is_established(step(s, ACK, true, false)));
    }

    #[test]
    fn the_same_ports_open_again_after_the_end() {
        let s = run(&[(SYN, true), (SYN | ACK, false), (FIN, true), (FIN, false), (SYN, true)]);
        assert!(!is_established(s));
        assert!(is_established(step(s, SYN | ACK, false, false)));
    }

    #[test]
    fn a_reset_before_the_connection_is_established_changes_nothing() {
        assert_eq!(run(&[(SYN, true), (RST, false)]), run(&[(SYN, true)]));
        assert!(is_established(run(&[(SYN, true), (RST, false), (SYN, false)])));
    }

    #[test]
    fn timers_restart_as_rfc_6146_says() {
        let open = run(&[(SYN, true)]);
        assert!(restarts(open, open, SYN) && !restarts(open, open, ACK));
        let both = run(&[(SYN, true), (SYN | ACK, false)]);
        assert!(restarts(both, both, ACK));
        let ended = run(&[(SYN, true), (SYN | ACK, false), (FIN, true), (FIN, false)]);
        assert!(!restarts(ended, ended, ACK));
        let reset = step(both, RST, true, true);
        assert!(restarts(both, reset, RST) && !restarts(reset, step(reset, RST, false, true), RST));
        assert!(restarts(reset, step(reset, ACK, false, true), ACK));
    }

    #[test]
    fn a_reset_after_a_fin_counts_except_under_rfc_6146() {
        let half = run(&[(SYN, true), (SYN | ACK, false), (FIN, true)]);
        assert!(!is_established(step(half, RST, false, false)));
        assert_eq!(step(half, RST, false, true), half);
    }

    #[test]
    fn other_flags_of_the_session_stay() {
        assert_eq!(step(super::super::session::HAIRPIN, SYN, true, false) & !STATE, super::super::session::HAIRPIN);
    }
}
