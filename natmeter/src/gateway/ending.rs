//! How signals end a running gateway: the first asks it to stop, a later one ends it at once.

use crate::exit::Exit;
use crate::signals::{self, ONE_REQUEST};
use gateway::privileges::{LimitError, Limits};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

pub(crate) struct EndRequest {
    stop: Arc<AtomicBool>,
    signals: Signals,
}

impl EndRequest {
    /// Handles the signals of [`signals::handled`] from now on, unless they were ignored at the start, as `nohup` requires.
    pub(crate) fn on_signals() -> io::Result<EndRequest> {
        let (handled, stop) = (signals::handled()?, Arc::new(AtomicBool::new(false)));
        for signal in &handled {
            flag::register(*signal, Arc::clone(&stop))?;
        }
        Ok(EndRequest { stop, signals: Signals::new(&handled)? })
    }

    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// From now on a signal more than one second after the first removes the control socket and
    /// ends the process with [`Exit::Interrupted`]. The waiting thread drops its privileges first;
    /// returns those that it could not drop.
    pub(crate) fn insist(mut self, socket: PathBuf, limits: Limits) -> io::Result<Vec<LimitError>> {
        let (say, limited) = mpsc::channel();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            // Fails if the gateway has stopped meanwhile.
            let _ = say.send(limits.apply());
            if self.signals.forever().next().is_some() {
                std::thread::sleep(ONE_REQUEST);
                // Signals within one second count as one.
                self.signals.pending().for_each(drop);
                if self.signals.forever().next().is_some() {
                    let _ = std::fs::remove_file(socket);
                    std::process::exit(i32::from(Exit::Interrupted as u8));
                }
            }
        })?;
        Ok(limited.recv().unwrap_or_default())
    }
}
