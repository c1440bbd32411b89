//! Any octets as the answer to a query: the judge never fails, and only a message with the ID, the question and the address of the
//! query is right.

#![no_main]

use dns::{ExpectedAnswer, Names, answer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &[u8]| {
    let names = Names { count: 16, existing_ppm: 500_000 };
    for i in [0, 1, 7] {
        for expected in [ExpectedAnswer::Dns64, ExpectedAnswer::Zone, ExpectedAnswer::Nothing] {
            if expected.judge(&names, message, i).is_err() {
                continue;
            }
            assert!(answer::id(message).is_some());
            let label = Names::label(i);
            assert!(message.windows(label.len()).any(|octets| octets.eq_ignore_ascii_case(&label)));
            if let Some(address) = expected.address(&names, i) {
                assert!(message.windows(16).any(|octets| octets == address.octets()));
            }
        }
    }
});
