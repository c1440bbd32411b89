//! Any frames into the plain router: no panic, each counted once, and right header checksums stay right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::checksum::Ipv4;
use plane::{Function, Hop, Input, Packet, Router, Side, Verdict};
use testbed::{Frame, Outbox};

fuzz_target!(|frames: Vec<(bool, Vec<u8>)>| {
    let mut router = Router::new(Hop::default(), Hop::default());
    let mut made = Outbox::new(usize::MAX, usize::MAX);
    for (inside, bytes) in &frames {
        let from = if *inside { Side::Customer } else { Side::Internet };
        let (mut batch, mut verdicts) = ([Frame::new(bytes)], [Verdict::Drop]);
        router.process(Input::new(0, from, &mut batch, &mut verdicts), &mut made);
        assert!(matches!(verdicts[0], Verdict::Drop | Verdict::Local) || verdicts[0] == Verdict::Forward(from.other()));
        if verdicts[0] == Verdict::Forward(from.other()) && Ipv4::read(&bytes[14..]).is_some() {
            assert!(Ipv4::read(&batch[0].bytes()[14..]).is_some(), "the header checksum was right and is wrong");
        }
    }
    assert!(made.out.is_empty() && made.handed.is_empty());
    assert_eq!(router.counters().iter().map(|c| c.1).sum::<u64>(), frames.len() as u64);
});
