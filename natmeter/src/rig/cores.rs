//! Cores of this machine: those of the tester's threads, and those of the device.

use record::folder::{FactTable, SHARED_CORES};
use scenario::{Point, Scenario};

pub struct Cores {
    /// Core of each of the tester's threads.
    pub(super) testers: Vec<Option<usize>>,
    pub(super) workers: Vec<Option<usize>>,
    pub(super) shared: bool,
    pub(super) only_one: bool,
    /// Workers of the tester.
    wanted: usize,
}

/// Whether workers of tester and gateway must share these cores.
pub fn are_too_few(cores: usize, testers: usize, workers: usize) -> bool {
    cores < testers + workers
}

/// Tester workers on a machine with this number of cores. On one core, one thread runs tester and gateway.
pub fn testers(scenario: &Scenario, cores: usize) -> usize {
    testers_of(scenario.tester.workers as usize, cores)
}

fn testers_of(wanted: usize, cores: usize) -> usize {
    if cores <= 1 { 1 } else { wanted }
}

/// Cores of the tester's threads where no gateway shares the process: the first cores, or no
/// pinning if there are too few.
pub fn tester_cores(scenario: &Scenario) -> Vec<Option<usize>> {
    let all = port::host::cores();
    let testers = testers(scenario, all.len());
    (0..testers).map(|i| all.get(i).copied().filter(|_| all.len() >= testers)).collect()
}

impl Cores {
    pub fn at(scenario: &Scenario, point: &Point) -> Cores {
        Cores::assign(scenario.tester.workers as usize, point.cores as usize)
    }

    /// The first cores are the tester's, the next ones the gateway's workers'. With too few cores,
    /// no thread is pinned.
    pub fn assign(wanted: usize, workers: usize) -> Cores {
        let all = port::host::cores();
        let testers = testers_of(wanted, all.len());
        let shared = are_too_few(all.len(), testers, workers);
        let pin = |i: usize| if shared { None } else { all.get(i).copied() };
        Cores {
            testers: (0..testers).map(pin).collect(),
            workers: (testers..testers + workers).map(pin).collect(),
            shared,
            only_one: all.len() == 1,
            wanted,
        }
    }

    pub(super) fn in_words(&self) -> String {
        let list = |cores: &[Option<usize>]| {
            let each = cores.iter().map(|core| core.map_or_else(|| "not pinned".to_owned(), |core| core.to_string()));
            each.collect::<Vec<_>>().join(", ")
        };
        format!("tester {}; workers {}", list(&self.testers), list(&self.workers))
    }

    /// A doubt if the tester has fewer workers than requested.
    pub(super) fn doubt(&self) -> Option<String> {
        let Cores { testers, wanted, .. } = self;
        (testers.len() < *wanted).then(|| {
            format!(
                "The tester used 1 worker instead of {wanted}: this machine has one core, so tester and device share one thread."
            )
        })
    }

    /// Keeps this thread, and threads that it starts, off these cores: a thread that starts on the core of a
    /// polling worker waits for the scheduler and then preempts the worker.
    pub(super) fn keep_off_workers(&self) -> Result<(), port::PortError> {
        if self.shared {
            return Ok(());
        }
        let own: Vec<usize> = port::host::cores().into_iter().filter(|c| !self.workers.contains(&Some(*c))).collect();
        port::host::pin_to(&own)
    }

    /// Everything on one thread, so that host noise cannot overflow a queue.
    pub fn one_thread(workers: usize) -> Cores {
        let first = port::host::cores().first().copied();
        Cores { testers: vec![first], workers: vec![first; workers], shared: true, only_one: true, wanted: 1 }
    }
}

/// Cores of the tester, and cores on which the kernel processes packets. The tester gets the first
/// ones. If too few remain, the device also uses the tester's.
pub fn shared_out(of_tester: usize, of_device: usize) -> [Vec<usize>; 2] {
    let cores = port::host::cores();
    let (tester, others) = cores.split_at(of_tester.min(cores.len()));
    [tester.to_vec(), others.iter().chain(tester).copied().take(of_device).collect()]
}

/// Cores of this machine on which a device works beside the tester.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalCores {
    pub tester: Vec<usize>,
    /// Cores that forward the device's packets.
    pub device: Vec<usize>,
}

impl LocalCores {
    pub fn shared(&self) -> Vec<usize> {
        self.tester.iter().copied().filter(|core| self.device.contains(core)).collect()
    }

    pub(super) fn note_in(&self, facts: &mut FactTable) {
        facts.insert("cores".to_owned(), format!("tester {}; device {}", listed(&self.tester), listed(&self.device)));
        let shared = self.shared();
        if !shared.is_empty() {
            facts.insert(SHARED_CORES.to_owned(), listed(&shared));
        }
    }
}

pub fn listed(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
