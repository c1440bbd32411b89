//! Knot DNS as the authoritative server of one zone.

use std::net::SocketAddr;
use std::path::Path;

pub(super) const CONFIG: &str = "knot.conf";
pub(super) const ZONE_FILE: &str = "zone";

pub(super) fn line() -> String {
    format!("exec knotd -c ./{CONFIG}")
}

/// knot.conf(5), Knot DNS 3.2.
pub(super) fn config(folder: &Path, zone: &str, server: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "server:\n    rundir: \"{folder}\"\n    listen: {}@{}\n    background-workers: 1\n    tcp-workers: 1\n\
         database:\n    storage: \"{folder}\"\n\
         log:\n  - target: stdout\n    any: warning\n\
         zone:\n  - domain: {zone}\n    storage: \"{folder}\"\n    file: {ZONE_FILE}\n    zonefile-sync: -1\n    \
         zonefile-load: whole\n    journal-content: none\n    semantic-checks: off\n",
        server.ip(),
        server.port()
    )
}
