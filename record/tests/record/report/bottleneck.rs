//! The idle times of a point and its profile give one sentence. The profiles were recorded by `profile = true` on nftables of a Linux
//! 6.18 in a namespace: their cores, samples and times are those of the run folder.

use super::fixture::{Run, Truth};
use super::{report, whole_text};
use method::search::Bottleneck;
use method::trial::{CoreSamples, CpuIdle, Profile};
use method::{Nanos, ResultKind};
use procedure::cpu_idle::CPU_IDLE;
use procedure::metric::{Gives, gives};
use procedure::profiling::LOCK_WAIT;
use record::plan::Measurement;

/// Over TAPs: device and tester shared core 0.
const SHARED: Recorded =
    Recorded { time: 4_131_658_070, cores: &[("core 0", 2_477, 0), ("core 1", 1, 0)], tester: 1_645, others: 4_101 };
/// Over veth, on core 1, with other programs on it.
const BESIDE_OTHERS: Recorded =
    Recorded { time: 4_157_852_119, cores: &[("core 1", 2_585, 0)], tester: 0, others: 1_529 };

struct Recorded {
    time: u64,
    cores: &'static [(&'static str, u64, u64)],
    tester: u64,
    others: u64,
}

impl Recorded {
    fn profile(&self) -> Profile {
        let cores = self.cores.iter();
        Profile {
            event: "cpu-clock".to_owned(),
            frequency: 999,
            time: Nanos(self.time),
            cores: cores.map(|&(name, all, waiting)| (name.to_owned(), CoreSamples { all, waiting })).collect(),
            tester: self.tester,
            others: self.others,
            ..Profile::default()
        }
    }
}

/// A run whose first measurements show these idle times and this profile, at one point.
fn run(idle: Option<(&[u32], Bottleneck)>, profile: Option<(Profile, Option<Bottleneck>)>) -> Run {
    let mut run = super::fixture::kernel();
    let first = run.header.plan.measurements[0].clone();
    let mut add = |metric: &str| {
        let m = Measurement { metric: metric.to_owned(), repetition: 1, ..first.clone() };
        run.header.plan.measurements.push(m.clone());
        run.search(&m, &Truth { capacity: 1_000, tester: 2_000, noise: 0 });
        run.outcomes.len() - 1
    };
    let (idle_at, profile_at) =
        (idle.as_ref().map(|_| add(CPU_IDLE.key)), profile.as_ref().map(|_| add(LOCK_WAIT.key)));
    if let (Some(at), Some((cores, found))) = (idle_at, idle) {
        let cores = cores.iter().enumerate().map(|(at, idle)| (format!("core {at}"), vec![*idle; 4]));
        let ends: Vec<Nanos> = (1..=4).map(Nanos::from_secs).collect();
        let cpu =
            CpuIdle { ends, phase2: [Nanos(0), Nanos::from_secs(4)], cores: cores.collect(), ..CpuIdle::default() };
        let result = &mut run.outcomes[at].result;
        (result.observed.cpu, result.evidence.bottleneck) = (vec![cpu], Some(found));
    }
    if let (Some(at), Some((profile, found))) = (profile_at, profile) {
        let result = &mut run.outcomes[at].result;
        (result.observed.profile, result.evidence.bottleneck) = (Some(profile), found);
    }
    run
}

/// The sentence of the text report, on one line.
fn sentence(run: &Run) -> Option<String> {
    let text = whole_text(run).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, from) = text.split_once("Bottleneck of linux-forwarding, 1 core: ")?;
    from.split_once('.').map(|(sentence, _)| sentence.to_owned())
}

/// The profile with this share of its samples in locks, in parts per million.
fn waiting(mut profile: Profile, ppm: u64) -> Profile {
    profile.cores.values_mut().for_each(|of| of.waiting = of.all * ppm / 1_000_000);
    profile
}

#[test]
fn a_profile_without_locks_turns_contention_into_memory_or_a_full_queue() {
    let idle = || Some((&[600_000, 600_000][..], Bottleneck::Contention));
    let alone = "CPU time does not limit the throughput: every core has idle time, and yet frames are lost at a higher rate; \
                 locks, memory or a full queue may";
    assert_eq!(sentence(&run(idle(), None)).as_deref(), Some(alone));
    let both = "neither CPU time nor locks limit the throughput: every core has idle time, little of the working time waits for \
                locks, and yet frames are lost at a higher rate; a full queue or memory contention is possible";
    assert_eq!(sentence(&run(idle(), Some((BESIDE_OTHERS.profile(), None)))).as_deref(), Some(both));
}

#[test]
fn cores_that_are_busy_with_waiting_are_lock_contention() {
    let busy = Some((&[0, 0][..], Bottleneck::Device { of: 0, boxes: 1 }));
    let locks = Bottleneck::Locks { of: 0, boxes: 1, waits: 250_000 };
    let run = run(busy, Some((waiting(SHARED.profile(), 250_000), Some(locks))));
    let says = "lock contention limits the throughput: the device waits for locks in 25 % of its working time";
    assert_eq!(sentence(&run).as_deref(), Some(says));
    let html = report(&run).render("html").unwrap();
    assert!(html.contains(says), "the section of the idle times says so, too");
}

#[test]
fn a_core_that_is_shared_or_busy_with_other_programs_shows_no_idle_time() {
    for recorded in [SHARED, BESIDE_OTHERS] {
        assert_eq!(sentence(&run(None, Some((recorded.profile(), None)))), None);
    }
    let busy = Recorded { cores: &[("core 1", 4_114, 0)], others: 0, ..BESIDE_OTHERS };
    let run = run(None, Some((busy.profile(), Some(Bottleneck::Device { of: 0, boxes: 1 }))));
    let says = "the device limits the throughput: all of its cores are busy";
    assert_eq!(sentence(&run).as_deref(), Some(says));
}

/// Without idle times, the profile alone shows the locks of a device that fails at a higher rate.
#[test]
fn a_profile_alone_shows_lock_contention() {
    let locks = Bottleneck::Locks { of: 0, boxes: 1, waits: 250_000 };
    let run = run(None, Some((waiting(BESIDE_OTHERS.profile(), 250_000), Some(locks))));
    let says = "lock contention limits the throughput: the device waits for locks in 25 % of its working time";
    assert_eq!(sentence(&run).as_deref(), Some(says));
}

#[test]
fn a_limit_of_the_tester_is_that_of_the_point() {
    let mut run = run(None, Some((BESIDE_OTHERS.profile(), Some(Bottleneck::Tester))));
    let throughputs = run.outcomes.iter_mut().filter(|outcome| gives(&outcome.measurement.metric, Gives::Throughput));
    throughputs.for_each(|outcome| outcome.result.kind = ResultKind::TesterLimit);
    assert_eq!(sentence(&run).as_deref(), Some("the tester limits the throughput: it could offer no higher rate"));
}
