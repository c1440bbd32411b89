//! Functions around another function.

use crate::function::{Drops, Input, Packet, Spare, TableEntry};
use crate::object::{AnyFunction, DynFunction};
use std::any::Any;
use std::ops::Range;

/// What is put around a function.
pub trait Wrapper: Send + Sized + 'static {
    /// Whether it and the function inside take over another configuration. Devices that are measured keep theirs.
    const FOLLOWS: bool = false;

    /// Works on a batch as [`Function::process`](crate::Function::process) does.
    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, input: Input<P>, spare: &mut dyn Spare<P>);

    /// The wrapper's own counters, which follow those of the function inside.
    fn counters(&self) -> Drops {
        Drops::new()
    }

    /// Takes over the settings of a wrapper, if it [follows](Self::FOLLOWS) others.
    fn follow(&mut self, _new: &Self) {}

    /// Forgets its own state.
    fn clear(&mut self) {}

    /// Puts this wrapper around a function.
    fn around<P: Packet>(self, function: AnyFunction<P>) -> AnyFunction<P> {
        Box::new(WrappedFunction { function, wrapper: self })
    }
}

/// A wrapped function.
struct WrappedFunction<P, W> {
    function: AnyFunction<P>,
    wrapper: W,
}

impl<P: Packet, W: Wrapper> DynFunction<P> for WrappedFunction<P, W> {
    fn process(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        self.wrapper.process(&mut *self.function, input, spare);
    }

    fn idle(&mut self, now: u64) {
        self.function.idle(now);
    }

    fn catch_up(&mut self, now: u64) {
        self.function.catch_up(now);
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

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry> {
        self.function.sessions(now, places)
    }

    fn can_adopt(&self, new: &dyn DynFunction<P>) -> Result<(), String> {
        let new = (new as &dyn Any).downcast_ref::<Self>().filter(|_| W::FOLLOWS).ok_or(FIXED)?;
        self.function.can_adopt(&*new.function)
    }

    fn ending(&self, new: &dyn DynFunction<P>, most: usize) -> Vec<TableEntry> {
        let new = (new as &dyn Any).downcast_ref::<Self>();
        new.map_or_else(Vec::new, |new| self.function.ending(&*new.function, most))
    }

    fn adopt(&mut self, new: &mut dyn DynFunction<P>) -> Result<(), String> {
        let new = (new as &mut dyn Any).downcast_mut::<Self>().filter(|_| W::FOLLOWS).ok_or(FIXED)?;
        self.function.adopt(&mut *new.function)?;
        self.wrapper.follow(&new.wrapper);
        Ok(())
    }
}

const FIXED: &str = "a device that is measured keeps its configuration";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::Buffer;
    use crate::router::{Hop, Router};
    use wire::Mac;

    struct PassesOn;

    impl Wrapper for PassesOn {
        fn process<P: Packet>(&mut self, inner: &mut dyn DynFunction<P>, input: Input<P>, spare: &mut dyn Spare<P>) {
            inner.process(input, spare);
        }
    }

    fn router(next: u8) -> AnyFunction<Buffer> {
        let hop = Hop { own: Mac([2, 0, 0, 0, 0, 1]), next: Mac([2, 0, 0, 0, 0, next]) };
        Box::new(Router::new(hop, hop))
    }

    #[test]
    fn a_function_adopts_none_of_another_type_and_in_a_wrapper_none_at_all() {
        let refused = |function: &mut AnyFunction<Buffer>, new: &mut AnyFunction<Buffer>| {
            let before = function.counters();
            let error = function.can_adopt(&**new).unwrap_err();
            assert_eq!(function.adopt(&mut **new), Err(error.clone()));
            assert_eq!(function.counters(), before);
            error
        };
        let mut wrapped = PassesOn.around(router(2));
        assert!(refused(&mut router(2), &mut wrapped).contains("the technology cannot change"));
        assert_eq!(refused(&mut wrapped, &mut router(3)), FIXED);
        assert_eq!(router(2).adopt(&mut *router(3)), Ok(()));
    }
}
