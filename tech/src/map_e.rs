//! MAP-E (RFC 7597): the CE and the border relay (BR), with a tunnel between them.

use crate::axis::Fit;
use crate::fragments::{Held, Reassembly};
use crate::Functions;
use crate::gateway::{Answers, Built, Job, steer_by_port_set, why};
use crate::map::{self, CeKeys, Map, MapEdges};
use crate::nat::{Inside, Static};
use crate::parts::{Names, Plays};
use crate::state::State;
use crate::table::Open;
use crate::technology::{Entry, Outside, Technology, usual_steering};
use crate::tester::{Flows, Setting};
use crate::tunnel::{Border, TunnelEnd};
use key::kind::ip6;
use key::{Fault, Section, Table, needed};
use plane::map::{MapEBr, MapECe};
use plane::nat44::Nat44;
use plane::tunnel::{Config, Tunnel};
use plane::view::{self, Tunnelled, ce, pe};
use plane::{Chain, Side, Steering};
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::{Prefix4, Prefix6, View};

key::table! {
    /// MAP-E: the CE is a NAT44 with the ports of a set in front of a tunnel, the BR follows mapping rules and keeps no state.
    pub struct Keys {
        /// The BR's end of all tunnels.
        br: Ipv6Addr = "br", ip6(), needed("\"2001:2:0:100::2\"");
    } with {
        /// The CE.
        ce: CeKeys;
        /// Customers.
        inside: Inside;
        /// The BR.
        border: Border;
        /// Both ends of the tunnel.
        tunnel: TunnelEnd;
        /// Reassembly.
        reassembly: Reassembly;
        /// The CE's state.
        state: State;
        /// Fragments that wait.
        held: Held;
        /// Static mappings of the customer edge.
        statics: Static;
    }
}

pub(crate) const ENTRY: Entry = Entry {
    names: Names::edges(
        ("map-e", "MAP-E, CE and BR"),
        ("map-e-ce", "CE of MAP-E"),
        ("map-e-br", "BR of MAP-E, stateless"),
    ),
    about: "MAP-E (RFC 7597): CE and BR",
    chapters: map::chapters::<Keys>,
    read,
};

/// MAP-E with its parameters.
#[derive(Clone, Debug)]
struct MapE {
    keys: Keys,
    map: Map,
}

fn read(section: &mut Section<'_>) -> Option<Box<dyn Technology>> {
    let keys = Keys::read(section);
    let relay = keys.as_ref().map(|keys| Prefix6 { addr: keys.br, len: 128 });
    let map = Map::read(section, keys.as_ref().map_or(0, |keys| keys.ce.ce), ("br", relay));
    Some(Box::new(MapE { keys: keys?, map: map? }))
}

impl MapE {
    fn ce(&self, map: &MapEdges, job: &Job<'_>, worker: usize) -> Result<Chain<Nat44, Tunnel<MapECe>>, String> {
        let softwires = MapECe::new(map.customer, self.keys.br, Arc::clone(&map.mesh)).map_err(why)?;
        let mut c = job.edge().tunnel();
        self.set(&mut c);
        let tunnel = job.tunnel(c, softwires, worker)?;
        let Keys { inside, state, held, statics, .. } = &self.keys;
        let (pool, ports) = (map.customer.pool(), map.customer.ports);
        let nat = job.edge().nat_before_tunnel(inside.inside.clone(), pool, ports);
        job.behind_nat(nat, (state, held, statics), worker, ("tunnel", tunnel))
    }

    fn br(&self, map: &MapEdges, job: &Job<'_>, worker: usize) -> Result<Tunnel<MapEBr>, String> {
        let softwires = MapEBr::new(Arc::clone(&map.domain), self.keys.br).map_err(why)?;
        let mut c = Config::new(Side::Customer, job.links.right4, job.links.left6);
        c.hairpinning = self.keys.state.hairpinning;
        self.set(&mut c);
        job.tunnel(c, softwires, worker)
    }

    fn set(&self, c: &mut Config) {
        let Keys { tunnel, border, state, reassembly, .. } = &self.keys;
        tunnel.set(&state.fragments, reassembly, &state.errors, c);
        border.set(c);
    }
}

impl Technology for MapE {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
    fn boxed(&self) -> Box<dyn Technology> {
        Box::new(self.clone())
    }
    fn overhead(&self) -> usize {
        40
    }
    fn is_stateful(&self, plays: Plays) -> bool {
        plays != Plays::Pe
    }
    fn inside_mut(&mut self) -> Option<&mut Vec<Prefix4>> {
        Some(&mut self.keys.inside.inside)
    }
    fn state(&self) -> Option<&State> {
        Some(&self.keys.state)
    }
    fn state_mut(&mut self) -> Option<&mut State> {
        Some(&mut self.keys.state)
    }
    fn outside(&self, plays: Plays) -> Option<Outside> {
        self.map.outside(plays)
    }
    fn answers(&self, plays: Plays) -> [Answers; 2] {
        let left = if plays == Plays::Pe { Answers::v6(self.keys.br) } else { Answers::default() };
        [left, Answers::default()]
    }
    fn steering(&self, plays: Plays, workers: usize, _: Open<'_>) -> [Steering; 2] {
        match (plays, self.map.customer()) {
            (Plays::Ce, Ok(own)) => steer_by_port_set(60, own.ports, workers),
            (Plays::Dual, Ok(own)) => steer_by_port_set(20, own.ports, workers),
            _ => usual_steering(self.versions(plays), self.is_stateful(plays), None),
        }
    }

    fn build(&self, job: &Job<'_>) -> Result<Built, String> {
        let map = self.map.domain()?;
        let ce = |job: &Job<'_>, w| self.ce(&map, job, w);
        let pe = |job: &Job<'_>, w| self.br(&map, job, w);
        let functions = match job.plays {
            Plays::Ce => Functions::MapECe(job.each(|w| ce(job, w))?),
            Plays::Pe => Functions::MapEBr(job.each(|w| pe(job, w))?),
            Plays::Dual => Functions::MapE(job.both(ce, pe)?),
        };
        Ok(Built { loaded: Some(map.loaded), ..functions.into() })
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(self.map.flows(plays, setting.flows)?);
        let br = self.keys.br.to_bits();
        match plays {
            Plays::Dual => Ok(view::nat44(&bed, self.map.seen()?)),
            Plays::Ce => {
                let softwire = ce::TunnelEnds { ce: self.map.customer()?.address.to_bits(), pe: br };
                Ok(ce::map_e(&bed, softwire, self.map.seen()?))
            }
            Plays::Pe => {
                let rows = self.map.rows(&bed)?;
                pe::map_e_br(&bed, &Tunnelled { subscribers: &rows, pe: br }).map_err(why)
            }
        }
    }

    fn fit(&self, axis: &str, plays: Plays, _: &Flows) -> Fit {
        self.map.fit(axis, plays)
    }
    fn set(&mut self, axis: &str, value: u64, flows: &mut Flows) {
        self.map.set(axis, value, flows);
    }
    fn faults_in_test(&self, plays: Plays, flows: &Flows, _: u64) -> Vec<Fault> {
        self.map.faults_in_test(plays, flows)
    }
    fn table_octets(&self) -> u64 {
        self.map.octets()
    }
}
