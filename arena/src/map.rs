//! The mapping behind large arrays: [`Array`] for one owner, [`AtomicArray`] of 64-bit words for any thread.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Why an array cannot be allocated.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The kernel gave no memory.
    #[error("reserving {bytes} bytes for {what}: {source} (ask for fewer entries, or free memory)")]
    NoMemory {
        /// Name of the array.
        what: String,
        /// Size of the request in bytes.
        bytes: usize,
        /// The kernel's error.
        source: std::io::Error,
    },
}

/// Huge pages; small units for the many small arrays of fuzz targets (on the heap) and Miri.
const UNIT: usize = if cfg!(any(fuzzing, miri)) { 4096 } else { 2 << 20 };

struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory that is not bound to a thread.
unsafe impl Send for Mapping {}
// SAFETY: the mapping gives no access to its memory; its two users below define the access.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(what: &str, bytes: usize) -> Result<Mapping, ArenaError> {
        let bytes = bytes.max(1).next_multiple_of(UNIT);
        let no = |source: std::io::Error| ArenaError::NoMemory { what: what.to_owned(), bytes, source };
        if cfg!(fuzzing) {
            let layout = heap(bytes).ok_or_else(|| no(std::io::ErrorKind::OutOfMemory.into()))?;
            // SAFETY: the layout has at least one unit, so its size is not zero.
            let base = unsafe { std::alloc::alloc_zeroed(layout) };
            let base = NonNull::new(base).ok_or_else(|| no(std::io::ErrorKind::OutOfMemory.into()))?;
            return Ok(Mapping { base, bytes });
        }
        if bytes as u64 > available_memory() {
            let limit = memory_limit();
            let why = limit.map_or_else(
                || "more than the machine has free".to_owned(),
                |limit| {
                    format!(
                        "the memory limit of this process (its cgroup) is {} bytes, of which it has {} left",
                        limit.most, limit.free
                    )
                },
            );
            return Err(no(std::io::Error::new(std::io::ErrorKind::OutOfMemory, why)));
        }
        // SAFETY: the call makes a new anonymous mapping and touches no existing memory.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                // Miri supports no overcommitment, madvise or /proc.
                if cfg!(miri) { MapFlags::PRIVATE } else { MapFlags::PRIVATE | MapFlags::NORESERVE },
            )
        }
        .map_err(|e| no(e.into()))?;
        // SAFETY: the range is the mapping made just now. Huge pages matter for speed only.
        #[cfg(not(miri))]
        unsafe {
            let _ = madvise(base, bytes, Advice::LinuxHugepage);
        }
        Ok(Mapping { base: NonNull::new(base.cast()).expect("the kernel never maps page zero here"), bytes })
    }

    /// So that no trial has page faults.
    fn populate(&self) {
        if cfg!(fuzzing) {
            return;
        }
        // SAFETY: the range is our own mapping; populating it changes no value.
        let done = !cfg!(miri)
            && unsafe { madvise(self.base.as_ptr().cast(), self.bytes, Advice::LinuxPopulateWrite) }.is_ok();
        if !done {
            // Before Linux 5.14: write a byte to each page, zero as before.
            for page in (0..self.bytes).step_by(4096) {
                // SAFETY: the address is inside the mapping, and no reference to the mapping exists yet. The write is
                // volatile, so that the compiler keeps it.
                unsafe { self.base.as_ptr().add(page).write_volatile(0) };
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if cfg!(fuzzing) {
            if let Some(layout) = heap(self.bytes) {
                // SAFETY: the memory was allocated on the heap with this layout, and its only user is being dropped.
                unsafe { std::alloc::dealloc(self.base.as_ptr(), layout) };
            }
            return;
        }
        // SAFETY: the mapping is ours and its only user is being dropped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Aligned as a mapping; `None` beyond the address space.
fn heap(bytes: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(bytes, 4096).ok()
}

/// Free memory in bytes; the maximum if unknown.
fn available_memory() -> u64 {
    if cfg!(miri) {
        return u64::MAX;
    }
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|s| {
            s.lines()
                .find_map(|l| l.strip_prefix("MemAvailable:"))
                .and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok())
        })
        .map_or(u64::MAX, |kib| kib * 1024)
        .min(memory_limit().map_or(u64::MAX, |limit| limit.free))
}

fn memory_limit() -> Option<crate::cgroup::MemoryLimit> {
    crate::cgroup::memory(std::path::Path::new("/"))
}

/// Octets that one copy writes.
const CHUNK: usize = 1 << 14;

/// A fixed number of plain values in a pre-faulted mapping.
pub struct Array<T: Copy> {
    map: Mapping,
    len: usize,
    _values: std::marker::PhantomData<T>,
}

impl<T: Copy> Array<T> {
    /// Makes an array of `len` copies of `value`. `what` names it in errors.
    ///
    /// # Errors
    /// Too little memory.
    pub fn filled(what: &str, len: usize, value: T) -> Result<Array<T>, ArenaError> {
        assert!(align_of::<T>() <= 4096);
        let bytes = len.checked_mul(size_of::<T>()).unwrap_or(usize::MAX >> 1);
        let map = Mapping::new(what, bytes)?;
        let base = map.base.as_ptr().cast::<T>();
        let mut done = len.min(1);
        if done == 1 {
            // SAFETY: the mapping holds len values, of which this is the first; page alignment satisfies T's.
            unsafe { base.write(value) };
        }
        while done < len {
            // At most what the L1 cache holds.
            let n = done.min(len - done).min(CHUNK.div_ceil(size_of::<T>().max(1)));
            // SAFETY: the first `done` values have been written, n of them are copied behind them, and done + n <= len.
            unsafe { std::ptr::copy_nonoverlapping(base, base.add(done), n) };
            done += n;
        }
        Ok(Array { map, len, _values: std::marker::PhantomData })
    }

    /// Prefetches entry `i`, if there is one.
    #[inline(always)]
    pub fn prefetch(&self, i: usize) {
        if let Some(v) = self.get(i) {
            crate::prefetch(v);
        }
    }

    /// Size of the mapping.
    pub fn bytes(&self) -> usize {
        self.map.bytes
    }
}

impl<T: Copy> Deref for Array<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: all len values were written in `filled` and the mapping lives as long as self.
        unsafe { std::slice::from_raw_parts(self.map.base.as_ptr().cast(), self.len) }
    }
}

