//! Reloads of running gateways: sessions, counters and reverse mappings remain, and a change that is not possible is refused as a
//! whole. The tests use requests of the control socket, and packets over in-process links.

use super::*;
use port::link::{LinkPort, Steer, link};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use wire::checksum::Sum;
use wire::header::{be16, put16};

const OUR_LEFT: [u8; 6] = [2, 0, 0, 0, 1, 1];
const OUR_RIGHT: [u8; 6] = [2, 0, 0, 0, 2, 1];
const LEFT: [u8; 6] = [2, 0, 0, 0, 1, 2];
const RIGHT: [u8; 6] = [2, 0, 0, 0, 2, 2];
const CUSTOMER: [u8; 4] = [198, 18, 0, 2];
const SERVER: [u8; 4] = [198, 19, 0, 2];

const SIDES: &str = r#"
[gateway]
plays = "dual"
workers = WORKERS
io = "af-xdp-generic"

[gateway.left]
address = "198.18.0.1"
mac = "02:00:00:00:01:01"
next-hop = "02:00:00:00:01:02"

[gateway.right]
address = "198.19.0.254"
mac = "02:00:00:00:02:01"
next-hop = "02:00:00:00:02:02"
mtu = 1500

"#;

const XLAT464: &str = r#"[technology.464xlat]
pref64 = "2001:2:0:1000::/96"
clat = "2001:2:0:2::/96"
pool = "198.19.0.1"
udp-timeout = "1000 s"
"#;

const DS_LITE: &str = r#"[technology.ds-lite]
b4 = "2001:2:0:4000::1"
aftr = "2001:2:0:100::2"
pool = "198.19.0.1"
udp-timeout = "1000 s"
"#;

/// The same rule for both kinds of MAP.
macro_rules! map {
    ($kind:literal, $relay:literal) => {
        concat!(
            "[technology.",
            $kind,
            "]\n",
            $relay,
            r#"
ipv6-prefix = "2001:db8:1::/53"
ipv4-prefix = "203.0.113.0/24"
ea-bits = 11
psid-offset = 0
ce = 3
udp-timeout = "1000 s"
"#
        )
    };
}

const MAP_E: &str = map!("map-e", "br = \"2001:2:0:100::2\"");
const MAP_T: &str = map!("map-t", "dmr = \"2001:2:0:1000::/96\"");

const LW4O6: &str = r#"[technology.lw4o6]
lwaftr = "2001:2:0:100::2"
ipv4 = "203.0.113.0/24"
b4 = "2001:db8:1:0::1"
psid-length = 3
psid-offset = 0
ce = 3
udp-timeout = "1000 s"
"#;

const NAT46: &str = r#"[technology.nat46]
inside = "198.18.0.0/24"
eam = ["198.19.0.0/24 2001:2:0:7::/120"]
pool = "2001:2:0:a::/126"
udp-timeout = "1000 s"
"#;

/// The tester's ends of both links, its frames, and the flag that asks the gateway to stop.
struct Ends {
    left: LinkPort,
    right: LinkPort,
    pool: Pool,
    stop: Arc<AtomicBool>,
}

impl Ends {
    /// Sends a UDP packet to one side, and returns the packet that leaves on the other.
    fn pass(&mut self, out: bool, (src, sport): ([u8; 4], u16), (dst, dport): ([u8; 4], u16)) -> Vec<u8> {
        self.send(out, &udp(out, (src, sport), (dst, dport)));
        self.receive(!out)
    }

    fn ask(&mut self, frame: &[u8]) -> Vec<u8> {
        self.send(true, frame);
        self.receive(true)
    }

    fn send(&mut self, left: bool, frame: &[u8]) {
        let mut burst = port::burst();
        assert_eq!(self.pool.alloc_burst(1, 60, &mut burst), 1);
        burst[0].bytes_mut().copy_from_slice(frame);
        let end = if left { &mut self.left } else { &mut self.right };
        end.transmit(&mut self.pool, &mut burst).unwrap();
    }

