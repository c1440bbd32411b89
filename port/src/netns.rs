//! Unnamed network namespaces: they vanish with the process. Namespaces belong to threads, and a
//! mistake would configure the host, so only this file changes a thread's namespace.

use crate::PortError;
use crate::sys::check;
use rustix::fs::{Mode, OFlags};
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::{fs, io};

const PRIVILEGE: &str = "run as root, or let natmeter enter a user namespace first";

/// Exists while a clone, a process or a socket in it does: keep a clone as long as a DUT is in it.
#[derive(Clone, Debug)]
pub struct Netns {
    fd: Arc<OwnedFd>,
}

/// What a command in a namespace sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// `/sys` shows the namespace in which it was mounted.
    Network,
    /// A network namespace with its `/sys` (for `rps_cpus`, `threaded` and the like), in a separate
    /// mount namespace.
    NetworkAndSysfs,
}

impl Netns {
    /// Makes an empty network namespace (its loopback is down).
    ///
    /// # Errors
    /// Without the privilege.
    pub fn new() -> Result<Netns, PortError> {
        on_fresh_thread(|| {
            // SAFETY: CLONE_NEWNET changes only the network namespace of this thread, which ends after this closure.
            check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
                .map_err(|e| PortError::system("creating a network namespace", e, PRIVILEGE))?;
            Netns::current()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn current() -> Result<Netns, PortError> {
        open_namespace(c"/proc/thread-self/ns/net").map(|fd| Netns { fd: Arc::new(fd) }).map_err(|e| {
            PortError::system("opening the network namespace of this thread", e, "natmeter needs /proc mounted")
        })
    }

    /// Runs `work` inside the namespace, on a new thread, and waits. Its sockets and devices stay there.
    ///
    /// # Errors
    /// Without the privilege to enter another namespace.
    pub fn run_in<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, PortError> {
        on_fresh_thread(|| {
            // setns(2) needs the privilege even for the present namespace.
            if !Netns::current()?.same_as(self) {
                // SAFETY: setns with CLONE_NEWNET changes only the network namespace of this
                // thread, which ends after this closure; the descriptor is open as long as `self`
                // lives.
                check(unsafe { libc::setns(self.fd.as_raw_fd(), libc::CLONE_NEWNET) })
                    .map_err(|e| PortError::system("entering a network namespace", e, PRIVILEGE))?;
            }
            Ok(work())
        })
    }

    /// Starting the command fails if the namespace cannot be entered.
    pub fn command(&self, program: impl AsRef<OsStr>, sight: Sight) -> Command {
        let mut command = Command::new(program);
        // iptables locks a file under /run, which root of a user namespace cannot write; the lock
        // matters only between commands of one namespace.
        if in_user_namespace() {
            command.env("XTABLES_LOCKFILE", "/dev/null");
        }
        let fd = Arc::clone(&self.fd);
        let enter = move || {
            // SAFETY: as in `run_in`; this is the only thread of the forked child, which then calls exec.
            check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNET) })?;
            if sight == Sight::NetworkAndSysfs { mount_own_sysfs() } else { Ok(()) }
        };
        // SAFETY: between fork and exec the closure makes only system calls: it neither allocates nor locks.
        unsafe { command.pre_exec(enter) };
        command
    }

    /// A path for `ip link … netns PATH` of any process.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()))
    }

    /// Device and inode; `None` if unknown.
    pub fn identity(&self) -> Option<(u64, u64)> {
        rustix::fs::fstat(&self.fd).map(|s| (s.st_dev, s.st_ino)).ok()
    }

    fn same_as(&self, other: &Netns) -> bool {
        self.identity().is_some() && self.identity() == other.identity()
    }
}

/// Makes this single-threaded process root of a new user, network and mount namespace, so that
/// namespaces, TAP devices, nftables and iptables work without privilege.
///
/// # Errors
/// The kernel or a setting forbids it; the error names the setting.
pub fn enter_user_namespace() -> Result<(), PortError> {
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return Err(PortError::Unsupported(format!(
            "only a single-threaded process can enter a user namespace, and this one has {threads} threads: enter it before starting threads"
        )));
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: the process has one thread (checked above), so this changes namespaces for all of it.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS) })
        .map_err(|e| PortError::system("creating a user namespace", e, setting_that_forbids_user_namespaces()))?;
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|e| {
            let doing = format!("writing /proc/self/{file} of a new user namespace");
            PortError::system(doing, e, setting_that_forbids_user_namespaces())
        })
    };
    // A group map needs privilege or giving up setgroups(2): user_namespaces(7).
    map("setgroups", "deny".into())?;
    map("uid_map", format!("0 {uid} 1"))?;
    map("gid_map", format!("0 {gid} 1"))?;
    mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE)
        .map_err(|e| PortError::system("making the mounts of a new namespace private", e, PRIVILEGE))
}

/// Whether the process is in a user namespace other than the initial one.
pub fn in_user_namespace() -> bool {
    // The initial namespace maps all 2^32 - 1 users to themselves.
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.split_ascii_whitespace().eq(["0", "0", "4294967295"]))
}

/// The setting that most likely forbids user namespaces.
fn setting_that_forbids_user_namespaces() -> &'static str {
    let is = |file: &str, value: &str| fs::read_to_string(file).is_ok_and(|s| s.trim() == value);
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "the sysctl kernel.unprivileged_userns_clone is 0: set it to 1, or run as root"
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "the sysctl kernel.apparmor_restrict_unprivileged_userns is 1: set it to 0, or run as root"
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        "the sysctl user.max_user_namespaces is 0: raise it, or run as root"
    } else {
        "a container or security module may forbid user namespaces: run as root"
    }
}

/// Works on a thread that then ends, so that namespaces of other threads stay.
fn on_fresh_thread<T: Send>(work: impl FnOnce() -> Result<T, PortError> + Send) -> Result<T, PortError> {
    std::thread::scope(|scope| match crate::host::spawn_in(scope, work)?.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn open_namespace(path: &CStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Mounts sysfs in a forked child, so only by system calls.
fn mount_own_sysfs() -> io::Result<()> {
    // SAFETY: the child has one thread and then calls exec; only its own view of mounts changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE)?;
    match mount(c"sysfs", c"/sys", c"sysfs", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC) {
        // `/sys` shows this namespace already.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
        done => done,
    }
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: all strings end with a zero byte and live through the call; sysfs and propagation changes take no data.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) }).map(drop)
}
