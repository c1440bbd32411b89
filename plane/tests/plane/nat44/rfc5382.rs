//! RFC 5382: TCP. What other NATs must do alike is in `stateful`. REQ-6: there are no ALGs.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::Internet;

fn open(g: &mut Gateway, from: At, to: At) -> At {
    let outside = judge(&g.out(&tcp(from, to, "S"))).from;
    g.back(&tcp(to, outside, "SA"));
    g.out(&tcp(from, to, "A"));
    outside
}

#[test]
fn rfc5382_req2a_simultaneous_open() {
    for c in [config(), config().per_connection()] {
        let mut g = gateway(c);
        let outside = judge(&g.out(&tcp((A, 5000), (REMOTE, 80), "S"))).from;
        assert_eq!(judge(&g.back(&tcp((REMOTE, 80), outside, "S"))).to, (A, 5000));
        g.out(&tcp((A, 5000), (REMOTE, 80), "SA"));
        g.back(&tcp((REMOTE, 80), outside, "SA"));
        g.wait(7000);
        g.back(&tcp((REMOTE, 80), outside, "A"));
    }
}

/// Neither command nor answer is changed, and the connection that they announce is unsolicited.
#[test]
fn rfc5382_req6_there_is_no_alg() {
    let mut g = gateway(config());
    let (inside, server) = ((A, 40_000), (REMOTE, 21));
    let outside = open(&mut g, inside, server);
    let sent = g.out(&tcp_with(inside, server, "A", FTP_PORT));
    assert_eq!((judge(&sent).from, carried(&sent)), (outside, FTP_PORT.to_vec()));
    let passive = b"227 Entering Passive Mode (192,0,2,1,19,137)\r\n";
    let got = g.back(&tcp_with(server, outside, "A", passive));
    assert_eq!((judge(&got).to, carried(&got)), (inside, passive.to_vec()));
    assert_eq!(g.entries(), (1, 1));
    // SIP over TCP goes through as it is, too.
    open(&mut g, (A, 5060), (REMOTE, 5060));
    assert_eq!(carried(&g.out(&tcp_with((A, 5060), (REMOTE, 5060), "A", SIP_INVITE))), SIP_INVITE);
    assert_eq!(g.entries(), (2, 2));
    assert!(g.send(Internet, &tcp((REMOTE, 20), (POOL, 19 * 256 + 137), "S")).is_empty());
}

#[test]
fn rfc5382_req7_no_port_is_shared_by_two_hosts() {
    let mut g = gateway(config());
    let a = open(&mut g, (A, 5000), (REMOTE, 80));
    let b = open(&mut g, (B, 5000), (OTHER, 80));
    assert_ne!(a, b);
}

#[test]
fn rfc5382_req10_icmp_does_not_end_a_connection() {
    let mut g = gateway(config());
    let outside = open(&mut g, (A, 5000), (REMOTE, 80));
    let sent = g.out(&tcp((A, 5000), (REMOTE, 80), "A"));
    for code in 0..16 {
        g.back(&error(OTHER, POOL, 3, code, &sent, 28));
    }
    g.wait(7000);
    assert_eq!(judge(&g.back(&tcp((REMOTE, 80), outside, "A"))).to, (A, 5000));
}
