//! The embedded device: workers on threads, each on its core, with controls: clear, count, stall,
//! stop. They are atomics that a worker reads once a round.

use crate::control_queue::{ANSWER_WITHIN, ControlQueue, Jobs};
use crate::own::Owns;
use crate::worker::{Worker, WorkerCounters, mail};
use plane::AnyFunction;
use port::{Clock, Frame, Gaps, Pool, Port, PortError, Ticks};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Ports, frames and cores of the workers.
pub struct EmbeddedConfig {
    /// Ports of each worker: customer side, Internet side.
    pub ports: Vec<(Box<dyn Port>, Box<dyn Port>)>,
    /// Pool of each worker.
    pub pools: Vec<Pool>,
    /// Core of each worker; `None`: not pinned.
    pub cores: Vec<Option<usize>>,
    /// Priority over ordinary threads of their cores; never if threads of the kernel forward packets there.
    pub preempt: bool,
    /// Addresses that workers answer for.
    pub owns: Option<Owns>,
}

impl EmbeddedConfig {
    /// Workers on in-process links.
    pub fn in_process(
        ports: Vec<(Box<dyn Port>, Box<dyn Port>)>,
        pools: Vec<Pool>,
        cores: Vec<Option<usize>>,
    ) -> EmbeddedConfig {
        EmbeddedConfig { ports, pools, cores, preempt: true, owns: None }
    }
}

/// Errors of the embedded device.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// A worker is silent.
    #[error("worker {0} of the embedded gateway has not answered for {1:?}: its core may be taken away")]
    Silent(usize, Duration),
    /// A worker cannot answer any more.
    #[error("worker {0} of the embedded gateway is not running any more: a port of it broke")]
    Gone(usize),
    /// A worker ended with an error.
    #[error("worker {0} of the embedded gateway ended: {1}")]
    Ended(usize, String),
}

#[derive(Default)]
struct Control {
    stop: AtomicBool,
    /// Sleep after a round without frames.
    resting: AtomicBool,
    /// Whether the trial is too long for priority over all others.
    long: AtomicBool,
    /// Answered in `cleared`.
    clear: AtomicU64,
    cleared: AtomicU64,
    /// Answered in `published`.
    publish: AtomicU64,
    published: AtomicU64,
    sessions: AtomicU64,
    mappings: AtomicU64,
    /// Answered in `looked`.
    look: AtomicU64,
    looked: AtomicU64,
    /// Longest gap between two rounds since the previous request, and total of the stalls, in
    /// ticks.
    stall: AtomicU64,
    stalled: AtomicU64,
    /// CPU time of rounds with frames, in ticks, and their frames.
    busy: AtomicU64,
    frames: AtomicU64,
    counters: std::sync::Mutex<(WorkerCounters, plane::Drops)>,
}

/// A running gateway inside this process.
pub struct EmbeddedGateway {
    clock: Clock,
    controls: Vec<Arc<Control>>,
    /// Threads of the workers, or why one did not start.
    threads: Vec<Result<JoinHandle<Result<(), PortError>>, std::io::Error>>,
    /// Workers answer only while polled: requests wait for the next poll, and entries are those of
    /// the last round without frames.
    polled: bool,
    /// Time limit for an answer of a running worker.
    patience: Duration,
}

/// Stalls of workers, in nanoseconds: all time for which they were descheduled, as they never sleep in a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStalls {
    /// Longest time between two rounds.
    pub stall: u64,
    /// Sum of the stalls of all workers ([`port::Gaps`]).
    pub stalled: u64,
}

/// Waiting frames from another worker.
const INBOX: usize = 1024;
/// Well below any start delay.
const NAP: Duration = Duration::from_micros(200);

