//! Stateful NAT46 (RFC 9693): customers with IPv4, remote hosts with IPv6.

use crate::axis::inside_addresses;
use crate::nat::Pool6;
use crate::prelude::*;
use crate::rows::{by_map_or_prefix, remotes};
use crate::siit::{listed_maps, missing_eam, pair};
use crate::translator::LowestMtu;
use plane::nat46::Config;
use plane::translate::Pair;
use plane::view::natxy;

key::table! {
    /// Stateful NAT46: IPv4 on the left, IPv6 on the right. It needs `eam` or `pref64`.
    pub struct Nat46 {
        /// Remote hosts by explicit address maps (RFC 7757).
        eam: Vec<Pair> = "eam", list(pair()), computed("none");
        /// The prefix that stands for all other remote hosts (RFC 6052).
        pref64: Option<Prefix6> = "pref64", maybe(prefix6()), computed("none");
    } with {
        /// Customers.
        inside: Inside;
        /// Outside addresses.
        pool: Pool6;
        /// The state.
        state: State;
        /// Fragments that wait.
        held: FragmentStore;
        /// Fragments to the Internet.
        lowest: LowestMtu;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::whole("nat46", "stateful NAT46"),
    about: "stateful NAT46 (RFC 9693, 7915, 6052, 7757)",
    overhead: 20,
    with_state: Plays::ALL,
    chapters: |path| vec![Chapter::of::<Nat46>(path)],
    read,
};

fn read(section: &mut Section<'_>) -> Option<Box<dyn Technology>> {
    let nat46 = Nat46::read(section)?;
    if !section.has("eam") && !section.has("pref64") {
        missing_eam(section, "or pref64 = \"2001:2:0:1000::/96\"");
        return None;
    }
    if section.has("hairpinning") {
        let fault = Fault::new("a NAT46 has no hairpinning: no IPv4 address stands for an outside address");
        section.fault(fault.at(".hairpinning", "has no effect").instead("remove `hairpinning`"));
    }
    Some(Box::new(nat46))
}

impl Technology for Nat46 {
    crate::technology::shared! { inside: inside.inside, state: state, lowest: lowest, pool: pool }

    fn versions(&self, _: Plays) -> (u8, u8) {
        (4, 6)
    }
    fn answers(&self, _: Plays) -> [Answers; 2] {
        [Answers::default(), Answers { ipv6: vec![self.pool.pool], ..Answers::default() }]
    }
    fn steering(&self, _: Plays, _: usize, _: Open<'_>) -> [Steering; 2] {
        [Config::STEER_CUSTOMER, Config::STEER_INTERNET]
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let links = &job.links;
        let mut c = Config::new(links.left4, links.right6, self.inside.inside.clone(), self.pool.plane()?);
        c.maps.clone_from(&self.eam);
        c.pref64 = self.pref64;
        c.lowest_ipv6_mtu = self.lowest.lowest_ipv6_mtu.unwrap_or(c.lowest_ipv6_mtu);
        c.nat.ports = self.pool.pool_ports;
        self.state.set(&mut c.nat);
        self.held.set(&mut c.nat);
        Ok(Functions::Nat46(job.each(|w| c.build(w, job.workers, job.seed).map_err(why))?).into())
    }

    fn view(&self, _: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(setting.flows.space().map_err(|e| e.to_string())?);
        let maps = listed_maps(&self.eam)?;
        let remotes = remotes(&bed, |a| by_map_or_prefix(maps.as_ref(), self.pref64, a))?;
        natxy::nat46(&bed, &remotes, self.pool.seen()?).map_err(why)
    }

    fn fit(&self, axis: &str, _: Plays, flows: &Flows) -> Fit {
        match axis {
            "inside-addresses" => inside_addresses(flows.inside.count),
            "outside-addresses" => self.pool.fit(),
            _ => Fit::Lacks,
        }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.state.faults();
        faults.extend(self.pref64.and_then(|prefix| embeds_nothing("pref64", prefix)));
        faults
    }
}
