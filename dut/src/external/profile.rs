//! Samples the call stacks of a box's kernel with Linux perf, which writes beside the copies of hooks.

use super::External;
use super::hook_host::On;
use crate::DutError;
use crate::cpu;
use crate::host::runner::{Limits, Ran};
use crate::perf::EVENT;
use crate::perf::script::{Script, Stacks};
use crate::tool::PERF;
use std::time::{Duration, Instant};

/// Most octets of samples.
const OCTETS: usize = 64 << 20;
const PRINTING: Duration = Duration::from_secs(120);

const CHECK: &str = "command -v perf >/dev/null || exit 3\n\
    test \"$(id -u)\" = 0 || test \"$(cat /proc/sys/kernel/perf_event_paranoid)\" -le 0 || exit 4";

/// Nanoseconds since 1970, or since the box's start if its `date` has no nanoseconds.
const NOW: &str = "case $(date +%N) in\n\
    '' | *[!0-9]*) sed -n 's/^now at \\([0-9]*\\) nsecs$/\\1/p' /proc/timer_list ;;\n\
    *) date +%s%N ;;\nesac";

#[derive(Debug)]
pub struct OnBox {
    folder: String,
    pub cores: Vec<u32>,
    clock: Clock,
}

/// One moment on this machine and the box.
#[derive(Debug)]
struct Clock {
    here: Instant,
    there: u64,
}

impl Clock {
    fn at(&self, moment: Instant) -> u64 {
        let nanos = |time: Duration| time.as_nanos() as u64;
        let later = nanos(moment.saturating_duration_since(self.here));
        (self.there + later).saturating_sub(nanos(self.here.saturating_duration_since(moment)))
    }
}

impl External {
    /// Checks that perf is installed on the box and may sample its cores. The error says what to install or to do
    /// there.
    pub fn see_that_perf_works(&mut self) -> Result<(), DutError> {
        let ran = self.place.run(CHECK)?;
        let (name, on) = (self.name(), &self.config.on);
        let refused = |what: &str, way_out: &str| {
            DutError::refused(format!("`profile` samples the cores of the box {name} ({on}), {what}"), way_out)
        };
        match ran.output.status {
            Some(0) => Ok(()),
            Some(3) if matches!(self.config.on, On::Guest(_)) => Err(refused(
                "which has no perf",
                "build a guest with it, `natmeter guest build qemu --perf`, or measure without `profile`",
            )),
            Some(3) => Err(refused(
                "which has no perf",
                &format!("install the package {} there, or measure without `profile`", PERF.package),
            )),
            _ => Err(refused("whose kernel allows it only to root", "connect as root, or measure without `profile`")),
        }
    }

    /// Samples all cores of the box at this frequency per second.
    pub fn start_profile(&mut self, frequency: u32) -> Result<OnBox, DutError> {
        let output = self.perf("perf records", &start(frequency), self.place.limits)?.output.stdout;
        let mut lines = output.lines();
        let (folder, online) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let (folder, cores) = (folder.to_owned(), cpu::cores_in_list(online));
        let clock = self.clock();
        if clock.is_err() {
            self.end_profile(&folder);
        }
        Ok(OnBox { folder, cores, clock: clock? })
    }

    /// Stops, and returns at most `most` different stacks of each core between two moments. Fails if perf ended early,
    /// or the samples are too many.
    pub fn finish_profile(&mut self, on: &OnBox, from: Instant, to: Instant, most: usize) -> Result<Stacks, DutError> {
        let [from, to] = [from, to].map(|moment| on.clock.at(moment));
        let limits = Limits { time: self.place.limits.time.max(PRINTING), octets: OCTETS };
        let ran = self.perf("perf prints the samples", &finish(&on.folder, from, to), limits);
        self.end_profile(&on.folder);
        let text = ran?.output.stdout;
        if text.len() >= OCTETS {
            return Err(self.not_profiled(
                "its samples have more than 64 MiB",
                "lower `frequency` or `duration` of [measure.profiling]",
            ));
        }
        let mut script = Script::between(from, to, u32::MAX);
        text.lines().for_each(|line| script.line(line));
        Ok(script.stacks(most))
    }

    pub fn drop_profile(&mut self, on: &OnBox) {
        self.end_profile(&on.folder);
    }

    fn end_profile(&mut self, folder: &str) {
        if is_folder_of_samples(folder) {
            let line = format!("cd '{folder}' && {{ test -e ended || kill -TERM \"$(cat pid)\"; rm -rf '{folder}'; }}");
            let _ = self.place.run(&line);
        }
    }

