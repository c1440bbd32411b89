//! DS-Lite (RFC 6333): B4 and AFTR.

use crate::axis::MOST_SUBSCRIBERS;
use crate::fragments::Reassembly;
use crate::laboratory::is_for_laboratories;
use crate::nat::{Pool, statics};
use crate::prelude::*;
use crate::rows::{b4_in_row, b4s};
use crate::tunnel::TunnelEnd;
use key::kind::{ip6, prefix4};
use plane::aftr::{Aftr, Config as AftrConfig, Host};
use plane::nat44::config::StaticMapping;
use plane::side::Side6;
use plane::tunnel::{Config, OneTunnel, Tunnel};
use plane::view::{self, Tunnelled};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{FlowSpace, Prefix4};

key::table! {
    /// DS-Lite: a B4 puts the customer's IPv4 packets into a tunnel, the AFTR at its end is a stateful NAT44.
    pub struct DsLite {
        /// The B4's end of its tunnel; of several subscribers the first one's, the next have one /64 each.
        b4: Ipv6Addr = "b4", ip6(), needed("\"2001:2:0:4000::1\"").but_for("pe");
        /// Prefix of the B4s that the AFTR accepts.
        b4s: Prefix6 = "b4s", prefix6(), or("::/0");
        /// The AFTR's end of all tunnels.
        aftr: Ipv6Addr = "aftr", ip6(), needed("\"2001:2:0:100::2\"");
        /// Prefixes of the customers' own addresses; 192.0.0.2 is the B4's own (RFC 6333, section 5.7).
        inside: Vec<Prefix4> = "inside", list(prefix4()),
            or("[\"10.0.0.0/8\", \"172.16.0.0/12\", \"192.168.0.0/16\", \"198.18.0.0/16\", \"192.0.0.2/32\"]");
        /// Static mappings of the AFTR: outside end points that stand for inside ones for good; the inside address has its B4 in front, as in `"tcp 203.0.113.5:8080 -> 2001:2:0:4000::1 192.168.1.2:80"`.
        statics: Option<Vec<StaticMapping<Host>>> = "static", statics(), computed("none");
    } with {
        /// Outside addresses of the AFTR.
        pool: Pool;
        /// Both ends of the tunnel.
        tunnel: TunnelEnd;
        /// Reassembly.
        reassembly: Reassembly;
        /// The AFTR's state.
        state: State;
        /// Fragments that wait.
        held: FragmentStore;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::edges(
        ("ds-lite", "DS-Lite, B4 and AFTR"),
        ("b4", "B4 of DS-Lite, stateless"),
        ("aftr", "AFTR of DS-Lite"),
    ),
    about: "DS-Lite (RFC 6333): B4 and AFTR",
    overhead: 40,
    with_state: &[Plays::Dual, Plays::Pe],
    chapters: |path| vec![Chapter::of::<DsLite>(path)],
    read: |section| Some(Box::new(DsLite::read(section)?)),
};

/// RFC 6333, section 5.7.
const B4_INSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

impl DsLite {
    fn b4(&self, job: &Job<'_>, worker: usize) -> Result<Tunnel<OneTunnel>, String> {
        let mut c = Config::new(Side::Internet, job.links.left4, job.links.right6);
        c.inner_address = B4_INSIDE;
        self.tunnel.set(&self.state.fragments, &self.reassembly, &self.state.errors, &mut c);
        job.tunnel(c, OneTunnel::new(self.b4, self.aftr), worker)
    }

    fn aftr(&self, job: &Job<'_>, worker: usize) -> Result<Aftr, String> {
        let customer = Side6 { address: self.aftr, ..job.links.left6 };
        let mut c = AftrConfig::new(customer, job.links.right4, self.pool.pool.clone());
        self.pool.set(&mut c.nat);
        self.state.set(&mut c.nat);
        self.held.set(&mut c.nat);
        c.outer = self.tunnel.outer();
        self.reassembly.set(&mut c.reassembly);
        c.customers = self.state.addresses();
        c.softwires = if self.b4s.len == 0 { Vec::new() } else { vec![self.b4s] };
        c.inner.clone_from(&self.inside);
        c.statics = self.statics.clone().unwrap_or_default();
        Aftr::new(c, worker, job.workers, job.seed).map_err(why)
    }
}

impl Technology for DsLite {
    crate::technology::shared! { inside: inside, state: state, pool: pool }

    fn outside(&self, plays: Plays) -> Option<Outside> {
        (plays != Plays::Ce).then(|| self.pool.outside(true))
    }
    fn answers(&self, plays: Plays) -> [Answers; 2] {
        let pool = Answers::v4(&self.pool.pool);
        match plays {
            Plays::Ce => [Answers::default(), Answers::v6(self.b4)],
            Plays::Pe => [Answers::v6(self.aftr), pool],
            Plays::Dual => [Answers::default(), pool],
        }
    }
    fn customers(&self, plays: Plays, flows: &Flows, _: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        let n = if plays == Plays::Pe { flows.subscribers } else { 1 };
        Ok((0..n.into()).map(|i| CustomerRow::tunnel(b4_in_row(self.b4, i), self.aftr)).collect())
    }
    fn subscribers(&self, plays: Plays, customers: u64) -> u64 {
        // One B4 is one softwire, with all hosts behind it.
        if plays == Plays::Dual { 1 } else { customers }
    }
    fn wholes(&self, plays: Plays, customers: u64) -> Option<u64> {
        Some(self.subscribers(plays, customers))
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let (ce, pe) = (|job: &Job<'_>, w| self.b4(job, w), |job: &Job<'_>, w| self.aftr(job, w));
        let functions = job.edges(ce, pe, (Functions::B4, Functions::Aftr, Functions::DsLite))?;
        Ok(functions.into())
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let f = setting.flows;
        match plays {
            Plays::Dual => Ok(view::nat44(&setting.bed(f.space().map_err(|e| e.to_string())?), self.pool.seen())),
            Plays::Ce => {
                let softwire = ce::TunnelEnds { ce: self.b4.to_bits(), pe: self.aftr.to_bits() };
                Ok(ce::b4(&setting.bed(f.space().map_err(|e| e.to_string())?), softwire))
            }
            Plays::Pe => {
                // The same inside address may be behind every B4.
                let ports = (f.source_ports, f.destination_ports);
                let space = FlowSpace::overlapping(f.subscribers, f.inside.first, ports.0, f.remote, ports.1);
                let bed = setting.bed(space.map_err(why)?);
                let rows = b4s(&bed, self.b4);
                let ends = Tunnelled { subscribers: &rows, pe: self.aftr.to_bits() };
                pe::aftr(&bed, &ends, self.pool.seen()).map_err(why)
            }
        }
    }

    fn fit(&self, axis: &str, plays: Plays, _: &Flows) -> Fit {
        match axis {
            "subscribers" if plays == Plays::Pe => {
                let last = self.b4s.first() | u128::MAX.checked_shr(self.b4s.len.into()).unwrap_or(0);
                let room = (last.saturating_sub(self.b4.to_bits()) >> 64).saturating_add(1);
                Fit::UpTo(room.min(u128::from(MOST_SUBSCRIBERS)) as u64, "each B4 has a /64 of `b4s`", "widen `b4s`")
            }
            "outside-addresses" => self.pool.fit(plays),
            _ => Fit::Lacks,
        }
    }

    fn faults_in_test(&self, plays: Plays, _: &Flows, most: u64) -> Vec<Fault> {
        if plays == Plays::Pe { grows_out(self.b4, most).into_iter().collect() } else { Vec::new() }
    }
}

/// B4s leave the laboratory addresses.
pub(crate) fn grows_out(b4: Ipv6Addr, count: u64) -> Option<Fault> {
    let last = b4_in_row(b4, count.saturating_sub(1));
    let [begins, ends] = [b4, last].map(|addr| is_for_laboratories(addr.into()));
    (begins && !ends).then(|| {
        Fault::new("these addresses are not for laboratories: frames to them could leave the test bed")
            .at(".b4", format!("the last of {count} B4s, one /64 each, is {last}"))
            .instead("use prefixes of 2001:2::/48 (RFC 5180), of 2001:db8::/32 where that is too small, or fd00::/8")
    })
}
