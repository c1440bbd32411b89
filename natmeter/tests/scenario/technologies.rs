//! Every technology in every set-up: both edges, the provider edge alone with many subscribers, the customer edge alone. Tester
//! and device run on one thread, so only the device can lose frames: every frame must be received correctly, and the tester
//! must receive every connection of a stateful device.

use method::{Load, Nanos, Rate, TrialOutcome, TrialSpec, Trials};
use natmeter::rig::cores::Cores;
use natmeter::rig::{RunContext, technology};
use record::plan::Plan;
use scenario::{Options, parse};
use std::io::Write;
use std::sync::Mutex;

const XLAT464: &str = "[technology.464xlat]
pref64 = \"2001:2:0:1000::/96\"
clat = \"2001:2:0:2::/96\"
pool = \"198.19.0.1\"
";
const NAT64: &str = "[technology.nat64]
pref64 = \"2001:2:0:1000::/64\"
pool = \"198.19.0.1\"
";
const NAT46: &str = "[technology.nat46]
eam = [\"198.19.0.0/24 2001:2:0:3000::/120\"]
pool = \"2001:2:0:200::1\"
";
const NAT66: &str = "[technology.nat66]
pool = \"2001:2:0:200::1\"
";
/// Sixteen outside addresses; the tester learns each.
const NAT46_POOL: &str = "[technology.nat46]
pref64 = \"2001:2:0:3000::/96\"
pool = \"2001:2:0:200::a0/124\"
mapping = \"address-and-port-dependent\"
";
const NAT66_POOL: &str = "[technology.nat66]
inside = \"2001:2:0:1::/64\"
pool = \"2001:2:0:200::/124\"
mapping = \"address-and-port-dependent\"
";
const SIIT: &str = "[technology.siit]
eam = [\"198.18.0.0/24 2001:2::/120\"]
pref64 = \"2001:2:0:1000::/96\"
";
const IPV6: &str = "[technology.ipv6-forwarding]
";
/// Networks of the user.
const IPV6_NETWORKS: &str = "[technology.ipv6-forwarding]
left = \"2001:db8:1::/64\"
right = \"2001:db8:2::/64\"
";
const DS_LITE: &str = "[technology.ds-lite]
b4 = \"2001:2:0:4000::1\"
aftr = \"2001:2:0:100::2\"
pool = \"198.19.0.1\"
";
const LW4O6: &str = "[technology.lw4o6]
lwaftr = \"2001:2:0:100::2\"
ipv4 = \"203.0.113.0/26\"
b4 = \"2001:db8:1:0::1\"
psid-length = 4
psid-offset = 4
ce = 21
";
const MAP_E: &str = "[technology.map-e]
br = \"2001:2:0:100::2\"
ipv6-prefix = \"2001:db8:1::/50\"
ipv4-prefix = \"203.0.113.0/24\"
ea-bits = 12
psid-offset = 4
ce = 283
";
const MAP_T: &str = "[technology.map-t]
dmr = \"2001:2:0:1000::/96\"
ipv6-prefix = \"2001:db8:1::/50\"
ipv4-prefix = \"203.0.113.0/24\"
ea-bits = 12
psid-offset = 0
ce = 283
";

/// Connections of a stateful device: more than the ports of one customer, and several of each subscriber.
const N: u64 = 12_000;
const FRAMES: u64 = 8_000;

fn passes(plays: &str, technology: &str, traffic: &str) {
    passes_with(plays, technology, traffic, 1);
}

/// Runs phase 1 and phase 2 of a stateful device, or one trial of a stateless one.
fn passes_with(plays: &str, table: &str, traffic: &str, cores: u32) {
    // One test at a time, because each needs a core of its own.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let plays_line = format!("plays = \"{plays}\"");
    let size = if traffic.contains("frame-size") { "" } else { "frame-size = 128\n" };
    let build = |sweep: &str, metrics: &str| {
        let text = format!(
            "name = \"t\"\n[dut.embedded]\n{plays_line}\n{table}\n[traffic]\n{size}{traffic}\n{sweep}\
             [measure]\nmetrics = [{metrics}]\nphase1-drain = \"1 ms\"\ndrain = \"1 ms\"\nsettle = \"0 s\"\nstart-delay = \"1 ms\"\n"
        );
        parse("t.toml", &text, &Options::default(), tech::ALL)
    };
    let sweep = |axes: &str| {
        let table = if traffic.contains("[sweep]") { "" } else { "[sweep]\n" };
        format!("{table}cores = {cores}\n{axes}")
    };
    let stateful = build(&sweep(&format!("connections = {N}\n")), "\"max_conn_est_rate\", \"throughput\"");
    let stateless = |_| build(&sweep(""), "\"throughput\"");
    let loaded = stateful.or_else(stateless).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let point = Plan::new(&loaded.scenario).measurements[0].point.clone();
    let scenario = point.of(&loaded.scenario);
    let (plays, technology) = scenario.duts[0].technology().unwrap();
    let (process, name) = (RunContext::new(), technology.names().words(plays));
    let one = Cores::one_thread(cores as usize);
    let mut rig = technology::build_on(&scenario, plays, technology, &point, &process, &one).unwrap();
    let stateful = point.connections > 0;
    assert_eq!(stateful, technology.is_stateful(plays));
    let spec = TrialSpec::both_phases(Rate(400_000), Load::Frames(FRAMES), if stateful { N } else { 0 });
    // A thread that is descheduled for long gives up, or loses frames; that says nothing about the device.
    let was_disturbed = |o: &TrialOutcome| {
        o.host.tester_drops > 0 || o.host.tester_stall.max(o.host.dut_stall) > Nanos::from_millis(50)
    };
    let mut attempts = (0..300).map(|_| rig.run(&spec).unwrap());
    let outcome = attempts.find(|o| !was_disturbed(o)).expect("host noise invalidated every attempt");
    if let (true, Some(store)) = (stateful, &outcome.store) {
        assert_eq!((store.learned, store.dut_entries), (N, Some(N)), "{name}: connections; {outcome:?}");
        assert_eq!(store.dut_entries_after, Some(N), "and none but these");
    }
    for leg in [&outcome.forward, &outcome.reverse] {
        assert_eq!((leg.received, leg.faults.total()), (FRAMES, 0), "{name}: {outcome:?}");
    }
    assert!(rig.teardown().is_empty());
}

const PORTS: &str = "source-ports = \"1024-3023\"\ndestination-ports = \"1-100\"";
/// Few ports, many subscribers: port sets of 4,096 / 16.
const MANY: &str = "source-ports = \"1024-1143\"\ndestination-ports = \"1-10\"\nsubscribers = 500";

/// Few ports, many hosts with addresses of their own.
const HOSTS: &str =
    "inside = \"198.18.0.2 - 198.18.0.101\"\nsource-ports = \"1024-1143\"\ndestination-ports = \"1-10\"";

macro_rules! set_ups {
    ($($name:ident: $plays:literal $technology:ident $traffic:ident)*) => {$(
        #[test]
        fn $name() {
            passes($plays, $technology, $traffic);
        }
    )*};
}

set_ups! {
    xlat464: "dual" XLAT464 PORTS
    ds_lite: "dual" DS_LITE PORTS
    lw4o6: "dual" LW4O6 PORTS
    map_e: "dual" MAP_E PORTS
    map_t: "dual" MAP_T PORTS
    plat: "pe" XLAT464 MANY
    nat64: "pe" NAT64 MANY
    nat46: "pe" NAT46 PORTS
    nat46_from_many_hosts: "pe" NAT46_POOL HOSTS
    nat66: "pe" NAT66 PORTS
    nat66_from_many_hosts: "pe" NAT66_POOL MANY
    siit: "pe" SIIT PORTS
    ipv6_forwarding: "dual" IPV6 PORTS
    ipv6_forwarding_of_many_hosts: "dual" IPV6_NETWORKS HOSTS
    aftr: "pe" DS_LITE MANY
    lwaftr: "pe" LW4O6 MANY
    map_e_br: "pe" MAP_E MANY
    map_t_br: "pe" MAP_T MANY
    clat: "ce" XLAT464 PORTS
    b4: "ce" DS_LITE PORTS
    lwb4: "ce" LW4O6 PORTS
    map_e_ce: "ce" MAP_E PORTS
    map_t_ce: "ce" MAP_T PORTS
}

/// The largest frames of RFC 8219, section 4.1, are not fragmented, although translators fragment to 1280 octets by default.
#[test]
fn large_frames() {
    let large = |traffic: &str| format!("frame-size = 9216\n{traffic}");
    for technology in [XLAT464, DS_LITE, LW4O6, MAP_E, MAP_T] {
        passes("dual", technology, &large(PORTS));
        passes("ce", technology, &large(PORTS));
        passes("pe", technology, &large(MANY));
    }
    for technology in [NAT46, NAT66, SIIT, IPV6] {
        passes("pe", technology, &large(PORTS));
    }
    passes("pe", NAT64, &large(MANY));
}

/// MAP rules whose customers have a prefix each: fewer EA bits than the IPv4 address lacks (RFC 7597, section 5.2). With MAP-T, the
/// tester learns which of its addresses the CE has chosen.
#[test]
fn customers_with_a_prefix() {
    let customers = PORTS.to_owned() + "\nsubscribers = 16";
    for technology in [MAP_E, MAP_T] {
        let prefixes = technology.replace("ea-bits = 12", "ea-bits = 4").replace("ce = 283", "ce = 5");
        for (plays, traffic) in [("pe", &*customers), ("dual", HOSTS), ("ce", HOSTS)] {
            passes(plays, &prefixes, traffic);
        }
    }
}

/// Four kinds of rules in one domain: shared addresses, whole addresses, prefixes, and one address shared by two explicit
/// PSIDs.
fn several_rules(of: &str, ce: u64) -> String {
    let relay = if of == "map-e" { "br = \"2001:2:0:100::2\"" } else { "dmr = \"2001:2:0:1000::/96\"" };
    let rules = [
        "ipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/28\"\nea-bits = 8\npsid-offset = 4",
        "ipv6-prefix = \"2001:db8:2::/56\"\nipv4-prefix = \"198.51.100.0/27\"\nea-bits = 5",
        "ipv6-prefix = \"2001:db8:3::/56\"\nipv4-prefix = \"192.0.2.0/24\"\nea-bits = 4\nforwarding = true",
        "ipv6-prefix = \"2001:db8:4::/56\"\nipv4-prefix = \"203.0.113.200/32\"\nea-bits = 0\npsid = 1\npsid-length = 2",
        "ipv6-prefix = \"2001:db8:4:100::/56\"\nipv4-prefix = \"203.0.113.200/32\"\nea-bits = 0\npsid = 3\npsid-length = 2",
    ];
    let rules = rules.map(|rule| format!("[[technology.{of}.rule]]\n{rule}\n")).concat();
    format!("[technology.{of}]\n{relay}\nce = {ce}\n{rules}")
}

/// Subscribers are the customers of all rules (RFC 7597, section 5.2), and a CE is one of any rule.
#[test]
fn several_mapping_rules() {
    let all = "source-ports = \"1024-1143\"\ndestination-ports = \"1-10\"\nsubscribers = 306";
    for of in ["map-e", "map-t"] {
        passes("pe", &several_rules(of, 0), all);
        for (ce, traffic) in [(131, PORTS), (270, PORTS), (291, HOSTS), (305, PORTS)] {
            passes("dual", &several_rules(of, ce), traffic);
            passes("ce", &several_rules(of, ce), traffic);
        }
    }
    // Longest match: addresses of the first rule that the second rule also has belong to the second.
    let nested = "ipv6-prefix = \"2001:db8:2::/56\"\nipv4-prefix = \"203.0.113.4/30\"\nea-bits = 2";
    let table = several_rules("map-e", 0);
    let second = table.find("ipv6-prefix = \"2001:db8:2").unwrap();
    let end = second + table[second..].find("\n[[").unwrap();
    let table = format!("{}{nested}{}", &table[..second], &table[end..]);
    passes("pe", &table, &all.replace("306", "214"));
}

/// The view of a stateless provider edge with these tables, or why it has none.
fn view_of(tables: &str) -> Result<wire::View, String> {
    let text = format!("name = \"t\"\n[dut.embedded]\nplays = \"pe\"\n{tables}[measure]\nmetrics = \"throughput\"\n");
    let loaded =
        parse("t.toml", &text, &Options::default(), tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let point = &Plan::new(&loaded.scenario).measurements[0].point;
    let (plays, technology) = loaded.scenario.duts[0].technology().unwrap();
    technology::view(&loaded.scenario, plays, technology, point).map_err(|why| why.to_string())
}

#[test]
fn flows_are_spread_over_all_rules() {
    let traffic =
        "[traffic]\nframe-size = 128\nsource-ports = \"1024-1143\"\ndestination-ports = \"1-10\"\nsubscribers = 306\n";
    let flows = view_of(&(several_rules("map-e", 0) + traffic)).unwrap().flows;
    let each = (flows.size() / 306) as u32;
    let of = |subscriber: u32| flows.flow(subscriber * each);
    let address = |a: [u8; 4]| u32::from_be_bytes(a);
    for (subscriber, addr, port) in [
        (0, [203, 0, 113, 0], 0x1000),
        (255, [203, 0, 113, 15], 0x1f00),
        (256, [198, 51, 100, 0], 1024),
        (303, [192, 0, 2, 240], 1024),
        // 000001, then the PSID.
        (304, [203, 0, 113, 200], 0x0500),
        (305, [203, 0, 113, 200], 0x0700),
    ] {
        let flow = of(subscriber);
        assert_eq!((flow.subscriber, flow.inside_addr, flow.inside_port), (subscriber, address(addr), port));
    }
}

/// Options of tunnels do not affect frames that fit the MTU.
#[test]
fn options_of_tunnels_and_limits() {
    let tunnel = "tunnel-hop-limit = 33\ntunnel-dscp = 46\ntunnel-flow-label = \"hash\"\ntunnel-ecn = \"compatibility\"\n\
                  tunnel-oversize = \"outer-always\"\nreassembly-datagrams = 16\nreassembly-octets = \"256k\"\nreassembly-timeout = \"5 s\"\n";
    let limits = "fragment-datagrams = 64\nfragment-timeout = \"2 s\"\nicmp-errors-per-second = 10\n";
    let held = format!("{limits}fragments-held = 16\n");
    let answers =
        "answer-spoofed = false\nanswer-unknown = false\ninbound-icmp = \"errors\"\nfragment-octets = \"1M\"\n";
    passes("dual", &format!("{DS_LITE}{tunnel}{held}"), PORTS);
    passes("pe", &format!("{DS_LITE}{tunnel}{held}"), MANY);
    for technology in [LW4O6, MAP_E] {
        passes("dual", &format!("{technology}{tunnel}{held}{answers}"), PORTS);
        passes("pe", &format!("{technology}{tunnel}{held}{answers}hairpinning = false\n"), MANY);
    }
    passes("pe", &format!("{MAP_T}{held}fragment-octets = \"1M\"\nhairpinning = false\n"), MANY);
    passes("pe", &format!("{NAT64}{held}reassembly-datagrams = 16\n"), MANY);
    passes("pe", &format!("{NAT66}{limits}fragment-octets = \"1M\"\n"), PORTS);
    passes("pe", &format!("{SIIT}hairpinning = \"off\"\nicmp-errors-per-second = 0\n"), PORTS);
}

/// Outside addresses that are neither contiguous nor in order; with paired pooling each host has one of them.
#[test]
fn a_pool_of_several_ranges() {
    let nat44 = "[technology.nat44]\npool = \"198.19.0.1\"\n";
    for (plays, technology, traffic) in
        [("dual", nat44, HOSTS), ("dual", XLAT464, HOSTS), ("pe", NAT64, MANY), ("pe", DS_LITE, MANY)]
    {
        let ranges = "[\"198.19.0.9 - 198.19.0.10\", \"198.19.0.1\", \"198.19.0.40\"]";
        passes(plays, &technology.replace("\"198.19.0.1\"", ranges), traffic);
    }
}

/// Explicit address maps of a file, prefixes and single addresses among them.
#[test]
fn explicit_maps_of_a_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "# maps\n198.18.0.0/24 2001:2::/120\n198.18.0.2 2001:2:0:7::9\n2001:2:0:8::/112 198.19.0.0/16")
        .unwrap();
    file.flush().unwrap();
    let table = format!("[technology.siit]\neam-file = \"{}\"\n", file.path().display());
    passes("pe", &table, PORTS);
    passes("pe", &(table + "ipv6 = \"right\"\n"), PORTS);
}

/// Addresses of a file must be laboratory addresses, like those of the scenario (RFC 6815).
#[test]
fn explicit_maps_out_of_laboratories() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "198.18.0.0/24 2001:2::/120\n198.19.0.2 2600::9\n198.19.0.0/24 2001:2:0:8::/120").unwrap();
    file.flush().unwrap();
    let table = format!("[technology.siit]\neam-file = \"{}\"\n", file.path().display());
    let refused = view_of(&table).map(drop).unwrap_err();
    assert!(refused.contains("198.19.0.2: its explicit map to 2600::9 is not for laboratories"), "{refused}");
}

