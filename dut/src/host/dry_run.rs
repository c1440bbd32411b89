//! A host that does nothing and remembers what it was asked to do: `natmeter plan --steps` and the snapshots of
//! what every software renders. What it would have written can be read back; all else is read from the host behind.

use super::{Host, Output};
use crate::step::{Action, Place};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

/// One action that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Where.
    pub place: Place,
    /// What it is good for.
    pub why: String,
    /// What.
    pub action: Action,
}

/// Collects orders.
pub struct DryRun<H> {
    behind: H,
    written: HashMap<String, String>,
    orders: Arc<Mutex<Vec<Order>>>,
}

impl<H: Host> DryRun<H> {
    /// In front of a host that is only read.
    pub fn over(behind: H) -> DryRun<H> {
        DryRun { behind, written: HashMap::new(), orders: Arc::default() }
    }

    /// Where the orders are collected; stays readable when the host has been given away.
    pub fn orders(&self) -> Arc<Mutex<Vec<Order>>> {
        Arc::clone(&self.orders)
    }
}

impl<H: Host> Host for DryRun<H> {
    fn perform(&mut self, place: Place, why: &str, action: &Action) -> io::Result<Output> {
        let status = match action {
            Action::Write { path, value } => {
                self.written.insert(path.clone(), value.clone());
                None
            }
            Action::Set { setting, value } => {
                self.written.insert(setting.to_string(), value.clone());
                None
            }
            Action::Command { .. } => Some(0),
        };
        let order = Order { place, why: why.to_owned(), action: action.clone() };
        self.orders.lock().expect("no panic while held").push(order);
        Ok(Output { status, ..Output::default() })
    }

    fn read(&mut self, place: Place, path: &str) -> io::Result<String> {
        self.written.get(path).map_or_else(|| self.behind.read(place, path), |value| Ok(value.clone()))
    }

    fn is_rehearsal(&self) -> bool {
        true
    }
}
