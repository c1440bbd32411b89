//! A gateway that runs, as its control socket sees it: what it is asked and what it says, and how it becomes what its file
//! says now. Apart from the rest of the gateway, because all of it happens beside the packets.

use super::status::Status;
use super::{GatewayError, Macs, build, owns};
use crate::scenario::gateway::{Gateway, NextHop};
use crate::technology::Use;
use gateway::Desk;
use gateway::Embedded;
use plane::lw4o6::{Live, Table};
use plane::{Entry, Function};
use port::Clock;
use serde_json::json;
use std::any::Any;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A gateway that runs, as its control socket sees it.
pub(super) struct Running<'a, F> {
    /// As its file was when it was read last.
    pub(super) gateway: Gateway,
    pub(super) file: &'a Path,
    pub(super) macs: Macs,
    /// The binding table of a lwAFTR, as all workers read it.
    pub(super) live: Option<Arc<Live>>,
    pub(super) clock: Clock,
    pub(super) embedded: &'a Embedded,
    pub(super) desk: Desk<F>,
    pub(super) stop: &'a AtomicBool,
}

/// Sessions that are shown when nobody says how many.
const SHOWN: usize = 1000;
/// More are not shown at once: this is for people, and for whoever looks for something that he can then ask for.
const MOST_SHOWN: usize = 100_000;
/// Places of a state table that a worker looks at between two rounds: some tens of microseconds.
const PLACES: u64 = 1024;
/// And how long all of them look: whoever asked does not wait for ever.
const LOOKS_FOR: Duration = Duration::from_secs(4);
/// A worker that has said what it was asked has at most to return from it.
const LETS_GO_WITHIN: Duration = Duration::from_secs(1);

/// What a gateway is asked for over its control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Counters and entries as JSON.
    Status,
    /// The same as OpenMetrics text.
    Metrics,
    /// So many sessions at most.
    Sessions(usize),
    /// To read its file again.
    Reload,
    /// To forget all state.
    Clear,
    /// To end.
    Stop,
}

impl Word {
    /// What a line asks for.
    ///
    /// # Errors
    /// What is not understood, and what would be.
    pub fn read(line: &str) -> Result<Word, String> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("status", "") => Ok(Word::Status),
            ("metrics", "") => Ok(Word::Metrics),
            ("sessions", "") => Ok(Word::Sessions(SHOWN)),
            ("sessions", n) => match n.parse() {
                Ok(n) if n <= MOST_SHOWN => Ok(Word::Sessions(n)),
                _ => Err(format!("`{n}` is not a number of sessions up to {MOST_SHOWN}")),
            },
            ("reload", "") => Ok(Word::Reload),
            ("clear", "") => Ok(Word::Clear),
            ("stop", "") => Ok(Word::Stop),
            _ => Err(format!("`{line}` is not understood: status, metrics, sessions [MOST], reload, clear, stop")),
        }
    }
}

impl<F: Function + 'static> Running<'_, F> {
    /// What the control socket says to some words.
    pub(super) fn answer(&mut self, words: &str) -> String {
        let result = Word::read(words).and_then(|word| match word {
            Word::Status => self.status().map(|s| s.json()),
            Word::Metrics => self.status().map(|s| s.open_metrics()),
            Word::Sessions(most) => self.sessions(most),
            Word::Reload => self.reload(),
            Word::Clear => self.embedded.clear().map(|()| "cleared\n".into()).map_err(|e| e.to_string()),
            Word::Stop => {
                self.stop.store(true, Ordering::Relaxed);
                Ok("stopping\n".into())
            }
        });
        result.unwrap_or_else(|why| format!("error: {why}\n"))
    }

    fn status(&self) -> Result<Status, String> {
        let (sessions, mappings) = self.embedded.entries().map_err(|e| e.to_string())?;
        let stateful = self.desk.ask(|_, f| f.entries().is_some()).into_iter().any(|s| s == Some(true));
        let workers = self.embedded.counters().map_err(|e| e.to_string())?;
        Ok(Status { sessions: stateful.then_some(sessions), mappings: stateful.then_some(mappings), workers })
    }

