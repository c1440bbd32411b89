//! A NAT44 in front of a tunnel, and a stateless end of tunnels, of lw4o6 and MAP-E.

use crate::fragments::{FragmentStore, Reassembly};
use crate::gateway::Job;
use crate::nat::{Inside, Static};
use crate::state::State;
use crate::tunnel::{Border, TunnelEnd};
use plane::nat44::Nat44;
use plane::tunnel::{Config, Tunnel};
use plane::{Chain, Side, Softwires};
use wire::{AddrRange, PortSet};

key::table! {
    /// Both ends of softwires.
    pub struct SoftwireKeys {
    } with {
        /// Customers.
        inside: Inside;
        /// The provider edge.
        border: Border;
        /// Both ends of the tunnel.
        tunnel: TunnelEnd;
        /// Reassembly.
        reassembly: Reassembly;
        /// The customer edge's state.
        state: State;
        /// Fragments that wait.
        held: FragmentStore;
        /// Static mappings of the customer edge.
        statics: Static;
    }
}

impl SoftwireKeys {
    pub(crate) fn ce<S: Softwires>(
        &self,
        softwires: S,
        (pool, ports): (AddrRange, PortSet),
        job: &Job<'_>,
        worker: usize,
    ) -> Result<Chain<Nat44, Tunnel<S>>, String> {
        let mut c = job.edge().tunnel();
        self.set(&mut c);
        let tunnel = job.tunnel(c, softwires, worker)?;
        let nat = job.edge().nat_before_tunnel(self.inside.inside.clone(), pool, ports);
        job.behind_nat(nat, (&self.state, &self.held, &self.statics), worker, ("tunnel", tunnel))
    }

    pub(crate) fn pe<S: Softwires>(&self, softwires: S, job: &Job<'_>, worker: usize) -> Result<Tunnel<S>, String> {
        let mut c = Config::new(Side::Customer, job.links.right4, job.links.left6);
        c.hairpinning = self.state.hairpinning;
        self.set(&mut c);
        job.tunnel(c, softwires, worker)
    }

    fn set(&self, c: &mut Config) {
        self.tunnel.set(&self.state.fragments, &self.reassembly, &self.state.errors, c);
        self.border.set(c);
    }
}