    fn receive(&mut self, left: bool) -> Vec<u8> {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(frame) = self.arrived(left) {
                return frame;
            }
            assert!(Instant::now() < end, "nothing came out");
            std::thread::yield_now();
        }
    }

    /// The first frame of what has arrived.
    fn arrived(&mut self, left: bool) -> Option<Vec<u8>> {
        let mut burst = port::burst();
        let port = if left { &mut self.left } else { &mut self.right };
        if port.receive(&mut self.pool, &mut burst).unwrap() == 0 {
            return None;
        }
        let frame = burst[0].bytes().to_vec();
        self.pool.free_all(&mut burst);
        Some(frame)
    }

    fn discard(&mut self) {
        let mut burst = port::burst();
        while self.left.receive(&mut self.pool, &mut burst).unwrap() > 0 {
            self.pool.free_all(&mut burst);
        }
    }

    /// The outside end point of the customer's port 1234, as the server sees it.
    fn map(&mut self) -> ([u8; 4], u16) {
        let f = self.pass(true, (CUSTOMER, 1234), (SERVER, 80));
        (f[26..30].try_into().unwrap(), be16(&f, 34))
    }

    /// Whether the server's answer reaches the customer.
    fn answered(&mut self, outside: ([u8; 4], u16)) -> bool {
        let f = self.pass(false, (SERVER, 80), outside);
        f[30..34] == CUSTOMER && be16(&f, 36) == 1234
    }
}

fn udp(out: bool, (src, sport): ([u8; 4], u16), (dst, dport): ([u8; 4], u16)) -> Vec<u8> {
    let mut f = vec![0u8; 60];
    let (to, from) = if out { (OUR_LEFT, LEFT) } else { (OUR_RIGHT, RIGHT) };
    f[..6].copy_from_slice(&to);
    f[6..12].copy_from_slice(&from);
    f[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 1, 0x40, 0, 64, 17]);
    f[26..30].copy_from_slice(&src);
    f[30..34].copy_from_slice(&dst);
    let sum = Sum::default().bytes(&f[14..34]).checksum();
    f[24..26].copy_from_slice(&sum);
    for (at, v) in [(34, sport), (36, dport), (38, 26)] {
        put16(&mut f, at, v);
    }
    let sum = Sum::default().bytes(&f[26..60]).be16(17).be16(26).checksum();
    f[40..42].copy_from_slice(&sum);
    f
}

/// A test of a running gateway: gets the link ends, the file, and a function that sends requests.
type Play<'a> = &'a mut dyn FnMut(&mut Ends, &Path, &mut dyn FnMut(&str) -> String);

fn running(technology: &str, workers: usize, play: Play) {
    running_at(SIDES, technology, workers, play);
}

fn running_at(sides: &str, technology: &str, workers: usize, play: Play) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, sides.replace("WORKERS", &workers.to_string()) + technology).unwrap();
    let gateway = scenario::gateway::read(&file, tech::ALL).unwrap_or_else(|e| panic!("{e}"));
    let macs = [(Mac(OUR_LEFT), Mac(LEFT)), (Mac(OUR_RIGHT), Mac(RIGHT))];
    let GatewayBuild { functions, live, .. } = build(&gateway, macs, workers, 7, None).unwrap();
    let clock = Clock::system();
    let mut pools = Pool::for_workers(PoolConfig::compact(workers + 1, 256, 2048)).unwrap();
    let pool = pools.remove(0);
    // All packets arrive at the first worker, which must hand over those of the others.
    let end = |name| link(name, clock, 64, (1, Steer::First), (workers, Steer::First));
    let ((mut left, customer), (mut right, internet)) = (end("left"), end("right"));
    let ports = boxed(customer).into_iter().zip(boxed(internet)).collect();
    let config = EmbeddedConfig {
        preempt: false,
        owns: Some(owns(&gateway, macs)),
        ..EmbeddedConfig::in_process(ports, pools, vec![None; workers])
    };
    let (embedded, queue) = EmbeddedGateway::start(clock, config, limited(&gateway, functions));
    embedded.rest();
    let stop = Arc::new(AtomicBool::new(false));
    let next_hops = Arc::new(next_hops::learnt(&gateway, &macs));
    queue.learn(&next_hops).unwrap();
    let mut running = RunningGateway {
        gateway,
        file: &file,
        macs,
        next_hops,
        watches: Watches::new(),
        other_vlan: OtherVlan::default(),
        live,
        clock,
        embedded: &embedded,
        workers: queue,
        stop: &stop,
    };
    let mut ends = Ends { left: left.remove(0), right: right.remove(0), pool, stop: Arc::clone(&stop) };
    play(&mut ends, &file, &mut |words| {
        running.tidy();
        running.answer(words)
    });
    embedded.stop().unwrap();
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

