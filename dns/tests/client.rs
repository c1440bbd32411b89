//! The client against a server in this process, whose answers are known. The main path, with Knot DNS and Unbound, is tested in
//! namespaces.

use dns::answer::ExpectedAnswer;
use dns::client::{Client, ClientSockets, Observation};
use dns::load::Load;
use dns::{Names, QueryPlan};
use method::{Nanos, Rate};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Every run has the same source ports.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const NAMES: Names = Names { count: 1_000, existing_ppm: 1_000_000 };

/// What the server does with each query, by its number.
type Behaviour = fn(u64, &mut Vec<u8>) -> usize;

/// Answers `queries` queries: the record of the zone, changed by the behaviour, which returns how often it is sent.
fn serve(socket: &UdpSocket, queries: u64, behaviour: Behaviour) {
    let mut octets = [0; 512];
    for number in 0..queries {
        let Ok((length, from)) = socket.recv_from(&mut octets) else { return };
        let mut answer = octets[..length].to_vec();
        (answer[2], answer[7]) = (0x84, 1);
        let digits = std::str::from_utf8(&octets[13..28]).unwrap();
        let address: Vec<u8> = digits.split('-').map(|octet| octet.parse().unwrap()).collect();
        answer.extend_from_slice(&[0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16]);
        answer.extend_from_slice(&[0x20, 1, 0, 2, 0, 0, 0xaa, 0xaa, 0, 0, 0, 0]);
        answer.extend_from_slice(&address);
        for _ in 0..behaviour(number, &mut answer) {
            socket.send_to(&answer, from).unwrap();
        }
    }
}

fn run(queries: u64, timeout: Nanos, behaviour: Behaviour) -> Observation {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    server.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let address: SocketAddr = server.local_addr().unwrap();
    let client =
        Client::open(Ipv4Addr::LOCALHOST.into(), address, ClientSockets { threads: 2, ports_per_thread: 3 }).unwrap();
    let plan = QueryPlan::new(NAMES.count, 0);
    let load = Load { rate: Rate(2_000), queries, timeout, plan, expected: ExpectedAnswer::Zone };
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&server, queries, behaviour));
        client.run(&load, &NAMES, &AtomicBool::new(false)).unwrap()
    })
}

const TIMEOUT: Nanos = Nanos::from_millis(1_000);

#[test]
fn right_answers_are_valid() {
    let seen = run(400, TIMEOUT, |_, _| 1);
    assert_eq!((seen.sent, seen.answers.valid, seen.answers.unanswered), (400, 400, 0), "{:?}", seen.answers);
    assert!(seen.send_time >= Nanos::from_millis(199), "{:?}", seen.send_time);
}

#[test]
fn every_kind_of_answer_is_counted() {
    let seen = run(400, TIMEOUT, |number, answer| match number % 8 {
        // Not answered.
        0 => 0,
        // Answered twice.
        1 => 2,
        // SERVFAIL.
        2 => {
            answer[3] = 2;
            1
        }
        // The last octet of the address.
        3 => {
            *answer.last_mut().unwrap() ^= 1;
            1
        }
        // An ID that was not sent.
        4 => {
            answer[0] ^= 0x80;
            1
        }
        // No answer record.
        5 => {
            answer[7] = 0;
            1
        }
        // Another question.
        6 => {
            answer[27] = b'x';
            1
        }
        _ => 1,
    });
    let a = seen.answers;
    assert_eq!((a.valid, a.duplicates, a.error_codes, a.wrong_address), (100, 50, 50, 50), "{a:?}");
    assert_eq!((a.foreign, a.without_record, a.malformed, a.unanswered), (50, 50, 50, 100), "{a:?}");
}

#[test]
fn an_answer_after_its_timeout_is_late() {
    let seen = run(20, Nanos::from_millis(1), |_, _| {
        std::thread::sleep(Duration::from_micros(1_200));
        1
    });
    assert_eq!(seen.answers.valid, 0, "{:?}", seen.answers);
    assert!(seen.answers.late > 0);
}
