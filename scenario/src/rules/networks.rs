//! Several networks on each side: only a router has routes to them (RFC 2544, section 12).

use super::{Check, dut_at};
use crate::Dut;
use crate::nat::technology_path;
use key::{At, Fault};
use tech::is_laboratory_prefix;
use wire::Prefix6;

const KEY: &str = "traffic.networks";

impl Check<'_> {
    pub(super) fn networks(&mut self) {
        let networks = self.scenario.traffic.flows.networks;
        if networks <= 1 {
            return;
        }
        self.one_host_each();
        for dut in &self.scenario.duts {
            if !dut.is_router() {
                self.refuse(format!("`{}` is no router: it has one network on each side", dut.name()))
                    .at(KEY, format!("{networks} networks"))
                    .at(dut_at(dut), "this device translates, or is simulated")
                    .instead("remove `networks`, or measure plain forwarding (RFC 2544, section 12: routers only)");
            }
            self.blocks(dut, networks);
        }
    }

    /// Each network has one host: `inside` and `remote` are the hosts of the first one.
    fn one_host_each(&mut self) {
        let flows = &self.scenario.traffic.flows;
        for (path, range) in [("traffic.inside", flows.inside), ("traffic.remote", flows.remote)] {
            if range.count > 1 {
                let fault = Fault::new("with several networks, each network has one host");
                let fault = fault.at(path, format!("{} addresses", range.count)).at(KEY, "several networks");
                self.fault(fault.instead("give one address: that of the host in the first network"));
            }
        }
        if let Some(swept) = self.scenario.host_axis() {
            let fault = Fault::new("with several networks, each network has one host").at(KEY, "several networks");
            let fault = fault.at(format!("sweep.{}", swept.axis), "several hosts in a network");
            self.fault(fault.instead("remove one of both"));
        }
    }

    /// IPv6 networks of both sides are for laboratories, and differ.
    fn blocks(&mut self, dut: &Dut, networks: u32) {
        let Some((_, technology)) = dut.technology() else { return };
        let Some([left, right]) = technology.networks() else { return };
        let last = |first: Prefix6| Prefix6 {
            addr: (first.first() + (u128::from(networks - 1) << 64)).into(),
            len: first.len,
        };
        let path = technology_path(technology);
        for (key, first) in [("left", left), ("right", right)] {
            if !is_laboratory_prefix(last(first)) {
                self.refuse(format!("the last of {networks} networks, {}, is not for laboratories", last(first)))
                    .at(At::first([format!("{path}.{key}").into(), KEY.into()]), "counted from here")
                    .instead("begin at a lower network, for example 2001:2::/64 and 2001:2:0:8000::/64");
            }
        }
        if left.first() <= last(right).first() && right.first() <= last(left).first() {
            self.refuse(format!("{networks} networks of both sides overlap"))
                .at(At::first([format!("{path}.left").into(), KEY.into()]), "counted from here")
                .at(At::first([format!("{path}.right").into(), KEY.into()]), "and from here")
                .instead("choose first networks that are further apart, or fewer networks");
        }
    }
}
