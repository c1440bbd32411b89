//! Trials of TCP connections over an in-process link.

use crate::common::{self, any_port, bed, lanes, of_inner, settings, trial_spec};
use engine::{Engine, NoDevice, Settings};
use method::trial::{Tcp, TcpClose};
use method::{Direction, Fault, Load, Nanos, Rate, TrialOptions, TrialOutcome, TrialSpec, Trials};
use plane::view::nat44;
use port::link::{LinkPort, Steer};
use port::{Burst, Pool, Port, PortError, Sent};
use std::sync::Arc;

const HELD: u64 = 2_000;
/// Offset of the flags in an Ethernet/IPv4/TCP frame.
const FLAGS: usize = 47;

#[derive(Clone, Copy)]
enum Fate {
    Pass,
    Lose,
    Twice,
    Damage,
}

/// Lets `fate` decide about each frame by its number and flags.
struct Faulty<P> {
    inner: P,
    sent: u64,
    fate: fn(u64, u8) -> Fate,
}

impl<P: Port> Port for Faulty<P> {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let (accepted, mut out) = (burst.len(), port::burst());
        for mut frame in burst.drain(..) {
            self.sent += 1;
            match (self.fate)(self.sent, frame.bytes()[FLAGS]) {
                Fate::Pass => out.push(frame),
                Fate::Lose => pool.free(frame),
                Fate::Damage => {
                    frame.bytes_mut()[FLAGS + 3] ^= 1;
                    out.push(frame);
                }
                Fate::Twice => {
                    let mut copy = pool.alloc(frame.len()).unwrap();
                    copy.bytes_mut().copy_from_slice(frame.bytes());
                    out.extend([frame, copy]);
                }
            }
        }
        while !out.is_empty() {
            self.inner.transmit(pool, &mut out)?;
        }
        Ok(Sent { accepted, refused: 0 })
    }
}

fn engine_of<P: Port + 'static>(size: usize, left: impl FnMut(LinkPort) -> P) -> Engine {
    engine_with(size, Nanos::from_millis(20), left)
}

pub(super) fn engine_with<P: Port + 'static>(size: usize, drain: Nanos, left: impl FnMut(LinkPort) -> P) -> Engine {
    let bed = bed(size);
    let lanes = lanes((1, 8192), size.max(128), || Steer::First, left, |right| right);
    let settings = Settings { drain, phase1_drain: drain, ..settings() };
    common::engine(Arc::new(nat44(&bed, any_port(&bed))), lanes, NoDevice, settings)
}

fn engine() -> Engine {
    engine_of(64, |inner| inner)
}

/// 1,000 new connections, beside 2,000 that are held.
fn life(exchanges: u16, close: TcpClose) -> TrialSpec {
    let tcp = Tcp::Life { exchanges, close, different: 8_000, watch: None };
    let options = TrialOptions { tcp: Some(tcp), ..TrialOptions::default() };
    let (rate, load) = (Rate(100_000), Load::Frames(1_000));
    TrialSpec { direction: Direction::Forward, rate, load, options, ..trial_spec(HELD) }
}

pub(super) fn exchange(count: u64) -> TrialSpec {
    let options = TrialOptions { tcp: Some(Tcp::Exchange), ..TrialOptions::default() };
    TrialSpec { load: Load::Frames(count), options, ..life(0, TcpClose::None) }
}

/// Connections begun and completed, established, segments of the Initiator and the Responder, faults.
pub(super) fn counts(outcome: &TrialOutcome) -> [u64; 6] {
    let tcp = outcome.observed.tcp.as_ref().unwrap();
    let faults = outcome.forward.faults.total() + outcome.reverse.faults.total();
    let (begun, completed) = (outcome.forward.sent, outcome.forward.received);
    [begun, completed, tcp.established, tcp.from_initiator, tcp.from_responder, faults]
}

