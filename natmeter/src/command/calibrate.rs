//! `natmeter calibrate`: the tester's own limits for a scenario's frames and flows.

use super::load::load;
use super::turn::MyTurn;
use super::{fail, privilege, show};
use crate::cli::{Output, ScenarioArgs, Turn};
use crate::exit::Exit;
use crate::run::{RunError, calibrate as measure};
use crate::term::err;
use engine::calibrate::CalibrateError;
use method::TrialError;
use record::folder::{Calibration, Over};
use record::plan::{Measurement, Plan};
use record::report::number::si;
use scenario::axis::more_in_words;
use std::fmt::Write;

pub(super) fn calibrate(args: &ScenarioArgs, turn: Turn, output: Output) -> Result<Exit, Exit> {
    let loaded = load(args.file.as_deref(), &args.changes, output)?;
    let mut turn = MyTurn::at_ports(turn, &loaded.scenario)?;
    if let Some(beside) = &turn.beside {
        err(&format!("{beside}\n"));
    }
    let plan = Plan::new(&loaded.scenario);
    // Over a TAP the tester is measured within the process.
    if Over::of(&loaded.scenario.link) != Over::Process {
        privilege(&loaded.scenario, &plan, &mut turn)?;
    }
    let mut calibration = Calibration::default();
    let process = turn.process()?;
    let mut each = |m: &Measurement| measure(&mut calibration, &loaded.scenario, &m.point, &process).map(drop);
    let measured = plan.measurements.iter().try_for_each(&mut each);
    process.commands.take().notes.iter().for_each(|note| err(&format!("note: {note}\n")));
    measured.map_err(|error| match error {
        RunError::Calibrate(CalibrateError::Trial(TrialError::Interrupted)) => {
            err("error: interrupted\n");
            Exit::Interrupted
        }
        error => fail(error),
    })?;
    show(output, &calibration, || format!("{}\n", text(&calibration).trim_end()));
    Ok(Exit::Done)
}

fn text(c: &Calibration) -> String {
    if c.ceilings.is_empty() {
        return "a simulated device has no frames: there is nothing to calibrate".to_owned();
    }
    let mut out = format!(
        "clock                {}\n\
         one reading          {:.1} ns\n\
         departure error      {} ns median, {} ns 99th percentile (1 Mfps, no back-end)\n\
         latency floor        {} ns on the in-process link\n",
        c.clock,
        c.clock_read_ps as f64 / 1e3,
        c.departure_p50_ns,
        c.departure_p99_ns,
        c.latency_floor_ns,
    );
    for c in &c.ceilings {
        let (frames, set_up) = (si(c.frames.0 as f64, 3), c.set_up.map(|rate| si(rate.0 as f64, 3)));
        let at = match c.connections {
            0 => "stateless".to_owned(),
            n => format!("{} connections", si(n as f64, 3)),
        } + &more_in_words(&c.axes);
        let threads = if c.workers == 1 { "one thread".to_owned() } else { format!("{} threads", c.workers) };
        let _ = write!(
            out,
            "\n{threads}, {at}, no device in between, over: {}\n\
             \x20 send               {:.1} ns a frame\n\
             \x20 judge              {:.1} ns a frame\n\
             \x20 ceiling            {frames} frames/s {}\n",
            c.over.words(),
            c.send_ps as f64 / 1e3,
            c.receive_ps as f64 / 1e3,
            method::trial::of_rate(c.direction_ratio),
        );
        if let Some(set_up) = set_up {
            let _ = writeln!(out, "  ceiling of phase 1 {set_up} connections/s");
        }
        if let Some(floor) = c.latency_floor_ns {
            let _ = writeln!(out, "  latency floor      {floor} ns");
        }
    }
    out
}
