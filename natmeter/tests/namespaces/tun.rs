//! Gateways on TUN devices that they create; the kernel of their namespace is the router on both ends. It routes packets of the
//! customer into one device, and packets to outside addresses into the other. The packets are IPv4 and IPv6 without Ethernet.

use super::traffic::traffic;
use super::{DS_LITE, LW4O6, MAP_E, MAP_T, NAT44, NAT64, Running, XLAT464, address, bare, cable, config, run};
use port::Netns;

const IPV4_WAN: (&str, &str, &str) = ("g-wan", "198.18.5.1", "198.18.5.2");
const IPV4_LAN: (&str, &str, &str) = ("g-lan", "192.168.2.1", "192.168.2.2");

fn on_tun(plays: &str, left: (&str, &str, &str), right: (&str, &str, &str), technology: &str) -> String {
    config(plays, left, right, technology).replace("[gateway]", "[gateway]\nio = \"tun\"")
}

/// Makes a namespace a router that accepts packets from any source on its TUN devices.
fn routes(ns: &Netns) {
    run(ns, "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0");
    run(ns, "sysctl -qw net.ipv6.conf.all.forwarding=1");
}

/// A machine with IPv4 at the end of a cable from a router: interface names, its address, the router's, the prefix length.
fn behind(router: &Netns, name: &str, own: &str, routers: &str, length: u8) -> Netns {
    let machine = Netns::new().unwrap();
    cable(&machine, name, router, name);
    for (ns, addr) in [(&machine, own), (router, routers)] {
        bare(ns, name);
        address(ns, name, &format!("{addr}/{length}"));
    }
    run(&machine, &format!("ip route add default via {routers}"));
    machine
}

fn with_server(router: &Netns) -> Netns {
    behind(router, "wan", "198.19.0.2", "198.19.0.1", 30)
}

fn with_host(router: &Netns) -> Netns {
    behind(router, "lan", "192.168.1.2", "192.168.1.1", 24)
}

fn lead_in(router: &Netns) {
    run(router, "ip rule add iif lan table 100");
    run(router, "ip route add default dev g-lan table 100");
}

#[test]
#[ignore = "needs root"]
fn nat44_between_tun_devices() {
    let folder = tempfile::tempdir().unwrap();
    let router = Netns::new().unwrap();
    routes(&router);
    let (host, server) = (with_host(&router), with_server(&router));
    let file = on_tun("pe", IPV4_LAN, IPV4_WAN, NAT44);
    let mut gateway = Running::start(&router, folder.path(), "gateway", &file);
    gateway.wait();
    lead_in(&router);
    run(&router, "ip route add 198.19.0.10 dev g-wan");
    traffic(&host, &server, "198.19.0.2", "198.19.0.2");
    gateway.stop();
}

/// IPv6 packets enter by one TUN device, IPv4 packets leave by the other.
#[test]
#[ignore = "needs root"]
fn nat64_between_tun_devices() {
    let folder = tempfile::tempdir().unwrap();
    let (host, router) = (Netns::new().unwrap(), Netns::new().unwrap());
    routes(&router);
    let server = with_server(&router);
    cable(&host, "lan", &router, "lan");
    address(&host, "lan", "2001:2::2/64");
    address(&router, "lan", "2001:2::1/64");
    run(&host, "ip -6 route add default via 2001:2::1");
    let file = on_tun("pe", ("g-lan", "2001:2:0:5::1", "2001:2:0:5::2"), IPV4_WAN, NAT64);
    let mut gateway = Running::start(&router, folder.path(), "gateway", &file);
    gateway.wait();
    run(&router, "ip -6 route add 2001:2:0:1000::/96 dev g-lan");
    run(&router, "ip route add 198.19.0.10 dev g-wan");
    traffic(&host, &server, "198.19.0.2", "2001:2:0:1000::c613:2");
    gateway.stop();
}

/// Customer edge and provider edge, each on TUN devices in a namespace of its own, and IPv6 routers between them: `ce` are the
/// addresses that lead to the one, `pe` to the other, `outside` the customers' IPv4 addresses.
fn between_edges(technology: &str, ce: &str, pe: &str, outside: &str) {
    let folder = tempfile::tempdir().unwrap();
    let [left, right] = std::array::from_fn(|_| Netns::new().unwrap());
    routes(&left);
    routes(&right);
    let (host, server) = (with_host(&left), with_server(&right));
    cable(&left, "access", &right, "access");
    address(&left, "access", "2001:2:0:101::1/64");
    address(&right, "access", "2001:2:0:101::2/64");
    let (at_ce, at_pe) = ("2001:2:0:100::1", "2001:2:0:100::2");
    let ce_file = on_tun("ce", IPV4_LAN, ("g-access", at_ce, at_pe), technology);
    let pe_file = on_tun("pe", ("g-access", at_pe, at_ce), IPV4_WAN, technology);
    let edges = Running::both_edges(folder.path(), (&left, &ce_file), (&right, &pe_file));
    lead_in(&left);
    run(&left, &format!("ip -6 route add {pe} via 2001:2:0:101::2"));
    run(&left, &format!("ip -6 route add {ce} dev g-access"));
    run(&right, &format!("ip -6 route add {ce} via 2001:2:0:101::1"));
    run(&right, &format!("ip -6 route add {pe} dev g-access"));
    run(&right, &format!("ip route add {outside} dev g-wan"));
    traffic(&host, &server, "198.19.0.2", "198.19.0.2");
    edges.into_iter().for_each(Running::stop);
}

checks! { "needs root";
    xlat464_edges_between_tun_devices: between_edges(XLAT464, "2001:2:0:2::/96", "2001:2:0:1000::/96", "198.19.0.10");
    ds_lite_edges_between_tun_devices: between_edges(DS_LITE, "2001:2:0:100::1", "2001:2:0:100::2", "198.19.0.10");
    lw4o6_edges_between_tun_devices: between_edges(LW4O6, "2001:2:0:4000::/52", "2001:2:0:100::2", "192.0.2.0/28");
    map_e_edges_between_tun_devices: between_edges(MAP_E, "2001:2:0:8000::/52", "2001:2:0:100::2", "192.0.2.0/24");
    map_t_edges_between_tun_devices: between_edges(MAP_T, "2001:2:0:8000::/52", "2001:2:0:1000::/96", "192.0.2.0/24");
}
