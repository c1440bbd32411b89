//! Reads `perf script -F comm,pid,cpu,time,ip,sym`: per sample a line `THREAD PROCESS [CORE]
//! SECONDS:`, then `ADDRESS FUNCTION` lines, the innermost first; skips other lines. Sums up the
//! stacks in which the kernel forwards packets: soft interrupts, and the tester's writes to a TAP.

use super::kernel;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Functions of a stack that are kept.
const DEPTH: usize = 64;
const NAME: usize = 96;

/// Name for functions in no list.
pub const OTHER: &str = "other functions";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreShare {
    pub all: u64,
    /// The core waited for a lock.
    pub waiting: u64,
}

/// Samples by core, by part of the kernel, and by stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    pub cores: BTreeMap<u32, CoreShare>,
    /// Parts by the innermost function whose part is known.
    pub parts: BTreeMap<&'static str, u64>,
    /// Tester's own code, counted only here.
    pub tester: u64,
    /// Samples of other programs, counted only here.
    pub others: u64,
    /// Core, thread and functions, the outermost first, separated by `;`.
    pub stacks: BTreeMap<String, u64>,
}

#[derive(Debug)]
pub struct Script {
    from: u64,
    to: u64,
    tester: u32,
    stacks: Stacks,
    sample: Option<Sample>,
}

#[derive(Debug)]
struct Sample {
    core: u32,
    thread: String,
    process: u32,
    /// Whether the innermost function is in the kernel, once known.
    in_kernel: Option<bool>,
    in_program: bool,
    forwards: bool,
    functions: Vec<String>,
}

impl Script {
    /// Counts the samples between two times in nanoseconds, both included; `tester` is its process.
    pub fn between(from: u64, to: u64, tester: u32) -> Script {
        Script { from, to, tester, stacks: Stacks::default(), sample: None }
    }

    pub fn line(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            self.end();
        } else if line.starts_with([' ', '\t']) && self.function(line.trim_start()) {
        } else if let Some((sample, time)) = head(line) {
            self.end();
            self.sample = Some(sample).filter(|_| (self.from..=self.to).contains(&time));
        }
    }

    /// A thread's name may begin with a blank.
    fn function(&mut self, line: &str) -> bool {
        let Some((address, function)) = line.split_once(' ') else { return false };
        let Ok(address) = u64::from_str_radix(address, 16) else { return false };
        let Some(sample) = &mut self.sample else { return true };
        // The kernel has the upper half of the addresses.
        let is_kernel = address >> 63 == 1;
        sample.in_kernel.get_or_insert(is_kernel);
        sample.in_program |= !is_kernel;
        // Behind functions of a program, kernel functions are artefacts of a stack without frame pointers.
        if is_kernel && !sample.in_program {
            let function = name(function);
            sample.forwards |= kernel::forwards(&function);
            if sample.functions.len() < DEPTH {
                sample.functions.push(function);
            }
        }
        true
    }

    fn end(&mut self) {
        let Some(sample) = self.sample.take() else { return };
        let Some(in_kernel) = sample.in_kernel else { return };
        let functions = &sample.functions;
        if functions.first().is_some_and(|innermost| kernel::is_idle(innermost)) {
            return;
        }
        let Some(innermost) = functions.first().filter(|_| in_kernel && sample.forwards) else {
            let of_tester = sample.process == self.tester;
            *if of_tester { &mut self.stacks.tester } else { &mut self.stacks.others } += 1;
            return;
        };
        let of_core = self.stacks.cores.entry(sample.core).or_default();
        of_core.all += 1;
        of_core.waiting += u64::from(kernel::waits(innermost));
        let part = functions.iter().find_map(|function| kernel::part(function)).unwrap_or(OTHER);
        *self.stacks.parts.entry(part).or_default() += 1;
        let Sample { core, thread, .. } = &sample;
        let outermost_first: Vec<&str> = functions.iter().rev().map(String::as_str).collect();
        let stack = format!("core {core};{thread};{}", outermost_first.join(";"));
        *self.stacks.stacks.entry(stack).or_default() += 1;
    }

    /// The sums, with the `most` most frequent stacks of each core; the others are `rare stacks`.
    pub fn stacks(mut self, most: usize) -> Stacks {
        self.end();
        let Stacks { cores, parts, tester, others, stacks } = self.stacks;
        let mut kept: BTreeMap<String, u64> = BTreeMap::new();
        for core in cores.keys() {
            let beginning = format!("core {core};");
            let mut of_core: Vec<(&String, u64)> = stacks
                .iter()
                .filter(|(stack, _)| stack.starts_with(&beginning))
                .map(|(stack, n)| (stack, *n))
                .collect();
            of_core.sort_by_key(|(stack, samples)| (Reverse(*samples), *stack));
            let (frequent, rare) = of_core.split_at(most.min(of_core.len()));
            kept.extend(frequent.iter().map(|(stack, samples)| ((*stack).clone(), *samples)));
            let rest: u64 = rare.iter().map(|(_, samples)| samples).sum();
            if rest > 0 {
                kept.insert(format!("core {core};rare stacks"), rest);
            }
        }
        Stacks { cores, parts, tester, others, stacks: kept }
    }
}

