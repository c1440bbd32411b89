//! Any bytes as the kernel's answer about an interface.

#![no_main]

use libfuzzer_sys::fuzz_target;
use port::interface::Interface;

fuzz_target!(|message: &[u8]| {
    let _ = Interface::from_netlink(message);
});
