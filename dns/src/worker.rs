//! A thread pair of the client: one sends queries at their due times, the other judges the answers.

use crate::answer::{self, AnswerFault};
use crate::load::Load;
use crate::names::Names;
use crate::query::Query;
use crate::sent::{Match, SentQueries};
use method::trial::Answers;
use method::{Nanos, Timing, TrialError};
use port::host;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Queries of a late sender.
const BURST: u64 = 32;
/// Time that the sender polls the clock before a query.
const POLL_AHEAD: Duration = Duration::from_micros(150);
/// Interval at which receivers look for the end of the trial.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Longest answer without EDNS (RFC 1035, section 4.2.1), and one octet more.
const LONGEST: usize = 513;

/// The tester's part of the time-out, at most one in so many (RFC 8219, section 9.2.1).
const OWN_PART: u64 = 4;

pub(crate) struct QueryTrial<'a> {
    pub start: Instant,
    pub load: &'a Load,
    pub names: &'a Names,
    pub pairs: u64,
    pub interrupted: &'a AtomicBool,
}

impl QueryTrial<'_> {
    /// Each of n pairs sends every n-th.
    pub(crate) fn queries_of(&self, pair: u64) -> u64 {
        (self.load.queries + self.pairs - 1 - pair) / self.pairs
    }
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sender {
    pub sent: u64,
    pub send_time: Nanos,
    pub timing: Timing,
    pub run_delay: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Receiver {
    pub answers: Answers,
    pub own_time: Nanos,
    /// `None` below [`OWN_PART`], as sockets hold answers until then.
    pub run_delay: Option<Nanos>,
    /// Datagrams that the pair's sockets dropped.
    pub drops: u64,
}

pub(crate) struct ThreadPair<'a> {
    pub trial: &'a QueryTrial<'a>,
    pub number: u64,
    pub sockets: &'a [UdpSocket],
    pub sent: SentQueries,
    /// Set after the last query; the receiver then waits for one time-out.
    pub last_sent: AtomicU64,
    pub failed: AtomicBool,
}

/// No last query yet.
pub(crate) const SENDING: u64 = u64::MAX;