fn head(line: &str) -> Option<(Sample, u64)> {
    let (rest, time) = line.trim_end().strip_suffix(':')?.rsplit_once(' ')?;
    let (rest, core) = rest.trim_end().strip_suffix(']')?.rsplit_once('[')?;
    let (thread, process) = rest.trim_end().rsplit_once(' ')?;
    let (seconds, fraction) = time.split_once('.')?;
    let is_number = !fraction.is_empty() && fraction.len() <= 9 && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let nanos = format!("{fraction:0<9}").parse::<u64>().ok().filter(|_| is_number)?;
    let time = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    let (core, process, functions) = (core.parse().ok()?, process.parse().ok()?, Vec::new());
    Some((
        Sample { core, thread: name(thread), process, in_kernel: None, in_program: false, forwards: false, functions },
        time,
    ))
}

/// Fit for a stack, and not too long.
fn name(text: &str) -> String {
    let text = text.trim();
    let plain = |c: char| if c == ';' || c.is_control() { '_' } else { c };
    if text.is_empty() { "unknown".to_owned() } else { text.chars().take(NAME).map(plain).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// perf 6.1 on Linux 6.18 with a NAT44 on core 1, shortened: soft interrupts in their own thread and on another
    /// program, the tester, an idle core, another program.
    const RECORDED: &str = "ksoftirqd/1    25 [001] 39834.100000500: 
\tffffffffc0a81234 nf_nat_manip_pkt
\tffffffffc0a84321 nf_hook_slow
\tffffffff81d0abcd ip_output
\tffffffff81c01234 process_backlog
\tffffffff812a0000 run_ksoftirqd

a [b] c    77 [001] 39834.200000500: 
\tffffffff82201234 native_queued_spin_lock_slowpath
\tffffffffc0a90000 nf_conntrack_in
\tffffffff81d0abcd ip_rcv
\tffffffff812a0000 __do_softirq
\tffffffff812a1111 asm_sysvec_apic_timer_interrupt
\t          77c2f2 main

natmeter  4321 [000] 39834.300000500: 
\t          b4c2f2 engine::lane::run
\tfffffffffffff000 [unknown]

natmeter  4321 [000] 39834.300100500: 
\tffffffff81d04321 netif_receive_skb
\tffffffff81d01234 tun_get_user
\tffffffff8121ef69 do_syscall_64
\t          d4ad7 __GI___write
\t       f [unknown]

swapper     0 [001] 39834.400000500: 
\tffffffff821f0000 pv_native_safe_halt
\tffffffff821f1111 default_idle

rustc    99 [001] 39834.500000: 
\tffffffff815ebe46 do_anonymous_page
\tffffffff821f51c6 exc_page_fault

ksoftirqd/1    25 [001] 39835.000000501: 
\tffffffffc0a81234 nf_nat_manip_pkt
";

    fn read(text: &str, range: [u64; 2], most: usize) -> Stacks {
        let mut script = Script::between(range[0], range[1], 4321);
        text.lines().for_each(|line| script.line(line));
        script.stacks(most)
    }

    const ALL: [u64; 2] = [39_834_000_000_000, 39_835_000_000_500];
    const NAT: &str = "core 1;ksoftirqd/1;run_ksoftirqd;process_backlog;ip_output;nf_hook_slow;nf_nat_manip_pkt";
    const LOCK: &str = "core 1;a [b] c;asm_sysvec_apic_timer_interrupt;__do_softirq;ip_rcv;nf_conntrack_in;\
                        native_queued_spin_lock_slowpath";

    #[test]
    fn samples_are_summed_up_by_core_part_and_stack() {
        let stacks = read(RECORDED, ALL, 100);
        assert_eq!(
            stacks.cores[&1],
            CoreShare { all: 2, waiting: 1 },
            "without the idle one, and that behind the range"
        );
        assert_eq!(stacks.cores[&0], CoreShare { all: 1, waiting: 0 });
        assert_eq!((stacks.tester, stacks.others), (1, 1));
        assert_eq!(stacks.parts, BTreeMap::from([("NAT", 1), ("connection tracking", 1), ("receive path", 1)]));
        let expected = [("core 0;natmeter;do_syscall_64;tun_get_user;netif_receive_skb", 1), (LOCK, 1), (NAT, 1)];
        assert_eq!(stacks.stacks, expected.map(|(stack, n)| (stack.to_owned(), n)).into());
    }

    #[test]
    fn rare_stacks_of_a_core_are_one_entry() {
        let twice = format!("{RECORDED}\n{}", RECORDED.split("\n\n").next().unwrap());
        let stacks = read(&twice, ALL, 1);
        let names: Vec<(&str, u64)> = stacks.stacks.iter().map(|(stack, n)| (stack.as_str(), *n)).collect();
        assert_eq!(
            names,
            [("core 0;natmeter;do_syscall_64;tun_get_user;netif_receive_skb", 1), (NAT, 2), ("core 1;rare stacks", 1)]
        );
    }

    #[test]
    fn other_lines_are_skipped() {
        for text in [
            "",
            "x",
            "\t",
            " [",
            "[]:",
            "a 1 [1] 1:",
            "a 1 [1] .5:",
            "a 1 [1] 1.:",
            "a 1 [x] 1.5:",
            "a [1] 1.5:",
            "a 1 [1] 99999999999999.5:",
        ] {
            assert_eq!(read(&format!("{text}\n\tffffffff81234567 f\n"), [0, u64::MAX], 9), Stacks::default(), "{text}");
        }
        let deep = format!(
            "a 4321 [0] 1.5:\n{}\tffffffff81234567 netif_receive_skb\n",
            "\tffffffff81234567 f\n".repeat(1_000)
        );
        let stacks = read(&deep, [0, u64::MAX], 9);
        assert_eq!(stacks.stacks.keys().next().unwrap().matches(";f").count(), DEPTH);
    }
}
