//! Host functions for measuring threads: CPU pinning, priority, CPU time and run delay.

use crate::PortError;
use crate::sys::get_option;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::thread::{Scope, ScopedJoinHandle};

/// As [`Scope::spawn`], without a panic.
///
/// # Errors
/// The system refuses to start a thread.
pub fn spawn_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, PortError> {
    std::thread::Builder::new().spawn_scoped(scope, work).map_err(|e| {
        let advice = "raise the limit on address space (ulimit -v) or on processes (ulimit -u), or free memory";
        PortError::system("starting a thread", e, advice)
    })
}

/// Pins the calling thread to one core.
///
/// # Errors
/// The core does not exist, or this process may not use it.
pub fn pin(core: usize) -> Result<(), PortError> {
    pin_to(&[core])
}

/// Pins the calling thread to `core`, or to all cores of this process, as its parent may be pinned to fewer.
///
/// # Errors
/// As [`pin`].
pub fn pin_or_release(core: Option<usize>) -> Result<(), PortError> {
    core.map_or_else(|| pin_to(&cores()), pin)
}

/// Pins the calling thread, and later threads of it, to these cores.
///
/// # Errors
/// As [`pin`].
pub fn pin_to(cores: &[usize]) -> Result<(), PortError> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core);
    }
    sched_setaffinity(None, &set).map_err(|e| {
        PortError::system(
            format!("pinning a thread to cores {cores:?}"),
            e,
            "choose cores from the list that `taskset -cp $$` prints",
        )
    })
}

/// Gives the calling thread the best ordinary priority (nice -20), if possible. Returns whether it succeeded.
pub fn set_best_nice() -> bool {
    rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20).is_ok()
}

/// Lets a program begin with ordinary priority, even if the thread that starts it has a better one.
pub fn with_ordinary_priority(command: &mut Command) -> &mut Command {
    let reset = || {
        use rustix::process::{getpriority_process, setpriority_process};
        if getpriority_process(None).is_ok_and(|nice| nice < 0) {
            // If it fails, the program runs all the same.
            let _ = setpriority_process(None, 0);
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only system calls: it neither allocates nor locks.
    unsafe { command.pre_exec(reset) }
}

/// Gives the calling thread real-time priority (SCHED_RR, lowest), if possible: above all ordinary
/// threads of its core, which still get a twentieth of the time. Only for threads that do not
/// depend on kernel threads, such as its packet threads.
///
/// Under SCHED_FIFO, two processes with two spinning threads each on the same two cores could
/// deadlock: on each core a thread would wait for its partner, which cannot run on the other one.
pub fn enter_real_time() -> bool {
    // SAFETY: sched_param is plain data, for which all zeroes is a valid value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    // SAFETY: thread 0 is the calling thread, and the pointer refers to a live sched_param.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const param) == 0 }
}

/// Reverses [`enter_real_time`]: the best ordinary priority.
pub fn leave_real_time() -> bool {
    // SAFETY: as above; ordinary threads have priority 0.
    let param: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: thread 0 is the calling thread, and the pointer refers to a live sched_param.
    let ordinary =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, &raw const param) };
    ordinary == 0 && set_best_nice()
}

/// The kernel stops real-time threads beyond 950 ms of each second (sched_rt_runtime_us). Use
/// [`set_best_nice`] for longer work.
pub const PREEMPT_AT_MOST: std::time::Duration = std::time::Duration::from_millis(850);

/// Cores of this process, in order, as of the first call, before any pinning.
pub fn cores() -> Vec<usize> {
    static GIVEN: OnceLock<Vec<usize>> = OnceLock::new();
    let ask = || {
        let Ok(set) = sched_getaffinity(None) else { return vec![0] };
        (0..CpuSet::MAX_CPU).filter(|&c| set.is_set(c)).collect()
    };
    GIVEN.get_or_init(ask).clone()
}

/// CPU time of the calling thread, in nanoseconds, softirq work in the thread's context included.
pub fn thread_cpu_nanos() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Run delay of the calling thread, in nanoseconds (second figure of
/// `/proc/thread-self/schedstat`); `None` if not counted.
pub fn thread_run_delay_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The process at the other end of a Unix socket when it connected or began to listen; 0 for a
/// process in an invisible pid namespace, and for a socket of another kind (rustix's type cannot
/// represent 0).
///
/// # Errors
/// The file is no socket.
pub fn peer_process(socket: impl AsFd) -> io::Result<i32> {
    let peer: libc::ucred = get_option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED)?;
    Ok(peer.pid)
}

/// Field of `SO_MEMINFO` (`linux/sock_diag.h`).
const MEMINFO_DROPS: usize = 8;

/// Datagrams, modulo 2^32, that this socket dropped because its receive buffer was full.
///
/// # Errors
/// On kernels before 4.12.
pub fn socket_drops(socket: impl AsFd) -> io::Result<u32> {
    let fields: [u32; MEMINFO_DROPS + 1] = get_option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    Ok(fields[MEMINFO_DROPS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    fn policy() -> i32 {
        // SAFETY: no memory is passed; thread 0 is the calling thread.
        unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK }
    }

    /// Without privilege both functions do nothing, and the thread stays an ordinary thread.
    #[test]
    fn a_thread_that_preempted_others_is_ordinary_again() {
        let preempted = enter_real_time();
        assert_eq!(policy() == libc::SCHED_RR, preempted);
        leave_real_time();
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    /// The second thread runs only if the first one, which spins on the same core, does not keep that core for itself.
    /// Without privilege both are ordinary threads.
    #[test]
    fn threads_that_preempt_others_share_a_core() {
        let core = cores()[0];
        let (ready, ran) = (Barrier::new(2), AtomicBool::new(false));
        let prepare = || {
            pin(core).unwrap();
            enter_real_time();
            ready.wait();
        };
        let saw = std::thread::scope(|scope| {
            scope.spawn(|| {
                prepare();
                ran.store(true, Ordering::Relaxed);
            });
            let spinning = scope.spawn(|| {
                prepare();
                let end = Instant::now() + Duration::from_secs(10);
                while !ran.load(Ordering::Relaxed) && Instant::now() < end {
                    std::hint::spin_loop();
                }
                ran.load(Ordering::Relaxed)
            });
            spinning.join().unwrap()
        });
        assert!(saw, "a spinning thread kept its core for 10 s from another one with the same priority");
    }

    #[test]
    fn what_a_full_socket_drops_is_counted() {
        let bind = || std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (receiver, sender) = (bind(), bind());
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4_096).unwrap();
        receiver.set_nonblocking(true).unwrap();
        assert_eq!(socket_drops(&receiver).unwrap(), 0);
        for _ in 0..100 {
            sender.send_to(&[0; 500], receiver.local_addr().unwrap()).unwrap();
        }
        let received = std::iter::from_fn(|| receiver.recv(&mut [0; 500]).ok()).count();
        assert!(received < 100);
        assert_eq!(socket_drops(&receiver).unwrap() as usize, 100 - received);
    }
}
