//! NAT44 by the Linux kernel, configured by nft: one rule in a table of its own.

use super::{Config, Software, forward};
use crate::bed::RIGHT;
use crate::step::{Action, Step};
use crate::tool::{CONNTRACK, NFT};

/// One `snat` rule on the outside interface.
pub const SOFTWARE: Software = Software {
    name: "nftables",
    about: "stateful NAT44 by the Linux kernel, configured by nft",
    tools: &[NFT, CONNTRACK],
    stateful: true,
    steps,
};

fn steps(config: &Config) -> Vec<Step> {
    let pool = &config.pool;
    let rule = format!("snat to {}:{}", pool.addresses(), pool.ports());
    // A range of ports is accepted only where the protocol is known to have ports.
    let table = format!(
        "table ip natmeter {{\n\tchain postrouting {{\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n\
         \t\toifname \"{}\" meta l4proto udp {rule}\n\t}}\n}}",
        RIGHT.name
    );
    let translate = Step::dut("translate what leaves on the right", Action::reading("nft -f -", table))
        .undone_by(Action::words("nft delete table ip natmeter"))
        .shown_by(Action::words("nft list table ip natmeter"), &[&rule]);
    vec![forward(), translate]
}