/// The sessions without their idle times.
fn sessions(say: &mut dyn FnMut(&str) -> String) -> Vec<serde_json::Value> {
    let read = |line: &str| {
        let mut e: serde_json::Value = serde_json::from_str(line).unwrap();
        e.as_object_mut().unwrap().remove("idle-s");
        e
    };
    say("sessions").lines().map(read).collect()
}

/// Counts of events and frames, by name.
fn event(say: &mut dyn FnMut(&str) -> String, name: &str) -> u64 {
    let status: serde_json::Value = serde_json::from_str(&say("status")).unwrap();
    status["workers"].as_array().unwrap().iter().map(|w| w["events"][name].as_u64().unwrap()).sum()
}

/// A possible change is applied and the session remains; an impossible one is refused and changes nothing.
fn stays(technology: &str, part: &str, counter: &str, refused: (&str, &str, &str)) {
    running(technology, 1, &mut |ends, file, say| {
        let outside = ends.map();
        let before = sessions(say);
        assert_eq!((before.len(), &before[0]["part"]), (1, &part.into()), "{before:?}");
        assert_eq!(before[0]["remote"], "198.19.0.2:80");
        let counted = event(say, counter);
        assert!(counted > 0);

        edit(file, "\"1000 s\"", "\"2000 s\"");
        assert!(say("reload").starts_with("reloaded"));
        assert_eq!((sessions(say), event(say, counter)), (before.clone(), counted), "after the reload");
        assert!(ends.answered(outside));
        assert_eq!(ends.map(), outside, "the same mapping");

        let (from, to, why) = refused;
        edit(file, from, to);
        edit(file, "mtu = 1500", "mtu = 1300");
        let said = say("reload");
        assert!(said.starts_with("error: ") && said.contains(why), "{said}");
        assert_eq!(sessions(say), before, "after the refusal");
        assert!(ends.answered(outside));
        edit(file, to, from);
        assert!(say("reload").starts_with("reloaded"), "and it can still be changed");
        assert_eq!(sessions(say), before);
    });
}

const OTHER_POOL: (&str, &str, &str) = ("pool = \"198.19.0.1\"", "pool = \"198.19.0.9\"", "would end: protocol 17 ");

#[test]
fn sessions_stay_when_the_file_is_read_again() {
    for (technology, part, counter, refused) in [
        (XLAT464, "pe", "ce.ipv4-to-ipv6", OTHER_POOL),
        (DS_LITE, "pe", "ce.ipv4-to-ipv6", OTHER_POOL),
        // Another customer has other ports, and may have the same address.
        (MAP_E, "ce.nat44", "pe.ipv6-to-ipv4", ("ce = 3", "ce = 4", "ce: nat44: port-set: cannot be changed")),
        (MAP_T, "ce.nat44", "pe.ipv6-to-ipv4", ("ce = 3", "ce = 11", "would end: protocol 17 ")),
        (LW4O6, "ce.nat44", "pe.ipv6-to-ipv4", ("ce = 3", "ce = 4", "ce: nat44: port-set: cannot be changed")),
    ] {
        println!("{technology}");
        stays(technology, part, counter, refused);
    }
}

