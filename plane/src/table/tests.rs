//! Tests of the table against a model, and of its layout.

use super::*;
use crate::hash::Hasher;
use proptest::prelude::*;
use std::collections::HashMap;

type Pair = (u64, u64);

struct Model {
    table: SessionTable<Pair>,
    map: HashMap<u64, u64>,
    hasher: Hasher,
}

impl Model {
    fn new(capacity: u64) -> Model {
        let table = SessionTable::new("test", capacity, (0, 0)).unwrap();
        Model { table, map: HashMap::new(), hasher: Hasher::new(7) }
    }
    /// The outer key is another function of the same number, so that both indexes are exercised.
    fn hashes(&self, k: u64) -> (u64, u64) {
        (self.hasher.one(k), self.hasher.pair(1, k))
    }
    fn find(&self, k: u64) -> Option<u32> {
        let t = &self.table;
        let (i, o) = self.hashes(k);
        let a = t.inner.find(i, |e| t.slab[e].0 == k);
        assert_eq!(a, t.outer.find(o, |e| t.slab[e].0 == k));
        a
    }
    fn insert(&mut self, k: u64, v: u64) {
        let (i, o) = self.hashes(k);
        if let Some(e) = self.find(k) {
            self.table.slab[e].1 = v;
        } else {
            let full = self.map.len() as u32 == self.table.slab.capacity();
            assert_eq!(self.table.insert(i, o, (k, v)).is_none(), full);
            if full {
                return;
            }
        }
        self.map.insert(k, v);
    }
    fn remove(&mut self, k: u64) {
        let (i, o) = self.hashes(k);
        let found = self.find(k);
        assert_eq!(found.is_some(), self.map.remove(&k).is_some());
        if let Some(e) = found {
            self.table.remove(i, o, e);
        }
    }
    fn agree(&self, k: u64) {
        assert_eq!(self.find(k).map(|e| self.table.slab[e].1), self.map.get(&k).copied());
        assert_eq!(self.table.slab.len() as usize, self.map.len());
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64),
    Remove(u64),
    Find(u64),
    Clear,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..400u64, any::<u64>()).prop_map(|(k, v)| Op::Insert(k, v)),
        6 => (0..400u64).prop_map(Op::Remove),
        4 => (0..400u64).prop_map(Op::Find),
        1 => Just(Op::Clear),
    ]
}

proptest! {
    #[test]
    fn behaves_like_a_hash_map(ops in proptest::collection::vec(op(), 0..2000)) {
        let mut m = Model::new(200);
        for op in ops {
            match op {
                Op::Insert(k, v) => m.insert(k, v),
                Op::Remove(k) => m.remove(k),
                Op::Find(k) => m.agree(k),
                Op::Clear => {
                    m.table.clear();
                    m.map.clear();
                }
            }
        }
        for k in 0..400 {
            m.agree(k);
        }
    }
}

#[test]
fn fills_to_the_last_entry_and_empties_without_a_trace() {
    let mut m = Model::new(100_000);
    for round in 0..3u64 {
        for k in 0..100_000 {
            m.insert(k ^ round << 40, k);
        }
        assert!(m.table.slab.take((0, 0)).is_none(), "the limit is the limit");
        for k in 0..100_000 {
            m.agree(k ^ round << 40);
            m.agree(k + 1_000_000);
        }
        for k in 0..100_000 {
            m.remove(k ^ round << 40);
        }
        assert!(m.table.inner.is_bare());
    }
}

#[test]
fn clearing_forgets_even_when_the_generation_wraps() {
    let mut m = Model::new(1000);
    for round in 0..70_000u64 {
        m.table.clear();
        m.map.clear();
        m.agree(round.wrapping_sub(1) % 1000);
        m.insert(round % 1000, round);
        m.agree(round % 1000);
    }
}

#[test]
fn at_most_64_bytes_a_session() {
    for n in [1_000_000u64, 64 << 20, 256 << 20] {
        assert!(bytes_for::<[u8; 32]>(n) <= 64 * n);
    }
    assert!(bytes_for::<[u8; 32]>(64 << 20) < 5 << 30, "64 M sessions run in 5 GiB");
}

#[test]
fn next_entries_are_named_right() {
    let mut s = Slab::new("test", 8, 0u8).unwrap();
    let taken: Vec<_> = (0..5).map(|v| s.take(v).unwrap()).collect();
    s.give_back(taken[1]);
    s.give_back(taken[3]);
    for k in 0..20 {
        s.prefetch_next(k);
    }
    assert_eq!((s.take(9), s.take(9), s.take(9)), (Some(3), Some(1), Some(5)));
    assert_eq!((s.len(), s.touched()), (6, 6));
}
