//! Memory: very large flat arrays for connection and state tables (huge pages, pre-faulted, with
//! prefetch), and the interface of a frame rewritten in place. One of two crates that may use
//! `unsafe`; each block says why it is sound.

pub mod cgroup;
mod map;
mod packet;

pub use map::{ArenaError, Array, AtomicArray};
pub use packet::Packet;

/// Prefetches a value's cache line, to be read.
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

/// Prefetches a value's cache line, to be written: one transfer between cores instead of two.
#[inline(always)]
pub fn prefetch_to_write<T>(value: &T) {
    prefetch_beside(value, 0);
}

/// Prefetches `offset` bytes behind the value as [`prefetch_to_write`] does, where no memory needs
/// to be mapped.
#[inline(always)]
pub fn prefetch_beside<T>(value: &T, offset: isize) {
    let at = std::ptr::from_ref(value).cast::<u8>().wrapping_offset(offset);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: PREFETCHW is a hint that changes no value and faults at no address.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: PRFM is a hint that changes no value and faults at no address.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) at, options(nostack, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = at;
}