/// The NAT before the translator has only indexes of outside addresses. They remain if the addresses change, and change if maps
/// replace the addresses.
#[test]
fn outside_addresses_of_a_nat46_stay_when_the_file_is_read_again() {
    let sides = SIDES.replace("198.19.0.254", "2001:2:0:ff::1");
    running_at(&sides, NAT46, 1, &mut |ends, file, say| {
        let mut outside = || ends.pass(true, (CUSTOMER, 1234), (SERVER, 80))[22..38].to_vec();
        let before = (outside(), sessions(say));
        edit(file, "\"1000 s\"", "\"2000 s\"");
        assert_eq!(say("reload"), "reloaded\n");
        let changes = [
            ("2001:2:0:a::/126", "2001:2:0:b::/126", "translate: pool: cannot be changed"),
            (
                "\"198.19.0.0/24",
                "\"10.0.0.0/24 2001:2:0:8::/120\", \"198.19.0.0/24",
                "translate: eam: this change moves",
            ),
        ];
        for (from, to, why) in changes {
            edit(file, from, to);
            let said = say("reload");
            assert!(said.starts_with("error: ") && said.contains(why), "{said}");
            assert_eq!((outside(), sessions(say)), before, "after the refusal");
            edit(file, to, from);
        }
        assert_eq!(say("reload"), "reloaded\n", "and it can still be changed");
        assert_eq!((outside(), sessions(say)), before);
    });
}

#[test]
fn sessions_list_the_customers_own_addresses() {
    running(XLAT464, 1, &mut |ends, _, say| {
        ends.map();
        // 198.18.0.2 in the prefix of the CLAT.
        assert_eq!(sessions(say)[0]["inside"], "[2001:2:0:2::c612:2]:1234");
    });
    running(DS_LITE, 1, &mut |ends, _, say| {
        ends.map();
        let e = &sessions(say)[0];
        assert_eq!((&e["inside"], &e["softwire"]), (&"198.18.0.2:1234".into(), &"2001:2:0:4000::1".into()));
    });
}

#[test]
fn hosts_quotas_and_the_limit_of_the_mss_come_and_go_at_a_reload() {
    for (technology, host) in [(XLAT464, "[2001:2:0:2::c612:3]"), (DS_LITE, "2001:2:0:4000::1 198.18.0.3")] {
        running(technology, 1, &mut |ends, file, say| {
            let outside = ends.map();
            let statics = format!("session-quota = \"none\"\nstatic = [\"udp 198.19.0.1:53 -> {host}:53\"]\npool");
            edit(file, "pool", &statics);
            edit(file, "[gateway]", "[gateway]\ntcp-mss = 1220");
            assert_eq!(say("reload"), "reloaded\n");
            assert!(ends.answered(outside));
            assert_eq!(ends.pass(false, (SERVER, 4000), ([198, 19, 0, 1], 53))[30..34], [198, 18, 0, 3]);
            edit(file, &statics, "pool");
            let said = say("reload");
            assert!(said.contains("would end: protocol 17 "), "{said}");
            assert_eq!(say("reload allow-removal"), "reloaded\n");
            assert!(ends.answered(outside));
        });
    }
}

#[test]
fn another_technology_is_refused() {
    running(XLAT464, 1, &mut |ends, file, say| {
        let outside = ends.map();
        std::fs::write(file, SIDES.replace("WORKERS", "1") + DS_LITE).unwrap();
        assert_eq!(say("reload"), "error: technology: cannot be changed while the gateway runs; restart it\n");
        assert!(ends.answered(outside));
    });
}

