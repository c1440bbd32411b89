//! MAP-T (RFC 7599): CE and border relay (BR), both translators.

use crate::fragments::FragmentOctets;
use crate::map::{self, CeKeys, Map, MapEdges};
use crate::nat::Static;
use crate::prelude::*;
use crate::rows::behind;
use crate::technology::steering_of_edge;
use crate::translator::{Private, Translator, behind_well_known};
use plane::Chain;
use plane::map::{MapTBr, MapTCe};
use plane::nat44::Nat44;
use plane::translate::{Config, Hairpinning, Pref64, Translate};
use plane::view::{self};
use std::sync::Arc;

key::table! {
    /// MAP-T: the CE is a NAT44 with the ports of a set in front of a translator, the BR translates by mapping rules and keeps no
    /// state.
    pub struct Keys {
        /// The default mapping rule: the prefix that all other IPv4 addresses are embedded in (RFC 7599, section 5.1).
        dmr: Prefix6 = "dmr", prefix6(), needed("\"2001:2:0:1000::/96\"");
    } with {
        /// The well-known prefix.
        private: Private;
        /// The CE.
        ce: CeKeys;
        /// Customers.
        inside: Inside;
        /// Both translators.
        translator: Translator;
        /// Fragments that wait.
        octets: FragmentOctets;
        /// The CE's state.
        state: State;
        /// Fragments that wait in the CE's NAT.
        held: FragmentStore;
        /// Static mappings of the customer edge.
        statics: Static;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::edges(
        ("map-t", "MAP-T, CE and BR"),
        ("map-t-ce", "CE of MAP-T"),
        ("map-t-br", "BR of MAP-T, stateless"),
    )
    .published_as("MAP-T"),
    about: "MAP-T (RFC 7599): CE and BR",
    overhead: 20,
    with_state: &[Plays::Dual, Plays::Ce],
    chapters: map::chapters::<Keys>,
    read,
};

#[derive(Clone, Debug)]
struct MapT {
    keys: Keys,
    map: Map,
}

fn read(section: &mut Section<'_>) -> Option<Box<dyn Technology>> {
    let keys = Keys::read(section);
    let relay = keys.as_ref().map(|keys| keys.dmr);
    let map = Map::read(section, keys.as_ref().map_or(0, |keys| keys.ce.ce), ("dmr", relay));
    Some(Box::new(MapT { keys: keys?, map: map? }))
}

impl MapT {
    fn dmr(&self) -> Result<Pref64, String> {
        Pref64::new(self.keys.dmr, self.keys.private.private_behind_well_known).map_err(why)
    }

    fn ce(&self, map: &MapEdges, job: &Job<'_>, worker: usize) -> Result<Chain<Nat44, Translate<MapTCe>>, String> {
        let addressing = MapTCe::new(map.customer, self.dmr()?, Arc::clone(&map.mesh)).map_err(why)?;
        let mut config = job.edge().translator();
        self.set(&mut config);
        let translate = job.translate(config, addressing, worker)?;
        let Keys { inside, state, held, statics, .. } = &self.keys;
        let (pool, ports) = (map.customer.pool(), map.customer.ports);
        let nat = job.edge().nat_before_translator(inside.inside.clone(), pool, ports);
        job.behind_nat(nat, (state, held, statics), worker, ("translate", translate))
    }

    fn br(&self, map: &MapEdges, job: &Job<'_>, worker: usize) -> Result<Translate<MapTBr>, String> {
        let addressing = MapTBr::new(Arc::clone(&map.domain), self.dmr()?).map_err(why)?;
        let mut config = Config::new(Side::Customer, job.links.right4, job.links.left6);
        self.set(&mut config);
        if !self.keys.state.hairpinning {
            config.hairpinning = Hairpinning::Off;
        }
        job.translate(config, addressing, worker)
    }

    fn set(&self, c: &mut Config) {
        let Keys { translator, octets, state, .. } = &self.keys;
        translator.set(&mut c.headers);
        state.fragments.set(octets, &mut c.fragments);
        c.icmp_errors_per_second = state.errors.icmp_errors_per_second.unwrap_or(c.icmp_errors_per_second);
    }
}

impl Technology for MapT {
    crate::technology::shared! { inside: keys.inside.inside, state: keys.state, lowest: keys.translator.lowest, map: map }

    fn customers(&self, plays: Plays, flows: &Flows, _: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        self.map.customer_rows(plays, flows, self.keys.dmr)
    }
    fn steering(&self, plays: Plays, workers: usize, _: Open<'_>) -> [Steering; 2] {
        steering_of_edge(self, plays, self.map.customer().ok().map(|own| own.ports), 40, workers)
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let map = self.map.domain()?;
        let ce = |job: &Job<'_>, w| self.ce(&map, job, w);
        let pe = |job: &Job<'_>, w| self.br(&map, job, w);
        let functions = job.edges(ce, pe, (Functions::MapTCe, Functions::MapTBr, Functions::MapT))?;
        Ok(GatewayBuild { loaded: Some(map.loaded), ..functions.into() })
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(self.map.flows(plays, setting.flows)?);
        match plays {
            Plays::Dual => Ok(view::nat44(&bed, self.map.seen()?).translated_twice()),
            Plays::Ce => {
                let remotes = behind(&bed, self.keys.dmr)?;
                let (own, outside) = (self.map.customer()?, self.map.seen()?);
                let ce = own.address.to_bits();
                if own.ipv4.len == 32 {
                    return ce::map_t(&bed, ce, &remotes, outside).map_err(why);
                }
                ce::map_t_prefix(&bed, ce, &remotes, own.pool(), outside.range.ports).map_err(why)
            }
            Plays::Pe => {
                let (rows, remotes) = (self.map.rows(&bed)?, behind(&bed, self.keys.dmr)?);
                pe::map_t_br(&bed, &TranslatedEnds { subscribers: &rows, remotes: &remotes }).map_err(why)
            }
        }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.keys.state.faults();
        faults.extend(embeds_nothing("dmr", self.keys.dmr));
        faults
    }

    fn faults_in_test(&self, plays: Plays, flows: &Flows, _: u64) -> Vec<Fault> {
        let mut faults = self.map.faults_in_test(plays, flows);
        let private = self.keys.private.private_behind_well_known;
        let remote = [("remote", flows.remote)];
        faults.extend(behind_well_known(ENTRY.names.name(plays), ("dmr", self.keys.dmr), private, &remote));
        faults
    }
}
