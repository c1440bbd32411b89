//! The order of connections, and the Responder's state table.

use crate::lists::{Figure, per_item};
use engine::StateTable;
use engine::indices::Indices;
use method::Order;
use port::{BATCH, Clock};
use std::hint::black_box;
use wire::Permutation;

/// The bijection: one flow at a time, and in batches.
pub(crate) fn order(clock: Clock) {
    println!("\norder of connections, ns a flow           one at a time          in batches");
    let shapes: [(u64, &str); 9] = [
        (10_000, "100 x 100"),
        (65_537, "just above 2^16"),
        (1_000_000, "10,000 x 100"),
        (4_000_000, "40,000 x 100"),
        (6_250_000, "5,000 x 1,250"),
        (40_000_000, "40,000 x 1,000"),
        (256_000_000, "40,000 x 6,400"),
        (3_170_829_312, "64,512 x 49,151"),
        (1 << 32, "65,536 x 65,536"),
    ];
    for (n, name) in shapes {
        let p = Permutation::new(n, 1);
        let single = single(clock, &p);
        let batch = batches(clock, &p);
        println!("N = {n:>13} {name:<16} {single:>20} {batch:>19}");
    }
}

const FLOWS: usize = 100_000;

fn single(clock: Clock, p: &Permutation) -> Figure {
    let mut next = 0u64;
    per_item(clock, FLOWS, || {
        let mut sum = 0u32;
        for _ in 0..FLOWS {
            sum = sum.wrapping_add(p.get(next as u32));
            next = if next + 1 == p.len() { 0 } else { next + 1 };
        }
        black_box(sum);
    })
}

fn batches(clock: Clock, p: &Permutation) -> Figure {
    let mut next = 0u64;
    let (mut positions, mut flows) = ([0u32; BATCH], [0u32; BATCH]);
    per_item(clock, FLOWS, || {
        for _ in 0..FLOWS / BATCH {
            if next + BATCH as u64 > p.len() {
                next = 0;
            }
            for (k, o) in positions.iter_mut().enumerate() {
                *o = (next + k as u64) as u32;
            }
            next += BATCH as u64;
            p.fill(&positions, &mut flows);
            black_box(&flows);
        }
    })
}

/// Writes in the order of phase 1, and random reads with prefetching.
pub(crate) fn store(clock: Clock, large: bool) {
    println!("\nstate table, ns an entry                  written in order     read at random");
    let sizes = [1_000_000u64, 4_000_000, 64_000_000, 256_000_000];
    for &n in &sizes[..if large { 4 } else { 3 }] {
        match StateTable::new(n) {
            Ok(table) => {
                let write = write(clock, &table);
                let read = read(clock, &table);
                println!("{n:>11} entries {write:>34} {read:>18}");
            }
            Err(e) => println!("{n:>11} entries: {e}"),
        }
    }
}

fn write(clock: Clock, table: &StateTable) -> Figure {
    let n = table.capacity();
    per_item(clock, n, || {
        for i in 0..n as u32 {
            table.learn(i, 1, 0xc613_0001, i as u16);
        }
    })
}

/// As in the sender, the next indices are prefetched.
fn read(clock: Clock, table: &StateTable) -> Figure {
    const READS: usize = 400_000;
    let mut order = Indices::new(Order::Random, table.capacity() as u64, 1, 0, 1);
    let (mut now, mut ahead) = ([0u32; BATCH], [0u32; BATCH]);
    order.fill(&mut ahead);
    per_item(clock, READS, || {
        let mut sum = 0u64;
        for _ in 0..READS / BATCH {
            now = ahead;
            order.fill(&mut ahead);
            for &i in &ahead {
                table.prefetch(i);
            }
            for &i in &now {
                let (addr, port) = table.get(i, 1).unwrap_or_default();
                sum = sum.wrapping_add(addr as u64 ^ port as u64);
            }
        }
        black_box(sum);
    })
}