#[test]
fn connections_are_opened_used_and_closed() {
    let mut engine = engine();
    for (exchanges, close, [initiator, responder]) in [
        (0, TcpClose::Fin, [4_000, 2_000]),
        (0, TcpClose::Rst, [3_000, 1_000]),
        (0, TcpClose::None, [2_000, 1_000]),
        (3, TcpClose::Fin, [7_000, 5_000]),
        (2, TcpClose::None, [5_000, 3_000]),
    ] {
        let outcome = engine.run(&life(exchanges, close)).unwrap();
        assert_eq!(counts(&outcome), [1_000, 1_000, 1_000, initiator, responder, 0], "{close:?} {outcome:?}");
        assert_eq!(outcome.store.unwrap().learned, HELD);
    }
}

#[test]
fn large_segments_pass_too() {
    let outcome = engine_of(1518, |inner| inner).run(&life(3, TcpClose::Rst)).unwrap();
    assert_eq!(counts(&outcome)[..3], [1_000; 3], "{outcome:?}");
}

#[test]
fn exchanges_take_turns_on_the_connections_that_are_held() {
    let mut engine = engine();
    // Each connection has five of them.
    let outcome = engine.run(&exchange(5 * HELD)).unwrap();
    assert_eq!(counts(&outcome), [10_000, 10_000, 0, 10_000, 10_000, 0], "{outcome:?}");
}

/// Every other one does.
#[test]
fn a_connection_of_which_a_segment_is_lost_does_not_complete() {
    let fate =
        |_: u64, flags: u8| if flags == wire::tcp::flag::FIN | wire::tcp::flag::ACK { Fate::Lose } else { Fate::Pass };
    let mut engine = engine_of(64, |inner| Faulty { inner, sent: 0, fate });
    let outcome = engine.run(&life(0, TcpClose::Fin)).unwrap();
    assert_eq!(counts(&outcome), [1_000, 0, 1_000, 3_000, 1_000, 0], "{outcome:?}");
}

#[test]
fn a_lost_request_costs_one_exchange() {
    let fate = |sent: u64, _: u8| if sent > 3 * HELD && sent.is_multiple_of(100) { Fate::Lose } else { Fate::Pass };
    let mut engine = engine_of(64, |inner| Faulty { inner, sent: 0, fate });
    let outcome = engine.run(&exchange(5 * HELD)).unwrap();
    let [begun, completed, .., faults] = counts(&outcome);
    // Phase 1 sends two segments a connection.
    let lost = (2 * HELD + begun) / 100 - 3 * HELD / 100;
    assert_eq!((begun - completed, faults), (lost, 0), "{outcome:?}");
}

#[test]
fn a_duplicate_is_counted_and_not_answered() {
    let fate = |sent: u64, _: u8| if sent > 2 * HELD { Fate::Twice } else { Fate::Pass };
    let mut engine = engine_of(64, |inner| Faulty { inner, sent: 0, fate });
    let outcome = engine.run(&life(1, TcpClose::Fin)).unwrap();
    assert_eq!(counts(&outcome)[..2], [1_000; 2], "{outcome:?}");
    assert_eq!(outcome.forward.faults.get(Fault::Duplicate), 5_000);
    assert_eq!(outcome.observed.tcp.unwrap().from_responder, 3_000);
}

#[test]
fn a_wrong_checksum_is_no_right_segment() {
    let fate = |sent: u64, _: u8| if sent > 2 * HELD && sent.is_multiple_of(10) { Fate::Damage } else { Fate::Pass };
    let mut engine = engine_of(64, |inner| Faulty { inner, sent: 0, fate });
    let outcome = engine.run(&life(0, TcpClose::None)).unwrap();
    let wrong = outcome.forward.faults.get(Fault::BadChecksum);
    assert!(wrong > 0);
    assert_eq!(outcome.forward.sent - outcome.forward.received, wrong, "{outcome:?}");
}

#[test]
fn nothing_begins_without_the_connections_that_are_held() {
    let fate = |sent: u64, _: u8| if sent == 7 { Fate::Lose } else { Fate::Pass };
    let mut engine = engine_of(64, |inner| Faulty { inner, sent: 0, fate });
    let outcome = engine.run(&life(0, TcpClose::Fin)).unwrap();
    assert_eq!((outcome.store.unwrap().learned, outcome.forward.sent), (HELD - 1, 0));
    assert_eq!(outcome.phase1.unwrap().received, HELD - 1);
}