impl<T: Copy> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; `&mut self` excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.map.base.as_ptr().cast(), self.len) }
    }
}

/// Initially zero, for any thread.
pub struct AtomicArray {
    map: Mapping,
    len: usize,
}

impl AtomicArray {
    /// Makes an array of `len` zero words. `what` names it in errors.
    ///
    /// # Errors
    /// Too little memory.
    pub fn zeroed(what: &str, len: usize) -> Result<AtomicArray, ArenaError> {
        let map = Mapping::new(what, len.checked_mul(8).unwrap_or(usize::MAX >> 1))?;
        map.populate();
        Ok(AtomicArray { map, len })
    }

    /// All words of the array.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: zeroed memory is valid for AtomicU64, alignment is that of a page, the mapping lives as long as
        // self, and atomics may be shared.
        unsafe { std::slice::from_raw_parts(self.map.base.as_ptr().cast(), self.len) }
    }

    /// Halves of all words, for arrays accessed by halves alone.
    #[inline(always)]
    pub fn halves(&self) -> &[AtomicU32] {
        // SAFETY: as in `words`; AtomicU32 needs less alignment, and two of them have the size of a word.
        unsafe { std::slice::from_raw_parts(self.map.base.as_ptr().cast(), 2 * self.len) }
    }

    /// All words as plain values, without other threads.
    pub fn values_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; AtomicU64 has the layout of u64, and `&mut self` excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.map.base.as_ptr().cast(), self.len) }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the array has no words.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Loads word `i` (relaxed).
    #[inline(always)]
    pub fn load(&self, i: usize) -> u64 {
        self.words()[i].load(Ordering::Relaxed)
    }

    /// Sets word `i` (relaxed).
    #[inline(always)]
    pub fn store(&self, i: usize, value: u64) {
        self.words()[i].store(value, Ordering::Relaxed);
    }

    /// Prefetches word `i`, if there is one.
    #[inline(always)]
    pub fn prefetch(&self, i: usize) {
        if let Some(w) = self.words().get(i) {
            crate::prefetch(w);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_holds_what_was_put_in() {
        // More than a page. Miri is slow, so it gets fewer entries.
        let n = if cfg!(miri) { 2_000 } else { 100_000 };
        let mut a = Array::filled("test", n, 7u32).unwrap();
        assert!(a.iter().all(|&v| v == 7));
        a[n - 1] = 8;
        a.prefetch(n - 1);
        a.prefetch(n);
        assert_eq!((a[n - 2], a[n - 1], a.len()), (7, 8, n));
    }

    #[test]
    fn atomic_words_start_at_zero() {
        let a = AtomicArray::zeroed("test", 1000).unwrap();
        assert!((0..1000).all(|i| a.load(i) == 0));
        a.store(3, u64::MAX);
        assert_eq!(a.load(3), u64::MAX);
    }

    #[test]
    fn a_word_has_two_halves() {
        let a = AtomicArray::zeroed("test", 1000).unwrap();
        a.halves()[1_999].store(7, Ordering::Relaxed);
        let halves = [1_998, 1_999].map(|i: usize| a.halves()[i].load(Ordering::Relaxed));
        assert_eq!((a.halves().len(), halves), (2_000, [0, 7]));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri does not refuse")]
    fn an_absurd_size_is_an_error_with_a_way_out() {
        let e = AtomicArray::zeroed("the state table", usize::MAX / 16).err().unwrap().to_string();
        assert!(e.contains("the state table") && e.contains("fewer entries"), "{e}");
    }
}
