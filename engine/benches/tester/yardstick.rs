//! Basic speed of the machine, to compare figures.

use crate::lists::per_item;
use port::Clock;
use std::hint::black_box;

pub(crate) fn print(clock: Clock) {
    println!("\nthe machine                                        ns each");
    println!("dependent 64-bit multiplication            {:>16}", multiplications(clock));
    println!("64 bytes copied, slot to slot in L1        {:>16}", copies(clock, 64));
    println!("64 bytes copied, slot to slot in L2        {:>16}", copies(clock, 2048));
    println!("reading the clock                          {:>16}", clock_reads(clock));
}

fn multiplications(clock: Clock) -> crate::lists::Figure {
    const N: usize = 200_000;
    let mut x = black_box(3u64);
    per_item(clock, N, || {
        let mut y = x;
        for _ in 0..N {
            // The compiler could combine multiplications by a constant.
            y = y.wrapping_mul(y);
        }
        x = black_box(y);
    })
}

fn copies(clock: Clock, slots: usize) -> crate::lists::Figure {
    const N: usize = 200_000;
    let mut from = vec![[1u8; 192]; slots];
    let mut to = vec![[0u8; 192]; slots];
    per_item(clock, N, || {
        for i in 0..N {
            let at = (i * 7) & (slots - 1);
            to[at][64..128].copy_from_slice(&from[at][64..128]);
        }
        black_box((&mut from, &mut to));
    })
}

fn clock_reads(clock: Clock) -> crate::lists::Figure {
    const N: usize = 50_000;
    per_item(clock, N, || {
        for _ in 0..N {
            black_box(clock.now());
        }
    })
}
