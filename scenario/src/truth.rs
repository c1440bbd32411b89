//! The keys of devices of known truth.

use crate::faults::FaultName;
use crate::words::WHEN_FULL;
use key::kind::{any_number, choice, duration, list, maybe, number, rate, share, share_or_none};
use key::quantity::WrittenRate;
use key::{computed, or};
use method::simulated::WhenFull;
use method::{Count, Nanos};
use tech::{MOST_BUCKETS, PLAYS, Plays};

pub(crate) const KNOWN_TRUTH: &str = "known-truth";

const HOUR: Nanos = Nanos::from_secs(3600);
/// Connections in the table of a device that forwards frames at most: each takes about 70 octets.
const MOST_KNOWN: Count = 1 << 24;

key::table! {
    /// No frames, only numbers: a device with known truth, to try the tool and its reports.
    pub struct Simulated {
        /// Frames that it forwards in each direction.
        capacity: WrittenRate = "capacity", rate(), or("5M");
        /// Connections that it sets up.
        set_up_rate: WrittenRate = "set-up-rate", rate(), or("1M");
        /// Frames that it forwards from right to left, where that is another capacity.
        reverse_capacity: Option<WrittenRate> = "reverse-capacity", maybe(rate()), computed("`capacity`");
        /// Connections that its table holds.
        table: Option<Count> = "table", maybe(number(1..=1 << 32)), computed("unlimited");
        /// Connections that it forgets between two trials that keep the table.
        forgets: Count = "forgets", number(0..=1 << 32), or("0");
        /// Once in each phase it forwards nothing for this long; frames that its queue does not hold are lost.
        stall: Nanos = "stall", duration(Nanos(0)..=Nanos::from_secs(60)), or("0 s");
        /// Frames that its queue holds: so many more pass an overload.
        queue: Count = "queue", number(0..=1 << 32), or("0");
        /// Time that a closed TCP connection stays in its table.
        tcp_transitory_time: Nanos = "tcp-transitory-time", duration(Nanos(0)..=HOUR), or("240 s");
        /// Each trial finds it with cold caches, for so long; a warm-up counts.
        cold: Nanos = "cold", duration(Nanos(0)..=HOUR), or("0 s");
        /// Its capacity with cold caches.
        cold_capacity_ppm: u32 = "cold-capacity", share(), or("50 %");
        /// Trials at each point that find it slow, the first ones: as after its start.
        slow_trials: u32 = "slow-trials", number(0..=1_000_000), or("0");
        /// Its capacity in these trials.
        slow_capacity_ppm: u32 = "slow-capacity", share(), or("50 %");
        /// Connections that its cache holds: the most popular ones.
        cache: Option<Count> = "cache", maybe(number(1..=1 << 32)), computed("all");
        /// Its capacity with frames on connections that its cache does not hold.
        uncached_capacity_ppm: u32 = "uncached-capacity", share(), or("50 %");
        /// Its capacity and set-up rate vary by up to this share from trial to trial.
        jitter_ppm: u32 = "jitter", share_or_none(), or("0.5 %");
        /// From this trial of each point, counted from 1, it forwards nothing.
        dies_at: Option<u64> = "dies-at", maybe(number(1..=1 << 32)), computed("never");
        /// Trials that noise of a simulated host disturbs.
        host_noise_ppm: u32 = "host-noise", share_or_none(), or("5 %");
        /// Of these trials: those in which the noise costs frames.
        harmful_noise_ppm: u32 = "harmful-noise", share_or_none(), or("100 %");
        /// Trials in which the simulated tester drops a frame.
        tester_drops_ppm: u32 = "tester-drops", share_or_none(), or("0");
        /// Frames that the simulated tester can send in each direction.
        tester_ceiling: Option<WrittenRate> = "tester-ceiling", maybe(rate()), computed("unlimited");
        /// Connections that it removes per second when its table is emptied.
        tear_down_rate: WrittenRate = "tear-down-rate", rate(), or("2M");
        /// Time that it needs to empty an empty table.
        tear_down_empty: Nanos = "tear-down-empty", duration(Nanos(0)..=HOUR), or("20 ms");
        /// Each emptying takes up to this much longer, evenly distributed.
        tear_down_spread: Option<Nanos> = "tear-down-spread", maybe(duration(Nanos(0)..=HOUR)), computed("a hundredth of `tear-down-empty`");
        /// Octets of a connection in its table.
        entry_octets: u64 = "entry-octets", number(1..=1 << 20), or("320");
        /// Buckets of its hash table.
        buckets: Count = "buckets", number(1..=MOST_BUCKETS), or("65536");
        /// Octets of a bucket.
        bucket_octets: u64 = "bucket-octets", number(1..=1 << 20), or("8");
        /// Idle share of each of its cores at its capacity.
        idle_ppm: Vec<u32> = "idle", list(share_or_none()), computed("one core without idle time");
        /// Share of its working time in which it waits for locks.
        waiting_ppm: u32 = "lock-waiting", share_or_none(), or("0 %");
        /// Time for which a reset stops it; it forgets its connections.
        reset_time: Nanos = "reset-time", duration(Nanos(0)..=HOUR), or("500 ms");
        /// Time for which a failover stops it.
        failover_time: Nanos = "failover-time", duration(Nanos(0)..=HOUR), or("100 ms");
        /// Time for which it stops right to left, where that is another time.
        reverse_failover_time: Option<Nanos> = "reverse-failover-time", maybe(duration(Nanos(0)..=HOUR)), computed("`failover-time`");
        /// Connections that survive a failover.
        survive_ppm: u32 = "survive", share_or_none(), or("100 %");
        /// Of the others: connections that come back on another port.
        move_ppm: u32 = "move", share_or_none(), or("0");
        /// Seed of its noise.
        seed: u64 = "seed", any_number(), or("1");
    } with {
        /// What it does to frames.
        faults: Faults;
        /// What it does when its table is full.
        full: FullTable;
        /// When it sends frames.
        times: Times;
    }
}

