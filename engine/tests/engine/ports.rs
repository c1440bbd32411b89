//! Lanes on kernel ports: any may receive any frame, and their findings add up exactly.

use crate::common::{bed, lane, of_inner, phase};
use engine::phase::Phase;
use engine::stage::Stage;
use method::{Direction, Fault, Nanos, Rate};
use plane::view::forwarding;
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select, XdpMode};
use port::middleware::impair::Damage;
use port::middleware::{Impair, Impairment};
use port::netns::Sight;
use port::{Clock, Counters, Netns, Pool, PoolConfig, Port};
use std::sync::{Arc, Mutex};

const FRAMES: u64 = 6000;
const LANES: usize = 2;

/// What a port did to received frames, and how many it delivered.
type Truth = Arc<Mutex<(Damage, u64)>>;

struct Known {
    inner: Impair<Box<dyn Port>>,
    truth: Truth,
}

impl Port for Known {
    of_inner!(receive transmit facts);
    fn counters(&mut self) -> Counters {
        let counters = self.inner.counters();
        *self.truth.lock().unwrap() = (self.inner.damage(), counters.received);
        counters
    }
}

fn cable(queues: usize) -> Netns {
    let ns = Netns::new().unwrap();
    let q = format!("numtxqueues {queues} numrxqueues {queues}");
    let line = format!(
        "sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1
         ip link add xa {q} type veth peer name xb {q}; ip link set xa up; ip link set xb up"
    );
    assert!(ns.command("sh", Sight::Network).args(["-ec", &line]).status().unwrap().success());
    ns
}

fn boxed<P: Port + 'static>(ports: Vec<P>) -> Vec<Box<dyn Port>> {
    ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect()
}

/// Compares the figures with what the impairment did.
fn figures_are_exact(clock: Clock, pools: Vec<Pool>, left: Vec<Box<dyn Port>>, right: Vec<Box<dyn Port>>) {
    let mut truths = [Vec::new(), Vec::new()];
    let mut known = |side: usize, port, lane: usize| {
        let truth = Truth::default();
        truths[side].push(Arc::clone(&truth));
        let what = Impairment {
            seed: (2 * lane + side) as u64,
            loss: 20_000,
            duplicates: 30_000,
            reordered: 10_000,
            displacement: 5,
            ..Impairment::default()
        };
        Known { inner: Impair::new(port, what, 1024, clock), truth }
    };
    let parts = pools.into_iter().zip(left.into_iter().zip(right)).enumerate();
    let lanes = parts.map(|(n, (pool, (left, right)))| lane(pool, known(0, left, n), known(1, right, n)));
    let lanes = lanes.collect();
    let view = Arc::new(forwarding(&bed(64)));
    let mut stage = Stage::new(clock, lanes, view, None, Nanos(0), 3, Arc::default());
    stage.never_give_up();
    // Longer than reordered frames wait for later ones.
    let drain = Nanos::from_millis(300);
    let out = stage.run(&Phase { rate: Rate(50_000), drain, ..phase(FRAMES, Direction::Both) }).unwrap();
    assert_eq!((out.host.tester_drops, out.host.link_lost), (0, false));
    for (leg, truths) in [(&out.forward, &truths[1]), (&out.reverse, &truths[0])] {
        let truths: Vec<_> = truths.iter().map(|truth| *truth.lock().unwrap()).collect();
        let sum = |of: fn(&Damage) -> u64| truths.iter().map(|(damage, _)| of(damage)).sum::<u64>();
        let (lost, duplicated) = (sum(|d| d.lost), sum(|d| d.duplicated));
        assert_eq!((leg.planned, leg.sent, leg.refused), (FRAMES, FRAMES, 0));
        assert_eq!(leg.received, FRAMES - lost);
        assert_eq!(
            (leg.faults.get(Fault::Duplicate), leg.faults.total()),
            (duplicated, duplicated),
            "{:?}",
            leg.faults
        );
        let delivered: Vec<u64> = truths.iter().map(|(_, delivered)| *delivered).collect();
        assert_eq!(delivered.iter().sum::<u64>(), leg.received + duplicated);
        assert!(lost > 0 && duplicated > 0 && sum(|d| d.reordered) > 0 && leg.reordered > 0, "{leg:?}");
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn lanes_of_packet_sockets_add_up() {
    // By flow hash, and by receive queue.
    for queues in [1, LANES] {
        let (ns, clock) = (cable(queues), Clock::calibrated());
        let open =
            |name: &str| boxed(AfPacketPort::open_many(&ns, &AfPacketConfig::named(name), LANES, clock).unwrap());
        let pools = Pool::for_workers(PoolConfig::umem(LANES, 4096)).unwrap();
        figures_are_exact(clock, pools, open("xa"), open("xb"));
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn lanes_of_xdp_sockets_add_up() {
    for mode in [XdpMode::Generic, XdpMode::Native] {
        let (ns, clock) = (cable(LANES), Clock::calibrated());
        // Two rings of received frames, and those on their way.
        let mut pools = Pool::for_workers(PoolConfig::umem(LANES, 1 << 15)).unwrap();
        let mut open = |name: &str| {
            let config = AfXdpConfig {
                queues: LANES as u32,
                mode,
                ring: 4096,
                ..AfXdpConfig::named(name, Select::everything())
            };
            boxed(AfXdpPort::open(&ns, &config, clock, &mut pools).unwrap())
        };
        let (left, right) = (open("xa"), open("xb"));
        figures_are_exact(clock, pools, left, right);
    }
}
