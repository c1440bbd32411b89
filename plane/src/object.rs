//! Functions as trait objects, called once a batch, so that their callers are compiled only once.

use crate::function::{Drops, Function, Input, Packet, Spare, TableEntry};
use std::any::Any;
use std::ops::Range;

/// A [`Function`] for packets of one type, with its methods.
#[allow(missing_docs, reason = "each method is documented at Function")]
pub trait DynFunction<P>: Any + Send {
    fn process(&mut self, input: Input<P>, spare: &mut dyn Spare<P>);
    fn idle(&mut self, now: u64);
    fn catch_up(&mut self, now: u64);
    fn clear(&mut self);
    fn entries(&self) -> Option<(u64, u64)>;
    fn counters(&self) -> Drops;
    fn places(&self) -> u64;
    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry>;

    /// Checks whether [`DynFunction::adopt`] would succeed.
    ///
    /// # Errors
    /// Those of [`Function::can_adopt`], or another type.
    fn can_adopt(&self, new: &dyn DynFunction<P>) -> Result<(), String>;

    /// Sessions that adopting `new` ends ([`Function::ending`]).
    fn ending(&self, new: &dyn DynFunction<P>, most: usize) -> Vec<TableEntry>;

    /// Becomes what `new` is ([`Function::adopt`]).
    ///
    /// # Errors
    /// As [`DynFunction::can_adopt`]; nothing is changed then.
    fn adopt(&mut self, new: &mut dyn DynFunction<P>) -> Result<(), String>;
}

/// A function as a boxed trait object.
pub type AnyFunction<P> = Box<dyn DynFunction<P>>;

/// The new function has another type.
const OTHER_TYPE: &str = "the technology cannot change while the gateway runs: restart the gateway";

impl<P: Packet, F: Function + 'static> DynFunction<P> for F {
    fn process(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        Function::process(self, input, spare);
    }

    fn idle(&mut self, now: u64) {
        Function::idle(self, now);
    }

    fn catch_up(&mut self, now: u64) {
        Function::catch_up(self, now);
    }

    fn clear(&mut self) {
        Function::clear(self);
    }

    fn entries(&self) -> Option<(u64, u64)> {
        Function::entries(self)
    }

    fn counters(&self) -> Drops {
        Function::counters(self)
    }

    fn places(&self) -> u64 {
        Function::places(self)
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry> {
        Function::sessions(self, now, places)
    }

    fn can_adopt(&self, new: &dyn DynFunction<P>) -> Result<(), String> {
        Function::can_adopt(self, (new as &dyn Any).downcast_ref().ok_or(OTHER_TYPE)?)
    }

    fn ending(&self, new: &dyn DynFunction<P>, most: usize) -> Vec<TableEntry> {
        (new as &dyn Any).downcast_ref().map_or_else(Vec::new, |new| Function::ending(self, new, most))
    }

    fn adopt(&mut self, new: &mut dyn DynFunction<P>) -> Result<(), String> {
        Function::adopt(self, (new as &mut dyn Any).downcast_mut().ok_or(OTHER_TYPE)?)
    }
}
