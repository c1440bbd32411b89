//! A side in a VLAN: frames between customer edge and provider edge have tags, on every kind of interface. A third program
//! inspects these frames.

use super::traffic::traffic;
use super::{LAN, MAP_T, Running, WAN, config, hosts_and_edges, run};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::{Clock, Pool, PoolConfig, Port};

const ONE: (&str, &[u8]) = ("100", &[0x81, 0, 0, 100]);
const TWO: (&str, &[u8]) = ("[7, 100]", &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 100]);

/// Checks the frames between the edges, and the traffic through both; the kernel may keep the tag outside the frame.
fn between_edges_in_a_vlan(io: &str, (vlan, tags): (&str, &[u8])) {
    let folder = tempfile::tempdir().unwrap();
    let [host, ce, pe, server] = hosts_and_edges();
    // A packet socket sends the tag of IEEE 802.1Q beside the MTU, and no other.
    for edge in [&ce, &pe] {
        run(edge, "ip link set g-access mtu 1508");
    }
    // A packet socket does not see frames that XDP takes, so this one sees only frames that the customer edge sends.
    let mut tap = AfPacketPort::open(&ce, &AfPacketConfig::named("g-access"), Clock::system()).unwrap();
    let (at_ce, at_pe) = ("2001:2:0:100::1", "2001:2:0:100::2");
    let file = |plays, left, right| {
        let text = config(plays, left, right, MAP_T).replace("[gateway]", &format!("[gateway]\nio = \"{io}\""));
        text.replace("interface = \"g-access\"", &format!("interface = \"g-access\"\nvlan = {vlan}"))
    };
    let ce_file = file("ce", LAN, ("g-access", at_ce, at_pe));
    let pe_file = file("pe", ("g-access", at_pe, at_ce), WAN);
    let edges = Running::both_edges(folder.path(), (&ce, &ce_file), (&pe, &pe_file));
    traffic(&host, &server, "198.19.0.2", "198.19.0.2");
    let tagged = received(&mut tap);
    assert!(io != "af-packet" || tagged.len() > 100, "{} frames", tagged.len());
    assert!(tagged.iter().all(|frame| frame[12..].starts_with(tags)), "a frame without the tag");
    // Frames without the tag are ignored and counted.
    let mut pool = Pool::single(PoolConfig::compact(1, 64, 1518)).unwrap();
    let mut untagged = port::burst();
    pool.alloc_burst(3, 60, &mut untagged);
    for frame in &mut untagged {
        frame.bytes_mut().fill(2);
    }
    tap.transmit(&mut pool, &mut untagged).unwrap();
    let other = || {
        let status: serde_json::Value = serde_json::from_str(&edges[1].status()).unwrap();
        status["other-vlan"]["left"].as_u64().unwrap()
    };
    let end = std::time::Instant::now() + super::PATIENCE;
    while other() < 3 {
        assert!(std::time::Instant::now() < end, "{} of 3 frames are counted", other());
    }
    edges.into_iter().for_each(Running::stop);
}

fn received(port: &mut AfPacketPort) -> Vec<Vec<u8>> {
    let mut pool = Pool::single(PoolConfig::compact(1, 64, 1526)).unwrap();
    let (mut burst, mut all) = (port::burst(), Vec::new());
    while port.receive(&mut pool, &mut burst).unwrap() > 0 {
        all.extend(burst.iter().map(|frame| frame.bytes().to_vec()));
        pool.free_all(&mut burst);
    }
    all
}

checks! { "needs root: run by ./check as root";
    a_vlan_on_packet_sockets: between_edges_in_a_vlan("af-packet", ONE);
    a_vlan_on_xdp_sockets_in_generic_mode: between_edges_in_a_vlan("af-xdp-generic", ONE);
    a_vlan_on_xdp_sockets_in_native_mode: between_edges_in_a_vlan("af-xdp-native", ONE);
    two_vlans_on_packet_sockets: between_edges_in_a_vlan("af-packet", TWO);
    two_vlans_on_xdp_sockets_in_generic_mode: between_edges_in_a_vlan("af-xdp-generic", TWO);
    two_vlans_on_xdp_sockets_in_native_mode: between_edges_in_a_vlan("af-xdp-native", TWO);
}
