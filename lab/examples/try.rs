//! scratch
use lab::{plan::*, rig::*, scenario::*};
use method::*;
use wire::*;
fn main() {
    let n: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1_000_000);
    let rate: u64 = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(1_000_000);
    let rate2: u64 = std::env::args().nth(3).and_then(|s| s.parse().ok()).unwrap_or(1_000_000);
    let s = Scenario {
        name: "t".into(),
        about: String::new(),
        duts: vec![Dut::Embedded(Nat44 {
            pool: AddrRange::one([198, 19, 0, 1].into()),
            pool_ports: PortRange { first: 1024, last: 65535 },
            mapping: Mapping::AddressAndPortDependent,
            table: n,
            udp_timeout: Nanos::from_secs(10_000),
        })],
        link: Link::InProcess { depth: 512 },
        traffic: Traffic {
            frame_size: 64,
            ttl: 10,
            inside: AddrRange::one([198, 18, 0, 2].into()),
            source_ports: PortRange { first: 1024, last: 41023 },
            remote: AddrRange::one([198, 19, 0, 2].into()),
            destination_ports: PortRange { first: 1, last: 100 },
            direction: Direction::Both,
            responder_order: Order::Random,
            seed: 1,
        },
        sweep: Sweep { connections: vec![n], cores: vec![1] },
        measure: Measure {
            metrics: vec![],
            repetitions: 1,
            duration: Nanos::from_millis(300),
            start_delay: Nanos::from_millis(5),
            drain: Nanos::from_millis(20),
            settle: Nanos(0),
            phase1_drain: Nanos::from_millis(20),
            error_ppm: 10_000,
            acceptance_ppm: 1_000_000,
            phase1_acceptance_ppm: 1_000_000,
            alpha_ppm: None,
            max_rate: None,
        },
        full: false,
    };
    let p = Point { dut: 0, dut_name: "embedded".into(), connections: n, cores: 1 };
    let process =
        Process { clock: port::Clock::calibrated(), interrupted: Default::default(), commands: Default::default() };
    let mut rig = Rig::build(&s, &p, &process).unwrap();
    let mut spec = TrialSpec {
        kind: PhaseKind::Establish,
        rate: Rate(rate),
        load: Load::Frames(n),
        direction: Direction::Forward,
        connections: n,
        phase1_rate: None,
        validate_rate: None,
        keep_table: false,
        responder_order: Order::Random,
    };
    for _ in 0..3 {
        let o = rig.run(&spec);
        let o = o.unwrap();
        println!(
            "sent {} recv {} refused {} worst {} late {:?} stall {:?} dut {:?} own {:?} {:?}",
            o.forward.sent,
            o.forward.received,
            o.forward.refused,
            o.forward.timing.worst_burst,
            o.forward.timing.finished_late,
            o.host.tester_stall,
            o.host.dut_stall,
            o.forward.timing.own_time,
            o.store
        );
        println!("{:?}", validity::judge(&spec, &o, &Default::default()));
    }
    spec.kind = PhaseKind::Established;
    spec.load = Load::For(Nanos::from_millis(300));
    spec.phase1_rate = Some(Rate(rate));
    spec.rate = Rate(rate2);
    spec.direction = Direction::Both;
    for _ in 0..2 {
        let o = rig.run(&spec);
        if let Err(e) = &o {
            println!("{e}")
        };
        if let Ok(o) = o {
            for l in [&o.forward, &o.reverse] {
                println!(
                    "sent {} recv {} refused {} worst {} late {:?} stall {:?} dut {:?} own {:?} faults {:?}",
                    l.sent,
                    l.received,
                    l.refused,
                    l.timing.worst_burst,
                    l.timing.finished_late,
                    o.host.tester_stall,
                    o.host.dut_stall,
                    l.timing.own_time,
                    l.faults.total()
                );
            }
            println!("{:?}", o.store);
            println!("{:?}", validity::judge(&spec, &o, &Default::default()));
        }
    }
    println!("{:?}", rig.teardown());
}
