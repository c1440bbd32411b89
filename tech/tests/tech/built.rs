//! What is built of a technology's table.

use plane::nat44::Nat44;
use plane::{AnyFunction, Input, Packet, Side, Side4, Side6, Steering, Verdict, affinity};
use scenario::{Options, Scenario, parse};
use std::io::{self, BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;
use tech::{Job, Links, Plays, Technology};
use testbed::ip4::{reseal, set_df};
use testbed::packets::{icmp, ip, ping, raw, udp_with};
use testbed::{Frame, Outbox};
use wire::checksum::Sum;
use wire::{Mac, PortSet};

pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::new(std::fs::File::open(path)?)))
}

pub(crate) fn build(
    technology: &dyn Technology,
    plays: Plays,
    workers: usize,
) -> Result<Vec<AnyFunction<Frame>>, String> {
    let job = Job { plays, links: links(), workers, seed: 7, open: &open, live: None };
    technology.build(&job).map(|built| built.functions.boxed())
}

fn steering(technology: &dyn Technology, plays: Plays, workers: usize) -> [Steering; 2] {
    technology.steering(plays, workers, &open)
}

pub(crate) const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);

fn technology(plays: &str, table: &str) -> (Box<dyn Technology>, Plays) {
    let (plays, technology) =
        scenario(plays, table, "").duts[0].technology().map(|(plays, t)| (plays, t.boxed())).unwrap();
    (technology, plays)
}

pub(crate) fn scenario(plays: &str, table: &str, traffic: &str) -> Scenario {
    let with_state: &[&str] = match plays {
        "ce" => &["map-", "lw4o6"],
        "pe" => &["nat", "464xlat", "ds-lite"],
        _ => &["nat", "464xlat", "ds-lite", "map-", "lw4o6"],
    };
    let measure = if with_state.iter().any(|name| table.contains(&format!("[technology.{name}"))) {
        // With state at the edge there is nothing to measure without connections.
        "metrics = [\"max_conn_est_rate\"]\n[sweep]\nconnections = [\"60k\"]"
    } else {
        "metrics = [\"throughput\"]"
    };
    let text = format!(
        "name = \"t\"\n[dut.embedded]\nplays = \"{plays}\"\n{table}\n[traffic]\nframe-size = 128\nsource-ports = \"1024-2023\"\n\
         destination-ports = \"1-100\"\n{traffic}\n[measure]\n{measure}\n"
    );
    let loaded = parse("t.toml", &text, &Options::default(), tech::ALL);
    loaded.unwrap_or_else(|c| panic!("{}", c.render(false))).scenario
}

fn links() -> Links {
    let v4 = Side4 { mac: OURS, next_hop: OURS, address: [198, 18, 0, 1].into(), mtu: 9000 };
    let v6 = Side6 { mac: OURS, next_hop: OURS, address: "2001:2::1".parse().unwrap(), mtu: 1280 };
    Links { left4: v4, left6: v6, right4: v4, right6: v6 }
}

pub(crate) fn outbox() -> Outbox {
    Outbox::new(usize::MAX, usize::MAX)
}

/// IPv6 identifications of what leaves of a large packet, from each worker.
fn cut(functions: Vec<AnyFunction<Frame>>) -> Vec<[u8; 4]> {
    let packet = udp4((CUSTOMER, 0), (SERVER, 0), 1372, false);
    let cut = |mut f: AnyFunction<Frame>| {
        let (mut made, mut verdicts) = (outbox(), [Verdict::Drop]);
        f.process(Input::new(1, Side::Customer, &mut [Frame::with_room(&packet, 128, 128)], &mut verdicts), &mut made);
        assert_eq!((verdicts[0], made.out.len()), (Verdict::Forward(Side::Internet), 1));
        made.out[0].1.bytes()[58..62].try_into().unwrap()
    };
    functions.into_iter().map(cut).collect()
}

