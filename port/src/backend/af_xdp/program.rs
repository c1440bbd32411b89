//! The BPF program for XDP sockets, its map of sockets, and its attachment.

use super::select::{Select, program, redirect};
use crate::PortError;
use crate::bpf::{self, ATTACH_XDP, MAP_UPDATE_ELEM, ProgramKind};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// An attached program; dropping the value detaches it.
#[derive(Debug)]
pub(super) struct AttachedProgram {
    map: OwnedFd,
    _link: OwnedFd,
}

impl AttachedProgram {
    /// Redirects frames of `select` to the socket of their queue.
    pub(super) fn new(index: u32, queues: u32, select: &Select, native: bool) -> Result<AttachedProgram, PortError> {
        let map = bpf::new_map(MAP_TYPE_XSKMAP, queues)
            .map_err(|e| bpf::refused(ProgramKind::Xdp, "making a map of XDP sockets", e))?;
        let code = program(select, &redirect(map.as_raw_fd()))?;
        let program = bpf::load(ProgramKind::Xdp, &code)?;
        let mode = if native { XDP_FLAGS_DRV_MODE } else { XDP_FLAGS_SKB_MODE };
        // An earlier program may be detached with a delay.
        let link = super::super::while_busy(|| bpf::attach(&program, index, ATTACH_XDP, mode)).map_err(|e| {
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
        Ok(AttachedProgram { map, _link: link })
    }

    pub(super) fn feed(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let mut attributes = [0u64; 4];
        attributes[0] = self.map.as_raw_fd() as u64;
        attributes[1] = std::ptr::from_ref(&queue) as u64;
        attributes[2] = std::ptr::from_ref(&value) as u64;
        // SAFETY: key and value have four bytes each, as in `new_map`, and live through the call.
        unsafe { bpf::bpf(MAP_UPDATE_ELEM, attributes.as_mut_ptr().cast(), size_of_val(&attributes)) }.map(drop)
    }
}

/// Programs that stay attached to network cards while their ports are closed and opened again: attaching a program
/// resets the link of many cards for seconds.
#[derive(Clone, Debug, Default)]
pub struct Programs(Arc<Mutex<Attached>>);

type Attached = Vec<(Attachment, Arc<AttachedProgram>)>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Attachment {
    index: u32,
    queues: u32,
    select: Select,
    native: bool,
}

impl Programs {
    /// The program of these ports, which may still be attached.
    pub(super) fn attached(
        &self,
        index: u32,
        queues: u32,
        select: &Select,
        native: bool,
    ) -> Result<Arc<AttachedProgram>, PortError> {
        let wanted = Attachment { index, queues, select: select.clone(), native };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, program)) = all.iter().find(|(attachment, _)| *attachment == wanted) {
            return Ok(Arc::clone(program));
        }
        all.retain(|(attachment, _)| attachment.index != index);
        let program = Arc::new(AttachedProgram::new(index, queues, select, native)?);
        all.push((wanted, Arc::clone(&program)));
        Ok(program)
    }

    /// Detaches the program of an interface when its ports are closed.
    pub(super) fn forget(&self, index: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(attachment, _)| attachment.index != index);
    }
}

const MAP_TYPE_XSKMAP: u32 = 17;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

#[cfg(test)]
mod tests {
    use super::super::select;
    use super::*;
    use crate::bpf::{bpf, load};

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
        // SAFETY: the frame lives through the call and has the given length; the kernel writes only to the structure.
        unsafe { bpf(10, (&raw mut run).cast(), size_of::<Run>()) }.unwrap();
        run.verdict
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn the_kernel_runs_the_program_as_the_selection_says() {
        let code = program(&select::tests::example(), &select::tests::dropping()).unwrap();
        let loaded = load(ProgramKind::Xdp, &code).unwrap();
        for (i, (frame, taken)) in select::tests::frames().iter().enumerate() {
            assert_eq!(verdict(&loaded, frame), if *taken { 1 } else { 2 }, "frame {i}");
        }
        for (select, expected) in [(Select::everything(), 1), (Select::default(), 2)] {
            let loaded = load(ProgramKind::Xdp, &program(&select, &select::tests::dropping()).unwrap()).unwrap();
            assert_eq!(verdict(&loaded, &[0; 60]), expected);
        }
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_program_that_the_verifier_refuses_is_an_error_with_its_words() {
        let error = load(ProgramKind::Xdp, &[]).unwrap_err().to_string();
        assert!(error.contains("loading the XDP program"), "{error}");
        let endless = select::tests::without_exit();
        let error = load(ProgramKind::Xdp, &endless).unwrap_err().to_string();
        assert!(error.contains("verifier says"), "{error}");
    }
}
