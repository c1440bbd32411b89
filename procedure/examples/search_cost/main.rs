//! Prints what searches cost, and how far their results are from the truth, on simulated devices: the tables of
//! docs/performance.md. `cargo run -p natmeter-procedure --example search_cost`.

mod model;

use method::SearchResult;
use model::{CAPACITY, Cost, Device, Way, devices, hard, one_in_a_million, outside, repeat};

const SEEDS: u64 = 200;
const REPETITIONS: u32 = 10;

fn main() {
    println!("Ten repetitions of a throughput at a final width of 0.1 %, trials of 60 s, device with a hard edge:\n");
    println!("| search | trials | sending | with waits | of plain binary searches |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let mut plain = None;
    for way in Way::ALL {
        let Cost { trials, sending, whole } = repeat(way, &hard(), REPETITIONS, 1).1;
        let plain = *plain.get_or_insert(sending);
        let share = 100.0 * sending / plain;
        println!("| {} | {trials} | {sending:.0} s | {whole:.0} s | {share:.0} % |", way.name());
    }
    println!(
        "\nResults over {SEEDS} seeds, {REPETITIONS} repetitions each. Off: results further from the truth than the width and \
              the edge allow, and the furthest of them. Median and spread (1st to 99th percentile) relative to the capacity:\n"
    );
    println!("| device | search | off | furthest | median | spread | trials |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for device in devices().into_iter().chain([one_in_a_million()]) {
        for way in Way::ALL {
            println!("{}", row(&device, way));
        }
    }
}

fn row(device: &Device, way: Way) -> String {
    let (mut rates, mut trials) = (Vec::new(), 0);
    for seed in 1..=SEEDS {
        let (results, cost) = repeat(way, device, REPETITIONS, seed);
        rates.extend(results.iter().map(|result: &SearchResult| result.rate));
        trials += cost.trials;
    }
    rates.sort_unstable();
    let off: Vec<f64> = rates.iter().map(|&rate| outside(device, rate)).filter(|&off| off > 0.0).collect();
    let furthest = off.iter().copied().fold(0.0, f64::max);
    let relative = |at: usize| (rates[at].0 as f64 / CAPACITY.0 as f64 - 1.0) * 100.0;
    let (n, half) = (rates.len(), rates.len() / 2);
    let searches = SEEDS * u64::from(REPETITIONS);
    format!(
        "| {} | {} | {:.1} % | {:.2} % | {:+.2} % | {:+.2} to {:+.2} % | {:.1} |",
        device.name,
        way.name(),
        100.0 * off.len() as f64 / n as f64,
        100.0 * furthest,
        relative(half),
        relative(n / 100),
        relative(n - 1 - n / 100),
        trials as f64 / searches as f64
    )
}
