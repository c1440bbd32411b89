//! The control socket of a running gateway, outside the packet loop.

use super::next_hops::Watches;
use super::status::Status;
use super::{Macs, OtherVlan};
use gateway::ControlQueue;
use gateway::EmbeddedGateway;
use gateway::neighbour::{NextHop, NextHops};
use plane::TableEntry;
use plane::lw4o6::Live;
use port::Clock;
use scenario::gateway::Gateway;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A running gateway as its control socket needs it.
pub(super) struct RunningGateway<'a> {
    pub(super) gateway: Gateway,
    pub(super) file: &'a Path,
    /// The functions were built with these.
    pub(super) macs: Macs,
    pub(super) next_hops: Arc<NextHops>,
    pub(super) watches: Watches,
    pub(super) other_vlan: OtherVlan,
    pub(super) live: Option<Arc<Live>>,
    pub(super) clock: Clock,
    pub(super) embedded: &'a EmbeddedGateway,
    pub(super) workers: ControlQueue,
    pub(super) stop: &'a AtomicBool,
}

/// Default number of sessions.
const SHOWN: usize = 1000;
const MOST_SHOWN: usize = 100_000;
/// Slots of a state table that a worker reads between two rounds: some tens of microseconds.
const PLACES: u64 = 1024;
const LISTING_AT_MOST: Duration = Duration::from_secs(4);

/// Request over the control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Status,
    /// Prints counters as OpenMetrics text.
    Metrics,
    /// Prints at most so many sessions.
    Sessions(usize),
    Reload(Removal),
    Clear,
    Stop,
}

/// Softwires that a reload may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Removes at most half of the softwires.
    Few,
    /// Any number, but the new table must have a softwire.
    Any,
}

impl Word {
    /// Parses a request. The error names the valid requests.
    pub fn read(line: &str) -> Result<Word, String> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("status", "") => Ok(Word::Status),
            ("metrics", "") => Ok(Word::Metrics),
            ("sessions", "") => Ok(Word::Sessions(SHOWN)),
            ("sessions", n) => match n.parse() {
                Ok(n) if n <= MOST_SHOWN => Ok(Word::Sessions(n)),
                _ => Err(format!("`{n}` is not a number of sessions up to {MOST_SHOWN}")),
            },
            ("reload", "") => Ok(Word::Reload(Removal::Few)),
            ("reload", "allow-removal") => Ok(Word::Reload(Removal::Any)),
            ("clear", "") => Ok(Word::Clear),
            ("stop", "") => Ok(Word::Stop),
            _ => Err(format!(
                "`{line}` is not a request: use status, metrics, sessions [MOST], reload [allow-removal], clear or stop"
            )),
        }
    }
}

impl RunningGateway<'_> {
    pub(super) fn answer(&mut self, words: &str) -> String {
        let word = self.is_going_on().and_then(|()| Word::read(words));
        let result = word.and_then(|word| match word {
            Word::Status => self.status().map(|s| s.json()),
            Word::Metrics => self.status().map(|s| s.open_metrics()),
            Word::Sessions(most) => self.sessions(most),
            Word::Reload(removal) => self.reload(removal),
            Word::Clear => self.embedded.clear().map(|()| "cleared\n".into()).map_err(|e| e.to_string()),
            Word::Stop => {
                self.stop.store(true, Ordering::Relaxed);
                Ok("stopping\n".into())
            }
        });
        // What is wrong with the file is said as an error already.
        result.unwrap_or_else(|why| format!("error: {}\n", why.strip_prefix("error: ").unwrap_or(&why)))
    }

    /// Fails if the gateway has been asked to stop.
    pub(super) fn is_going_on(&self) -> Result<(), String> {
        if self.stop.load(Ordering::Relaxed) { Err("the gateway is stopping".into()) } else { Ok(()) }
    }

    fn status(&self) -> Result<Status, String> {
        let workers = self.workers.accounts().into_iter().enumerate();
        let workers = workers.map(|(i, account)| account.ok_or_else(|| format!("worker {i} does not answer")));
        let next_hops = [&self.next_hops.customer, &self.next_hops.internet];
        let macs = [0, 1].map(|i| next_hops[i].as_ref().map_or(self.macs[i].1, NextHop::mac));
        let other_vlan = self.other_vlan.each_ref().map(|n| n.load(Ordering::Relaxed));
        Ok(Status { workers: workers.collect::<Result<_, _>>()?, next_hops: macs, other_vlan })
    }

    /// One JSON document for each session. Workers read a few slots of their tables at a time, between packets.
    fn sessions(&self, most: usize) -> Result<String, String> {
        let (clock, end) = (self.clock, Instant::now() + LISTING_AT_MOST);
        let (mut text, mut first, mut shown, mut more) = (String::new(), 0, 0, true);
        while more && shown < most && !self.stop.load(Ordering::Relaxed) {
            if Instant::now() > end {
                let _ = writeln!(text, "{}", json!({ "incomplete": "the tables are too large to list completely" }));
                break;
            }
            let places = first..first + PLACES;
            let found = self.workers.sessions(clock.nanos(clock.now()), places);
            first += PLACES;
            more = false;
            for (worker, found) in found.into_iter().enumerate() {
                let (places, entries) = found.ok_or_else(|| format!("worker {worker} does not answer"))?;
                more |= places > first;
                let room = most - shown;
                shown += RunningGateway::show(&mut text, worker, &entries[..entries.len().min(room)]);
            }
        }
        Ok(text)
    }

    /// Appends sessions; returns their number.
    fn show(text: &mut String, worker: usize, entries: &[TableEntry]) -> usize {
        for e in entries {
            let mut entry = json!({ "worker": worker, "protocol": e.protocol, "inside": e.inside.to_string(),
                    "outside": e.outside.to_string(), "remote": e.remote.to_string(), "idle-s": e.idle.as_secs() });
            if !e.part.is_empty() {
                entry["part"] = e.part.into();
            }
            if let Some(end) = e.softwire {
                entry["softwire"] = end.to_string().into();
            }
            let _ = writeln!(text, "{entry}");
        }
        entries.len()
    }

    /// Frees tables that no worker reads, and checks the next hops. Returns what the operator is to know.
    pub(super) fn tidy(&mut self) -> Vec<String> {
        if let Some(live) = &self.live {
            live.tidy();
        }
        self.watches.step(&self.gateway, &self.next_hops, &self.macs, &self.workers);
        self.watches.events()
    }
}