/// Limits and options do not affect frames within them.
#[test]
fn options_of_nats_and_translators() {
    let nat = "tcp-timeout = \"3 h\"\nicmp-timeout = \"90 s\"\nsession-quota = 100000\nport-quota = 60000\nport-block = 4096\nport-blocks = 8\n";
    let translator = "tos = 8\ntraffic-class = 16\nzero-udp-checksum = \"drop\"\nlowest-ipv6-mtu = 1400\n";
    passes("dual", &format!("{DS_LITE}{nat}"), PORTS);
    passes("pe", &format!("{NAT46}{nat}pooling = \"paired\"\n"), PORTS);
    passes("pe", &format!("{NAT66}{nat}"), PORTS);
    passes("dual", &format!("{XLAT464}{translator}"), PORTS);
    passes("pe", &format!("{NAT64}{translator}session-quota = 80000\npooling = \"arbitrary\"\n"), MANY);
    passes("pe", &format!("{SIIT}{translator}icmp-sources = [\"192.0.2.1\", \"192.0.2.8/29\"]\n"), PORTS);
    passes("pe", &format!("{MAP_T}{translator}"), MANY);
}

/// Laboratory addresses with the well-known prefix, if the scenario asks for them (RFC 6052, section 3.1).
#[test]
fn the_well_known_prefix() {
    let well_known = "64:ff9b::/96\"\nprivate-behind-well-known = true\n#";
    for (plays, technology, traffic) in [
        ("pe", NAT64.replace("2001:2:0:1000::/64", well_known), MANY),
        ("dual", XLAT464.replace("2001:2:0:1000::/96", well_known), PORTS),
        ("ce", XLAT464.replace("2001:2:0:1000::/96", well_known), PORTS),
        ("pe", SIIT.replace("2001:2:0:1000::/96", well_known), PORTS),
        ("pe", MAP_T.replace("2001:2:0:1000::/96", well_known), MANY),
        ("dual", MAP_T.replace("2001:2:0:1000::/96", well_known), PORTS),
    ] {
        passes(plays, &technology, traffic);
    }
}

