//! The client: thread pairs with source ports of their own, as in dns64perf++.

use crate::load::Load;
use crate::names::Names;
use crate::sent::{self, SentQueries};
use crate::worker::{QueryTrial, Receiver, SENDING, Sender, ThreadPair};
use method::trial::Answers;
use method::{Count, Nanos, Timing, TrialError};
use port::host;
use rustix::net::sockopt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Source port of the first socket; the other sockets have the ports that follow.
pub const FIRST_PORT: u16 = 10_000;
pub const MOST_PORTS: u32 = 50_000;
/// Receive buffer of a socket, in octets; without privilege, the kernel limits it.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Time before the first query.
const START_DELAY: Duration = Duration::from_millis(20);

/// Thread pairs, and sockets of each, one a source port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientSockets {
    pub threads: u32,
    pub ports_per_thread: u32,
}

#[derive(Debug)]
pub struct Client {
    sockets: Vec<Vec<UdpSocket>>,
}

#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Answers by verdict, and queries without an answer.
    pub answers: Answers,
    pub sent: Count,
    /// Send time from the start to the last query.
    pub send_time: Nanos,
    /// Timing of the senders together; the CPU time is that of the busiest.
    pub timing: Timing,
    /// CPU time of all senders.
    pub send_cpu: Nanos,
    /// CPU time of all receivers.
    pub receive_cpu: Nanos,
    /// Longest wait of a sender for a core, or of a receiver if it can make answers late; `None` where unknown.
    pub run_delay: Option<Nanos>,
    /// Answers that the client's sockets dropped.
    pub drops: Count,
}

impl Client {
    /// Opens sockets in the calling thread's network namespace, connected to the server.
    pub fn open(own: IpAddr, server: SocketAddr, ports: ClientSockets) -> io::Result<Client> {
        let open = |n: u32| -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind((own, FIRST_PORT + n as u16))?;
            socket.connect(server)?;
            socket.set_nonblocking(true)?;
            if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
                sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
            }
            Ok(socket)
        };
        let of_thread = |t: u32| {
            (t * ports.ports_per_thread..(t + 1) * ports.ports_per_thread).map(open).collect::<io::Result<Vec<_>>>()
        };
        Ok(Client { sockets: (0..ports.threads).map(of_thread).collect::<io::Result<_>>()? })
    }

    /// Sends queries at a rate and judges the answers.
    ///
    /// # Errors
    /// [`TrialError::Refused`] for too long a trial, [`TrialError::Tester`] for a socket's failure,
    /// [`TrialError::Interrupted`].
    pub fn run(&self, load: &Load, names: &Names, interrupted: &AtomicBool) -> Result<Observation, TrialError> {
        if load.rate.time_for(load.queries).0 > sent::LONGEST / 2 {
            return Err(TrialError::Refused(
                "a trial of DNS queries lasts at most 9 minutes; use a shorter duration".into(),
            ));
        }
        self.drop_waiting();
        let start = Instant::now() + START_DELAY;
        let trial = QueryTrial { start, load, names, pairs: self.sockets.len() as u64, interrupted };
        let pairs: Vec<ThreadPair<'_>> =
            (0..).zip(&self.sockets).map(|(number, sockets)| pair(&trial, number, sockets)).collect();
        let result = run_pairs(&pairs)?;
        if trial.is_interrupted() { Err(TrialError::Interrupted) } else { Ok(result) }
    }

    fn drop_waiting(&self) {
        let mut octets = [0; 1];
        for socket in self.sockets.iter().flatten() {
            while socket.recv(&mut octets).is_ok() {}
        }
    }
}

fn pair<'a>(trial: &'a QueryTrial<'a>, number: u64, sockets: &'a [UdpSocket]) -> ThreadPair<'a> {
    let sent = SentQueries::new(trial.queries_of(number), sockets.len() as u64);
    ThreadPair { trial, number, sockets, sent, last_sent: AtomicU64::new(SENDING), failed: AtomicBool::new(false) }
}

fn run_pairs(pairs: &[ThreadPair<'_>]) -> Result<Observation, TrialError> {
    let failed = |e: port::PortError| TrialError::Tester(e.to_string());
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for pair in pairs {
            let receiver = host::spawn_in(scope, || pair.receive()).map_err(failed);
            let sender = receiver.and_then(|r| Ok((r, host::spawn_in(scope, || pair.send()).map_err(failed)?)));
            running.push(
                sender.inspect_err(|_| pairs.iter().for_each(|pair| pair.failed.store(true, Ordering::Relaxed)))?,
            );
        }
        let mut all = Observation::default();
        for (receiver, sender) in running {
            let sender = sender.join().expect("the sender does not panic");
            let receiver = receiver.join().expect("the receiver does not panic");
            all.add_receiver(&receiver?);
            all.add(&sender?);
        }
        let answered = all.answers.valid + all.answers.late + all.answers.wrong();
        all.answers.unanswered = all.sent.saturating_sub(answered);
        Ok(all)
    })
}

impl Observation {
    fn add_receiver(&mut self, receiver: &Receiver) {
        self.answers.add(&receiver.answers);
        self.receive_cpu.0 += receiver.own_time.0;
        self.drops += receiver.drops;
        self.run_delay = self.run_delay.max(receiver.run_delay);
    }

    fn add(&mut self, sender: &Sender) {
        self.sent += sender.sent;
        self.send_time = self.send_time.max(sender.send_time);
        let (all, own) = (&mut self.timing, &sender.timing);
        all.finished_late = all.finished_late.max(own.finished_late);
        all.worst_late = all.worst_late.max(own.worst_late);
        all.worst_burst = all.worst_burst.max(own.worst_burst);
        all.catch_ups += own.catch_ups;
        all.crowded += own.crowded;
        all.own_time = all.own_time.max(own.own_time);
        self.send_cpu.0 += own.own_time.0;
        self.run_delay = self.run_delay.max(sender.run_delay);
    }
}
