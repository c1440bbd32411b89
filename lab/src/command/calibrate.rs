//! `natmeter calibrate`: the tester's own limits for a scenario's frames and flows.

use super::{fail, process};
use crate::cli::{self, Global};
use crate::exit::Exit;
use crate::plan::Plan;
use crate::run::{RunError, calibrate as measure};
use crate::{priority, report::number::si};
use std::path::Path;

/// `natmeter calibrate [FILE]`.
pub fn calibrate(file: Option<&Path>, global: &Global) -> Exit {
    let loaded = match cli::load(file, global) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let plan = Plan::new(&loaded.scenario);
    let Some(first) = plan.measurements.first() else { return Exit::Done };
    let _raised = priority::raise();
    let found = process()
        .map_err(|e| RunError::DutDead(format!("handling signals: {e}")))
        .and_then(|process| measure(&loaded.scenario, &first.point, &process).map_err(RunError::from));
    match found {
        Ok(c) if global.json => cli::out(&format!("{}\n", serde_json::to_string(&c).unwrap_or_default())),
        Ok(c) => cli::out(&format!(
            "clock                {}\n\
             one reading          {:.1} ns\n\
             departure error      {} ns median, {} ns 99th percentile (1 Mfps, no back-end)\n\
             send                 {:.1} ns a frame\n\
             judge                {:.1} ns a frame\n\
             ceiling              {}frames/s per direction, both at once, one thread\n\
             latency floor        {} ns on the in-process link\n",
            c.clock,
            c.clock_read_ps as f64 / 1e3,
            c.departure_p50_ns,
            c.departure_p99_ns,
            c.send_ps as f64 / 1e3,
            c.receive_ps as f64 / 1e3,
            si(c.ceiling.0 as f64, 3),
            c.latency_floor_ns,
        )),
        Err(error) => return fail(&error),
    }
    Exit::Done
}
