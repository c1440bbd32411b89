//! bpf(2): instructions, loading, and attaching with a BPF link, which the kernel removes when its
//! descriptor is closed.

use crate::PortError;
use crate::sys::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub code: u8,
    registers: u8,
    pub offset: i16,
    pub immediate: i32,
}

impl Instruction {
    pub(crate) const fn new(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
        let registers = if cfg!(target_endian = "big") { to << 4 | from } else { from << 4 | to };
        Instruction { code, registers, offset, immediate }
    }
}

pub(crate) const fn set(to: u8, value: i32) -> Instruction {
    Instruction::new(0xb7, to, 0, 0, value)
}

/// Register 0 is the result.
pub(crate) const EXIT: Instruction = Instruction::new(0x95, 0, 0, 0, 0);

/// What a program may read, and where it is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// The program runs in a driver, or at the start of the receive path.
    Xdp,
    Classifier,
}

impl ProgramKind {
    /// `BPF_PROG_TYPE_…`
    fn number(self) -> u32 {
        match self {
            ProgramKind::Classifier => 3,
            ProgramKind::Xdp => 6,
        }
    }
    fn expected(self) -> u32 {
        match self {
            ProgramKind::Classifier => 0,
            ProgramKind::Xdp => ATTACH_XDP,
        }
    }
    fn name(self) -> &'static str {
        match self {
            ProgramKind::Classifier => "classifier",
            ProgramKind::Xdp => "XDP program",
        }
    }
    fn way_out(self, error: &io::Error) -> &'static str {
        match (self, error.raw_os_error()) {
            (ProgramKind::Xdp, Some(libc::EPERM)) => {
                "XDP needs root outside of a user namespace: run as root, or use TAP or AF_PACKET"
            }
            (ProgramKind::Xdp, Some(libc::ENOSYS)) => "this kernel has no BPF: use TAP or AF_PACKET",
            (ProgramKind::Classifier, Some(libc::EPERM)) => "BPF needs root outside of a user namespace: run as root",
            (ProgramKind::Classifier, Some(libc::ENOSYS)) => {
                "this kernel has no BPF (CONFIG_BPF_SYSCALL): use one that has it"
            }
            _ => "",
        }
    }
}

const MAP_CREATE: i32 = 0;
pub(crate) const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
/// `BPF_XDP`
pub(crate) const ATTACH_XDP: u32 = 37;

pub(crate) fn refused(kind: ProgramKind, doing: &str, error: io::Error) -> PortError {
    let advice = kind.way_out(&error);
    PortError::system(doing, error, advice)
}

/// Keys and values have four bytes.
pub(crate) fn new_map(kind: u32, entries: u32) -> io::Result<OwnedFd> {
    let mut attributes = [kind, 4, 4, entries, 0, 0];
    // SAFETY: the attributes of this command are integers only.
    unsafe { bpf_fd(MAP_CREATE, attributes.as_mut_ptr().cast(), size_of_val(&attributes)) }
}

/// `union bpf_attr`, up to the attach type.
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

/// The error has the verifier's text.
pub(crate) fn load(kind: ProgramKind, code: &[Instruction]) -> Result<OwnedFd, PortError> {
    match load_with(kind, code, &mut []) {
        Err(e) if e.raw_os_error() != Some(libc::EPERM) => {
            // Again with a log, for the reason.
            let mut log = vec![0u8; 1 << 16];
            load_with(kind, code, &mut log).map_err(|e| {
                let text = String::from_utf8_lossy(&log);
                let said = text.trim_end_matches('\0').trim_end();
                let what = kind.name();
                refused(kind, &format!("loading the {what}; the kernel's verifier says:\n{said}\n"), e)
            })
        }
        result => result.map_err(|e| refused(kind, &format!("loading the {}", kind.name()), e)),
    }
}

fn load_with(kind: ProgramKind, code: &[Instruction], log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attributes = Load {
        kind: kind.number(),
        count: code.len() as u32,
        code: code.as_ptr() as u64,
        // No helper here requires a particular licence.
        license: c"Apache-2.0 OR MIT".as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        kernel_version: 0,
        flags: 0,
        name: *b"natmeter\0\0\0\0\0\0\0\0",
        index: 0,
        attach: kind.expected(),
    };
    // SAFETY: code, licence and log live through the call and have the given lengths.
    unsafe { bpf_fd(PROG_LOAD, (&raw mut attributes).cast(), size_of::<Load>()) }
}

/// `index` is of this thread's namespace.
pub(crate) fn attach(program: &OwnedFd, index: u32, attach: u32, flags: u32) -> io::Result<OwnedFd> {
    let mut attributes = [program.as_raw_fd() as u32, index, attach, flags];
    // SAFETY: the attributes of this command are integers only.
    unsafe { bpf_fd(LINK_CREATE, attributes.as_mut_ptr().cast(), size_of_val(&attributes)) }
}

/// # Safety
/// `attributes` must be `size` bytes that the command may read and write, and their pointers must be valid for the
/// command.
pub(crate) unsafe fn bpf(command: i32, attributes: *mut u8, size: usize) -> io::Result<i32> {
    // SAFETY: the caller promises it.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size as libc::c_uint) };
    check(result as libc::c_int)
}

/// # Safety
/// As [`bpf`]; and the command must return a descriptor.
unsafe fn bpf_fd(command: i32, attributes: *mut u8, size: usize) -> io::Result<OwnedFd> {
    // SAFETY: the caller promises it. The kernel returns a new descriptor, already close-on-exec, which has no other
    // owner.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(command, attributes, size)?)) }
}
