//! Signals that end: the first asks to stop and to undo everything, a later one stops at once.

use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Signals that come within this time are one wish: `timeout`, a shell and a service manager send them to a process and to
/// its group, which is the same process twice.
const ONE_WISH: Duration = Duration::from_secs(1);

/// Set `stop` on Ctrl-C, SIGTERM and SIGHUP; a further one that comes later ends the process at once, with
/// [`Exit::Interrupted`].
///
/// # Errors
/// When signals cannot be handled.
pub fn end_on(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let all = [SIGINT, SIGTERM, SIGHUP];
    // Before the flags: what sets one is seen here, too.
    let mut signals = Signals::new(all)?;
    let insists = Arc::new(AtomicBool::new(false));
    for signal in all {
        flag::register_conditional_shutdown(signal, i32::from(Exit::Interrupted as u8), Arc::clone(&insists))?;
        flag::register(signal, Arc::clone(stop))?;
    }
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            std::thread::sleep(ONE_WISH);
            insists.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(())
}
