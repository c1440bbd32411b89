//! Asking workers of the embedded device about their state, and giving them another configuration, while frames move. Apart
//! from the device, whose threads only look whether somebody waits at the desk.

use crate::own::Owns;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a worker is waited for.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Work that a worker's thread is to do with itself between two rounds.
type Job<F> = Box<dyn FnOnce(&mut Worker<F>) + Send>;

/// A way to the workers: for looking at their state and changing their configuration while frames move.
pub struct Desk<F> {
    pub(crate) jobs: Vec<Arc<Jobs<F>>>,
}

/// What one worker's thread is asked to do.
pub(crate) struct Jobs<F> {
    pub(crate) waiting: AtomicBool,
    list: std::sync::Mutex<Vec<Job<F>>>,
}

impl<F> Jobs<F> {
    pub(crate) fn new() -> Jobs<F> {
        Jobs { waiting: AtomicBool::new(false), list: std::sync::Mutex::new(Vec::new()) }
    }
    #[cold]
    pub(crate) fn work(&self, worker: &mut Worker<F>) {
        self.waiting.store(false, Ordering::Relaxed);
        let jobs = std::mem::take(&mut *self.list.lock().expect("no panic while held"));
        for job in jobs {
            job(worker);
        }
    }
}

impl<F> Desk<F> {
    /// Have every worker do something with its function, and wait for what each says, in the order of the workers. `None` in
    /// place of a worker that does not answer.
    pub fn ask<T: Send + 'static>(&self, work: impl Fn(usize, &mut F) -> T + Send + Sync + 'static) -> Vec<Option<T>> {
        self.have(move |i, worker| work(i, &mut worker.function))
    }

    /// Have every worker answer for other addresses than until now; gives the first that does not answer.
    ///
    /// # Errors
    /// The number of the worker.
    pub fn answer_for(&self, owns: Option<Owns>) -> Result<(), usize> {
        let done = self.have(move |_, worker| worker.owns.clone_from(&owns));
        done.iter().position(Option::is_none).map_or(Ok(()), Err)
    }

    fn have<T: Send + 'static>(
        &self,
        work: impl Fn(usize, &mut Worker<F>) -> T + Send + Sync + 'static,
    ) -> Vec<Option<T>> {
        let work = Arc::new(work);
        let answers = self.jobs.iter().enumerate().map(|(i, jobs)| {
            let (say, answer) = std::sync::mpsc::channel();
            let work = Arc::clone(&work);
            let job: Job<F> = Box::new(move |worker| {
                // Whoever asked may have given up waiting.
                let _ = say.send(work(i, worker));
            });
            jobs.list.lock().expect("no panic while held").push(job);
            jobs.waiting.store(true, Ordering::Release);
            answer
        });
        let answers: Vec<_> = answers.collect();
        answers.into_iter().map(|a| a.recv_timeout(ANSWER_WITHIN).ok()).collect()
    }
}