    fn clock(&mut self) -> Result<Clock, DutError> {
        let before = Instant::now();
        let ran = self.place.run(NOW)?;
        let here = before + before.elapsed() / 2;
        let there = ran.output.stdout.trim().parse().ok();
        let unknown = || {
            let what = "its `date` prints no nanoseconds, and its kernel shows no /proc/timer_list";
            self.not_profiled(what, "install the package coreutils there, or measure without `profile`")
        };
        Ok(Clock { here, there: there.ok_or_else(unknown)? })
    }

    fn perf(&mut self, why: &str, line: &str, limits: Limits) -> Result<Ran, DutError> {
        let ran = self.place.run_within(line, &limits);
        if let Ok(ran) = &ran {
            let mut shown = ran.clone();
            shown.output.stdout.truncate(shown.output.stdout.find("\n\n").unwrap_or(shown.output.stdout.len()));
            self.place.record(why, line, &Ok(shown));
        }
        let ran = ran?;
        if ran.output.ok() && !ran.timed_out {
            return Ok(ran);
        }
        Err(self.not_profiled(
            ran.output.stderr.trim(),
            "see that `perf record -a` works there, or measure without `profile`",
        ))
    }

    fn not_profiled(&self, what: &str, way_out: &str) -> DutError {
        DutError::refused(format!("the box {} ({}) was not profiled: {what}", self.name(), self.config.on), way_out)
    }
}

/// Command that samples for an hour with a limited file size; prints perf's folder and the online
/// cores.
fn start(frequency: u32) -> String {
    format!(
        "case $(date +%N) in '' | *[!0-9]*) clock=monotonic ;; *) clock=realtime ;; esac\n\
         folder=$(mktemp -d \"$PWD/profile.XXXXXX\") && cd \"$folder\" || exit\n\
         {{ LC_ALL=C perf record -q -a -g -k $clock --max-size=256M -e {EVENT} -o data -F {frequency} -- \
         sh -c 'echo \"$PPID\" >pid.new; mv pid.new pid; exec sleep 3600'; echo \"$?\" >ended; }} </dev/null >said 2>&1 &\n\
         n=0; until [ -e pid ] || [ -e ended ] || [ $n -ge 200 ]; do sleep 0.1; n=$((n + 1)); done\n\
         if [ ! -e pid ]; then echo '`perf record` did not start:' >&2; cat said >&2; rm -rf \"$folder\"; exit 1; fi\n\
         echo \"$folder\"; cat /sys/devices/system/cpu/online"
    )
}

/// Prints the samples between two times, in nanoseconds.
fn finish(folder: &str, from: u64, to: u64) -> String {
    let [from, to] = [from, to].map(|nanos| format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000));
    format!(
        "cd '{folder}' || exit\n\
         if [ -e ended ]; then echo '`perf record` ended before the trial:' >&2; cat said >&2; exit 1; fi\n\
         kill -TERM \"$(cat pid)\"\n\
         n=0; until [ -e ended ] || [ $n -ge 300 ]; do sleep 0.1; n=$((n + 1)); done\n\
         LC_ALL=C perf script -i data --ns --time {from},{to} -F comm,pid,cpu,time,ip,sym 2>said.script ||\n\
         {{ echo '`perf script` failed:' >&2; cat said.script >&2; exit 1; }}"
    )
}

/// Whether natmeter made the folder, for it removes no other.
fn is_folder_of_samples(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with('/')
        && !path.contains(['\'', '\n'])
        && name
            .strip_prefix("profile.")
            .is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_perf_on_a_box() {
        let finish =
            finish("/tmp/natmeter.a1B2c3/profile.Xy12zZ", 1_795_690_248_000_000_042, 1_795_690_250_500_000_000);
        insta::assert_snapshot!(format!(
            "== check\n{CHECK}\n== now\n{NOW}\n== start\n{}\n== finish\n{finish}",
            start(999)
        ));
    }

    #[test]
    fn the_clock_of_a_box_follows_that_of_the_tester() {
        let before = Instant::now();
        let clock = Clock { here: before + Duration::from_millis(1), there: 1_000_000_000 };
        assert_eq!(clock.at(before), 999_000_000);
        assert_eq!(clock.at(before + Duration::from_millis(2)), 1_001_000_000);
    }

    #[test]
    fn only_a_folder_of_samples_is_removed() {
        assert!(is_folder_of_samples("/tmp/natmeter.a1B2c3/profile.a1B2c3"));
        for path in
            ["", "/", "/tmp", "profile.a1B2c3", "/tmp/profile.", "/tmp/profile.a1B2c3/", "/tmp/a'b/profile.a1B2c3"]
        {
            assert!(!is_folder_of_samples(path), "{path}");
        }
    }
}
