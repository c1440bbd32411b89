//! Devices in the kernel of this machine: the loop that their links make, their null device, what a
//! frame costs their cores, and the sizes of their tables.

use super::Price;
use dut::null::{Work, WorkCounters};
use dut::software::conntrack;
use method::{Loop, Nanos};
use port::PortFacts;
use record::folder::{CONNTRACK_TABLE_SIZE, FactTable, Figures, HASH_TABLE_SIZE};
use std::cell::Cell;
use std::time::Instant;

/// The path from the tester to a device and back.
pub(super) struct Path {
    pub dut_loop: Loop,
    /// Buffered frames, 0 if unknown.
    pub buffered: u64,
    /// XDP receives in the kernel's generic path.
    pub is_generic: bool,
}

impl Path {
    pub(super) fn behind(left: &PortFacts, right: &PortFacts) -> Path {
        let is_inline = left.inline;
        let dut_loop = match is_inline {
            // The write of a frame into a TAP also forwards it; with veth, the kernel's packet
            // threads may forward it.
            true if left.backend == "tap" => Loop::Inline,
            true => Loop::Closed,
            false => Loop::Open,
        };
        // Inline, each frame is forwarded when the call returns.
        let buffered = if is_inline { 0 } else { left.dut_queue.max(right.dut_queue) as u64 };
        Path { dut_loop, buffered, is_generic: left.mode.starts_with("generic") }
    }
}

pub(super) fn no_null() -> Option<String> {
    (!dut::null::is_available()).then(|| {
        "No null device was measured, because the program nft is missing (package nftables): whether device or host was the \
         limit is not known."
            .to_owned()
    })
}

/// The kernel reports idle time in ticks of 10 ms, so a shorter window would be off by more than 2 %.
const PRICE_WINDOW: Nanos = Nanos::from_millis(500);

/// The cost of a frame of cores on which only the device works: the time for which they were not idle.
pub(super) fn price(cores: &[usize], read: impl Fn(&Work) -> Option<WorkCounters> + 'static) -> Option<Price> {
    let (work, last) = (Work::of(cores)?, Cell::new((Instant::now(), WorkCounters::default())));
    let read = move || {
        let (now, done) = (Instant::now(), read(&work)?);
        let (then, before) = last.replace((now, done));
        let passed = now.duration_since(then).as_nanos() as u64 * work.cores() as u64;
        Some((passed.saturating_sub(done.idle - before.idle), done.frames - before.frames))
    };
    Some(Price { read: Box::new(read), window: PRICE_WINDOW })
}

/// Sizes of the kernel's connection tracking table, if the device keeps connections.
pub(super) fn table_sizes(facts: &mut FactTable) -> Figures {
    let sizes = [
        (HASH_TABLE_SIZE, "nf_conntrack_buckets", conntrack::BUCKETS),
        (CONNTRACK_TABLE_SIZE, "nf_conntrack_max", conntrack::MAX),
    ];
    let mut figures = Figures::new();
    for (figure, fact, file) in sizes {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        figures.extend(text.trim().parse().ok().map(|value| (figure.to_owned(), value)));
        facts.insert(fact.to_owned(), text.trim().to_owned());
    }
    figures
}
