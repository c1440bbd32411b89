//! A NAT in user space behind TUN devices, which hooks of the bed file start and stop: `testbed/examples/tun-nat.rs`.

use super::guests::{LEFT, LEFT6, RIGHT, bed_of, measured};
use super::program::NATMETER;
use std::fs;
use std::path::{Path, PathBuf};

/// The program, which Cargo puts beside this one.
fn program() -> PathBuf {
    let path = Path::new(NATMETER).with_file_name("examples/tun-nat");
    assert!(path.exists(), "build it: cargo build -p natmeter-testbed --example tun-nat");
    path
}

/// A script of hooks for a NAT with this inside prefix, and commands for the network of the box and the route to the NAT. A new process
/// has no connections.
fn script(prefix: &str, network: &str, route: &str) -> String {
    format!(
        "set -e
start() {{
  setsid {} natin natout {prefix} 198.19.0.100 </dev/null >/dev/null 2>&1 &
  echo $! >tun-nat.pid
  until ip link set natin up && ip link set natout up; do kill -0 \"$(cat tun-nat.pid)\"; sleep 0.1; done 2>/dev/null
  {route}
  ip route replace 198.19.0.100 dev natout
}}
stop() {{
  kill \"$(cat tun-nat.pid)\"
  while ip link show natin || ip link show natout; do sleep 0.1; done >/dev/null 2>&1
}}
prepare() {{
  sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
  sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0 net.ipv6.conf.all.forwarding=1
  ip addr add 198.19.0.1/24 dev right
  {network}
  start
}}
clear() {{ stop; start; }}
\"$1\"
",
        program().display()
    )
}

/// Measures both phases over a box in a namespace with this NAT.
fn is_measured(left: (&str, &str), technology: &str, prefix: &str, [network, route]: [&str; 2]) {
    let hooks = "prepare = \"sh ./nat.sh prepare\"\nclear = \"sh ./nat.sh clear\"\nrestore = \"sh ./nat.sh stop\"\n";
    let folder = bed_of([left, RIGHT], &format!("[dut]\non = \"namespace\"\n{hooks}"));
    fs::write(folder.path().join("nat.sh"), script(prefix, network, route)).unwrap();
    let text = format!(
        "name = \"box\"\n[dut.external]\n[technology.{technology}\npool = \"198.19.0.100\"\npool-ports = \"10000-65535\"\n\
         mapping = \"endpoint-independent\"\n[sweep]\nconnections = 500\n\
         [measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\n"
    );
    fs::write(folder.path().join("box.toml"), text).unwrap();
    measured(folder.path(), "box.toml", 2);
}

#[test]
#[ignore = "needs root"]
fn nat64_in_user_space() {
    let network = "ip addr add 2001:2:0:1800::2/64 dev left nodad; ip -6 route add default via 2001:2:0:1800::1";
    let pref64 = "2001:2:0:1000::/96";
    let route = format!("ip -6 route replace {pref64} dev natin");
    is_measured(LEFT6, &format!("nat64]\npref64 = \"{pref64}\""), pref64, [network, &route]);
}

#[test]
#[ignore = "needs root"]
fn nat44_in_user_space() {
    let network = "ip addr add 198.18.0.1/24 dev left; ip rule add iif left lookup 1000";
    let route = "ip route replace default dev natin table 1000";
    is_measured(LEFT, "nat44]", "198.18.0.0/24", [network, route]);
}
