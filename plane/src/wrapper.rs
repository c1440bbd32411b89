//! Functions around another function. A wrapper decides about packets, and may have counters, state and settings of its own.
//! Everything else is the inner function's.

use crate::function::{Drops, Entry, Function, Packet, Side, Spare, Verdict};
use crate::inner_link::Nested;
use std::ops::Range;

/// What is put around a function.
pub trait Wrapper: Send + Sized {
    /// Works on a batch as [`Function::process`] does, with the function inside.
    fn process<F: Function, P: Packet, S: Spare<P>>(
        &mut self,
        function: &mut F,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    );

    /// Returns its own counters, which follow those of the function inside.
    fn counters(&self) -> Drops {
        Drops::new()
    }

    /// Forgets its own state.
    fn clear(&mut self) {}

    /// Checks whether a function in this wrapper can become one in `new`, apart from the functions themselves. The wrapper
    /// keeps its own settings.
    ///
    /// # Errors
    /// What differs and cannot be changed.
    fn can_become(&self, _new: &Self) -> Result<(), String> {
        Ok(())
    }

    /// Puts this wrapper around a function.
    fn around<F: Function>(self, function: F) -> Wrapped<F, Self> {
        Wrapped { function, wrapper: self }
    }
}

/// A function in a wrapper.
pub struct Wrapped<F, W> {
    /// The function inside.
    pub function: F,
    /// What is around it.
    pub wrapper: W,
}

impl<F: Function, W: Wrapper> Function for Wrapped<F, W> {
    #[inline(always)]
    fn process<P: Packet, S: Spare<P>>(
        &mut self,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        self.wrapper.process(&mut self.function, now, from, batch, verdicts, spare);
    }

    fn idle(&mut self, now: u64) {
        self.function.idle(now);
    }

    fn clear(&mut self) {
        self.wrapper.clear();
        self.function.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        self.function.entries()
    }

    fn counters(&self) -> Drops {
        let mut all = self.function.counters();
        all.extend(self.wrapper.counters());
        all
    }

    fn places(&self) -> u64 {
        self.function.places()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<Entry> {
        self.function.sessions(now, places)
    }

    fn can_adopt(&self, new: &Wrapped<F, W>) -> Result<(), String> {
        self.wrapper.can_become(&new.wrapper)?;
        self.function.can_adopt(&new.function)
    }

    fn adopt(&mut self, new: &mut Wrapped<F, W>) -> Result<(), String> {
        self.wrapper.can_become(&new.wrapper)?;
        self.function.adopt(&mut new.function)
    }

    fn nest(&mut self, nested: Nested) {
        self.function.nest(nested);
    }
}