impl ThreadPair<'_> {
    /// Nanoseconds since the trial's start; 0 before.
    fn now(&self) -> u64 {
        Instant::now().saturating_duration_since(self.trial.start).as_nanos() as u64
    }

    /// Number of this pair's query `l` in the trial.
    fn number_of(&self, l: u64) -> u64 {
        l * self.trial.pairs + self.number
    }

    /// When query `l` is due, in nanoseconds.
    fn due(&self, l: u64) -> u64 {
        (u128::from(self.number_of(l)) * 1_000_000_000 / u128::from(self.trial.load.rate.0)) as u64
    }

    pub(crate) fn send(&self) -> Result<Sender, TrialError> {
        let run_delay = host::thread_run_delay_nanos();
        let cpu = host::thread_cpu_nanos();
        let mut query = Query::new();
        let mut done = Sender::default();
        let queries = self.trial.queries_of(self.number);
        let (mut late, mut now) = (0, 0);
        while done.sent < queries && !self.trial.is_interrupted() {
            now = self.wait_for(self.due(done.sent));
            let overdue =
                (done.sent..queries).take(BURST as usize + 1).take_while(|&l| self.due(l) <= now).count() as u64;
            late = now - self.due(done.sent);
            done.note(late, overdue);
            for _ in 0..overdue.min(BURST) {
                self.send_one(&mut query, done.sent).map_err(|e| {
                    self.failed.store(true, Ordering::Relaxed);
                    TrialError::Tester(format!("sending a DNS query failed: {e}"))
                })?;
                done.sent += 1;
            }
        }
        let end = self.now();
        self.last_sent.store(end, Ordering::Release);
        done.send_time = Nanos(end);
        done.timing.finished_late = Nanos(late.max(end.saturating_sub(now)));
        done.timing.own_time = Nanos(host::thread_cpu_nanos() - cpu);
        done.run_delay = run_delay_since(run_delay);
        Ok(done)
    }

    fn wait_for(&self, due: u64) -> u64 {
        let at = self.trial.start + Duration::from_nanos(due);
        loop {
            let now = Instant::now();
            match at.checked_duration_since(now) {
                None => return now.saturating_duration_since(self.trial.start).as_nanos() as u64,
                Some(Duration::ZERO) => return due,
                Some(left) if left > 2 * POLL_AHEAD => {
                    std::thread::sleep(left.saturating_sub(POLL_AHEAD).min(Duration::from_millis(50)));
                }
                Some(_) => std::hint::spin_loop(),
            }
        }
    }

    fn send_one(&self, query: &mut Query, l: u64) -> io::Result<()> {
        let (port, id) = self.sent.place(l);
        let name = self.trial.load.plan.name(self.number_of(l));
        let message = query.message(id, name);
        self.sent.note(l, self.now());
        let end = Instant::now() + Duration::from(self.trial.load.timeout);
        loop {
            match self.sockets[port].send(message) {
                Ok(_) => return Ok(()),
                // The host's queue is full: the query is late. ICMP errors concern earlier queries.
                Err(e) if is_passing(&e) && Instant::now() < end => {
                    if self.trial.is_interrupted() {
                        return Ok(());
                    }
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Receives until all queries have an answer, or one time-out after the last query.
    pub(crate) fn receive(&self) -> Result<Receiver, TrialError> {
        let failed = |e: io::Error| TrialError::Tester(format!("receiving DNS answers failed: {e}"));
        let poll = poll_of(self.sockets).map_err(failed)?;
        let mut events: Vec<Event> = Vec::with_capacity(self.sockets.len().clamp(1, 1024));
        let mut answers = Answers::default();
        let (cpu, run_delay) = (host::thread_cpu_nanos(), host::thread_run_delay_nanos());
        let drops = self.drops();
        let all = self.trial.queries_of(self.number);
        while answers.valid + answers.late + answers.wrong() < all && !self.is_over() {
            events.clear();
            match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&LOOK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(failed(e.into())),
            }
            for event in &events {
                self.drain(event.data.u64() as usize, &mut answers).map_err(failed)?;
            }
        }
        Ok(Receiver {
            answers,
            own_time: Nanos(host::thread_cpu_nanos() - cpu),
            run_delay: run_delay_since(run_delay).filter(|waited| waited.0 > self.trial.load.timeout.0 / OWN_PART),
            drops: self.drops().zip(drops).map_or(0, |(after, before)| after.wrapping_sub(before).into()),
        })
    }

    /// Packets dropped by the sockets, modulo 2^32; `None` where unknown.
    fn drops(&self) -> Option<u32> {
        self.sockets.iter().try_fold(0, |sum: u32, socket| Some(sum.wrapping_add(host::socket_drops(socket).ok()?)))
    }

    fn is_over(&self) -> bool {
        if self.trial.is_interrupted() || self.failed.load(Ordering::Relaxed) {
            return true;
        }
        let last = self.last_sent.load(Ordering::Acquire);
        last != SENDING && self.now() > last.saturating_add(self.trial.load.timeout.0)
    }

    fn drain(&self, port: usize, answers: &mut Answers) -> io::Result<()> {
        let mut octets = [0; LONGEST];
        // Bounded, so that other ports need not wait.
        for _ in 0..1_024 {
            match self.sockets[port].recv(&mut octets) {
                Ok(length) => self.judge(port, &octets[..length], self.now(), answers),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if is_passing(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn judge(&self, port: usize, message: &[u8], now: u64, answers: &mut Answers) {
        let (l, sent_at) = match answer::id(message).map_or(Match::None, |id| self.sent.find(port, id)) {
            Match::Query { l, sent_at } => (l, sent_at),
            Match::Answered => return answers.duplicates += 1,
            Match::None => return answers.foreign += 1,
        };
        self.sent.answered(l);
        let name = self.trial.load.plan.name(self.number_of(l));
        let took = Nanos(now.saturating_sub(sent_at));
        match self.trial.load.expected.judge(self.trial.names, message, name) {
            Ok(()) if took <= self.trial.load.timeout => {
                answers.valid += 1;
                answers.slowest = answers.slowest.max(took);
            }
            Ok(()) => answers.late += 1,
            Err(AnswerFault::Message) => answers.malformed += 1,
            Err(AnswerFault::Code) => answers.error_codes += 1,
            Err(AnswerFault::NoRecord) => answers.without_record += 1,
            Err(AnswerFault::Address) => answers.wrong_address += 1,
        }
    }
}

impl Sender {
    fn note(&mut self, late: u64, overdue: u64) {
        let timing = &mut self.timing;
        timing.worst_late = timing.worst_late.max(Nanos(late));
        timing.worst_burst = timing.worst_burst.max(overdue.min(BURST) as u32);
        timing.catch_ups += u64::from(overdue > 1);
        if overdue > BURST {
            timing.crowded += BURST;
        }
    }
}

fn run_delay_since(before: Option<u64>) -> Option<Nanos> {
    host::thread_run_delay_nanos().zip(before).map(|(after, before)| Nanos(after - before))
}

fn is_passing(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionRefused | HostUnreachable | NetworkUnreachable)
        || error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

fn poll_of(sockets: &[UdpSocket]) -> io::Result<OwnedFd> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    for (port, socket) in sockets.iter().enumerate() {
        epoll::add(&poll, socket, EventData::new_u64(port as u64), EventFlags::IN)?;
    }
    Ok(poll)
}
