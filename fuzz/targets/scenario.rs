//! Any text as a scenario file: it becomes a scenario that can be planned, or complaints that can be drawn, each at a
//! place in the text. Lines `#set KEY=VALUE` are overrides and `#full` asks for a conforming run; to TOML they are
//! comments.

#![no_main]

use libfuzzer_sys::fuzz_target;
use natmeter::forecast::{self, text};
use scenario::{Options, parse};

fuzz_target!(|file: &str| {
    let set = file.lines().filter_map(|l| l.strip_prefix("#set ")).map(str::to_owned).collect();
    let full = file.lines().any(|l| l == "#full");
    match parse("any.toml", file, &Options { full, set, ..Options::default() }, tech::ALL) {
        Ok(loaded) => assert!(!text(&loaded.scenario, &forecast::plan(&loaded.scenario)).is_empty()),
        Err(complaints) => {
            assert!(!complaints.render(false).is_empty() && !complaints.render(true).is_empty());
            assert!(!complaints.to_json().as_array().expect("a list").is_empty());
        }
    }
});
