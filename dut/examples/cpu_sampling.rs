//! Prints what sampling of CPU times costs a device once per second, as a share of one core: on this machine, and on a
//! box, whose shell runs `cat /proc/stat` (without the ssh connection).
//!
//! `cargo run --release -p natmeter-dut --example cpu_sampling`

use std::fs;
use std::process::Command;

/// Milliseconds of a tick of `/proc/self/stat` (`USER_HZ` is 100).
const TICK_MS: f64 = 10.0;

fn main() {
    print("read by natmeter (device of this kernel)", 20_000, || {
        assert!(!dut::cpu::this_machine_times().is_empty(), "the kernel tells no CPU times");
    });
    print("read by `sh -c \"cat /proc/stat\"` (box)", 1_000, || {
        let read = Command::new("sh").args(["-c", "cat /proc/stat"]).output().expect("a shell");
        assert!(!dut::cpu::core_times(&String::from_utf8_lossy(&read.stdout)).is_empty(), "no CPU times");
    });
}

fn print(what: &str, samples: u32, sample: impl Fn()) {
    let before = used_ms();
    (0..samples).for_each(|_| sample());
    let each = (used_ms() - before) / f64::from(samples);
    println!("{what}: {:.3} ms a sample, {:.3} % of a core at one sample a second", each, each / 10.0);
}

/// CPU time of this process and of the programs that it waited for (proc(5)).
fn used_ms() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    // The name, in parentheses, may contain blanks.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let ticks = fields.split_ascii_whitespace().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() * TICK_MS
}