/// RFC 8200, section 4.5: different identifications, whichever worker fragments.
#[test]
fn workers_of_a_b4_are_told_apart() {
    let (ds_lite, ce) = technology("ce", DS_LITE);
    let ids = cut(build(ds_lite.as_ref(), ce, 2).unwrap());
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn edges_with_state_are_steered_by_their_ports() {
    let set = PortSet { offset: 4, len: 4, psid: 0 };
    for (table, at) in [(map_e(), 76), (map_t(), 56)] {
        for (plays, at) in [("ce", at), ("dual", 36)] {
            let (technology, plays) = technology(plays, &table);
            let wanted = [Nat44::STEER_CUSTOMER, Nat44::steer_ports(at, set, 2)];
            assert_eq!(steering(technology.as_ref(), plays, 2), wanted, "{table}");
        }
    }
}

#[test]
fn customers_who_are_counted_by_prefix_are_steered_by_it() {
    let by_prefix = affinity::steering(64);
    assert_ne!(by_prefix, affinity::STEER_CUSTOMER);
    let table = |name: &str, own: &str| format!("[technology.{name}]\npool = \"198.19.0.1\"\n{own}\n");
    let pref64 = "pref64 = \"2001:2:0:1000::/96\"";
    let xlat = format!("{pref64}\nclat = \"2001:2:0:2::/96\"");
    for limit in ["session-quota = 60000", "port-quota = 60000", "port-block = 4096\nport-blocks = 8"] {
        let nat66 = "[technology.nat66]\npool = \"2001:2:0:200::1\"\n".to_owned();
        for table in [table("nat64", pref64), table("464xlat", &xlat), nat66] {
            let left = |table: &str| {
                let (technology, plays) = technology("pe", table);
                steering(technology.as_ref(), plays, 2)[0]
            };
            assert_eq!(left(&table), affinity::STEER_CUSTOMER);
            assert_eq!(left(&(table.clone() + limit)), by_prefix);
            let own = |len: u8| format!("{table}{limit}\nsubscriber-prefix = {len}\n");
            assert_eq!([128, 56].map(|len| left(&own(len))), [128, 56].map(affinity::steering));
        }
    }
}

/// Frames go into a gateway of one worker, and give what leaves, with the side.
type Play<'a> = &'a mut dyn FnMut(&mut dyn FnMut(Side, &[u8]) -> Vec<(Side, Vec<u8>)>);

fn play(plays: &str, table: &str, play: Play) {
    let (technology, plays) = technology(plays, table);
    let (mut function, mut now) = (build(technology.as_ref(), plays, 1).unwrap().remove(0), 0);
    play(&mut |from, frame| {
        now += 1_000_000;
        let (mut made, mut verdicts) = (outbox(), [Verdict::Drop]);
        let mut batch = [Frame::with_room(frame, 128, 2048)];
        function.process(Input::new(now, from, &mut batch, &mut verdicts), &mut made);
        assert!(made.handed.is_empty());
        let own = batch.into_iter().filter_map(|f| match verdicts[0] {
            Verdict::Forward(to) => Some((to, f)),
            _ => None,
        });
        own.chain(made.out).map(|(to, f)| (to, f.bytes().to_vec())).collect()
    });
}

const CUSTOMER: [u8; 4] = [198, 18, 0, 2];
const SERVER: [u8; 4] = [198, 19, 0, 2];

fn arriving(mut frame: Vec<u8>) -> Vec<u8> {
    frame[..6].copy_from_slice(&OURS.0);
    frame
}

fn udp4(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: usize, df: bool) -> Vec<u8> {
    let mut f = arriving(udp_with(from, to, 64, &vec![0; payload]));
    if df {
        set_df(&mut f);
    }
    f
}

/// An ICMPv6 error of a router about a frame that left over IPv6.
fn error6((kind, code, rest): (u8, u8, u32), about: &[u8]) -> Vec<u8> {
    let sender = <[u8; 16]>::try_from(&about[22..38]).unwrap();
    arriving(icmp(ip("2001:2:0:eeee::1"), IpAddr::from(sender), kind, code, rest.to_be_bytes(), &about[14..]))
}

fn ends6(f: &[u8]) -> [String; 2] {
    [22, 38].map(|at| std::net::Ipv6Addr::from(<[u8; 16]>::try_from(&f[at..at + 16]).unwrap()).to_string())
}

/// Type and code of the one ICMP error from this address about this frame.
fn told(out: &[(Side, Vec<u8>)], from: [u8; 4], about: &[u8]) -> (u8, u8) {
    let [(Side::Customer, f)] = out else { panic!("{out:?}") };
    assert!(Sum::default().bytes(&f[34..]).is_valid() && Sum::default().bytes(&f[14..34]).is_valid());
    assert_eq!((&f[26..30], &f[30..34], f[23]), (&from[..], &CUSTOMER[..], 1));
    assert_eq!(f[42 + 12..42 + 24], about[26..38], "quoted as it was sent: addresses and ports");
    (f[34], f[35])
}

const MAP_RULE: &str =
    "ipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\npsid-offset = 4\n";
const LW4O6: &str = "[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nipv4 = \"203.0.113.0/24\"\nb4 = \"2001:db8:1::1\"\n\
                     psid-length = 4\npsid-offset = 4\n";
const DS_LITE: &str =
    "[technology.ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n";

fn map_e() -> String {
    format!("[technology.map-e]\nbr = \"2001:2:0:100::2\"\n{MAP_RULE}")
}

fn map_t() -> String {
    format!("[technology.map-t]\ndmr = \"2001:2:0:1000::/96\"\n{MAP_RULE}")
}

/// RFC 5508, REQ-4, for a shared and a whole address; a B4 has no NAT44, and answers from its link's address.
#[test]
fn errors_from_behind_the_nat44_reach_the_customer() {
    let inner = [192, 0, 0, 2];
    let whole =
        |table: String| table.replace("ea-bits = 12", "ea-bits = 8").replace("psid-length = 4", "psid-length = 0");
    for (table, from) in [
        (map_e(), inner),
        (whole(map_e()), inner),
        (map_t(), inner),
        (whole(map_t()), inner),
        (LW4O6.to_owned(), inner),
        (whole(LW4O6.to_owned()).replace("psid-offset = 4", "psid-offset = 0"), inner),
        (DS_LITE.to_owned(), [198, 18, 0, 1]),
    ] {
        play("ce", &table, &mut |send| {
            let small = udp4((CUSTOMER, 5000), (SERVER, 80), 30, false);
            let out = send(Side::Customer, &small);
            let [(Side::Internet, sent)] = out.as_slice() else { panic!("{table} {out:?}") };
            // No route; and packet too big, beyond the link's 1280 octets.
            let no_route = send(Side::Internet, &error6((1, 0, 0), sent));
            assert_eq!(told(&no_route, from, &small), (3, 1), "{table}");
            let large = udp4((CUSTOMER, 5000), (SERVER, 80), 1250, true);
            let out = send(Side::Customer, &large);
            let nat = if table.contains("map-t") { [198, 18, 0, 1] } else { from };
            assert_eq!(told(&out, nat, &large), (3, 4), "{table}");
            let mtu = if table.contains("map-t") { 1260u16 } else { 1240 };
            assert_eq!(out[0].1[40..42], mtu.to_be_bytes());
        });
    }
}

/// RFC 7597, section 5, whatever the CE's own rule; unassigned ports are not sent to, and the customer hears of it.
#[test]
fn forwarding_rules_make_a_mesh() {
    let rules = "[[technology.map-X.rule]]\nipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\n\
                 psid-offset = 4\n\
                 [[technology.map-X.rule]]\nipv6-prefix = \"2001:db8:3:400::/56\"\nipv4-prefix = \"192.0.2.18/32\"\nea-bits = 0\n\
                 psid = 0x34\npsid-length = 8\nforwarding = true\n\
                 [[technology.map-X.rule]]\nipv6-prefix = \"2001:db8:2::/56\"\nipv4-prefix = \"198.51.100.0/28\"\nea-bits = 4\n";
    let forwarding = rules.replacen("psid-offset = 4\n", "psid-offset = 4\nforwarding = true\n", 1);
    // 198.51.100.3 is the last rule's fourth customer: behind 4,096 of the first and one of the second.
    let (e, t) = (
        "[technology.map-e]\nbr = \"2001:2:0:100::2\"\nce = 4100\n",
        "[technology.map-t]\ndmr = \"2001:2:0:1000::/96\"\nce = 4100\n",
    );
    let to = |port, host| {
        (([203, 0, 113, host], port), format!("2001:db8:1:{:x}:0:cb00:71{host:02x}:0", u16::from(host) * 64))
    };
    for (table, x, relay, own) in [
        (e, "e", "2001:2:0:100::2", "2001:db8:2:30:0:c633:6403:0"),
        (t, "t", "2001:2:0:1000::cb00:7105", "2001:db8:2:30:0:c633:6403:0"),
    ] {
        let both = |rules: &str| format!("{table}{}", rules.replace("map-X", &format!("map-{x}")));
        play("ce", &both(&forwarding), &mut |send| {
            let (remote, end) = to(0x1001, 5);
            let sent = send(Side::Customer, &udp4((CUSTOMER, 5000), remote, 30, false));
            assert_eq!((sent.len(), ends6(&sent[0].1)), (1, [own.to_owned(), end]));
            // A PSID of its own: 000001 00110100 00.
            let sent = send(Side::Customer, &udp4((CUSTOMER, 5000), ([192, 0, 2, 18], 1232), 30, false));
            assert_eq!(ends6(&sent[0].1)[1], "2001:db8:3:400:0:c000:212:34");
            // Ports below 2^12 belong to no port set.
            let frame = udp4((CUSTOMER, 5000), ([203, 0, 113, 5], 80), 30, false);
            let refused = send(Side::Customer, &frame);
            assert_eq!(told(&refused, [192, 0, 0, 2], &frame).0, 3);
        });
        play("ce", &both(rules), &mut |send| {
            let sent = send(Side::Customer, &udp4((CUSTOMER, 5000), to(0x1001, 5).0, 30, false));
            assert_eq!(ends6(&sent[0].1), [own.to_owned(), relay.to_owned()], "hub and spoke");
        });
    }
}

/// RFC 2473, section 6, and RFC 6040.
#[test]
fn settings_of_tunnels_arrive_in_the_outer_header() {
    let keys = "tunnel-hop-limit = 17\ntunnel-dscp = 46\ntunnel-flow-label = 0x12345\ntunnel-ecn = \"compatibility\"\n";
    for table in [map_e(), LW4O6.to_owned(), DS_LITE.to_owned()] {
        play("ce", &(table.clone() + keys), &mut |send| {
            let mut frame = udp4((CUSTOMER, 5000), (SERVER, 80), 30, false);
            // ECN-capable inside.
            frame[15] = 2;
            reseal(&mut frame);
            let sent = send(Side::Customer, &frame);
            assert_eq!((&sent[0].1[14..18], sent[0].1[21]), (&[0x6b, 0x81, 0x23, 0x45][..], 17), "{table}");
        });
        play("ce", &(table + "tunnel-flow-label = \"hash\"\n"), &mut |send| {
            let sent = send(Side::Customer, &udp4((CUSTOMER, 5000), (SERVER, 80), 30, false));
            assert!(sent[0].1[15] & 15 != 0 || sent[0].1[16..18] != [0, 0]);
        });
    }
}

/// RFC 2473, section 7.2, and RFC 7597, section 8.3: outside, inside, or outside although DF forbids it, at both ends.
#[test]
fn packets_too_large_for_a_tunnel_are_cut_as_is_written() {
    let inner = |f: &[u8]| f[20] == 4;
    for (oversize, df, cut) in [
        ("outer", false, Some(false)),
        ("outer", true, None),
        ("inner", false, Some(true)),
        ("inner", true, None),
        ("outer-always", true, Some(false)),
    ] {
        for table in [map_e(), LW4O6.to_owned(), DS_LITE.to_owned()] {
            play("ce", &format!("{table}tunnel-oversize = \"{oversize}\"\n"), &mut |send| {
                let out = send(Side::Customer, &udp4((CUSTOMER, 5000), (SERVER, 80), 1250, df));
                let pieces: Vec<_> =
                    out.iter().filter(|(to, _)| *to == Side::Internet).map(|(_, f)| inner(f)).collect();
                let wanted = cut.map_or(Vec::new(), |inside| vec![inside; 2]);
                assert_eq!((pieces, out.len()), (wanted, if cut.is_some() { 2 } else { 1 }), "{oversize} {table}");
            });
        }
    }
}

/// RFC 7596, section 6.2: hairpinning, and ICMP errors about unmapped and spoofed packets.
#[test]
fn a_border_relay_does_what_is_written() {
    let frame = |src: u16, to: ([u8; 4], u16)| {
        from_b4("2001:db8:1:0:0:cb00:7100:0", "2001:2:0:100::2", &udp4(([203, 0, 113, 0], src), to, 30, false))
    };
    let customer = ([203, 0, 113, 5], 0x1001);
    let pe = |keys: &str, then: Play| play("pe", &(map_e() + keys), then);
    pe("", &mut |send| {
        assert_eq!(send(Side::Customer, &frame(0x1001, customer))[0].0, Side::Customer, "turned round");
        assert_eq!(send(Side::Customer, &frame(0x1101, (SERVER, 80)))[0].1[54..56], [1, 5], "another's port");
        let unassigned = send(Side::Internet, &udp4((SERVER, 80), ([203, 0, 113, 5], 80), 30, false));
        assert_eq!(unassigned[0].1[34..36], [3, 1]);
        assert_eq!(send(Side::Internet, &echo(([203, 0, 113, 5], 0x1001)))[0].0, Side::Customer);
    });
    let off = "hairpinning = false\nanswer-spoofed = false\nanswer-unknown = false\ninbound-icmp = \"nothing\"\n";
    pe(off, &mut |send| {
        for f in [frame(0x1001, customer), frame(0x1101, (SERVER, 80))] {
            assert!(send(Side::Customer, &f).is_empty());
        }
        for f in [udp4((SERVER, 80), ([203, 0, 113, 5], 80), 30, false), echo(([203, 0, 113, 5], 0x1001))] {
            assert!(send(Side::Internet, &f).is_empty());
        }
    });
    pe("icmp-errors-per-second = 0\n", &mut |send| {
        assert!(send(Side::Customer, &frame(0x1101, (SERVER, 80))).is_empty());
    });
}

fn echo((to, id): ([u8; 4], u16)) -> Vec<u8> {
    arriving(ping(SERVER, to, id))
}

/// RFC 7757, figure 1: suffixes may differ in length, and whole addresses need no length.
#[test]
fn explicit_maps_in_the_table_are_those_of_a_file() {
    let table = "[technology.siit]\neam = [\"192.0.2.1 2001:db8:aaaa::\", \"2001:db8:cccc::/124 192.0.2.16/28\", \
                 \"192.0.2.128/26 2001:db8:dddd::/64\", \"192.0.2.192/29 2001:db8:eeee:8::/62\"]\n\
                 pref64 = \"2001:2:0:1000::/96\"\n";
    play("pe", table, &mut |send| {
        for (last, six) in [
            (1, "2001:db8:aaaa::"),
            (24, "2001:db8:cccc::8"),
            (152, "2001:db8:dddd:0:6000::"),
            (195, "2001:db8:eeee:9:8000::"),
        ] {
            let out = send(Side::Internet, &udp4((SERVER, 53), ([192, 0, 2, last], 5000), 30, false));
            assert_eq!(ends6(&out[0].1)[1], six);
        }
    });
}

/// RFC 7757, section 4: by the translator itself, by a router behind it, or not at all.
#[test]
fn hairpinning_of_siit_is_as_written() {
    let table = "[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\", \"198.19.0.0/24 2001:2:0:9::/120\"]\npref64 = \"2001:2:0:1000::/96\"\n";
    let f = arriving(udp_with((ip("2001:2::2"), 5000), (ip("2001:2:0:1000::c612:3"), 80), 64, b""));
    for (mode, side) in [("intrinsic", Side::Customer), ("simple", Side::Internet), ("off", Side::Internet)] {
        play("pe", &format!("{table}hairpinning = \"{mode}\"\n"), &mut |send| {
            let out = send(Side::Customer, &f);
            assert_eq!((out.len(), out[0].0), (1, side), "{mode}");
            if side == Side::Customer {
                return;
            }
            // The router sends it back: with the simple mode the source hides behind the prefix.
            let back = send(Side::Internet, &out[0].1);
            let source = if mode == "simple" { "2001:2:0:1000::c612:2" } else { "2001:2::2" };
            assert_eq!(ends6(&back[0].1), [source, "2001:2::3"].map(str::to_owned), "{mode}");
        });
    }
}

fn from_b4(b4: &str, aftr: &str, inside: &[u8]) -> Vec<u8> {
    arriving(raw(ip(b4), ip(aftr), 64, 4, &inside[14..]))
}

/// RFC 6333, section 5.7: 192.0.0.2 needs no word in the table.
#[test]
fn a_b4_itself_may_speak() {
    play("pe", DS_LITE, &mut |send| {
        let mut from = |addr| {
            let f = udp4((addr, 5000), (SERVER, 53), 30, false);
            send(Side::Customer, &from_b4("2001:2:0:4000::1", "2001:2:0:100::2", &f)).len()
        };
        assert_eq!([[192, 0, 0, 2], [192, 168, 1, 9], [192, 0, 0, 1], [192, 0, 0, 3]].map(&mut from), [1, 1, 0, 0]);
    });
}

/// RFC 7597, section 5.
#[test]
fn a_rule_for_all_of_ipv4() {
    let ce = 0xcb00_7105_u64 << 4 | 3;
    let rule = format!(
        "[technology.map-e]\nbr = \"2001:2:0:100::2\"\nipv6-prefix = \"fd00::/28\"\nipv4-prefix = \"0.0.0.0/0\"\n\
         ea-bits = 36\npsid-offset = 4\nce = {ce}\n"
    );
    play("ce", &rule, &mut |send| {
        let out = send(Side::Customer, &udp4((CUSTOMER, 5000), (SERVER, 53), 30, false));
        let ends = ["fd00:c:b007:1053:0:cb00:7105:3", "2001:2:0:100::2"].map(str::to_owned);
        assert_eq!((ends6(&out[0].1), &out[0].1[66..70]), (ends, &[203, 0, 113, 5][..]));
    });
}

/// It would be dead, or a loop (RFC 7596, section 6.2).
#[test]
fn no_softwire_with_an_address_of_the_gateway() {
    let refused = |table: String| {
        let (technology, plays) = technology("pe", &table);
        build(technology.as_ref(), plays, 1).err().unwrap()
    };
    let own4 = LW4O6.replace("203.0.113.0/24", "198.18.0.0/24");
    assert!(refused(own4).contains("198.18.0.1 as the IPv4 address: this is the gateway's own"));
    for b4 in ["2001:2::1", "2001:2:0:100::2"] {
        let why = refused(LW4O6.replace("2001:db8:1::1", b4));
        assert!(
            why.contains(&format!("{b4} as the lwB4's IPv6 address: this is an address of the lwAFTR itself")),
            "{why}"
        );
    }
}
