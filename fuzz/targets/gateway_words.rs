//! Any line at a running gateway's control socket: a known command, or an error that names the known commands.

#![no_main]

use libfuzzer_sys::fuzz_target;
use natmeter::gateway::Word;

fuzz_target!(|line: &str| match Word::read(line) {
    Ok(word) => {
        let name = line.split(' ').next().expect("a first word");
        assert_eq!(format!("{word:?}").split('(').next().map(str::to_lowercase).as_deref(), Some(name), "{line}");
    }
    Err(why) => assert!(why.contains("not a number") || why.contains("metrics"), "it says what would do: {why}"),
});
