//! Stateful NAT64 (RFC 6146): a provider edge alone.

use crate::axis::{ALL_SUBSCRIBERS, inside_addresses};
use crate::fragments::Reassembly;
use crate::nat::{Pool, statics};
use crate::prelude::*;
use crate::rows::{behind, hosts};
use crate::translator::{Private, Translator, behind_well_known};
use key::kind::prefix_length;
use plane::affinity::SUBSCRIBER_PREFIX;
use plane::nat44::config::StaticMapping;
use plane::nat64::{Config, Nat64 as Function};
use std::net::Ipv6Addr;

key::table! {
    /// Subscribers with IPv6 addresses.
    pub struct SubscriberPrefix {
        /// Length of the prefix that is one subscriber: quotas and port blocks count all its addresses together, at one worker.
        /// The tester's customers lie in one /64; with 128 each of them is a subscriber.
        subscriber_prefix: Option<u8> = "subscriber-prefix", maybe(prefix_length()), computed("64");
    }
}

key::table! {
    /// The prefix that IPv4 addresses are embedded in.
    pub struct Embedding {
        /// The prefix that IPv4 addresses are embedded in (RFC 6052), in a part of the IPv6 address space that routers forward to.
        /// Several prefixes are a list of at most 16; the test, and a CLAT, use the first.
        pref64: Vec<Prefix6> = "pref64", list(prefix6()), needed("\"2001:2:0:1000::/96\"");
    } with {
        /// The well-known prefix.
        private: Private;
    }
}

key::table! {
    /// The NAT of a NAT64.
    pub struct Nat {
        /// Static mappings: outside end points that stand for inside ones for good, as `"tcp 203.0.113.5:8080 -> [2001:2::2]:80"` (static entries of RFC 6146, section 3.1.1).
        statics: Option<Vec<StaticMapping<Ipv6Addr>>> = "static", statics(), computed("none");
    } with {
        /// Subscribers.
        subscriber: SubscriberPrefix;
        /// The translator.
        translator: Translator;
        /// Reassembly.
        reassembly: Reassembly;
        /// Outside addresses.
        pool: Pool;
        /// The state.
        state: State;
        /// Fragments that wait.
        held: FragmentStore;
    }
}