#[test]
fn frames_of_a_swept_size() {
    for size in [64, 1024, 9216] {
        passes("dual", MAP_T, &format!("{PORTS}\n[sweep]\nframe-size = [{size}]\n"));
    }
}

/// The number of softwires differs from the number of addresses, and one rule becomes many.
#[test]
fn at_a_point_of_an_axis() {
    let swept = |axis: &str| format!("source-ports = \"1024-1143\"\ndestination-ports = \"1-10\"\n[sweep]\n{axis}\n");
    passes("pe", LW4O6, &swept("softwires = 700"));
    passes("pe", MAP_E, &swept("rules = 100"));
    passes("pe", MAP_T, &swept("rules = 256"));
    passes("pe", DS_LITE, &MANY.replace("subscribers = 500", "[sweep]\nsubscribers = 1000"));
}

/// Softwires of a file: shared and whole addresses, port sets of several shapes, two addresses of the lwAFTR; more of them
/// than subscribers.
#[test]
fn softwires_of_a_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for i in 0..300 {
        let ports = match i % 3 {
            0 => format!("{}/8@6", i % 256),
            1 => format!("{}/4", i % 16),
            _ => String::new(),
        };
        let own = if i % 2 == 0 { "2001:2:0:100::3" } else { "" };
        let (own, ports) = if ports.is_empty() { ("", "") } else { (own, ports.as_str()) };
        let net = ["198.51.100", "203.0.113"][i / 200];
        writeln!(file, "2001:db8:{:x}::{:x} {net}.{} {ports} {own}", 10 + i % 7, i + 1, i % 200).unwrap();
    }
    file.flush().unwrap();
    let table = format!(
        "[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nsoftwires = \"{}\"\nce = 3\n",
        file.path().display()
    );
    for subscribers in [1, 77, 300] {
        let traffic =
            format!("source-ports = \"1024-1143\"\ndestination-ports = \"1-10\"\nsubscribers = {subscribers}");
        passes("pe", &table, &traffic);
    }
    // The softwire of `ce` has 252 ports of a shared address, or a whole address.
    passes("dual", &table.replace("ce = 3", "ce = 2"), PORTS);
    passes("ce", &table.replace("ce = 3", "ce = 2"), PORTS);
}

