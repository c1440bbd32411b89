//! The four calls of bpf(2) that an XDP socket needs: create the map of sockets, insert a socket, load the program, and
//! attach it with a BPF link. The kernel removes the link when its descriptor is closed, even after a kill.

use super::select::{Instruction, Select, program, redirect};
use crate::PortError;
use crate::sys::check;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A program on an interface and the sockets it feeds. Detached when dropped.
#[derive(Debug)]
pub(super) struct Attached {
    map: OwnedFd,
    _link: OwnedFd,
}

impl Attached {
    /// Attach to an interface of this thread's namespace what gives the frames that `select` takes to the socket of
    /// their queue.
    pub(super) fn new(index: u32, queues: u32, select: &Select, native: bool) -> Result<Attached, PortError> {
        let map = new_map(queues).map_err(|e| refused("making a map of XDP sockets", e))?;
        let code = program(select, &redirect(map.as_raw_fd()))?;
        let program = load(&code)?;
        // A program of the same interface that was closed just now may take a moment to go.
        let link = super::super::while_busy(|| attach(&program, index, native)).map_err(|e| {
            let advice = match e.raw_os_error() {
                Some(libc::EOPNOTSUPP) => "the driver does not support XDP with these settings: use the generic mode",
                Some(libc::EBUSY | libc::EEXIST) => "another XDP program is attached: ip link set DEV xdp off",
                Some(libc::EINVAL | libc::ERANGE) => {
                    "the driver refuses, often for a large MTU or too few queues: see dmesg, or use the generic mode"
                }
                _ => "",
            };
            let mode = if native { "native" } else { "generic" };
            PortError::system(format!("attaching an XDP program in {mode} mode"), e, advice)
        })?;
        Ok(Attached { map, _link: link })
    }

    /// Redirects the frames of a queue to `socket`.
    pub(super) fn feed(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let mut attributes = [0u64; 4];
        attributes[0] = self.map.as_raw_fd() as u64;
        attributes[1] = std::ptr::from_ref(&queue) as u64;
        attributes[2] = std::ptr::from_ref(&value) as u64;
        // SAFETY: key and value are four bytes each, as the map was made, and live through the call.
        unsafe { bpf(MAP_UPDATE_ELEM, attributes.as_mut_ptr().cast(), size_of_val(&attributes)) }.map(drop)
    }
}

const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

fn refused(doing: &str, error: io::Error) -> PortError {
    let advice = match error.raw_os_error() {
        Some(libc::EPERM) => "XDP needs root outside of a user namespace: run as root, or use TAP or AF_PACKET",
        Some(libc::ENOSYS) => "this kernel has no BPF: use TAP or AF_PACKET",
        _ => "",
    };
    PortError::system(doing, error, advice)
}

fn new_map(entries: u32) -> io::Result<OwnedFd> {
    let mut attributes = [MAP_TYPE_XSKMAP, 4, 4, entries, 0, 0];
    // SAFETY: the attributes of this command are integers only.
    unsafe { bpf_fd(MAP_CREATE, attributes.as_mut_ptr().cast(), size_of_val(&attributes)) }
}

/// `union bpf_attr` as this command reads it, up to the attach type.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    index: u32,
    attach: u32,
}

fn load(code: &[Instruction]) -> Result<OwnedFd, PortError> {
    match load_with(code, &mut []) {
        Err(e) if e.raw_os_error() != Some(libc::EPERM) => {
            // Load again with a log, to get the reason.
            let mut log = vec![0u8; 1 << 16];
            load_with(code, &mut log).map_err(|e| {
                let text = String::from_utf8_lossy(&log);
                let said = text.trim_end_matches('\0').trim_end();
                refused(&format!("loading the XDP program; the kernel's verifier says:\n{said}\n"), e)
            })
        }
        result => result.map_err(|e| refused("loading the XDP program", e)),
    }
}

fn load_with(code: &[Instruction], log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attributes = Load {
        kind: PROG_TYPE_XDP,
        count: code.len() as u32,
        code: code.as_ptr() as u64,
        // The program calls no helper that requires a particular licence.
        license: c"Apache-2.0 OR MIT".as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        kernel_version: 0,
        flags: 0,
        name: *b"natmeter\0\0\0\0\0\0\0\0",
        index: 0,
        attach: ATTACH_XDP,
    };
    // SAFETY: code, licence and log live through the call and are as long as said.
    unsafe { bpf_fd(PROG_LOAD, (&raw mut attributes).cast(), size_of::<Load>()) }
}

fn attach(program: &OwnedFd, index: u32, native: bool) -> io::Result<OwnedFd> {
    let mode = if native { XDP_FLAGS_DRV_MODE } else { XDP_FLAGS_SKB_MODE };
    let mut attributes = [program.as_raw_fd() as u32, index, ATTACH_XDP, mode];
    // SAFETY: the attributes of this command are integers only.
    unsafe { bpf_fd(LINK_CREATE, attributes.as_mut_ptr().cast(), size_of_val(&attributes)) }
}

/// # Safety
/// `attributes` are `size` bytes that the command may read and write, and what they point to is as the command expects.
unsafe fn bpf(command: i32, attributes: *mut u8, size: usize) -> io::Result<i32> {
    // SAFETY: the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size as libc::c_uint) };
    check(result as libc::c_int)
}

/// # Safety
/// As [`bpf`]; and the command returns a descriptor.
unsafe fn bpf_fd(command: i32, attributes: *mut u8, size: usize) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; the kernel gives a fresh descriptor, already close-on-exec, that is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(command, attributes, size)?)) }
}

#[cfg(test)]
mod tests {
    use super::super::select;
    use super::*;

    /// `union bpf_attr` as the test run reads it.
    #[repr(C)]
    #[derive(Default)]
    struct Run {
        program: u32,
        verdict: u32,
        size_in: u32,
        size_out: u32,
        data_in: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
        context: [u64; 3],
        flags: [u32; 4],
    }

    fn verdict(program: &OwnedFd, frame: &[u8]) -> u32 {
        let mut run = Run {
            program: program.as_raw_fd() as u32,
            size_in: frame.len() as u32,
            data_in: frame.as_ptr() as u64,
            repeat: 1,
            ..Run::default()
        };
        // SAFETY: the frame lives through the call and is as long as said; nothing is written back but the structure.
        unsafe { bpf(10, (&raw mut run).cast(), size_of::<Run>()) }.unwrap();
        run.verdict
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn the_kernel_runs_the_program_as_the_selection_says() {
        let code = program(&select::tests::example(), &select::tests::dropping()).unwrap();
        let loaded = load(&code).unwrap();
        for (i, (frame, taken)) in select::tests::frames().iter().enumerate() {
            assert_eq!(verdict(&loaded, frame), if *taken { 1 } else { 2 }, "frame {i}");
        }
        for (select, expected) in [(Select::everything(), 1), (Select::default(), 2)] {
            let loaded = load(&program(&select, &select::tests::dropping()).unwrap()).unwrap();
            assert_eq!(verdict(&loaded, &[0; 60]), expected);
        }
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_program_that_the_verifier_refuses_is_an_error_with_its_words() {
        let error = load(&[]).unwrap_err().to_string();
        assert!(error.contains("loading the XDP program"), "{error}");
        let endless = select::tests::without_exit();
        let error = load(&endless).unwrap_err().to_string();
        assert!(error.contains("verifier says"), "{error}");
    }
}
