//! The values of many flows, as one array a value, for vector code.

use crate::fields::{Fields, FrameWords, SUBSCRIBER, Source, Values};
use crate::flow::FlowSpace;
use crate::layout::{Address6, Ends6, Octets16};

/// Flows of a [`Batch`].
pub const BATCH: usize = 32;

/// Values by [`Source`], then subscribers.
#[derive(Clone, Debug, Default)]
pub struct Batch([[u32; BATCH]; 7]);

/// Variable header words of [`BATCH`] frames, as in memory; meaningless if a layout has none.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Both IPv4 addresses.
    pub addresses: [u64; BATCH],
    /// Both ports.
    pub ports: [u32; BATCH],
    /// Both IPv6 addresses.
    pub(crate) ends: [[Octets16; 2]; BATCH],
    /// Sums of the IPv6 addresses, 35 bits each.
    pub(crate) end_sums: [u64; BATCH],
}

impl Words {
    #[inline(always)]
    pub(crate) fn at(&self, j: usize) -> FrameWords {
        let Words { addresses, ports, ends, end_sums } = self;
        FrameWords { addresses: addresses[j], ports: ports[j], ends: ends[j], end_sum: end_sums[j] }
    }
}

impl Batch {
    /// Sets these flows, without learned values.
    #[inline(never)]
    pub fn set(&mut self, space: &FlowSpace, flows: &[u32; BATCH]) {
        let [inside_addr, inside_port, remote_addr, remote_port, outer_addr, outer_port, subscriber] = &mut self.0;
        space.flows(flows, [inside_addr, inside_port, remote_addr, remote_port, subscriber]);
        *outer_addr = [0; BATCH];
        *outer_port = [0; BATCH];
    }

    /// Sets what flow `j` < [`BATCH`] learned outside.
    #[inline(always)]
    pub fn learned(&mut self, j: usize, addr: u32, port: u16) {
        self.0[Source::OuterAddr as usize][j] = addr;
        self.0[Source::OuterPort as usize][j] = port as u32;
    }

    /// What flow `j` < [`BATCH`] learned outside.
    #[inline(always)]
    pub fn outer(&self, j: usize) -> (u32, u16) {
        (self.0[Source::OuterAddr as usize][j], self.0[Source::OuterPort as usize][j] as u16)
    }

    /// Values of flow `j` < [`BATCH`].
    #[inline(always)]
    pub fn values(&self, j: usize) -> Values {
        Values::from_array(std::array::from_fn(|source| self.0[source][j]))
    }

    /// Words of frames with these fields.
    #[inline(never)]
    pub fn words(&self, fields: &Fields, words: &mut Words) {
        let [src, dst] = [fields.src, fields.dst].map(|s| &self.0[s as usize]);
        let [src_port, dst_port] = [fields.src_port, fields.dst_port].map(|s| &self.0[s as usize]);
        for j in 0..BATCH {
            words.addresses[j] = ((src[j] as u64) << 32 | dst[j] as u64).to_be();
            words.ports[j] = (src_port[j] << 16 | dst_port[j]).to_be();
        }
    }

    /// IPv6 addresses of frames with these ends.
    #[inline(never)]
    pub fn end_words(&self, ends: &Ends6, words: &mut Words) {
        let Words { ends: rows, end_sums, .. } = words;
        *end_sums = [0; BATCH];
        self.gather::<0>(&ends.src, rows, end_sums);
        self.gather::<1>(&ends.dst, rows, end_sums);
    }

    #[inline(always)]
    fn gather<const END: usize>(&self, address: &Address6, rows: &mut [[Octets16; 2]; BATCH], sums: &mut [u64; BATCH]) {
        let mut put = |j: usize, row: Octets16| {
            rows[j][END] = row;
            sums[j] += row.sum();
        };
        match address {
            Address6::Constant(row) => (0..BATCH).for_each(|j| put(j, *row)),
            Address6::BySubscriber(table) => {
                let table: &[Octets16] = table;
                self.0[SUBSCRIBER].iter().enumerate().for_each(|(j, &s)| put(j, table[s as usize]));
            }
            Address6::ByRemote(first, table) => {
                let table: &[Octets16] = table;
                let remotes = self.0[Source::RemoteAddr as usize].iter().enumerate();
                remotes.for_each(|(j, &r)| put(j, table[r.wrapping_sub(*first) as usize]));
            }
            Address6::ByOuter(row) => {
                let outer = self.0[Source::OuterAddr as usize].iter().enumerate();
                outer.for_each(|(j, &low)| put(j, row.with_low(low)));
            }
        }
    }

    /// Calls `each` with rows of large tables that [`Self::end_words`] will read.
    #[inline(always)]
    pub fn rows_ahead(&self, ends: &Ends6, mut each: impl FnMut(&Octets16)) {
        for address in [&ends.src, &ends.dst] {
            match address {
                Address6::BySubscriber(table) if address.is_large() => {
                    let table: &[Octets16] = table;
                    self.0[SUBSCRIBER].iter().for_each(|&s| each(&table[s as usize]));
                }
                Address6::ByRemote(first, table) if address.is_large() => {
                    let table: &[Octets16] = table;
                    let remotes = self.0[Source::RemoteAddr as usize].iter();
                    remotes.for_each(|&r| each(&table[r.wrapping_sub(*first) as usize]));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::SharedPorts;
    use crate::{AddrRange, PortRange};

    #[test]
    fn a_batch_agrees_with_its_flows_one_by_one() {
        let fields = Fields {
            src: Source::InsideAddr,
            src_port: Source::InsidePort,
            dst: Source::OuterAddr,
            dst_port: Source::RemotePort,
        };
        let first = [10, 0, 0, 2].into();
        let ports = PortRange { first: 65_000, last: 65_535 };
        let remote = |count| (AddrRange { first: [198, 19, 0, 2].into(), count }, PortRange { first: 0, last: 999 });
        let mut spaces = Vec::new();
        for (inside, (remote, remote_ports)) in [(1, remote(1)), (3, remote(1)), (1, remote(3)), (7, remote(5))] {
            let addrs = AddrRange { first, count: inside };
            spaces.push(FlowSpace::new(addrs, ports, remote, remote_ports).unwrap());
            spaces.push(FlowSpace::overlapping(inside, first, ports, remote, remote_ports).unwrap());
            for shared in [(6, 8, 10, 99), (0, 3, 0, 8192), (0, 0, 5, 65_531), (1, 1, 3, 1000)] {
                let (offset, len, from, count) = shared;
                let shared = SharedPorts { offset, len, first: from, count };
                if let Ok(space) = FlowSpace::sharing(inside, first, shared, remote, remote_ports) {
                    spaces.push(space);
                }
            }
        }
        assert!(spaces.len() > 16);
        for space in spaces {
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
