//! Limits of a running gateway, which needs privileges only to open its ports. Each thread
//! permanently drops capabilities, new privileges, writing files (Landlock), and all system calls
//! but those listed (seccomp).

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus,
};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a thread keeps a right.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The kernel refuses to drop capabilities or to set `no_new_privs`.
    #[error("giving up capabilities: {0}")]
    Capabilities(#[from] Errno),
    /// Landlock.
    #[error("limiting access to files: {0}")]
    Files(#[from] RulesetError),
    /// Missing in this kernel, or switched off.
    #[error("limiting access to files: this kernel has no Landlock, or it is switched off (kernel parameter lsm=)")]
    NoLandlock,
    /// Seccomp.
    #[error("limiting system calls: {0}")]
    Calls(#[from] seccompiler::Error),
}

/// Limits, to be [applied](Limits::apply) by each thread.
#[derive(Clone, Debug)]
pub struct Limits {
    socket_folder: PathBuf,
    keep: CapabilitySet,
    calls: BpfProgram,
}

impl Limits {
    /// Limits for a gateway that reads `files` again and removes `socket` at its end.
    ///
    /// # Errors
    /// The system calls cannot be listed for this processor.
    pub fn new<'a>(files: impl IntoIterator<Item = &'a Path>, socket: &Path) -> Result<Limits, LimitError> {
        let folder = socket.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Limits { socket_folder: folder.to_owned(), keep: to_read(files)?, calls: allowed_calls()? })
    }

    /// Limits the calling thread and its later ones. Returns the limits that failed; all others hold.
    pub fn apply(&self) -> Vec<LimitError> {
        let steps = [Limits::drop_capabilities, Limits::limit_files, Limits::limit_calls];
        steps.into_iter().filter_map(|step| step(self).err()).collect()
    }

    fn drop_capabilities(&self) -> Result<(), LimitError> {
        Ok(port::privileges::keep_only(self.keep)?)
    }

    fn limit_files(&self) -> Result<(), LimitError> {
        limit_files(Path::new("/"), Some(&self.socket_folder))
    }

    fn limit_calls(&self) -> Result<(), LimitError> {
        Ok(seccompiler::apply_filter(&self.calls)?)
    }
}

/// Lets the calling thread and its later ones only read below one folder, and drops all capabilities that this does not need.
///
/// # Errors
/// When the kernel cannot do so; what it can do holds.
pub fn limit_to_reading(folder: &Path) -> Result<(), LimitError> {
    let dropped = to_read([folder]).and_then(port::privileges::keep_only);
    limit_files(folder, None)?;
    Ok(dropped?)
}

/// Lets the calling thread and its later ones only read below one folder and remove files of another, and open no TCP port or
/// connection. Paths that do not exist are not allowed.
///
/// # Errors
/// When the kernel cannot do so.
fn limit_files(read: &Path, remove: Option<&Path>) -> Result<(), LimitError> {
    // Older kernels enforce what they support.
    let rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V5))?;
    let rules = rules.handle_access(AccessNet::from_all(ABI::V5))?.create()?;
    let beneath = |path: &Path, access| PathFd::new(path).map(|path| PathBeneath::new(path, access));
    let read = beneath(read, AccessFs::ReadFile | AccessFs::ReadDir);
    let remove = remove.map(|path| beneath(path, AccessFs::RemoveFile.into()));
    let allowed = [Some(read), remove].into_iter().flatten().flatten();
    let status = allowed.into_iter().try_fold(rules, RulesetCreatedAttr::add_rule)?.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(LimitError::NoLandlock) } else { Ok(()) }
}

fn to_read<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<CapabilitySet, Errno> {
    let all = capabilities(None)?;
    let (read, none) = (CapabilitySet::DAC_READ_SEARCH, CapabilitySet::empty());
    set_capabilities(None, CapabilitySets { effective: none, ..all })?;
    let refused = |path: &Path| File::open(path).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied);
    let needed = files.into_iter().any(refused);
    set_capabilities(None, all)?;
    Ok(if needed { read & all.permitted } else { none })
}

const CALLS: &[i64] = &[
    // On open descriptors.
    libc::SYS_accept4,
    libc::SYS_getsockopt,
    libc::SYS_ppoll,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_shutdown,
    // Files.
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_write,
    libc::SYS_writev,
    // mmap and mprotect have rules of their own.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Threads, time and signals.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
];

