//! MAP-E (RFC 7597): CE and border relay (BR).

use crate::map::{self, CeKeys, Map, MapEdges};
use crate::prelude::*;
use crate::softwire::SoftwireKeys;
use crate::technology::steering_of_edge;
use key::kind::ip6;
use plane::Chain;
use plane::map::{MapEBr, MapECe};
use plane::nat44::Nat44;
use plane::tunnel::Tunnel;
use plane::view::{self, Tunnelled};
use std::net::Ipv6Addr;
use std::sync::Arc;

key::table! {
    /// MAP-E: the CE is a NAT44 with the ports of a set in front of a tunnel, the BR follows mapping rules and keeps no state.
    pub struct Keys {
        /// The BR's end of all tunnels.
        br: Ipv6Addr = "br", ip6(), needed("\"2001:2:0:100::2\"");
    } with {
        /// The CE.
        ce: CeKeys;
        /// Both ends of the softwires.
        softwire: SoftwireKeys;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::edges(
        ("map-e", "MAP-E, CE and BR"),
        ("map-e-ce", "CE of MAP-E"),
        ("map-e-br", "BR of MAP-E, stateless"),
    ),
    about: "MAP-E (RFC 7597): CE and BR",
    overhead: 40,
    with_state: &[Plays::Dual, Plays::Ce],
    chapters: map::chapters::<Keys>,
    read,
};

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
        let own = (map.customer.pool(), map.customer.ports);
        self.keys.softwire.ce(softwires, own, job, worker)
    }

    fn br(&self, map: &MapEdges, job: &Job<'_>, worker: usize) -> Result<Tunnel<MapEBr>, String> {
        let softwires = MapEBr::new(Arc::clone(&map.domain), self.keys.br).map_err(why)?;
        self.keys.softwire.pe(softwires, job, worker)
    }
}

impl Technology for MapE {
    crate::technology::shared! { inside: keys.softwire.inside.inside, state: keys.softwire.state, map: map }

    fn answers(&self, plays: Plays) -> [Answers; 2] {
        let left = if plays == Plays::Pe { Answers::v6(self.keys.br) } else { Answers::default() };
        [left, Answers::default()]
    }
    fn customers(&self, plays: Plays, flows: &Flows, _: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        self.map.customer_rows(plays, flows, Prefix6 { addr: self.keys.br, len: 128 })
    }
    fn steering(&self, plays: Plays, workers: usize, _: Open<'_>) -> [Steering; 2] {
        steering_of_edge(self, plays, self.map.customer().ok().map(|own| own.ports), 60, workers)
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let map = self.map.domain()?;
        let ce = |job: &Job<'_>, w| self.ce(&map, job, w);
        let pe = |job: &Job<'_>, w| self.br(&map, job, w);
        let functions = job.edges(ce, pe, (Functions::MapECe, Functions::MapEBr, Functions::MapE))?;
        Ok(GatewayBuild { loaded: Some(map.loaded), ..functions.into() })
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

    fn faults_in_test(&self, plays: Plays, flows: &Flows, _: u64) -> Vec<Fault> {
        self.map.faults_in_test(plays, flows)
    }
}