key::table! {
    /// Stateful NAT64: IPv6 on the left, IPv4 on the right.
    pub struct Nat64 {
    } with {
        /// The prefix.
        embedding: Embedding;
        /// The NAT.
        nat: Nat;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::whole("nat64", "stateful NAT64").published_as("stateful NAT64"),
    about: "stateful NAT64 (RFC 6146)",
    overhead: 20,
    with_state: Plays::ALL,
    chapters: |path| vec![Chapter::of::<Nat64>(path)],
    read: |section| Some(Box::new(Nat64::read(section)?)),
};

impl SubscriberPrefix {
    pub(crate) fn length(&self) -> u8 {
        self.subscriber_prefix.unwrap_or(SUBSCRIBER_PREFIX)
    }

    pub(crate) fn counted(&self, state: &State) -> Option<u8> {
        state.counts_subscribers().then(|| self.length())
    }

    /// Groups of customers with all sessions at one worker.
    pub(crate) fn wholes(&self, state: &State, customers: u64) -> u64 {
        // Successive addresses in one /64; whole octets of the prefix select the worker.
        let together = self.counted(state).map_or(0, |len| (128 - len / 8 * 8).min(63));
        (customers >> together).max(1)
    }
}

impl Nat {
    pub(crate) fn build(&self, embedding: &Embedding, job: &Job<'_>, worker: usize) -> Result<Function, String> {
        let mut c = Config::new(job.links.left6, job.links.right4, embedding.first(), self.pool.pool.clone());
        c.pref64.clone_from(&embedding.pref64);
        c.statics = self.statics.clone().unwrap_or_default();
        self.pool.set(&mut c.nat);
        self.state.set(&mut c.nat);
        self.held.set(&mut c.nat);
        self.translator.set(&mut c.headers);
        self.reassembly.set(&mut c.reassembly);
        c.private_behind_well_known = embedding.private.private_behind_well_known;
        c.customers = self.state.addresses();
        c.subscriber_prefix = self.subscriber.length();
        Function::new(c, worker, job.workers, job.seed).map_err(why)
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        let mut faults = self.state.faults();
        faults.extend(self.state.uncounted(self.subscriber.subscriber_prefix));
        faults
    }
}

const MOST_PREFIXES: usize = 16;

/// Prefixes that embed nothing, that overlap, or that are too many.
pub(crate) fn faults_of_prefixes(all: &[Prefix6]) -> Vec<Fault> {
    let key = |at: usize| format!("pref64[{at}]");
    let embeds_nothing = |(at, prefix): (usize, &Prefix6)| embeds_nothing(&key(at), *prefix);
    let mut faults: Vec<Fault> = all.iter().enumerate().filter_map(embeds_nothing).collect();
    for (at, prefix) in all.iter().enumerate() {
        let overlap = |other: &Prefix6| other.contains(prefix.first()) || prefix.contains(other.first());
        if let Some(before) = all[..at].iter().position(overlap) {
            let fault = Fault::new("an address has one prefix").at(format!(".{}", key(at)), "one lies in the other");
            faults.push(fault.at(format!(".{}", key(before)), "and here").instead("leave one of them out"));
        }
    }
    if all.len() > MOST_PREFIXES {
        let fault = Fault::new(format!("a translator has {MOST_PREFIXES} prefixes at most"));
        faults.push(fault.at(".pref64", format!("{} prefixes", all.len())).instead("leave some out"));
    }
    faults
}

impl Embedding {
    pub(crate) fn first(&self) -> Prefix6 {
        self.pref64[0]
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        faults_of_prefixes(&self.pref64)
    }

    pub(crate) fn faults_in_test(&self, name: &str, flows: &Flows) -> Vec<Fault> {
        let private = self.private.private_behind_well_known;
        behind_well_known(name, ("pref64", self.first()), private, &[("remote", flows.remote)]).into_iter().collect()
    }
}

impl Technology for Nat64 {
    crate::technology::shared! { state: nat.state, lowest: nat.translator.lowest, pool: nat.pool, subscriber: nat.subscriber }

    fn versions(&self, _: Plays) -> (u8, u8) {
        (6, 4)
    }
    fn outside(&self, _: Plays) -> Option<Outside> {
        Some(self.nat.pool.outside(false))
    }
    fn answers(&self, _: Plays) -> [Answers; 2] {
        [Answers::default(), Answers::v4(&self.nat.pool.pool)]
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        Ok(Functions::Nat64(job.each(|w| self.nat.build(&self.embedding, job, w))?).into())
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(setting.flows.space_of(plays).map_err(|e| e.to_string())?);
        let (rows, remotes) = (hosts(&bed, &[])?, behind(&bed, self.embedding.first())?);
        pe::plat(&bed, &TranslatedEnds { subscribers: &rows, remotes: &remotes }, self.nat.pool.seen()).map_err(why)
    }

    fn fit(&self, axis: &str, plays: Plays, flows: &Flows) -> Fit {
        fit_of_hosts(axis, plays, flows, self.nat.pool.fit(Plays::Pe))
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.nat.faults();
        faults.extend(self.embedding.faults());
        faults
    }

    fn faults_in_test(&self, plays: Plays, flows: &Flows, _: u64) -> Vec<Fault> {
        self.embedding.faults_in_test(ENTRY.names.name(plays), flows)
    }
}

pub(crate) fn fit_of_hosts(axis: &str, plays: Plays, flows: &Flows, outside: Fit) -> Fit {
    match axis {
        "subscribers" if plays == Plays::Pe => ALL_SUBSCRIBERS,
        "inside-addresses" if flows.subscribers > 1 => {
            Fit::Refused("`subscribers` is the number of addresses; leave it out, or sweep it")
        }
        "inside-addresses" => inside_addresses(flows.inside.count),
        "outside-addresses" => outside,
        _ => Fit::Lacks,
    }
}
