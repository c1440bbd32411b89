//! Unnamed network namespaces: only a file descriptor refers to them, so that they vanish with the process, even after
//! a kill. Namespaces belong to threads, not to processes, and a mistake would configure the host. So only this file
//! changes the namespace of a thread.

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

/// A network namespace. Clones are the same namespace. It lives, with all interfaces in it, while a clone, a process or
/// a socket in it lives: hold one as long as a DUT is in it.
#[derive(Clone, Debug)]
pub struct Netns {
    fd: Arc<OwnedFd>,
}

/// How much of the system a command sees from inside a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Its network. `/sys` still shows the interfaces of the namespace in which it was mounted.
    Network,
    /// Its network, and in a mount namespace of the command's own a `/sys` that shows it (for `rps_cpus`,
    /// `threaded` and the like).
    NetworkAndSysfs,
}

impl Netns {
    /// Make a new, empty network namespace (its loopback is down).
    ///
    /// # Errors
    /// Without the privilege to make one.
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
    /// When `/proc` is not mounted.
    pub fn current() -> Result<Netns, PortError> {
        open_namespace(c"/proc/thread-self/ns/net").map(|fd| Netns { fd: Arc::new(fd) }).map_err(|e| {
            PortError::system("opening the network namespace of this thread", e, "natmeter needs /proc mounted")
        })
    }

    /// Run `work` inside the namespace, on a thread of its own, and wait for it. Sockets and devices that it opens
    /// stay in the namespace wherever they are used.
    ///
    /// # Errors
    /// Without the privilege to enter the namespace; none is needed for that of the calling thread.
    pub fn run_in<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, PortError> {
        on_fresh_thread(|| {
            // To enter the namespace that one is in takes a privilege all the same.
            if !Netns::current()?.same_as(self) {
                // SAFETY: setns with CLONE_NEWNET changes only the network namespace of this thread, which ends after this
                // closure; the descriptor is open as long as `self`.
                check(unsafe { libc::setns(self.fd.as_raw_fd(), libc::CLONE_NEWNET) })
                    .map_err(|e| PortError::system("entering a network namespace", e, PRIVILEGE))?;
            }
            Ok(work())
        })
    }

    /// A command that will run inside the namespace. Starting it fails with the kernel's error when the
    /// namespace cannot be entered.
    pub fn command(&self, program: impl AsRef<OsStr>, sight: Sight) -> Command {
        let mut command = Command::new(program);
        // iptables locks a file under /run, which root of a user namespace cannot write. The lock only has to
        // keep the commands of one namespace apart; /dev/null can be opened by anybody and nothing is left behind.
        if in_user_namespace() {
            command.env("XTABLES_LOCKFILE", "/dev/null");
        }
        let fd = Arc::clone(&self.fd);
        let enter = move || {
            // SAFETY: as in `run_in`; this is the only thread of the forked child, and it goes on to exec.
            check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNET) })?;
            if sight == Sight::NetworkAndSysfs { mount_own_sysfs() } else { Ok(()) }
        };
        // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor locks.
        unsafe { command.pre_exec(enter) };
        command
    }

    /// A path by which any process may open the namespace as long as this value lives: for `ip link … netns PATH`.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()))
    }

    /// Device and inode of the namespace, by which all processes know it; none if the kernel does not tell.
    pub fn identity(&self) -> Option<(u64, u64)> {
        rustix::fs::fstat(&self.fd).map(|s| (s.st_dev, s.st_ino)).ok()
    }

    /// Whether both are the same namespace.
    fn same_as(&self, other: &Netns) -> bool {
        self.identity().is_some() && self.identity() == other.identity()
    }
}

/// Make this process root of a user, network and mount namespace of its own, so that namespaces, TAP devices,
/// nftables and iptables work without privilege. It must have one thread only. The mounts it makes from then on
/// are invisible outside; files and processes are as before.
///
/// # Errors
/// When the kernel or its settings forbid it; the error names the setting.
pub fn enter_user_namespace() -> Result<(), PortError> {
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return Err(PortError::Unsupported(format!(
            "only a single-threaded process can enter a user namespace, and this one has {threads} threads: enter it before starting threads"
        )));
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: the process has one thread (checked above), so this changes namespaces for all of it at once.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS) })
        .map_err(|e| PortError::system("creating a user namespace", e, setting_that_forbids_user_namespaces()))?;
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|e| {
            let doing = format!("writing /proc/self/{file} of a new user namespace");
            PortError::system(doing, e, setting_that_forbids_user_namespaces())
        })
    };
    // A group map may be written without privilege only after giving up setgroups(2): user_namespaces(7).
    map("setgroups", "deny".into())?;
    map("uid_map", format!("0 {uid} 1"))?;
    map("gid_map", format!("0 {gid} 1"))?;
    mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE)
        .map_err(|e| PortError::system("making the mounts of a new namespace private", e, PRIVILEGE))
}

/// Whether this process lives in a user namespace other than the system's first.
pub fn in_user_namespace() -> bool {
    // The first namespace maps all 2^32 - 1 users to themselves.
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.split_ascii_whitespace().eq(["0", "0", "4294967295"]))
}

/// Finds the most likely reason, by checking each setting of Linux and the distributions that forbids user namespaces.
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

/// Run on a thread that ends afterwards, so that whatever happens to its namespaces concerns nobody else.
fn on_fresh_thread<T: Send>(work: impl FnOnce() -> Result<T, PortError> + Send) -> Result<T, PortError> {
    std::thread::scope(|scope| match crate::host::spawn_in(scope, work)?.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn open_namespace(path: &CStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// In the forked child only: system calls, nothing else.
fn mount_own_sysfs() -> io::Result<()> {
    // SAFETY: the child has one thread and goes on to exec; only its own view of mounts changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE)?;
    match mount(c"sysfs", c"/sys", c"sysfs", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC) {
        // The kernel refuses to mount what is mounted there: `/sys` shows this namespace already.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
        done => done,
    }
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: all strings end with a zero byte and live through the call; sysfs and propagation changes take no data.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) }).map(drop)
}
