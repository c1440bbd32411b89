//! Costs of the tester, by part and in total, on one thread over the in-process link.
//!
//! `cargo bench -p natmeter-engine --bench tester`, with `-- --large` for tables of 256 M connections (takes 2 GiB and
//! some minutes), with `-- loop` and the like for one part only.

mod layouts;
mod lists;
mod parts;
mod service;
mod tcp;
mod whole;
mod yardstick;

fn main() {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let large = words.iter().any(|w| w == "--large");
    let wanted: Vec<&String> = words.iter().filter(|w| !w.starts_with("--")).collect();
    let on = |part: &str| wanted.is_empty() || wanted.iter().any(|w| *w == part);
    let clock = port::Clock::calibrated();
    if let Some(core) = port::host::cores().first().copied()
        && let Err(e) = port::host::pin(core)
    {
        println!("not pinned: {e}");
    }
    println!("{}; median of {} runs, best in parentheses", clock.describe(), lists::RUNS);
    if on("machine") {
        yardstick::print(clock);
    }
    if on("order") {
        parts::order(clock);
    }
    if on("store") {
        parts::store(clock, large);
    }
    if on("loop") {
        whole::print(clock, large);
    }
    if on("layouts") {
        layouts::print(clock);
    }
    if on("tcp") {
        tcp::print(clock);
    }
    if on("service") {
        service::print(clock, &wanted);
    }
}
