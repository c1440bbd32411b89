//! Unbound as a DNS64 server: its module `dns64` before the iterator, without validation, and a stub zone at the authoritative
//! server. Everything else is as Unbound has it by default.

use super::{links, server};
use crate::side::RIGHT;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

pub(super) const CONFIG: &str = "unbound.conf";

/// The command line, in the folder of the bed.
pub(super) fn line() -> String {
    format!("exec unbound -d -c ./{CONFIG}")
}

/// The configuration. Its keys are those of unbound.conf(5) of Unbound 1.17. By default, Unbound answers for `test` itself (RFC
/// 6761, section 6.2).
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