#[test]
fn a_stateless_function_gets_its_new_settings() {
    running(XLAT464, 1, &mut |ends, file, say| {
        let outside = ends.map();
        edit(file, "2001:2:0:1000::/96", "2001:2:0:2000::/96");
        assert_eq!(say("reload"), "reloaded\n");
        assert!(ends.answered(outside), "both halves have the same prefix again");
        edit(file, "2001:2:0:2::/96", "2001:2:0:3::/96");
        assert_eq!(say("reload"), "reloaded\n");
        ends.map();
        let inside: Vec<_> = sessions(say).iter().map(|e| e["inside"].to_string()).collect();
        assert!(inside.contains(&"\"[2001:2:0:3::c612:2]:1234\"".to_owned()), "{inside:?}");
    });
}

/// An ARP request for this address, from the left.
fn who_has(addr: [u8; 4]) -> Vec<u8> {
    let mut f = vec![0xff; 6];
    f.extend(LEFT);
    f.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    f.extend(LEFT);
    f.extend(CUSTOMER);
    f.extend([0; 6]);
    f.extend(addr);
    f.resize(60, 0);
    f
}

/// The list has a few slots of each worker at a time, and no more entries than requested.
#[test]
fn sessions_are_listed_up_to_a_number() {
    running(XLAT464, 3, &mut |ends, _, say| {
        for k in 0..1100 {
            ends.pass(true, (CUSTOMER, 2000 + k), (SERVER, 80));
        }
        let mut listed = |words: &str| say(words).lines().count();
        assert_eq!((listed("sessions"), listed("sessions 1050"), listed("sessions 100000")), (1000, 1050, 1100));
        assert_eq!(listed("sessions 0"), 0);
        assert!(say("sessions 100001").starts_with("error: `100001` is not a number of sessions up to 100000"));
    });
    // One worker has more slots than it reads at once.
    running(XLAT464, 1, &mut |ends, _, say| {
        for k in 0..1100 {
            ends.pass(true, (CUSTOMER, 2000 + k), (SERVER, 80));
        }
        assert_eq!(say("sessions 5000").lines().count(), 1100);
    });
}

/// Both edges use the new table: one its own softwire, the other all of them.
#[test]
fn softwires_of_lw4o6_follow_the_file() {
    for workers in [1, 3] {
        running(LW4O6, workers, &mut |ends, file, say| {
            let outside = ends.map();
            for (from, to) in [("2001:db8:1:0::1", "2001:db8:1:9::1"), ("2001:db8:1:9::1", "2001:db8:1:5::1")] {
                edit(file, from, to);
                assert!(say("reload").starts_with("reloaded"));
                assert!(ends.answered(outside));
                assert_eq!(ends.map(), outside, "the same mapping");
            }
        });
    }
}

/// The addresses that the gateway answers for follow its file; here, the Ethernet address of a side.
#[test]
fn a_changed_address_is_answered_for() {
    running(XLAT464, 1, &mut |ends, file, say| {
        assert_eq!(ends.ask(&who_has([198, 18, 0, 1]))[22..28], OUR_LEFT);
        edit(file, "02:00:00:00:01:01", "02:00:00:00:01:07");
        assert_eq!(say("reload"), "reloaded\n");
        assert_eq!(ends.ask(&who_has([198, 18, 0, 1]))[22..28], [2, 0, 0, 0, 1, 7]);
    });
}

/// With several workers, packets are handed over within nested chains; all pass, before and after the reload.
#[test]
fn several_workers_read_their_file_again() {
    for technology in [XLAT464, DS_LITE, MAP_E, MAP_T, LW4O6] {
        running(technology, 3, &mut |ends, file, say| {
            let outside: Vec<_> = (0..12u16)
                .map(|k| {
                    let f = ends.pass(true, (CUSTOMER, 2000 + k), (SERVER, 80));
                    (f[26..30].try_into().unwrap(), be16(&f, 34))
                })
                .collect();
            let count = |say: &mut dyn FnMut(&str) -> String| sessions(say).len();
            assert_eq!(count(say), 12);
            edit(file, "\"1000 s\"", "\"2000 s\"");
            assert!(say("reload").starts_with("reloaded"));
            for (k, o) in outside.into_iter().enumerate() {
                let f = ends.pass(false, (SERVER, 80), o);
                assert_eq!((&f[30..34], be16(&f, 36)), (&CUSTOMER[..], 2000 + k as u16));
            }
            assert_eq!(count(say), 12);
        });
    }
}

