//! Unbound as a DNS64 server: module `dns64`, no validation, a stub zone at the authoritative server, else defaults.

use super::{links, server};
use crate::side::RIGHT;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

pub(super) const CONFIG: &str = "unbound.conf";

pub(super) fn line() -> String {
    format!("exec unbound -d -c ./{CONFIG}")
}

/// unbound.conf(5), Unbound 1.17. By default, Unbound answers for `test` itself (RFC 6761, section 6.2).
pub(super) fn config(folder: &Path, threads: u32, prefix: Ipv6Addr, zone: &str) -> String {
    let folder = folder.display();
    format!(
        "server:\n    verbosity: 0\n    use-syslog: no\n    logfile: \"\"\n    do-daemonize: no\n    chroot: \"\"\n    \
         username: \"\"\n    directory: \"{folder}\"\n    pidfile: \"{folder}/unbound.pid\"\n    num-threads: {threads}\n    \
         interface: {}\n    access-control: ::/0 allow\n    outgoing-interface: {}\n    prefer-ip4: yes\n    \
         module-config: \"dns64 iterator\"\n    dns64-prefix: {prefix}/96\n    local-zone: \"test.\" nodefault\n    \
         target-fetch-policy: \"0 0 0 0 0\"\n\
         stub-zone:\n    name: \"{zone}\"\n    stub-addr: {}\n\
         remote-control:\n    control-enable: no\n",
        links::DUT6,
        Ipv4Addr::from(RIGHT.dut),
        server().ip()
    )
}