impl EmbeddedGateway {
    /// Starts one thread for each function.
    pub fn start(
        clock: Clock,
        config: EmbeddedConfig,
        functions: Vec<AnyFunction<Frame>>,
    ) -> (EmbeddedGateway, ControlQueue) {
        let (cores, preempt) = (config.cores.clone(), config.preempt);
        let (controls, rounds) = Rounds::make(clock, config, functions, false);
        let queue = ControlQueue { jobs: rounds.iter().map(|r| Arc::clone(&r.jobs)).collect() };
        let threads = rounds.into_iter().zip(cores).enumerate().map(|(i, (mut round, core))| {
            std::thread::Builder::new().name(format!("gateway-{i}")).spawn(move || {
                port::host::pin_or_release(core)?;
                // Without an isolated core it must not block others.
                round.preempts = preempt && core.is_some() && port::host::enter_real_time();
                if !round.preempts {
                    port::host::set_best_nice();
                }
                // A gateway on interfaces limits its workers through the control queue.
                if preempt {
                    let _ = port::privileges::limit_measuring_thread();
                }
                while round.once()? {}
                Ok(())
            })
        });
        (EmbeddedGateway { clock, threads: threads.collect(), controls, polled: false, patience: ANSWER_WITHIN }, queue)
    }

    /// Starts no threads, for machines with one core: callers of the returned functions do the work.
    pub fn polled(
        clock: Clock,
        config: EmbeddedConfig,
        functions: Vec<AnyFunction<Frame>>,
    ) -> (EmbeddedGateway, Vec<Box<dyn FnMut() + Send>>) {
        let (controls, rounds) = Rounds::make(clock, config, functions, true);
        let polls = rounds.into_iter().map(|mut round| {
            Box::new(move || {
                // In-process links cannot break; a stopped worker has nothing to do.
                let _ = round.once();
            }) as Box<dyn FnMut() + Send>
        });
        (
            EmbeddedGateway { clock, controls, threads: Vec::new(), polled: true, patience: ANSWER_WITHIN },
            polls.collect(),
        )
    }

    /// Sets how long to wait for answers. A descheduled worker answers once it runs again.
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> EmbeddedGateway {
        self.patience = patience;
        self
    }

    /// Makes workers poll without a pause until [`Self::rest`]. They have no priority over all
    /// others in a trial that is longer than the scheduler allows.
    pub fn wake(&self, lasts: Duration) {
        let long = lasts > port::host::PREEMPT_AT_MOST;
        self.controls.iter().for_each(|c| {
            c.long.store(long, Ordering::Relaxed);
            c.resting.store(false, Ordering::Relaxed);
        });
    }

    /// Lets workers sleep when idle, until [`Self::wake`].
    pub fn rest(&self) {
        self.controls.iter().for_each(|c| c.resting.store(true, Ordering::Relaxed));
    }

    /// Forgets all state of all workers.
    ///
    /// # Errors
    /// A silent worker.
    pub fn clear(&self) -> Result<(), EmbeddedError> {
        self.controls.iter().for_each(|c| {
            c.clear.fetch_add(1, Ordering::Release);
        });
        self.wait(|c| c.cleared.load(Ordering::Acquire) == c.clear.load(Ordering::Relaxed))
    }

    /// Sessions and mappings of all workers.
    ///
    /// # Errors
    /// A silent worker.
    pub fn entries(&self) -> Result<(u64, u64), EmbeddedError> {
        self.publish()?;
        Ok(self
            .controls
            .iter()
            .fold((0, 0), |(s, m), c| (s + c.sessions.load(Ordering::Relaxed), m + c.mappings.load(Ordering::Relaxed))))
    }

    /// Counters of each worker.
    ///
    /// # Errors
    /// A silent worker.
    pub fn counters(&self) -> Result<Vec<(WorkerCounters, plane::Drops)>, EmbeddedError> {
        self.publish()?;
        Ok(self.controls.iter().map(|c| c.counters.lock().expect("no panic while held").clone()).collect())
    }