/// Softwires with these PSIDs and last hexadecimal digits of their lwB4 addresses.
fn softwires(all: &[(u16, u16)]) -> String {
    let lines = all.iter().map(|(psid, b4)| format!("2001:db8:1:{b4:x}::1 203.0.113.1 {psid}/3\n"));
    lines.collect::<Vec<_>>().concat()
}

/// Runs an lwAFTR with this table, and passes the path of the table to the test.
fn lwaftr(softwires: &str, play: Play) {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("softwires.txt");
    std::fs::write(&table, softwires).unwrap();
    let lw4o6 = format!("[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nsoftwires = \"{}\"\n", table.display());
    let sides = SIDES.replace("\"dual\"", "\"pe\"").replace("\"198.18.0.1\"", "\"2001:2:0:100::2\"");
    running_at(&sides, &lw4o6, 1, &mut |ends, _, say| play(ends, &table, say));
}

/// An empty or incomplete table is refused, and the softwires remain; a valid table is loaded, and its changes are reported.
#[test]
fn a_binding_table_is_loaded_completely_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("softwires.txt");
    let lw4o6 = format!(
        "[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nsoftwires = \"{}\"\nce = 0\nudp-timeout = \"1000 s\"\n",
        table.display()
    );
    std::fs::write(&table, softwires(&[(1, 1), (2, 2), (5, 5)])).unwrap();
    running(&lw4o6, 1, &mut |ends, _, say| {
        let outside = ends.map();
        let whole = softwires(&[(1, 1), (3, 3), (4, 4), (5, 9)]);
        for (text, why) in [
            ("", "the file is empty; the gateway keeps the old table"),
            ("# nothing\n", "ce = 0: the table has no such softwire"),
            (
                whole.trim_end(),
                "the file ends within a line: end its last line with a line feed; the gateway keeps the old table",
            ),
            (&whole[..whole.len() - 9], "the file ends within a line"),
        ] {
            std::fs::write(&table, text).unwrap();
            let said = say("reload");
            assert!(said.starts_with("error: ") && said.contains(why), "{text:?}: {said}");
            assert!(ends.answered(outside), "the softwire is still there");
        }
        std::fs::write(&table, &whole).unwrap();
        assert_eq!(say("reload"), "reloaded: 4 softwires, 2 added, 1 removed, 1 changed\n");
        assert!(ends.answered(outside));
        assert_eq!(say("reload"), "reloaded: 4 softwires, 0 added, 0 removed, 0 changed\n");
    });
}

/// A file that was cut at the end of a line looks complete, but lacks most softwires.
#[test]
fn a_binding_table_that_lacks_most_softwires_is_refused() {
    let whole = softwires(&[(1, 1), (2, 2), (3, 3), (5, 5)]);
    lwaftr(&whole, &mut |_, table, say| {
        let first = softwires(&[(1, 1)]);
        assert!(whole.starts_with(&first));
        let refused = format!(
            "error: softwires = \"{}\": the file has 1 softwires, and lacks 3 of the 4 in use; the gateway keeps the old table; \
             complete the file, or accept the removal with natmeter gateway reload --allow-removal\n",
            table.display()
        );
        for _ in 0..2 {
            std::fs::write(table, &first).unwrap();
            assert_eq!(say("reload"), refused, "also a second time");
        }
        // As many others do not make up for them.
        std::fs::write(table, softwires(&[(1, 1), (4, 4), (6, 6), (7, 7)])).unwrap();
        let said = say("reload");
        assert!(said.contains("the file has 4 softwires, and lacks 3 of the 4 in use"), "{said}");

        std::fs::write(table, &whole).unwrap();
        assert_eq!(say("reload"), "reloaded: 4 softwires, 0 added, 0 removed, 0 changed\n", "nothing was removed");
        std::fs::write(table, softwires(&[(1, 1), (2, 9)])).unwrap();
        assert_eq!(say("reload"), "reloaded: 2 softwires, 0 added, 2 removed, 1 changed\n", "half of them");
        std::fs::write(table, &whole).unwrap();
        assert_eq!(say("reload"), "reloaded: 4 softwires, 2 added, 0 removed, 1 changed\n");
        std::fs::write(table, &first).unwrap();
        assert_eq!(say("reload allow-removal"), "reloaded: 1 softwires, 0 added, 3 removed, 0 changed\n");
        std::fs::write(table, "# nothing\n").unwrap();
        assert!(say("reload allow-removal").contains("the new binding table has no softwire"));
    });
}

