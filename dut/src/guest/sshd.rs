//! A guest that takes commands by ssh through an interface that is not tested.

use super::Guest;
use crate::DutError;
use crate::host::runner::Limits;
use crate::step::quoted;
use std::net::IpAddr;

pub const CONTROL: &str = "control";

const SCRIPT: &str = include_str!("sshd.sh");

/// Gives the interface `control` this address and prefix length, starts sshd for root with these
/// public keys (lines of `authorized_keys`), and returns sshd's public key.
pub fn start(guest: &mut Guest, (address, length): (IpAddr, u8), keys: &str) -> Result<String, DutError> {
    let script = format!("set -- {}\n{SCRIPT}", quoted(&format!("{address}/{length}")));
    let output = guest.run(&script, keys.as_bytes(), &Limits::STEP)?.output;
    if output.ok() {
        return Ok(output.stdout.trim().to_owned());
    }
    let what = format!("sshd does not start in the guest: {}", output.stderr.trim());
    Err(DutError::refused(what, "build the guest again with `natmeter guest build`"))
}
