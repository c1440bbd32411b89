//! Wrappers around the tester's ports that a scenario asks for: impairment and capture. Captures
//! are written between trials, when delays do not matter.

use port::middleware::capture::{CaptureBuffer, CaptureLimits, CapturedFrame};
use port::middleware::{Capture, Impair, Impairment};
use port::{Clock, Port};
use record::store::{CAPTURES, Dir, StoreError};
use scenario::Scenario;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use wire::pcap;

/// Delayed frames, per second of delay; further frames wait in the port.
const HELD_PER_SECOND: u64 = 5_000_000;
/// A frame with a corrupted Ethernet header would count as foreign.
const BEHIND_ETHERNET: usize = 14;

pub(crate) struct Wires {
    impair: Option<scenario::Impair>,
    capture: Option<scenario::Capture>,
    octets: usize,
    clock: Clock,
    buffers: Vec<(&'static str, CaptureBuffer)>,
}

impl Wires {
    pub(crate) fn of(scenario: &Scenario, clock: Clock) -> Wires {
        let octets = scenario.traffic.frame_size.max(128);
        Wires { impair: scenario.impair.clone(), capture: scenario.capture.clone(), octets, clock, buffers: Vec::new() }
    }

    pub(crate) fn bare(clock: Clock) -> Wires {
        Wires { impair: None, capture: None, octets: 0, clock, buffers: Vec::new() }
    }

    /// Delayed frames on each side.
    fn held(&self) -> usize {
        self.impair.as_ref().map_or(0, |i| (i.delay.0 * HELD_PER_SECOND / 1_000_000_000).clamp(256, 1 << 17) as usize)
    }

    /// Frames in addition to the pool's own.
    pub(crate) fn frames(&self) -> usize {
        // Two sides, duplicates included.
        4 * self.held()
    }

    /// The capture has the frames that the judge sees, impairment included.
    pub(crate) fn wrap(&mut self, side: &'static str, port: Box<dyn Port>) -> Box<dyn Port> {
        let mut port = port;
        if let Some(i) = &self.impair {
            let what = Impairment {
                // Frames of both sides have the same numbers; different seeds avoid losing the same ones.
                seed: i.seed ^ (side.len() as u64) << 32,
                loss: i.loss_ppm,
                duplicates: i.duplicate_ppm,
                reordered: i.reorder_ppm,
                displacement: 1,
                corrupted: i.corrupt_ppm,
                corrupt_from: BEHIND_ETHERNET,
                delay: i.delay.0,
                jitter: 0,
            };
            port = Box::new(Impair::new(port, what, self.held(), self.clock));
        }
        if let Some(c) = &self.capture {
            let limits = CaptureLimits { snaplen: self.octets, frames: c.frames as usize };
            let (capture, buffer) = Capture::new(port, limits, self.clock);
            self.buffers.push((side, buffer));
            port = Box::new(capture);
        }
        port
    }

    pub(crate) fn doubts(&self) -> Vec<String> {
        let impaired = self.impair.as_ref().map(|i| {
            let words = i.in_words();
            format!("IMPAIRED ON PURPOSE by [link.impair]: {words}. Every figure includes this impairment.")
        });
        let captured = self.capture.as_ref().map(|c| {
            let frames = c.frames;
            format!(
                "Frames were captured ({frames} per port and trial): capturing slows the tester, so rates are lower."
            )
        });
        impaired.into_iter().chain(captured).collect()
    }

    /// The captures, to be written after each trial.
    pub(crate) fn into_captures(self) -> Captures {
        Captures { buffers: self.buffers, target: None }
    }
}

#[derive(Default)]
pub struct Captures {
    buffers: Vec<(&'static str, CaptureBuffer)>,
    target: Option<Target>,
}

struct Target {
    run: Dir,
    measurement: String,
    next_trial: u64,
}

impl Captures {
    /// Run folder, key of the measurement, number of its next trial.
    pub fn belong_to(&mut self, run: &Dir, measurement: &str, next_trial: u64) -> Result<(), StoreError> {
        let measurement = measurement.replace('/', ".");
        self.target = Some(Target { run: run.again()?, measurement, next_trial });
        Ok(())
    }

    /// One file for each port, named by measurement, trial and port.
    pub(crate) fn write(&mut self) -> Result<(), String> {
        let Some(target) = self.target.as_mut().filter(|_| !self.buffers.is_empty()) else { return Ok(()) };
        let failed = |error: &dyn Display| format!("capture cannot be written: {error}");
        let folder = target.run.folder_or_new(CAPTURES).map_err(|e| failed(&e))?;
        for (side, buffer) in &self.buffers {
            let name = format!("{}.trial-{}.{side}.pcap", target.measurement, target.next_trial);
            let file = folder.rewrite(&name).map_err(|e| failed(&e))?;
            let written = write_pcap(file, buffer.snaplen(), &buffer.take_frames());
            written.map_err(|e| failed(&format!("{}: {e}", folder.path_of(name).display())))?;
        }
        target.next_trial += 1;
        Ok(())
    }
}

fn write_pcap(file: File, octets: usize, frames: &[CapturedFrame]) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    file.write_all(&pcap::file_header(octets))?;
    for frame in frames {
        file.write_all(&pcap::record_header(frame.nanos, frame.octets.len(), frame.length))?;
        file.write_all(&frame.octets)?;
    }
    file.flush()
}