/// Regression: a gateway that was asked to stop still waited for next hops that do not answer.
#[test]
fn a_reload_does_not_outlast_the_gateway() {
    let sides = SIDES.replace("\"02:00:00:00:01:02\"", "\"198.18.0.2\"");
    running_at(&sides, XLAT464, 1, &mut |ends, _, say| {
        let (began, stop) = (Instant::now(), Arc::clone(&ends.stop));
        let stopping = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(say("reload"), "error: the gateway is stopping\n");
        assert!(began.elapsed() < Duration::from_millis(900), "it waited {:?}", began.elapsed());
        stopping.join().unwrap();
    });
}

/// Without this check, a lwAFTR would load a table without softwires and lose all of them.
#[test]
fn a_binding_table_without_softwires_is_refused() {
    lwaftr(&softwires(&[(1, 1), (2, 2), (5, 5)]), &mut |_, table, say| {
        std::fs::write(table, "# nothing\n").unwrap();
        let refused = "error: the new binding table has no softwire; the gateway keeps the old one with 3 softwires\n";
        assert_eq!(say("reload"), refused);
    });
}

/// If a next hop announces another Ethernet address, every worker sends to this address, also after a reload.
#[test]
fn frames_follow_a_next_hop_that_moves() {
    let sides = SIDES.replace("\"02:00:00:00:01:02\"", "\"198.18.0.2\"");
    running_at(&sides, XLAT464, 3, &mut |ends, file, say| {
        let outside = ends.map();
        let moved = [2, 0, 0, 0, 1, 9];
        let mut request = who_has([198, 18, 0, 1]);
        request[6..12].copy_from_slice(&moved);
        request[22..28].copy_from_slice(&moved);
        assert_eq!(ends.ask(&request)[..6], moved);
        assert!(say("status").contains("\"left\":\"02:00:00:00:01:02\""), "not believed at once");
        // Both addresses are asked three times, the known one first, and only the new one answers.
        while !say("status").contains("02:00:00:00:01:09") {
            let Some(question) = ends.arrived(true) else { continue };
            if question[..6] == LEFT {
                let mut reply = request.clone();
                reply[21] = 2;
                reply[32..42].copy_from_slice(&question[22..32]);
                ends.send(true, &reply);
            }
        }
        ends.discard();
        for k in 0..12 {
            let f = ends.pass(true, (CUSTOMER, 3000 + k), (SERVER, 80));
            let back = ends.pass(false, (SERVER, 80), (f[26..30].try_into().unwrap(), be16(&f, 34)));
            assert_eq!(back[..6], moved, "at each worker");
        }
        edit(file, "\"1000 s\"", "\"2000 s\"");
        let said = say("reload");
        assert!(said.starts_with("reloaded; next hop 198.18.0.2 does not answer"), "{said}");
        // The gateway got no answer to its request.
        ends.discard();
        let f = ends.pass(false, (SERVER, 80), outside);
        assert_eq!(f[..6], moved);
        let status: serde_json::Value = serde_json::from_str(&say("status")).unwrap();
        assert_eq!(status["next-hops"]["left"], "02:00:00:00:01:09");
    });
}
