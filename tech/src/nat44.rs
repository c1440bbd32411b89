//! Stateful NAT44 (RFC 4787, 5382, 5508, 6888).

use crate::axis::inside_addresses;
use crate::nat::{Pool, Static};
use crate::prelude::*;
use plane::nat44::Nat44 as Function;
use plane::nat44::config::Config;
use plane::view;

key::table! {
    /// Stateful NAT44: IPv4 on both sides.
    pub struct Nat44 {
    } with {
        /// Customers.
        inside: Inside;
        /// Outside addresses.
        pool: Pool;
        /// Static mappings.
        statics: Static;
        /// The NAT.
        state: State;
        /// Fragments that wait.
        held: FragmentStore;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::whole("nat44", "stateful NAT44").published_as("stateful NAT44"),
    about: "stateful NAT44 (RFC 4787, 5382, 5508, 6888)",
    overhead: 0,
    with_state: Plays::ALL,
    chapters: |path| vec![Chapter::of::<Nat44>(path)],
    read: |section| Some(Box::new(Nat44::read(section)?)),
};

impl Technology for Nat44 {
    crate::technology::shared! { inside: inside.inside, state: state, pool: pool }

    fn versions(&self, _: Plays) -> (u8, u8) {
        (4, 4)
    }
    fn outside(&self, _: Plays) -> Option<Outside> {
        Some(self.pool.outside(true))
    }
    fn answers(&self, _: Plays) -> [Answers; 2] {
        [Answers::default(), Answers::v4(&self.pool.pool)]
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let links = &job.links;
        let mut c = Config::new(links.left4, links.right4, self.inside.inside.clone(), self.pool.pool.clone());
        self.pool.set(&mut c);
        self.state.set(&mut c);
        self.held.set(&mut c);
        c.statics = self.statics.statics.clone().unwrap_or_default();
        let one = |w| Function::new(c.clone(), w, job.workers, job.seed).map_err(why);
        Ok(Functions::Nat44(job.each(one)?).into())
    }

    fn view(&self, _: Plays, setting: &Setting<'_>) -> Result<View, String> {
        Ok(view::nat44(&setting.bed(setting.flows.space().map_err(|e| e.to_string())?), self.pool.seen()))
    }

    fn fit(&self, axis: &str, _: Plays, flows: &Flows) -> Fit {
        match axis {
            "inside-addresses" => inside_addresses(flows.inside.count),
            "outside-addresses" => self.pool.fit(Plays::Pe),
            _ => Fit::Lacks,
        }
    }
}
