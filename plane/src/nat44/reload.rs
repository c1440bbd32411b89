//! What a running NAT takes over from another configuration although it has sessions: outside
//! addresses, static mappings, quotas and port blocks.

use super::Nat44;
use super::config::Config;
use super::mapping::Mappings;
use super::pool::Pool;
use super::portmap::PortMap;
use super::session::{Session, UNANSWERED, addr, port};
use super::state::shown;
use super::statics::Statics;
use super::subscriber::Subscribers;
use super::timers::{self, Lifetimes};
use super::{Mtu, links};
use crate::function::TableEntry;
use arena::{ArenaError, AtomicArray};
use std::sync::Arc;

impl Nat44 {
    /// Sessions that end with another configuration, at most so many: those of outside end points
    /// that are no longer in the pool, or whose static mapping is another.
    pub(crate) fn ending(&self, config: &Config, most: usize) -> Vec<TableEntry> {
        if self.config.pool == config.pool && self.config.statics == config.statics {
            return Vec::new();
        }
        let (pool, statics) = (Pool::new(config.pool.clone()), Statics::new(config));
        let ending = self.live().filter(|s| !self.keeps(s, &pool, statics.as_ref()));
        ending.take(most).map(|s| shown(&s, self.tick)).collect()
    }

    fn live(&self) -> impl Iterator<Item = Session> {
        let all = (0..self.sessions.slab.touched()).map(|e| self.sessions.slab[e]);
        all.filter(|s| s.is_live() && !self.lifetimes.expired(s, self.tick))
    }

    fn keeps(&self, s: &Session, pool: &Pool, statics: Option<&Statics>) -> bool {
        let inside = |statics: Option<&Statics>| statics?.inside(s.outside).map(|inside| inside & !self.aliases);
        pool.contains(addr(s.outside)) && inside(statics) == inside(self.statics.as_ref())
    }

    /// Changes to a configuration that this one [can become](Config::can_become); tables keep
    /// their sizes. `owners` as of [`Self::count_by`].
    pub(crate) fn reconfigure(&mut self, config: Config, owners: Option<Arc<AtomicArray>>) -> Result<(), String> {
        let config = Config { sessions: self.config.sessions, sketch: self.config.sketch, ..config };
        let same = |a: &Config, b: &Config| {
            (&a.pool, &a.statics, a.quota, a.blocks) == (&b.pool, &b.statics, b.quota, b.blocks)
        };
        if !same(&self.config, &config) {
            self.rebuild(&config, owners).map_err(|e| e.to_string())?;
        }
        self.links = links(&config);
        self.mtu = Mtu { customer: config.customer.mtu.into(), internet: config.internet.mtu.into() };
        if self.config.timeouts != config.timeouts {
            self.lifetimes = Lifetimes::new(&config.timeouts);
            self.deadlines.forget();
        }
        self.config = config;
        Ok(())
    }

    /// Ends what does not remain, and counts anew what does.
    fn rebuild(&mut self, config: &Config, owners: Option<Arc<AtomicArray>>) -> Result<(), ArenaError> {
        let (pool, mut statics) = (Pool::new(config.pool.clone()), Statics::new(config));
        if let (Some(new), Some(before)) = (&mut statics, &self.statics) {
            new.remember_like(before);
        }
        let rest = timers::ticks(config.port_reuse_delay);
        let ports = self.mappings.is_some().then(|| PortMap::new(config, self.ports, rest)).transpose()?;
        let subscribers = Subscribers::new(config, self.workers.count as usize, self.ports, self.hasher)?;
        for e in 0..self.sessions.slab.touched() {
            let s = self.sessions.slab[e];
            if s.is_live() && !self.keeps(&s, &pool, statics.as_ref()) {
                self.expire(e);
            }
        }
        if let (Some(Mappings { ports: own, .. }), Some(mut ports)) = (&mut self.mappings, ports) {
            ports.inherit(own, |number| pool.number(self.pool.addr(number)));
            *own = ports;
        }
        // Other workers count in the same cells, before and after they change.
        let keeps_numbers = (0..self.pool.len()).all(|n| pool.number(self.pool.addr(n)) == Some(n));
        let stays_paired = keeps_numbers && self.pairs().is_some_and(|p| p.shared);
        (self.pool, self.subscribers, self.statics, self.owners) = (pool, subscribers, statics, owners);
        self.count_again(stays_paired);
        Ok(())
    }

    /// Subscribers and their blocks, and the addresses of customers unless these stay.
    fn count_again(&mut self, stays_paired: bool) {
        if let Some(pairs) = self.pairs.as_mut().filter(|_| !stays_paired) {
            pairs.clear();
        }
        let mut subscribers = self.subscribers.take();
        if let Some(subscribers) = &mut subscribers {
            let answered = self.live().filter(|s| s.flags() & UNANSWERED == 0);
            answered.for_each(|s| subscribers.add_session(self.subscriber(s.inside)));
        }
        for m in self.mappings.iter().flat_map(Mappings::live) {
            let Some(number) = self.pool.number(addr(m.outside)) else { continue };
            if let Some(subscribers) = &mut subscribers {
                subscribers.keep_port(self.subscriber(m.inside()), number, port(m.outside));
            }
            if let Some(pairs) = self.pairs().filter(|_| !stays_paired) {
                let customer = self.customer(m.inside());
                let place = pairs.join(customer, number);
                if place.address != number {
                    pairs.leave(customer, place.address);
                }
            }
        }
        self.subscribers = subscribers;
    }
}
