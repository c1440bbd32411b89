//! Stateful NAT66 (RFC 9693): IPv6 on both sides.

use crate::fragments::FragmentOctets;
use crate::nat::Pool6;
use crate::nat64::{SubscriberPrefix, fit_of_hosts};
use crate::prelude::*;
use crate::rows::{hosts, remotes};
use plane::nat66::{Config, Nat66 as Function};
use plane::view::natxy;

key::table! {
    /// Stateful NAT66: IPv6 on both sides.
    pub struct Nat66 {
        /// Prefixes of the customers' addresses.
        inside: Vec<Prefix6> = "inside", list(prefix6()), computed("all");
    } with {
        /// Subscribers.
        subscriber: SubscriberPrefix;
        /// Fragments that wait.
        octets: FragmentOctets;
        /// Outside addresses.
        pool: Pool6;
        /// The state.
        state: State;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::whole("nat66", "stateful NAT66"),
    about: "stateful NAT66 (RFC 9693, 4787, 5382, 5508)",
    overhead: 20,
    with_state: Plays::ALL,
    chapters: |path| vec![Chapter::of::<Nat66>(path)],
    read: |section| Some(Box::new(Nat66::read(section)?)),
};

/// Remote hosts end in their remote IPv4 address of the flow space.
const REMOTES: u128 = 0x2001_0002_0000_1000 << 64;

impl Technology for Nat66 {
    crate::technology::shared! { state: state, pool: pool, subscriber: subscriber }

    fn versions(&self, _: Plays) -> (u8, u8) {
        (6, 6)
    }
    fn answers(&self, _: Plays) -> [Answers; 2] {
        [Answers::default(), Answers { ipv6: vec![self.pool.pool], ..Answers::default() }]
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let mut c = Config::new(job.links.left6, job.links.right6, self.pool.plane()?);
        c.inside.clone_from(&self.inside);
        c.nat.ports = self.pool.pool_ports;
        self.state.set(&mut c.nat);
        self.state.fragments.set(&self.octets, &mut c.fragments);
        (c.customers, c.remotes) = (self.state.addresses(), self.state.addresses());
        c.subscriber_prefix = self.subscriber.length();
        Ok(Functions::Nat66(job.each(|w| Function::new(c.clone(), w, job.workers, job.seed).map_err(why))?).into())
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(setting.flows.space_of(plays).map_err(|e| e.to_string())?);
        let customers = hosts(&bed, &self.inside)?;
        let remotes = remotes(&bed, |a| Ok(REMOTES | u128::from(a)))?;
        let ends = TranslatedEnds { subscribers: &customers, remotes: &remotes };
        natxy::nat66(&bed, &ends, self.pool.seen()?).map_err(why)
    }

    fn fit(&self, axis: &str, plays: Plays, flows: &Flows) -> Fit {
        fit_of_hosts(axis, plays, flows, self.pool.fit())
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.state.faults();
        faults.extend(self.state.uncounted(self.subscriber.subscriber_prefix));
        faults
    }
}