    /// One JSON document a session. The workers look at a few places of their tables at a time, between packets.
    fn sessions(&self, most: usize) -> Result<String, String> {
        let (clock, end) = (self.clock, Instant::now() + LOOKS_FOR);
        let (mut text, mut first, mut shown, mut more) = (String::new(), 0, 0, true);
        while more && shown < most {
            if Instant::now() > end {
                let _ = writeln!(
                    text,
                    "{}",
                    json!({ "incomplete": "the tables are too large to be looked through at once" })
                );
                break;
            }
            let places = first..first + PLACES;
            let look = move |_, f: &mut F| (f.places(), f.sessions(clock.nanos(clock.now()), places.clone()));
            let found = self.desk.ask(look);
            first += PLACES;
            more = false;
            for (worker, found) in found.into_iter().enumerate() {
                let (places, entries) = found.ok_or_else(|| format!("worker {worker} does not answer"))?;
                more |= places > first;
                let room = most - shown;
                shown += Running::<F>::show(&mut text, worker, &entries[..entries.len().min(room)]);
            }
        }
        Ok(text)
    }

    /// Gives how many.
    fn show(text: &mut String, worker: usize, entries: &[Entry]) -> usize {
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

    /// Read the file again and give every worker its new configuration, or none of them.
    fn reload(&mut self) -> Result<String, String> {
        let new = crate::scenario::gateway::read(self.file).map_err(|e| e.to_string())?;
        self.gateway.can_become(&new)?;
        let macs = [0, 1].map(|i| {
            let side = if i == 0 { &new.left } else { &new.right };
            let next = if let NextHop::Mac(mac) = side.next_hop { mac } else { self.macs[i].1 };
            (side.mac.unwrap_or(self.macs[i].0), next)
        });
        let mut table = None;
        let rebuild = Rebuild { live: self.live.clone(), table: &mut table };
        let functions = build(&new.without_tables(), macs, new.workers, 0, rebuild).map_err(|e| e.to_string())?;
        let functions = functions.downcast::<Vec<F>>().map_err(|_| "the technology cannot be changed; restart")?;
        self.adopt(*functions)?;
        if let (Some(live), Some(table)) = (&self.live, table) {
            live.replace(table);
        }
        let owns = new.answer.then(|| owns(&new, macs));
        self.desk.answer_for(owns).map_err(|worker| format!("worker {worker}: it does not answer"))?;
        (self.gateway, self.macs) = (new, macs);
        Ok("reloaded\n".into())
    }

    /// Every worker becomes what its new function is, or none does.
    fn adopt(&self, functions: Vec<F>) -> Result<(), String> {
        let new: Arc<Vec<Mutex<F>>> = Arc::new(functions.into_iter().map(Mutex::new).collect());
        let mut result = Ok(());
        // A worker that refuses must find all others as they were.
        for round in [Round::Try, Round::Do] {
            let with = Arc::clone(&new);
            let answers = self.desk.ask(move |worker, running| {
                let mut new = with[worker].lock().expect("no panic while held");
                if round == Round::Try { running.can_adopt(&new) } else { running.adopt(&mut new) }
            });
            result = answers.into_iter().enumerate().try_for_each(|(w, said)| {
                said.unwrap_or_else(|| Err("it does not answer".into())).map_err(|why| format!("worker {w}: {why}"))
            });
            if result.is_err() {
                break;
            }
        }
        // What was replaced is freed here and not by a worker, which may have said all but not yet let go of it.
        let end = Instant::now() + LETS_GO_WITHIN;
        while Arc::strong_count(&new) > 1 && Instant::now() < end {
            std::thread::yield_now();
        }
        result
    }

    /// Free what the workers read no more.
    pub(super) fn tidy(&self) {
        if let Some(live) = &self.live {
            live.tidy();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Try,
    Do,
}

/// Functions of whatever technology, to be compared with those that run.
struct Rebuild<'a> {
    /// Where those that run find their binding table.
    live: Option<Arc<Live>>,
    /// The one to take its place.
    table: &'a mut Option<Table>,
}

impl Use for Rebuild<'_> {
    type Out = Result<Box<dyn Any>, GatewayError>;
    fn binding(&mut self, table: Table) -> Arc<Live> {
        match &self.live {
            Some(live) => {
                *self.table = Some(table);
                Arc::clone(live)
            }
            // It is another technology that runs.
            None => Live::new(table),
        }
    }
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> Result<Box<dyn Any>, GatewayError> {
        Ok(Box::new(functions))
    }
}
