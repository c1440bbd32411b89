//! The keys of all procedures, as a scenario gives them: a procedure names its tables below
//! `[measure]`, and finds its values by the type of the table. Several procedures may share a
//! table.

use crate::metric::{DERIVED, Metric};
use crate::{List, Procedure};
use key::{Chapter, Sections};
use method::{Count, Nanos};
use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Durations of a trial, as of `duration` in `[measure]`.
pub(crate) const LENGTHS: RangeInclusive<Nanos> = Nanos::from_millis(1)..=Nanos::from_secs(86_400);

/// A table of keys.
pub struct KeyTable {
    /// Name below `[measure]` and `[full]`; empty if its keys stand in these tables themselves.
    pub name: &'static str,
    /// Key of `[measure]` before them on the reference page.
    pub after: &'static str,
    chapter: fn(String) -> Chapter,
    read: fn(&mut Sections<'_>, &str) -> Option<Arc<dyn Values>>,
}

/// The values of a table.
trait Values: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> Values for T {}

impl KeyTable {
    /// A table with a heading of its own.
    pub const fn of<T: key::Table + fmt::Debug + Send + Sync + 'static>(name: &'static str) -> KeyTable {
        KeyTable {
            name,
            after: "",
            chapter: |path| Chapter::of::<T>(path),
            read: |sections, path| sections.table::<T>(path).map(|values| Arc::new(values) as Arc<dyn Values>),
        }
    }

    /// Keys that stand in `[measure]` itself, after this one.
    pub const fn after<T: key::Table + fmt::Debug + Send + Sync + 'static>(key: &'static str) -> KeyTable {
        KeyTable { after: key, ..KeyTable::of::<T>("") }
    }

    fn path(&self, parent: &str) -> String {
        if self.name.is_empty() { parent.to_owned() } else { format!("{parent}.{}", self.name) }
    }

    /// Keys below `parent`, for the reference page.
    pub fn chapter(&self, parent: &str) -> Chapter {
        (self.chapter)(self.path(parent))
    }
}

/// Tables of the procedures, each once.
pub fn tables(list: List) -> Vec<&'static KeyTable> {
    let mut tables: Vec<&KeyTable> = Vec::new();
    for table in list.iter().flat_map(|procedure| procedure.tables) {
        let is_known = |known: &&KeyTable| (known.name, known.after) == (table.name, table.after);
        if !tables.iter().any(is_known) {
            tables.push(table);
        }
    }
    tables
}

/// Procedures that a scenario may ask for, with the values of their keys.
#[derive(Clone)]
pub struct Keys {
    list: List,
    values: Vec<Arc<dyn Values>>,
}

impl Keys {
    /// Reads all tables below `parent`: `measure` or `full`.
    pub fn read(list: List, sections: &mut Sections<'_>, parent: &str) -> Option<Keys> {
        // Before one that is refused ends it.
        let values: Vec<_> =
            tables(list).into_iter().map(|table| (table.read)(sections, &table.path(parent))).collect();
        Some(Keys { list, values: values.into_iter().collect::<Option<_>>()? })
    }

    /// All procedures, with the values of one table.
    pub fn of_table<T: fmt::Debug + Send + Sync + 'static>(values: T) -> Keys {
        Keys { list: crate::ALL, values: vec![Arc::new(values)] }
    }

    /// Adds the values of another table.
    #[must_use]
    pub fn and<T: fmt::Debug + Send + Sync + 'static>(mut self, values: T) -> Keys {
        self.values.push(Arc::new(values));
        self
    }

    /// Values of a table, for a procedure that declares it.
    pub fn get<T: 'static>(&self) -> &T {
        let mut all = self.values.iter().filter_map(|values| (&**values as &dyn Any).downcast_ref::<T>());
        all.next().expect("a procedure of the list declares the table")
    }

    /// Replaces the values of a table.
    pub fn put<T: fmt::Debug + Send + Sync + 'static>(&mut self, new: T) {
        let old = self.values.iter_mut().find(|values| (&***values as &dyn Any).is::<T>());
        *old.expect("a procedure of the list declares the table") = Arc::new(new);
    }

    /// The procedures.
    pub fn list(&self) -> List {
        self.list
    }

    /// Returns the procedure that measures the metric with this key.
    pub fn of(&self, metric: &str) -> Option<&'static Procedure> {
        of(self.list, metric)
    }

    /// All metrics, in the order of the list.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> + use<> {
        metrics(self.list)
    }

    /// The metric with this key.
    pub fn metric(&self, key: &str) -> Option<&'static Metric> {
        self.metrics().find(|metric| metric.key == key)
    }

    /// Length of the longest trial of a metric; `duration` where its procedure says no other.
    pub fn longest(&self, metric: &str, duration: Nanos, connections: Count) -> Nanos {
        self.of(metric).map_or(duration, |procedure| (procedure.longest)(self, duration, connections))
    }
}

/// Returns the procedure of a list that measures the metric with this key.
pub fn of(list: List, metric: &str) -> Option<&'static Procedure> {
    let measures = |procedure: &Procedure| procedure.measured().any(|known| known.key == metric);
    list.iter().copied().find(|procedure| measures(procedure))
}

/// Metrics of these procedures, each followed by its parts; then those that are computed.
pub fn metrics(list: List) -> impl Iterator<Item = &'static Metric> {
    list.iter().flat_map(|procedure| procedure.metrics).chain(DERIVED)
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}

/// Values are plain data: their debug output is complete.
impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}
