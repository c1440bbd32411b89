//! NAT44 by the Linux kernel with one iptables rule.

use super::{Config, Software, forward};
use crate::side::RIGHT;
use crate::step::{Action, Step};
use crate::tool::{CONNTRACK, IPTABLES_LEGACY, IPTABLES_NFT};

pub const LEGACY: Software = Software {
    name: "iptables-legacy",
    tools: &[IPTABLES_LEGACY, CONNTRACK],
    stateful: true,
    ipv6: false,
    steps: |config| steps("iptables-legacy", config),
};

pub const NFT: Software = Software {
    name: "iptables-nft",
    tools: &[IPTABLES_NFT, CONNTRACK],
    stateful: true,
    ipv6: false,
    steps: |config| steps("iptables-nft", config),
};

fn steps(program: &str, config: &Config) -> Vec<Step> {
    let pool = &config.pool;
    let target = format!("SNAT --to-source {}:{}", pool.addresses(), pool.ports());
    let translate = |protocol: &&str| {
        let rule = format!("POSTROUTING -o {} -p {protocol} -j {target}", RIGHT.name);
        let command = |verb: &str| Action::words(&format!("{program} -w 10 -t nat {verb} {rule}"));
        Step::dut("translate packets that leave on the right", command("-A"))
            .undone_by(command("-D"))
            .shown_by(Action::words(&format!("{program} -w 10 -t nat -S POSTROUTING")), &[&target])
    };
    std::iter::once(forward()).chain(config.protocols().iter().map(translate)).collect()
}
