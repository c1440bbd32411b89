//! Any text as the output of `perf script`: the samples of cores, parts and stacks agree, and a stack keeps its form.

#![no_main]

use dut::perf::script::Script;
use libfuzzer_sys::fuzz_target;

/// The process of the tester in the seeds.
const TESTER: u32 = 4321;
const MOST: usize = 4;

fuzz_target!(|text: &str| {
    let read = |from, to| {
        let mut script = Script::between(from, to, TESTER);
        text.lines().for_each(|line| script.line(line));
        script.stacks(MOST)
    };
    let all = read(0, u64::MAX);
    let samples: u64 = all.cores.values().map(|core| core.all).sum();
    assert_eq!(samples, all.parts.values().sum::<u64>());
    assert_eq!(samples, all.stacks.values().sum::<u64>());
    assert!(all.cores.values().all(|core| core.waiting <= core.all));
    assert!(all.stacks.len() <= all.cores.len() * (MOST + 1));
    for stack in all.stacks.keys() {
        let core = stack.strip_prefix("core ").and_then(|rest| rest.split(';').next()).unwrap();
        assert!(all.cores.contains_key(&core.parse().unwrap()), "{stack}");
        assert!(!stack.contains(char::is_control) && stack.split(';').all(|name| !name.is_empty()), "{stack}");
        assert!(stack.len() < 64 * 1024, "{stack}");
    }
    let headed = text.lines().filter(|line| line.trim_end().ends_with(':')).count() as u64;
    assert!(samples + all.tester + all.others <= headed);
    let some = read(0, 39_834_200_000_500);
    assert!(some.cores.values().map(|core| core.all).sum::<u64>() <= samples);
});