    /// Since the last call. Waits for descheduled workers, which report only when they run again.
    ///
    /// # Errors
    /// A silent worker.
    pub fn away(&self) -> Result<WorkerStalls, EmbeddedError> {
        if self.polled {
            // The caller's thread measures its own stalls.
            return Ok(WorkerStalls::default());
        }
        self.controls.iter().for_each(|c| {
            c.look.fetch_add(1, Ordering::Release);
        });
        self.wait(|c| c.looked.load(Ordering::Acquire) == c.look.load(Ordering::Relaxed))?;
        let nanos = |ticks: &AtomicU64| self.clock.nanos(ticks.load(Ordering::Relaxed));
        Ok(WorkerStalls {
            stall: self.controls.iter().map(|c| nanos(&c.stall)).max().unwrap_or(0),
            stalled: self.controls.iter().map(|c| nanos(&c.stalled)).sum(),
        })
    }

    /// Nanoseconds of rounds with frames, and frames, since the last call.
    ///
    /// # Errors
    /// A silent worker.
    pub fn busy(&self) -> Result<(u64, u64), EmbeddedError> {
        let each = self.busy_each()?;
        Ok(each.into_iter().fold((0, 0), |(ns, frames), of| (ns + of.0, frames + of.1)))
    }

    /// Nanoseconds and frames since the last call, by worker.
    ///
    /// # Errors
    /// A silent worker.
    pub fn busy_each(&self) -> Result<Vec<(u64, u64)>, EmbeddedError> {
        self.publish()?;
        let of = |c: &Arc<Control>| {
            (self.clock.nanos(c.busy.swap(0, Ordering::Relaxed)), c.frames.swap(0, Ordering::Relaxed))
        };
        Ok(self.controls.iter().map(of).collect())
    }

    /// Whether the caller's thread does the work.
    pub fn is_polled(&self) -> bool {
        self.polled
    }

