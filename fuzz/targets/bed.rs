//! Any text as a bed file: a bed over which a scenario can be read, or complaints that can be drawn. The same text as a
//! configuration of siitperf gives a bed file that can be read, or a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use natmeter::bed::siitperf;
use scenario::Options;
use scenario::bed::{BedText, parse};

const SCENARIO: &str = "name = \"x\"\n[dut.nftables]\n[sweep]\nconnections = \"1k\"\n";

fuzz_target!(|text: &str| {
    let file = |text: &str| BedText { name: "bed.toml".to_owned(), text: text.to_owned(), t0: Vec::new() };
    match parse(&file(text)) {
        Ok(bed) => {
            assert!(bed.lanes() >= 1 && !bed.boxes.is_empty());
            let options = Options { bed: Some(file(text)), ..Options::default() };
            if let Ok(loaded) = scenario::parse("x.toml", SCENARIO, &options, tech::ALL) {
                assert_eq!(loaded.scenario.bed.as_ref(), Some(&bed), "the record reads the same bed");
            }
        }
        Err(complaints) => assert!(!complaints.render(false).is_empty() && !complaints.render(true).is_empty()),
    }
    if let Ok(imported) = siitperf::import(text, &[]) {
        assert!(imported.bed.contains("[bed.left]") && imported.bed.contains("[bed.right]"));
    }
});