key::table! {
    /// A NAT44 in this process that forwards frames, with exactly injected faults and limits around it, to try procedures over
    /// frames; with `fault`, any technology. The tester's thread runs it. Of frames with a fault it takes every k-th, where k is 1 / share, rounded.
    pub struct KnownTruth {
        /// Frames that it forwards in each direction.
        capacity: Option<WrittenRate> = "capacity", maybe(rate()), computed("unlimited");
        /// Frames that it forwards from right to left, where that is another capacity.
        reverse_capacity: Option<WrittenRate> = "reverse-capacity", maybe(rate()), computed("`capacity`");
        /// Connections that it sets up.
        set_up_rate: Option<WrittenRate> = "set-up-rate", maybe(rate()), computed("unlimited");
        /// Connections that its table holds.
        table: Option<Count> = "table", maybe(number(1..=MOST_KNOWN)), computed("the connections");
        /// Frames after each emptying of its table that meet no fault, stall or cold cache: those of a phase 1 with so many connections.
        spares: Count = "spares", number(0..=1 << 32), or("0");
        /// Once in each phase it forwards nothing for this long.
        stall: Nanos = "stall", duration(Nanos(0)..=HOUR), or("0 s");
        /// When the stall begins, after the first frame of the phase.
        stall_at: Nanos = "stall-at", duration(Nanos(0)..=HOUR), or("0 s");
        /// From the first frame of each phase on, it loses every second frame for so long. A warm-up counts.
        cold: Nanos = "cold", duration(Nanos(0)..=HOUR), or("0 s");
        /// Which part of the technology it plays; the tester plays the other one.
        plays: Plays = "plays", choice(PLAYS), or("dual");
    } with {
        /// A further fault of the device.
        injected: InjectedFault;
        /// What it does to frames.
        faults: Faults;
        /// What it does when its table is full.
        full: FullTable;
        /// When it sends frames.
        times: Times;
    }
}

key::table! {
    /// A fault of a gateway, to try a tester or a test bed.
    pub struct InjectedFault {
        /// Name of a fault of [the gallery](faults.md) that it has.
        fault: Option<String> = "fault", maybe(FaultName), computed("none");
        /// Frames that the fault can hit and does.
        fault_ppm: u32 = "fault-share", share(), or("100 %");
    }
}

key::table! {
    /// What a device of known truth does to frames.
    pub struct Faults {
        /// Frames that it loses, in both phases.
        loss_ppm: u32 = "loss", share_or_none(), or("0");
        /// Frames that it sends to a wrong port.
        misrouted_ppm: u32 = "misrouted", share_or_none(), or("0");
        /// Frames that it sends with a wrong checksum.
        corrupted_ppm: u32 = "corrupted", share_or_none(), or("0");
        /// Frames that it sends twice.
        duplicated_ppm: u32 = "duplicated", share_or_none(), or("0");
        /// Frames that arrive after a later one.
        reordered_ppm: u32 = "reordered", share_or_none(), or("0");
    }
}

key::table! {
    /// What a device of known truth does when its table is full.
    pub struct FullTable {
        /// What it does when its table is full.
        when_full: WhenFull = "when-full", choice(WHEN_FULL), or("refuse");
        /// Connections that it removes at once with `when-full = "collect"`.
        collect: Count = "collect", number(1..=1 << 32), or("64");
    }
}

key::table! {
    /// When a device of known truth sends frames.
    pub struct Times {
        /// Delay of every frame.
        delay: Nanos = "delay", duration(Nanos(0)..=Nanos::SECOND), or("0 s");
        /// Each frame is delayed by up to this much more, evenly distributed.
        delay_spread: Nanos = "delay-spread", duration(Nanos(0)..=Nanos::SECOND), or("0 s");
        /// For this long after an overload it loses all frames.
        recovery_time: Nanos = "recovery-time", duration(Nanos(0)..=HOUR), or("0 s");
    }
}

impl FullTable {
    /// Returns what it does, with the connections that it removes at once.
    pub fn policy(&self) -> WhenFull {
        match self.when_full {
            WhenFull::Collect(_) => WhenFull::Collect(self.collect),
            other => other,
        }
    }
}
