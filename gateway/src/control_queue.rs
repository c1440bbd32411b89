//! The control queue of each worker: work between two rounds, such as reading state or changing the
//! configuration while frames are forwarded.

use crate::neighbour::NextHops;
use crate::own::Owns;
use crate::privileges::{LimitError, Limits};
use crate::worker::{Worker, WorkerCounters};
use plane::{AnyFunction, Drops, DynFunction, Side, TableEntry};
use port::{Frame, PortError};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest wait for the answer of a worker.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(5);

type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// Queues to all workers.
pub struct ControlQueue {
    pub(crate) jobs: Vec<Arc<Jobs>>,
}

/// State of a worker.
#[derive(Clone, Debug)]
pub struct Account {
    /// Frames by outcome.
    pub frames: WorkerCounters,
    /// Events of the worker's function.
    pub events: Drops,
    /// Sessions and mappings; none of a function without state.
    pub entries: Option<(u64, u64)>,
}

pub(crate) struct Jobs {
    pub(crate) waiting: AtomicBool,
    list: Mutex<Vec<Job>>,
}

impl Jobs {
    pub(crate) fn new() -> Jobs {
        Jobs { waiting: AtomicBool::new(false), list: Mutex::new(Vec::new()) }
    }
    #[cold]
    pub(crate) fn work(&self, worker: &mut Worker) {
        self.waiting.store(false, Ordering::Relaxed);
        let jobs = std::mem::take(&mut *self.list.lock().expect("no panic while held"));
        for job in jobs {
            job(worker);
        }
    }
}

impl ControlQueue {
    /// Calls `work` with every worker's function; `None` for a silent worker.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl Fn(usize, &mut dyn DynFunction<Frame>) -> T + Send + Sync + 'static,
    ) -> Vec<Option<T>> {
        self.have(move |i, worker| work(i, &mut *worker.function))
    }

    fn have<T: Send + 'static>(
        &self,
        work: impl Fn(usize, &mut Worker) -> T + Send + Sync + 'static,
    ) -> Vec<Option<T>> {
        let work = Arc::new(work);
        let answers = self.jobs.iter().enumerate().map(|(i, jobs)| {
            let (say, answer) = std::sync::mpsc::channel();
            let work = Arc::clone(&work);
            let job: Job = Box::new(move |worker| {
                // The control side may have given up waiting.
                let _ = say.send(work(i, worker));
            });
            jobs.list.lock().expect("no panic while held").push(job);
            jobs.waiting.store(true, Ordering::Release);
            answer
        });
        let answers: Vec<_> = answers.collect();
        answers.into_iter().map(|a| a.recv_timeout(ANSWER_WITHIN).ok()).collect()
    }

    /// Replaces the addresses for which every worker answers.
    ///
    /// # Errors
    /// Number of the first silent worker.
    pub fn answer_for(&self, owns: Option<Owns>) -> Result<(), usize> {
        let done = self.have(move |_, worker| worker.owns.clone_from(&owns));
        done.iter().position(Option::is_none).map_or(Ok(()), Err)
    }

    /// Makes every worker learn the Ethernet addresses of these next hops.
    ///
    /// # Errors
    /// Number of the first silent worker.
    pub fn learn(&self, next_hops: &Arc<NextHops>) -> Result<(), usize> {
        let next_hops = Arc::clone(next_hops);
        let done = self.have(move |_, worker| worker.next_hops = Some(Arc::clone(&next_hops)));
        done.iter().position(Option::is_none).map_or(Ok(()), Err)
    }

    /// Limits the thread of every worker; returns what could not be limited.
    pub fn limit(&self, limits: &Limits) -> Vec<Vec<LimitError>> {
        let limits = limits.clone();
        self.have(move |_, _| limits.apply()).into_iter().flatten().collect()
    }

    /// The account of every worker; `None` for a silent one.
    pub fn accounts(&self) -> Vec<Option<Account>> {
        self.have(|_, worker| Account {
            frames: worker.counters,
            events: worker.function.counters(),
            entries: worker.function.entries(),
        })
    }

    /// Sends a frame of the gateway itself on a side.
    ///
    /// # Errors
    /// When the port of the first worker is broken.
    pub fn send(&self, to: Side, frame: Vec<u8>) -> Result<(), PortError> {
        let sent = self.have(move |i, worker| if i == 0 { worker.send(to, &frame) } else { Ok(()) });
        sent.into_iter().flatten().collect()
    }

    /// Each worker's slots of the state table, and its sessions in these slots at `now`
    /// (nanoseconds of its clock); `None` for a silent worker.
    pub fn sessions(&self, now: u64, places: Range<u64>) -> Vec<Option<(u64, Vec<TableEntry>)>> {
        self.ask(move |_, f| (f.places(), f.sessions(now, places.clone())))
    }

    /// Replaces the functions of all workers, or of none, by others of the same type; `may_end` says
    /// whether that may end sessions.
    ///
    /// # Errors
    /// Why the functions cannot be adopted.
    pub fn adopt(&self, functions: Vec<AnyFunction<Frame>>, may_end: bool) -> Result<(), String> {
        let new: Arc<Vec<Mutex<AnyFunction<Frame>>>> = Arc::new(functions.into_iter().map(Mutex::new).collect());
        let mut result = Ok(());
        // If one worker refuses, none may have changed.
        for round in [Round::Try, Round::Do] {
            let with = Arc::clone(&new);
            let answers = self.ask(move |worker, running| {
                let mut new = with[worker].lock().expect("no panic while held");
                match round {
                    Round::Try => running.can_adopt(&**new).map(|()| running.ending(&**new, MOST_NAMED + 1)),
                    Round::Do => running.adopt(&mut **new).map(|()| Vec::new()),
                }
            });
            let mut ending = Vec::new();
            result = answers.into_iter().enumerate().try_for_each(|(w, said)| {
                let said = said.unwrap_or_else(|| Err("no answer".into())).map_err(|why| format!("worker {w}: {why}"));
                said.map(|of_worker| ending.extend(of_worker))
            });
            if !may_end && result.is_ok() && !ending.is_empty() {
                result = Err(would_end(&ending));
            }
            if result.is_err() {
                break;
            }
        }
        // This thread frees the old functions, once workers have released them.
        let end = Instant::now() + RELEASED_WITHIN;
        while Arc::strong_count(&new) > 1 && Instant::now() < end {
            std::thread::yield_now();
        }
        result
    }
}

/// Sessions that an error names.
const MOST_NAMED: usize = 10;

fn would_end(ending: &[TableEntry]) -> String {
    let named = ending.iter().take(MOST_NAMED);
    let named = named.map(|e| format!("protocol {} {} as {} with {}", e.protocol, e.inside, e.outside, e.remote));
    let more = if ending.len() > MOST_NAMED { ", and others" } else { "" };
    format!(
        "sessions with outside addresses or static mappings that the file lacks would end: {}{more}; accept this with \
         natmeter gateway reload --allow-removal",
        named.collect::<Vec<_>>().join(", ")
    )
}

/// Time within which a worker releases its old configuration after its answer.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Try,
    Do,
}
