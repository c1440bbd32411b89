//! The values of many flows side by side: one array a value instead of one structure a flow, so that the
//! arithmetic of a whole burst becomes vector code. A file of its own, because sender and judge share it.

use crate::flow::FlowSpace;
use crate::template::{Fields, Source, Values};

/// Flows that a [`Batch`] holds; the same number as frames in a burst.
pub const BATCH: usize = 32;

/// [`Values`] of [`BATCH`] flows, by [`Source`].
#[derive(Clone, Debug, Default)]
pub struct Batch([[u32; BATCH]; 6]);

/// The variable header words of [`BATCH`] frames, as they lie in memory.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Both IPv4 addresses.
    pub addresses: [u64; BATCH],
    /// Both ports.
    pub ports: [u32; BATCH],
}

impl Batch {
    /// Become the values of these flows, about which nothing has been learned.
    #[inline(never)]
    pub fn set(&mut self, space: &FlowSpace, flows: &[u32; BATCH]) {
        let [inside_addr, inside_port, remote_addr, remote_port, outer_addr, outer_port] = &mut self.0;
        space.flows(flows, [inside_addr, inside_port, remote_addr, remote_port]);
        *outer_addr = [0; BATCH];
        *outer_port = [0; BATCH];
    }

    /// Set what phase 1 has shown of flow `j`.
    ///
    /// # Panics
    /// When `j` is not below [`BATCH`].
    #[inline(always)]
    pub fn learned(&mut self, j: usize, addr: u32, port: u16) {
        self.0[Source::OuterAddr as usize][j] = addr;
        self.0[Source::OuterPort as usize][j] = port as u32;
    }

    /// What was set by [`Self::learned`] for flow `j`.
    ///
    /// # Panics
    /// When `j` is not below [`BATCH`].
    #[inline(always)]
    pub fn outer(&self, j: usize) -> (u32, u16) {
        (self.0[Source::OuterAddr as usize][j], self.0[Source::OuterPort as usize][j] as u16)
    }

    /// The values of flow `j`.
    ///
    /// # Panics
    /// When `j` is not below [`BATCH`].
    #[inline(always)]
    pub fn values(&self, j: usize) -> Values {
        Values::from_array(std::array::from_fn(|source| self.0[source][j]))
    }

    /// The words of frames with these fields.
    #[inline(never)]
    pub fn words(&self, fields: &Fields, words: &mut Words) {
        let [src, dst] = [fields.src, fields.dst].map(|s| &self.0[s as usize]);
        let [src_port, dst_port] = [fields.src_port, fields.dst_port].map(|s| &self.0[s as usize]);
        for j in 0..BATCH {
            words.addresses[j] = ((src[j] as u64) << 32 | dst[j] as u64).to_be();
            words.ports[j] = (src_port[j] << 16 | dst_port[j]).to_be();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{AddrRange, PortRange};

    #[test]
    fn a_batch_agrees_with_its_flows_one_by_one() {
        let fields = Fields {
            src: Source::InsideAddr,
            src_port: Source::InsidePort,
            dst: Source::OuterAddr,
            dst_port: Source::RemotePort,
        };
        for (inside, remote) in [(1, 1), (3, 1), (1, 3), (7, 5)] {
            let space = FlowSpace::new(
                AddrRange { first: [10, 0, 0, 2].into(), count: inside },
                PortRange { first: 65_000, last: 65_535 },
                AddrRange { first: [198, 19, 0, 2].into(), count: remote },
                PortRange { first: 0, last: 999 },
            )
            .unwrap();
            let flows = std::array::from_fn(|j| (j as u64 * 999_983 % space.size()) as u32);
            let (mut batch, mut words) = (Batch::default(), Words::default());
            batch.set(&space, &flows);
            for (j, &f) in flows.iter().enumerate() {
                assert_eq!(batch.values(j), Values::of(space.flow(f)));
                batch.learned(j, j as u32 + 7, 9);
            }
            batch.words(&fields, &mut words);
            for (j, &f) in flows.iter().enumerate() {
                let values = Values::of(space.flow(f)).learned(j as u32 + 7, 9);
                assert_eq!((batch.values(j), batch.outer(j)), (values, (j as u32 + 7, 9)));
                assert_eq!((words.addresses[j], words.ports[j]), (fields.addresses(&values), fields.ports(&values)));
            }
        }
    }
}
