//! NAT44 by the Linux kernel: one rule in the table `natmeter`.

use super::{Software, SoftwareConfig, linux_forwarding};
use crate::side::RIGHT;
use crate::step::{Action, Step};
use crate::tool::{CONNTRACK, NFT};

/// One `snat` rule for the outside interface.
pub const SOFTWARE: Software =
    Software { name: "nftables", tools: &[NFT, CONNTRACK], stateful: true, ipv6: false, steps };

fn steps(config: &SoftwareConfig) -> Vec<Step> {
    let pool = &config.pool;
    let rule = format!("snat to {}:{}", pool.addresses(), pool.ports());
    // nft accepts a range of ports only in a rule for a protocol with ports.
    let of = |protocol: &&str| format!("\t\toifname \"{}\" meta l4proto {protocol} {rule}\n", RIGHT.name);
    let rules: String = config.protocols().iter().map(of).collect();
    let table = format!(
        "table ip natmeter {{\n\tchain postrouting {{\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n\
         {rules}\t}}\n}}"
    );
    let translate = Step::dut("translate packets that leave on the right", Action::reading("nft -f -", table))
        .undone_by(Action::words("nft delete table ip natmeter"))
        .shown_by(Action::words("nft list table ip natmeter"), &[&rule]);
    vec![linux_forwarding::ipv4(), translate]
}
