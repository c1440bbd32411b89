//! A binding table that changes while in use: each worker takes a new table over before its next
//! batch, and takes a lock only when a counter has changed.

use super::table::BindingTable;
use crate::event::Event;
use crate::strategy::{Point4, Softwires, Wrap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A table shared by workers and by the caller that changes it.
pub struct Live {
    state: Mutex<State>,
    version: AtomicU64,
}

struct State {
    current: Arc<BindingTable>,
    /// Workers may still read these. Freeing one in a worker would take milliseconds.
    former: Vec<Arc<BindingTable>>,
}

impl Live {
    /// Starts with `table`.
    pub fn new(table: BindingTable) -> Arc<Live> {
        let state = State { current: Arc::new(table), former: Vec::new() };
        Arc::new(Live { state: Mutex::new(state), version: AtomicU64::new(0) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Table in force.
    pub fn current(&self) -> Arc<BindingTable> {
        self.state().current.clone()
    }

    /// Replaces the table, and frees those without readers.
    pub fn replace(&self, table: BindingTable) {
        let table = Arc::new(table);
        let mut state = self.state();
        let former = std::mem::replace(&mut state.current, table);
        state.former.push(former);
        self.version.fetch_add(1, Ordering::Release);
        drop(state);
        self.tidy();
    }

    /// Puts a table in force; [`Live::tidy`] frees the former one.
    fn put(&self, table: &Arc<BindingTable>) {
        let mut state = self.state();
        if !Arc::ptr_eq(&state.current, table) {
            let former = std::mem::replace(&mut state.current, Arc::clone(table));
            state.former.push(former);
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// Frees former tables without readers; returns how many are left.
    pub fn tidy(&self) -> usize {
        let mut state = self.state();
        let (free, used) = std::mem::take(&mut state.former).into_iter().partition(|t| Arc::strong_count(t) == 1);
        state.former = used;
        let left = state.former.len();
        drop(state);
        // Outside the lock: freeing gigabytes takes a while.
        let free: Vec<Arc<BindingTable>> = free;
        drop(free);
        left
    }

    /// One worker's view.
    pub fn bindings(self: &Arc<Live>) -> Bindings {
        let seen = self.version.load(Ordering::Acquire);
        Bindings { table: self.current(), seen, live: Arc::clone(self) }
    }
}

/// The strategy of an lwAFTR's worker.
pub struct Bindings {
    table: Arc<BindingTable>,
    seen: u64,
    live: Arc<Live>,
}

impl Bindings {
    /// The table as this worker reads it.
    pub fn table(&self) -> &BindingTable {
        &self.table
    }
}

impl Softwires for Bindings {
    #[inline(always)]
    fn wrap(&self, customer: Point4, remote: Point4) -> Result<Wrap, Event> {
        (&*self.table).wrap(customer, remote)
    }

    #[inline(always)]
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        (&*self.table).unwrap(src, dst, customer, remote)
    }

    #[inline(always)]
    fn serves(&self, addr: u32) -> bool {
        (&*self.table).serves(addr)
    }

    fn is_own(&self, addr: u128) -> bool {
        (&*self.table).is_own(addr)
    }

    #[inline(always)]
    fn settle(&mut self) {
        let version = self.live.version.load(Ordering::Acquire);
        if version != self.seen {
            self.seen = version;
            self.table = self.live.current();
        }
    }

    #[inline(always)]
    fn seek_wrap(&self, customer: Point4) -> u32 {
        (&*self.table).seek_wrap(customer)
    }

    #[inline(always)]
    fn wrap_at(&self, place: u32, customer: Point4, remote: Point4) -> Result<Wrap, Event> {
        (&*self.table).wrap_at(place, customer, remote)
    }

    #[inline(always)]
    fn seek_unwrap(&self, src: u128, customer: Point4) -> u32 {
        (&*self.table).seek_unwrap(src, customer)
    }

    #[inline(always)]
    fn unwrap_at(&mut self, place: u32, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        (&*self.table).unwrap_at(place, src, dst, customer, remote)
    }

    /// Replaces this table by the other one's, for all its workers.
    fn adopt(&mut self, new: &mut Bindings) {
        if !Arc::ptr_eq(&self.live, &new.live) {
            self.live.put(&new.table);
            self.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lw4o6::{BindingTableBuilder, Softwire};
    use wire::PortSet;

    fn table(b4: u16) -> BindingTable {
        let mut builder = BindingTableBuilder::new("a test", [0x2001, 2, 0, 0, 0, 0, 0, 1].into());
        let b4 = [0x2001, 2, 1, b4, 0, 0, 0, 1].into();
        builder.add(&Softwire { b4, ipv4: [198, 51, 100, 1].into(), ports: PortSet::ALL, own: None }).unwrap();
        builder.build().unwrap()
    }

    fn b4(worker: &Bindings) -> u128 {
        worker.table().iter().next().unwrap().b4.into()
    }

    /// The table of a worker can still be changed after it has been replaced; the change frees the previous one.
    #[test]
    fn a_worker_stays_with_its_live_table() {
        let (live, other) = (Live::new(table(1)), Live::new(table(2)));
        let mut workers = [live.bindings(), live.bindings()];
        let former = Arc::downgrade(&workers[0].table);
        for w in &mut workers {
            w.adopt(&mut other.bindings());
        }
        assert_eq!(b4(&workers[0]) >> 64 & 0xffff, 2);
        assert_eq!((b4(&workers[1]), live.current().len()), (b4(&workers[0]), 1));
        assert!(former.upgrade().is_some(), "no worker has freed it");
        assert_eq!((live.tidy(), former.upgrade().is_none()), (0, true));
        live.replace(table(3));
        workers.iter_mut().for_each(Softwires::settle);
        assert!(workers.iter().all(|w| b4(w) >> 64 & 0xffff == 3));
    }
}