/// Older system calls of this processor's C libraries.
#[cfg(target_arch = "x86_64")]
const OLDER_CALLS: &[i64] = &[libc::SYS_lstat, libc::SYS_poll, libc::SYS_stat, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[i64] = &[];

/// Allowed only if these bits of this argument have this value.
struct Only {
    call: i64,
    argument: u8,
    bits: i32,
    value: i32,
}

const NOT_TO_WRITE: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
const ALL_BITS: i32 = -1;

/// Files open only for reading, memory is never executable, and two harmless device requests are allowed.
const CALLS_WITH_ARGUMENTS: &[Only] = &[
    Only { call: libc::SYS_openat, argument: 2, bits: NOT_TO_WRITE, value: 0 },
    #[cfg(target_arch = "x86_64")]
    Only { call: libc::SYS_open, argument: 1, bits: NOT_TO_WRITE, value: 0 },
    Only { call: libc::SYS_mmap, argument: 2, bits: libc::PROT_EXEC, value: 0 },
    Only { call: libc::SYS_mprotect, argument: 2, bits: libc::PROT_EXEC, value: 0 },
    Only { call: libc::SYS_ioctl, argument: 1, bits: ALL_BITS, value: libc::FIONBIO as i32 },
    Only { call: libc::SYS_ioctl, argument: 1, bits: ALL_BITS, value: libc::TIOCOUTQ as i32 },
];

impl Only {
    fn rule(&self) -> Result<SeccompRule, seccompiler::BackendError> {
        let bits = SeccompCmpOp::MaskedEq(u64::from(self.bits as u32));
        let condition =
            SeccompCondition::new(self.argument, SeccompCmpArgLen::Dword, bits, u64::from(self.value as u32))?;
        SeccompRule::new(vec![condition])
    }
}

/// Other calls fail with "operation not permitted".
fn allowed_calls() -> Result<BpfProgram, LimitError> {
    let made = || -> Result<BpfProgram, seccompiler::BackendError> {
        let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
            CALLS.iter().chain(OLDER_CALLS).map(|call| (*call, Vec::new())).collect();
        for only in CALLS_WITH_ARGUMENTS {
            rules.entry(only.call).or_default().push(only.rule()?);
        }
        // A panicking thread may end only this process.
        let own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, std::process::id().into())?;
        rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own])?]);
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
        filter.try_into()
    };
    made().map_err(|error| LimitError::Calls(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::Command;

    /// Does something on a limited thread, which then ends, and its limits with it.
    fn limited<T: Send>(files: &[&Path], socket: &Path, work: impl FnOnce(Vec<LimitError>) -> T + Send) -> T {
        let limits = Limits::new(files.iter().copied(), socket).unwrap();
        std::thread::scope(|threads| threads.spawn(move || work(limits.apply())).join().unwrap())
    }

    fn status(name: &str) -> String {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.trim().to_owned()
    }

    #[test]
    fn a_limited_thread_does_what_a_gateway_does_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (file, socket) = (folder.path().join("g.toml"), folder.path().join("run/g.sock"));
        std::fs::create_dir(folder.path().join("run")).unwrap();
        std::fs::write(&file, "[gateway]").unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let mut client = UnixStream::connect(&socket).unwrap();
        limited(&[&file], &socket, |failed| {
            use std::io::{Read, Write};
            // Only Landlock may be missing, if this kernel lacks it.
            let lacking = |e: &LimitError| matches!(e, LimitError::NoLandlock);
            assert!(failed.iter().all(lacking), "{failed:?}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "[gateway]");
            let (mut server, _) = listener.accept().unwrap();
            server.set_nonblocking(true).unwrap();
            server.write_all(b"x").unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 1);
            let large = vec![1u8; 8 << 20];
            assert_eq!(large.iter().map(|n| u64::from(*n)).sum::<u64>(), 8 << 20);

            for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
                assert_eq!(u64::from_str_radix(&status(set), 16).unwrap(), 0, "{set}");
            }
            assert_eq!((status("NoNewPrivs").as_str(), status("Seccomp").as_str()), ("1", "2"));
            let refused = |what: &str, result: std::io::Result<()>| {
                let error = result.expect_err(what);
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}: {error}");
            };
            refused("writing", std::fs::write(&file, "[gateway]\n"));
            refused("making a file", File::create(file.with_extension("new")).map(drop));
            refused("a command", Command::new("/bin/true").spawn().map(drop));
            refused("a socket", TcpListener::bind("127.0.0.1:0").map(drop));
            refused("a connection", UnixStream::connect(&socket).map(drop));
            refused("a thread", std::thread::Builder::new().spawn(|| ()).map(drop));
            if failed.is_empty() {
                refused("removing another file", std::fs::remove_file(&file));
            }
            std::fs::remove_file(&socket).unwrap();
        });
        assert_eq!(std::fs::read_to_string(folder.path().join("g.toml")).unwrap(), "[gateway]");
    }

    #[test]
    fn a_thread_reads_below_its_folder_only() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |dir: &tempfile::TempDir| dir.path().join("file");
        std::fs::write(file(&inside), "in").unwrap();
        std::fs::write(file(&outside), "out").unwrap();
        std::os::unix::fs::symlink(file(&outside), inside.path().join("link")).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                match limit_files(inside.path(), None) {
                    // The kernel lacks it, and nothing else went wrong.
                    Err(LimitError::NoLandlock) => return,
                    limited => limited.unwrap(),
                }
                assert_eq!(std::fs::read_to_string(file(&inside)).unwrap(), "in");
                for path in [file(&outside), inside.path().join("link"), "/etc/passwd".into()] {
                    assert!(std::fs::read(&path).is_err(), "{}", path.display());
                }
                assert!(std::fs::write(file(&inside), "x").is_err());
            });
        });
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn the_one_capability_that_reading_takes_is_kept() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let (file, socket) = (folder.path().join("g.toml"), folder.path().join("g.sock"));
        std::fs::write(&file, "[gateway]").unwrap();
        // Another user owns it, and no one else may read it.
        chown(&file, Some(65_534), None).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        limited(&[&file], &socket, |_| {
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "[gateway]");
            assert_eq!(u64::from_str_radix(&status("CapEff"), 16).unwrap(), 1 << 2);
            assert_eq!(u64::from_str_radix(&status("CapBnd"), 16).unwrap(), 0);
        });
    }
}
