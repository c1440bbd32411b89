//! How a running gateway ends on signals: the first asks it to stop, a later one ends it at once, but never with its control
//! socket left behind. Apart from the signals of a run, because only a gateway has something to remove when it is in a hurry.

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

/// The end of a gateway, asked for by a signal or over its control socket.
pub struct Ending {
    stop: Arc<AtomicBool>,
    signals: Signals,
}

impl Ending {
    /// Stops on Ctrl-C, SIGTERM and SIGHUP from now on; one that was ignored when natmeter was started stays ignored, as `nohup`
    /// promises.
    ///
    /// # Errors
    /// When signals cannot be handled.
    pub fn on_signals() -> io::Result<Ending> {
        let (handled, stop) = (signals::handled()?, Arc::new(AtomicBool::new(false)));
        for signal in &handled {
            flag::register(*signal, Arc::clone(&stop))?;
        }
        Ok(Ending { stop, signals: Signals::new(&handled)? })
    }

    /// Set when the gateway is to stop.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// From now on a signal that comes more than a second after the first removes the control socket and ends the process with
    /// [`Exit::Interrupted`]. The thread that waits for it is limited first; gives what could not be limited.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn insist(mut self, socket: PathBuf, limits: Limits) -> io::Result<Vec<LimitError>> {
        let (say, limited) = mpsc::channel();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            // The gateway may have ended meanwhile.
            let _ = say.send(limits.apply());
            if self.signals.forever().next().is_some() {
                std::thread::sleep(ONE_REQUEST);
                // Those of the second that is over belong to the first.
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
