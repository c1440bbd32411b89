//! Very large flat arrays: anonymous mappings with huge pages, pre-faulted, with prefetch, for connection
//! tables and state tables. What is stored in them is not known here. One of the two crates that may use
//! `unsafe`; each block says why it is sound.

mod map;

pub use map::{ArenaError, Array, AtomicArray};

/// Ask the processor to bring a value's cache line closer; a hint without effect on results.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching any address is allowed; this one is a valid reference.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(value).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM is a hint and reads nothing architecturally; the address is a valid reference.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) std::ptr::from_ref(value), options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = value;
}
