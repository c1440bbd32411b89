//! Any bytes as a capture file: packets and then the end, or an error; never more than the file holds.

#![no_main]

use gateway::file::Reader;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(natmeter_fuzz::folder);

fuzz_target!(|file: &[u8]| {
    let path = FOLDER.path().join("capture");
    std::fs::write(&path, file).expect("room for a file");
    let Ok(mut reader) = Reader::open(&path) else { return };
    let mut octets = 0;
    while let Ok(Some(packet)) = reader.read() {
        // Every packet has a header of its own, in every kind of file.
        octets += packet.bytes.len() + 12;
        assert!(octets <= file.len(), "{octets} octets of packets out of {}", file.len());
    }
});
