//! NAT44 by the Linux kernel with one iptables rule.

use super::{Software, SoftwareConfig, linux_forwarding};
use crate::side::RIGHT;
use crate::step::{Action, Step};
use crate::tool::{CONNTRACK, IPTABLES_LEGACY, IPTABLES_NFT};

pub const LEGACY: Software = Software {
    name: IPTABLES_LEGACY.program,
    tools: &[IPTABLES_LEGACY, CONNTRACK],
    stateful: true,
    ipv6: false,
    steps: |config| steps(IPTABLES_LEGACY.program, config),
};

pub const NFT: Software = Software {
    name: IPTABLES_NFT.program,
    tools: &[IPTABLES_NFT, CONNTRACK],
    steps: |config| steps(IPTABLES_NFT.program, config),
    ..LEGACY
};

fn steps(program: &str, config: &SoftwareConfig) -> Vec<Step> {
    let pool = &config.pool;
    let target = format!("SNAT --to-source {}:{}", pool.addresses(), pool.ports());
    let translate = |protocol: &&str| {
        let rule = format!("POSTROUTING -o {} -p {protocol} -j {target}", RIGHT.name);
        let command = |verb: &str| Action::words(&format!("{program} -w 10 -t nat {verb} {rule}"));
        Step::dut("translate packets that leave on the right", command("-A"))
            .undone_by(command("-D"))
            .shown_by(Action::words(&format!("{program} -w 10 -t nat -S POSTROUTING")), &[&target])
    };
    std::iter::once(linux_forwarding::ipv4()).chain(config.protocols().iter().map(translate)).collect()
}