    /// Whether a worker has ended because a port broke.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(|thread| thread.as_ref().map_or(true, JoinHandle::is_finished))
    }

    /// Stops all workers and waits for them.
    ///
    /// # Errors
    /// The first worker that had ended with an error.
    pub fn stop(mut self) -> Result<(), EmbeddedError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), EmbeddedError> {
        self.controls.iter().for_each(|c| c.stop.store(true, Ordering::Relaxed));
        let mut result = Ok(());
        for (i, thread) in self.threads.drain(..).enumerate() {
            let ended = match thread {
                // A panic is passed on as one.
                Ok(thread) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|e| e.to_string())
                }
                Err(e) => Err(not_started(&e)),
            };
            result = result.and(ended.map_err(|why| EmbeddedError::Ended(i, why)));
        }
        result
    }

    fn publish(&self) -> Result<(), EmbeddedError> {
        self.controls.iter().for_each(|c| {
            c.publish.fetch_add(1, Ordering::Release);
        });
        self.wait(|c| c.published.load(Ordering::Acquire) == c.publish.load(Ordering::Relaxed))
    }

    fn wait(&self, done: impl Fn(&Control) -> bool) -> Result<(), EmbeddedError> {
        if self.polled {
            return Ok(());
        }
        let end = Instant::now() + self.patience;
        for (i, control) in self.controls.iter().enumerate() {
            while !done(control) {
                match &self.threads[i] {
                    Err(e) => return Err(EmbeddedError::Ended(i, not_started(e))),
                    Ok(thread) if thread.is_finished() => return Err(EmbeddedError::Gone(i)),
                    Ok(_) => {}
                }
                if Instant::now() > end {
                    return Err(EmbeddedError::Silent(i, self.patience));
                }
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

fn not_started(why: &std::io::Error) -> String {
    format!("its thread could not be started: {why}")
}

impl Drop for EmbeddedGateway {
    fn drop(&mut self) {
        // `stop` has reported the error, or no caller can receive it.
        let _ = self.end();
    }
}

struct Rounds {
    clock: Clock,
    worker: Worker,
    control: Arc<Control>,
    jobs: Arc<Jobs>,
    polled: bool,
    /// Whether the worker has priority, as it has except in long trials.
    preempts: bool,
    long: bool,
    cleared: u64,
    published: u64,
    last: Ticks,
    looked: u64,
    gaps: Gaps,
    busy: Ticks,
    frames: u64,
}

impl Rounds {
    fn make(
        clock: Clock,
        config: EmbeddedConfig,
        functions: Vec<AnyFunction<Frame>>,
        polled: bool,
    ) -> (Vec<Arc<Control>>, Vec<Rounds>) {
        let mails = mail(functions.len(), INBOX);
        let owns = config.owns;
        let parts = functions.into_iter().zip(config.ports).zip(config.pools).zip(mails);
        let make = |(((function, (customer, internet)), pool), mail)| {
            let control = Arc::new(Control::default());
            let worker = Worker::new(clock, customer, internet, pool, mail, function).answer_for(owns.clone());
            let last = clock.now();
            let rounds = Rounds {
                clock,
                worker,
                control: Arc::clone(&control),
                jobs: Arc::new(Jobs::new()),
                polled,
                preempts: false,
                long: false,
                cleared: 0,
                published: 0,
                last,
                looked: 0,
                gaps: Gaps::new(clock),
                busy: 0,
                frames: 0,
            };
            (control, rounds)
        };
        parts.map(make).unzip()
    }

    /// Runs a round; false when told to stop.
    fn once(&mut self) -> Result<bool, PortError> {
        let control = &*self.control;
        let now = self.clock.now();
        // A round, of microseconds, is part of the gap.
        self.gaps.add(now - self.last);
        self.last = now;
        if control.look.load(Ordering::Relaxed) != self.looked {
            self.looked = control.look.load(Ordering::Acquire);
            let gaps = self.gaps.take();
            control.stall.store(gaps.longest, Ordering::Relaxed);
            control.stalled.store(gaps.stalled, Ordering::Relaxed);
            control.looked.store(self.looked, Ordering::Release);
        }
        // Before any frame: without a thread no caller waits, and state from later frames must stay.
        if control.clear.load(Ordering::Relaxed) != self.cleared {
            self.cleared = control.clear.load(Ordering::Acquire);
            self.worker.function.clear();
            control.cleared.store(self.cleared, Ordering::Release);
        }
        let seen = self.worker.poll(now)?;
        if seen > 0 {
            self.busy += self.clock.now() - now;
            self.frames += seen as u64;
        }
        if control.publish.load(Ordering::Relaxed) != self.published {
            self.publish();
        } else if self.polled && seen == 0 {
            // Between two phases, requests are not answered.
            self.show_entries();
            self.account();
        }
        if self.jobs.waiting.load(Ordering::Acquire) {
            self.jobs.work(&mut self.worker);
        }
        let control = &*self.control;
        if control.long.load(Ordering::Relaxed) != self.long && self.preempts {
            self.long = !self.long;
            // A failure shows as a stall.
            if self.long {
                port::host::leave_real_time();
            } else {
                port::host::enter_real_time();
            }
        }
        if seen == 0 && !self.polled && control.resting.load(Ordering::Relaxed) {
            std::thread::sleep(NAP);
        }
        Ok(!control.stop.load(Ordering::Relaxed))
    }

    fn show_entries(&self) {
        let (sessions, mappings) = self.worker.function.entries().unwrap_or((0, 0));
        self.control.sessions.store(sessions, Ordering::Relaxed);
        self.control.mappings.store(mappings, Ordering::Relaxed);
    }

    fn account(&mut self) {
        if self.frames > 0 {
            self.control.busy.fetch_add(std::mem::take(&mut self.busy), Ordering::Relaxed);
            self.control.frames.fetch_add(std::mem::take(&mut self.frames), Ordering::Relaxed);
        }
    }

    #[cold]
    fn publish(&mut self) {
        self.show_entries();
        self.account();
        let control = &*self.control;
        self.published = control.publish.load(Ordering::Acquire);
        *control.counters.lock().expect("no panic while held") =
            (self.worker.counters, self.worker.function.counters());
        control.published.store(self.published, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::wired;
    use plane::{Function, Input, Packet, Spare};

    /// A function whose entries are the frames that it has received.
    struct Counting(u64);

    impl Function for Counting {
        fn process<P: Packet>(&mut self, input: Input<P>, _: &mut dyn Spare<P>) {
            self.0 += input.packets.len() as u64;
        }
        fn clear(&mut self) {
            self.0 = 0;
        }
        fn entries(&self) -> Option<(u64, u64)> {
            Some((self.0, 0))
        }
        testbed::nothing_to_adopt!(Counting);
    }

    /// A worker is descheduled at the end of a trial and still is at the request: frames were lost in that time.
    #[test]
    fn a_worker_that_is_not_back_yet_is_waited_for() {
        let (clock, away) = (Clock::system(), Duration::from_millis(20));
        let (_own, _ends, config) = wired(clock);
        let (embedded, queue) = EmbeddedGateway::start(clock, config, vec![Box::new(Counting(0))]);
        let (gone, has_gone) = std::sync::mpsc::channel();
        embedded.away().unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                queue.ask(move |_, _| {
                    gone.send(()).unwrap();
                    std::thread::sleep(away);
                })
            });
            has_gone.recv().unwrap();
            assert!(embedded.away().unwrap().stall >= away.as_nanos() as u64);
        });
    }

    /// A worker is descheduled for longer than the usual wait, and then runs again.
    #[test]
    fn a_worker_that_runs_is_waited_for_with_patience_and_one_that_has_ended_not_at_all() {
        let (clock, short) = (Clock::system(), Duration::from_millis(1));
        let (_own, _ends, config) = wired(clock);
        let (embedded, desk) = EmbeddedGateway::start(clock, config, vec![Box::new(Counting(0))]);
        let mut embedded = embedded.patient(short);
        let (gone, has_gone) = std::sync::mpsc::channel();
        let back = Arc::new(AtomicBool::new(false));
        let comes_back = Arc::clone(&back);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                desk.ask(move |_, _| {
                    gone.send(()).unwrap();
                    while !comes_back.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                })
            });
            has_gone.recv().unwrap();
            assert!(matches!(embedded.away(), Err(EmbeddedError::Silent(0, waited)) if waited == short));
            embedded.patience = Duration::from_secs(60);
            back.store(true, Ordering::Relaxed);
            assert!(embedded.away().unwrap().stall >= short.as_nanos() as u64);
        });
        embedded.controls[0].stop.store(true, Ordering::Relaxed);
        while !embedded.has_ended() {
            std::thread::yield_now();
        }
        assert!(matches!(embedded.away(), Err(EmbeddedError::Gone(0))));
    }

    /// The tester asks between two phases, when nothing polls: the entries after the previous phase must be known. And
    /// frames that it sends after it requested an empty table are not cleared with the rest, even if they arrive before
    /// the first round.
    #[test]
    fn a_polled_device_knows_its_entries_when_nothing_polls() {
        let clock = Clock::system();
        let (mut own, [mut left, _right], config) = wired(clock);
        let (embedded, mut polls) = EmbeddedGateway::polled(clock, config, vec![Box::new(Counting(0))]);
        let mut burst = port::burst();
        for expected in [5, 10] {
            own.alloc_burst(5, 60, &mut burst);
            left.transmit(&mut own, &mut burst).unwrap();
            // A round with the frames, and one of the drain.
            (0..2).for_each(|_| polls[0]());
            assert_eq!(embedded.entries().unwrap().0, expected);
        }
        embedded.clear().unwrap();
        own.alloc_burst(3, 60, &mut burst);
        left.transmit(&mut own, &mut burst).unwrap();
        (0..2).for_each(|_| polls[0]());
        assert_eq!(embedded.entries().unwrap().0, 3);
    }
}