/// Two workers return the same frames as one, whatever the steering.
#[test]
fn two_workers_are_one_gateway() {
    // With a quota, one worker has all customers of a /64.
    let counted = format!("{NAT64}mapping = \"address-and-port-dependent\"\nsession-quota = {N}\n");
    let counted66 = format!("{NAT66_POOL}session-quota = {N}\n");
    // Each address is one subscriber, with its own connections only.
    let each = counted.replace(&N.to_string(), "1000\nsubscriber-prefix = 128");
    let each66 = counted66.replace(&N.to_string(), "1000\nsubscriber-prefix = 128");
    for (plays, technology, traffic) in [
        ("pe", counted.as_str(), MANY),
        ("pe", counted66.as_str(), MANY),
        ("pe", each.as_str(), MANY),
        ("pe", each66.as_str(), MANY),
        ("dual", XLAT464, HOSTS),
        ("dual", DS_LITE, PORTS),
        ("dual", DS_LITE, HOSTS),
        ("dual", LW4O6, PORTS),
        ("dual", MAP_E, PORTS),
        ("dual", MAP_T, PORTS),
        ("ce", LW4O6, PORTS),
        ("ce", MAP_E, PORTS),
        ("ce", MAP_T, PORTS),
        ("pe", XLAT464, MANY),
        ("pe", DS_LITE, MANY),
        ("pe", LW4O6, MANY),
        ("pe", MAP_T, MANY),
        ("pe", NAT46_POOL, HOSTS),
        ("pe", NAT66_POOL, MANY),
    ] {
        passes_with(plays, technology, traffic, 2);
    }
}
