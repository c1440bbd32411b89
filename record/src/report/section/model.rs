//! The fitted models: laws over cores, steps over connections, and the series to which nothing is fitted.

use crate::report::model::{Along, LeftOut, Model, SeriesModel};
use crate::report::{Report, number, value};
use document::{Cell, Form, Quantity, Row, Section, Table, row};
use method::model::cores::{CoreModel, Fit, Law};
use method::model::sessions::{SessionModel, Shape, StepChange};
use method::model::{Basis, Bootstrap, Doubt, Estimate, LEAST_POINTS, Parameter, Refusal};
use method::trial::of_rate;
use procedure::metric;
use scenario::axis::{in_words, more_in_words};
use std::fmt::Write;

pub(in crate::report) fn section(report: &Report) -> Option<Section> {
    let tables: Vec<Table> = [over_cores, over_connections, refused].iter().filter_map(|of| of(report)).collect();
    let fitted = report.models.iter().any(|model| !matches!(model.outcome, SeriesModel::Refused(_)));
    (!tables.is_empty()).then(|| Section {
        title: "Models".to_owned(),
        about: if fitted {
            ABOUT.to_owned()
        } else if report.models.iter().any(has_few_repetitions) {
            "These series have too few points or repetitions for a fit.".to_owned()
        } else {
            format!("Nothing is fitted to fewer than {LEAST_POINTS} points.")
        },
        tables,
        ..Section::default()
    })
}

fn has_few_repetitions(model: &Model) -> bool {
    model.outcome == SeriesModel::Refused(Refusal::TooFewRepetitions)
}

const ABOUT: &str = "Rates over cores: P(n) = λ n / (1 + σ (n − 1) + κ n (n − 1)) with the rate λ of one core, the contention σ \
                     and the coherency κ; Amdahl's law has κ = 0. Rates over connections: levels with steps between two \
                     measured numbers of connections. Intervals in parentheses.";

/// The sentences: of each device and metric the series with the most connections, or with the most cores.
pub(in crate::report) fn sentences(report: &Report) -> Vec<String> {
    let is_headline = |model: &&Model| {
        let alike = |other: &&Model| {
            (other.dut, &other.metric, other.along) == (model.dut, &model.metric, model.along)
                && !matches!(other.outcome, SeriesModel::Refused(_))
        };
        let place = |model: &Model| (model.cores, model.connections, model.axes.clone());
        report.models.iter().filter(alike).all(|other| place(other) <= place(model))
    };
    report.models.iter().filter(is_headline).filter_map(sentence).collect()
}

fn sentence(model: &Model) -> Option<String> {
    let said = match &model.outcome {
        SeriesModel::Cores(fitted) => of_cores(model, fitted),
        SeriesModel::Connections(fitted) => of_connections(model, fitted),
        SeriesModel::Refused(_) => return None,
    };
    Some(format!("{}: {said}.", number::capitalised(&name(model))))
}

/// "throughput of nat44 over cores, 4,000,000 connections"
fn name(model: &Model) -> String {
    let title = metric::by_key(&model.metric).map_or(model.metric.as_str(), |metric| metric.title);
    let along = model.along.name();
    let cores = model.cores.map_or_else(String::new, |cores| format!(", {}", number::plural(cores.into(), "core")));
    let connections = match model.connections {
        None | Some(0) => String::new(),
        Some(n) => format!(", {} connections", number::grouped(n)),
    };
    let swept = more_in_words(&model.axes);
    format!("{} of {} over {along}{cores}{connections}{swept}", number::uncapitalised(title), model.dut_name)
}

fn of_cores(model: &Model, fitted: &CoreModel) -> String {
    let fit = fitted.fit();
    let contention = format!("a contention of {}", percent(fit.contention));
    let coherency = fit.coherency.map_or_else(String::new, |k| format!(" and a coherency of {}", percent(k)));
    let deviation = number::percent(fit.residual.share.abs() * 100.0);
    let mut said = format!(
        "{} with {contention}{coherency}, coverage {}, deviates by up to {deviation} from the rates on {} cores",
        fit.law.name(),
        number::percent(fitted.bootstrap.coverage * 100.0),
        number::listed(&model.points),
    );
    if let Some(peak) = fit.peak {
        let beyond = beyond(fitted, peak.extrapolated);
        let (rate, cores) = (rate(model, peak.rate), count(peak.cores));
        let _ = write!(said, "; its peak is {rate} on {cores} cores, {beyond}");
    }
    if let Some(limit) = fit.limit {
        let _ = write!(said, "; with ever more cores it approaches {}, {}", rate(model, limit), beyond(fitted, true));
    }
    said + &contradictions(&fit.doubts, model.along)
}

fn beyond(fitted: &CoreModel, extrapolated: bool) -> String {
    let within = if extrapolated { "extrapolated beyond the" } else { "within the" };
    format!("{within} {} cores measured", fitted.most)
}

fn of_connections(model: &Model, fitted: &SessionModel) -> String {
    let (least, most) = (model.points.first().copied(), model.points.last().copied());
    let range = format!("between {} and {}", si(least.unwrap_or(0) as f64), si(most.unwrap_or(0) as f64));
    let coverage = number::percent(fitted.coverage * 100.0);
    let said = match (fitted.shape, fitted.trend) {
        (Shape::Trend, Some(trend)) => {
            format!(
                "no step, but {} of the rate with each doubling {range}, coverage {coverage}",
                percent(trend.per_doubling)
            )
        }
        (Shape::Steps, _) => {
            let steps: Vec<String> = fitted.steps.iter().map(step).collect();
            format!("{}, coverage {coverage}", steps.join(", "))
        }
        _ => {
            let level = fitted.levels.first().map(|level| rate(model, level.rate)).unwrap_or_default();
            format!("no step is shown {range}, where the rate is {level}, coverage {coverage}")
        }
    };
    said + &contradictions(&fitted.doubts, model.along)
}

/// "a step between 100 k and 300 k connections to 60 (58–62) % of the rate before it"
fn step(step: &StepChange) -> String {
    let (after, until) = (si(step.after), si(step.until));
    format!("a step between {after} and {until} connections to {} of the rate before it", percent(step.ratio))
}

fn contradictions(doubts: &[Doubt], along: Along) -> String {
    doubts.iter().fold(String::new(), |mut said, doubt| {
        let _ = write!(said, "; the points contradict the model: {}", contradiction(doubt, along));
        said
    })
}

/// Returns notes on the points of a series that contradict its fit.
fn contradicted(model: &Model, fit: &str, doubts: &[Doubt]) -> Vec<String> {
    let note = |doubt| format!("{}: the points contradict {fit}: {}.", name(model), contradiction(doubt, model.along));
    doubts.iter().map(note).collect()
}

fn contradiction(doubt: &Doubt, along: Along) -> String {
    let unit = along.name();
    match *doubt {
        Doubt::OutOfBounds { parameter, unbounded } => {
            let (name, meaning) = match parameter {
                Parameter::Contention if unbounded.value > 1.0 => ("contention", "the rate falls with more cores"),
                Parameter::Contention => ("contention", "the rate rises faster than the cores"),
                Parameter::Coherency => ("coherency", "the rate rises faster than contention alone allows"),
            };
            format!("without bounds the {name} is {}: {meaning}", percent(unbounded))
        }
        Doubt::Residual { at, share } => {
            let way = if share < 0.0 { "below" } else { "above" };
            let by = number::percent(share.abs() * 100.0);
            format!("at {} {unit} the rate is {by} {way} the fit", si(at))
        }
        Doubt::Rise { after, until, ratio } => {
            let to = number::percent(ratio * 100.0);
            format!("the rate rises to {to} between {} and {} {unit}", si(after), si(until))
        }
    }
}

/// Returns the series with a fit of this kind; `None` if there is no such fit.
fn fitted<M>(report: &Report, of: fn(&Model) -> Option<&M>) -> Option<Vec<(&Model, &M)>> {
    let all: Vec<(&Model, &M)> = report.models.iter().filter_map(|model| Some((model, of(model)?))).collect();
    (!all.is_empty()).then_some(all)
}

fn over_cores(report: &Report) -> Option<Table> {
    let all = fitted(report, Model::over_cores)?;
    let models: Vec<&Model> = all.iter().map(|(model, _)| *model).collect();
    let mut rows = points_of(&models);
    rows.push(row("described by", all.iter().map(|(_, fitted)| Some(fitted.preferred.name().to_owned()))));
    for law in Law::ALL {
        rows.extend(of_law(law, &all));
    }
    let mut notes = said_once(all.iter().map(|(model, fitted)| (name(model), basis(fitted.bootstrap))).collect());
    for (model, fitted) in &all {
        notes.extend(fitted.fits.iter().flat_map(|fit| contradicted(model, fit.law.name(), &fit.doubts)));
    }
    Some(table("Rates over cores", &models, rows, notes))
}

fn of_law(law: Law, all: &[(&Model, &CoreModel)]) -> Vec<Row> {
    let short = match law {
        Law::Amdahl => "Amdahl",
        Law::Usl => "USL",
    };
    let line = |label: &str, of: &dyn Fn(&Model, &Fit, &CoreModel) -> Option<Cell>| {
        let cell = |(model, fitted): &(&Model, &CoreModel)| {
            let fit = fitted.fits.iter().find(|fit| fit.law == law)?;
            of(model, fit, fitted)
        };
        row(format!("{short}: {label}"), all.iter().map(cell))
    };
    let mut rows = vec![
        line("λ, rate of one core", &|model, fit, _| Some(short_rate(model, fit.one_core).into())),
        line("σ, contention", &|_, fit, _| Some(percent(fit.contention).into())),
    ];
    match law {
        Law::Amdahl => {
            rows.push(line("λ/σ, extrapolated", &|model, fit, _| Some(short_rate(model, fit.limit?).into())));
        }
        Law::Usl => rows.extend([
            line("κ, coherency", &|_, fit, _| Some(percent(fit.coherency?).into())),
            line("cores at the peak", &|_, fit, fitted| {
                let cell = |peak: method::model::cores::Peak| {
                    let cores = count(peak.cores);
                    if peak.extrapolated { format!("{cores}, beyond {}", fitted.most).into() } else { cores.into() }
                };
                Some(fit.peak.map_or_else(|| "no peak".into(), cell))
            }),
            line("rate at the peak", &|model, fit, _| Some(short_rate(model, fit.peak?.rate).into())),
        ]),
    }
    rows.push(line("largest deviation", &|_, fit, _| {
        let share = number::significant(fit.residual.share * 100.0, 2);
        let share = if share == "-0" { "0" } else { &share };
        Some(format!("{share} % at {}", number::plural(fit.residual.at as u64, "core")).into())
    }));
    rows
}

/// What applies to series, with their names unless it applies to all of them.
fn said_once(of_series: Vec<(String, String)>) -> Vec<String> {
    match of_series.first() {
        Some((_, first)) if of_series.iter().all(|(_, said)| said == first) => {
            vec![format!("{}.", number::capitalised(first))]
        }
        _ => of_series.into_iter().map(|(name, said)| format!("{name}: {said}.")).collect(),
    }
}

fn basis(bootstrap: Bootstrap) -> String {
    let what = match bootstrap.basis {
        Basis::Repetitions => "the repetitions",
        Basis::Residuals => "the deviations from the fit, because a point has fewer than five repetitions",
    };
    let (n, seed) = (number::grouped(bootstrap.resamples.into()), bootstrap.seed);
    let coverage = number::percent(bootstrap.coverage * 100.0);
    format!("intervals by the bootstrap over {n} resamples of {what}, seed {seed}, nominal coverage {coverage}")
}

fn over_connections(report: &Report) -> Option<Table> {
    let all = fitted(report, Model::over_connections)?;
    let models: Vec<&Model> = all.iter().map(|(model, _)| *model).collect();
    let most = |count: fn(&SessionModel) -> usize| all.iter().map(|(_, fitted)| count(fitted)).max().unwrap_or(0);
    let line = |label: &str, of: &dyn Fn(&Model, &SessionModel) -> Option<Cell>| {
        row(label, all.iter().map(|(model, fitted)| of(model, fitted)))
    };
    let mut rows = points_of(&models);
    rows.push(line("shape", &|_, fitted| Some(shape(fitted).into())));
    for at in 0..most(|fitted| fitted.levels.len()) {
        let number = at + 1;
        rows.push(line(&format!("rate of level {number}"), &|model, fitted| {
            Some(short_rate(model, fitted.levels.get(at)?.rate).into())
        }));
        if at < most(|fitted| fitted.steps.len()) {
            let between = |step: &StepChange| format!("{} to {}", si(step.after), si(step.until));
            rows.push(line(&format!("step {number}, connections"), &|_, fitted| {
                Some(between(fitted.steps.get(at)?).into())
            }));
            rows.push(line(&format!("step {number}, of the rate"), &|_, fitted| {
                Some(percent(fitted.steps.get(at)?.ratio).into())
            }));
        }
    }
    let trend = line("of the rate, each doubling", &|_, fitted| Some(percent(fitted.trend?.per_doubling).into()));
    rows.extend(Some(trend).filter(Row::has_value));
    let scatter = |fitted: &SessionModel| Quantity::new(fitted.scatter * 100.0, Form::Digits(2, " %"));
    rows.push(line("scatter of a point", &|_, fitted| Some(scatter(fitted).into())));
    let scatter = |fitted: &SessionModel| match fitted.basis {
        Basis::Repetitions => "the scatter of a point is that of its repetitions",
        Basis::Residuals => "the scatter is that between neighbouring points, because a point has no second repetition",
    };
    let mut notes = said_once(all.iter().map(|(model, fitted)| (name(model), scatter(fitted).to_owned())).collect());
    notes.extend(all.iter().flat_map(|(model, fitted)| contradicted(model, "the model", &fitted.doubts)));
    Some(table("Rates over connections", &models, rows, notes))
}

fn shape(fitted: &SessionModel) -> String {
    match fitted.shape {
        Shape::Level => "no step shown".to_owned(),
        Shape::Steps => number::plural(fitted.steps.len() as u64, "step"),
        Shape::Trend => "a trend, no steps".to_owned(),
    }
}

/// How many series have no fit, and how many points they have.
fn refused(report: &Report) -> Option<Table> {
    let of = |along: Along| {
        let is_refused = |model: &&Model| model.along == along && matches!(model.outcome, SeriesModel::Refused(_));
        let models: Vec<&Model> = report.models.iter().filter(is_refused).collect();
        (!models.is_empty()).then_some((along, models))
    };
    let all: Vec<(Along, Vec<&Model>)> = [Along::Cores, Along::Connections].into_iter().filter_map(of).collect();
    if all.is_empty() {
        return None;
    }
    let points = |models: &[&Model]| {
        let counts = || models.iter().map(|model| model.points.len());
        let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        if least == most { least.to_string() } else { format!("{least} to {most}") }
    };
    let left_out = |models: &[&Model]| models.iter().map(|model| model.left_out.len()).sum::<usize>();
    let mut rows = vec![
        row("series", all.iter().map(|(_, models)| Some(models.len().to_string()))),
        row("points of each", all.iter().map(|(_, models)| Some(points(models)))),
        row("points that a fit needs", all.iter().map(|_| Some(LEAST_POINTS.to_string()))),
    ];
    if all.iter().any(|(_, models)| left_out(models) > 0) {
        rows.push(row("bounds and others left out", all.iter().map(|(_, models)| Some(left_out(models).to_string()))));
    }
    let few = report.models.iter().filter(|model| has_few_repetitions(model)).count();
    let note = || format!("{few} series: {}.", Refusal::TooFewRepetitions);
    let columns = all.iter().map(|(along, _)| format!("over {}", along.name()));
    let table = Table::new("Series without a fit", "rates", columns).with_parameters(rows);
    Some(Table { notes: (few > 0).then(note).into_iter().collect(), ..table })
}

/// What the series have in common, their positions that are fitted, and those that are not.
fn points_of(models: &[&Model]) -> Vec<Row> {
    let swept = |model: &&Model| (!model.axes.is_empty()).then(|| in_words(&model.axes));
    let points = |model: &&Model| {
        let ends = model.points.first().zip(model.points.last());
        let words = |(first, last): (&u64, &u64)| {
            format!("{}: {} to {}", model.points.len(), si(*first as f64), si(*last as f64))
        };
        Some(ends.map_or_else(|| "none".to_owned(), words))
    };
    let cores = |model: &&Model| model.cores.map(|cores| cores.to_string());
    let connections = |model: &&Model| model.connections.filter(|&n| n > 0).map(Quantity::count);
    let left_out = |model: &&Model| {
        let one = |left: &LeftOut| format!("{} ({})", si(left.at as f64), left.why.in_words());
        let all: Vec<String> = model.left_out.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let rows = [
        row("metric", models.iter().map(|model| model.metric.as_str())),
        row("cores", models.iter().map(cores)),
        row("connections", models.iter().map(connections)),
        row("with", models.iter().map(swept)),
        row("points", models.iter().map(points)),
        row("left out", models.iter().map(left_out)),
    ];
    rows.into_iter().filter(Row::has_value).collect()
}

fn table(title: &str, models: &[&Model], rows: Vec<Row>, notes: Vec<String>) -> Table {
    Table {
        notes,
        ..Table::new(title, "device", models.iter().map(|model| model.dut_name.as_str())).with_parameters(rows)
    }
}

fn si(value: f64) -> String {
    number::si(value, 3)
}

/// "3.1 (2.8–3.4)"; "23 (20 or more)" with an open interval.
fn count(estimate: Estimate) -> Quantity {
    quantity(estimate, 1.0, Form::Digits(3, ""))
}

/// "3.1 (2.8–3.4) %"
fn percent(estimate: Estimate) -> Quantity {
    quantity(estimate, 100.0, Form::Digits(3, " %"))
}

/// "5.2 (5.1–5.3) Mfps per direction"
fn rate(model: &Model, estimate: Estimate) -> Quantity {
    let unit = metric::by_key(&model.metric).map(|metric| metric.unit);
    quantity(estimate, 1.0, value::form(unit, 3, of_rate(None)))
}

/// "5.2 (5.1–5.3) Mfps"
fn short_rate(model: &Model, estimate: Estimate) -> Quantity {
    let rate = rate(model, estimate);
    match rate.form {
        Form::Si(digits, unit, _) => Quantity { form: Form::Si(digits, unit, ""), ..rate },
        _ => rate,
    }
}

fn quantity(Estimate { value, low, high }: Estimate, factor: f64, form: Form) -> Quantity {
    Quantity::new(value * factor, form).with_interval(low * factor, high.map_or(f64::INFINITY, |high| high * factor))
}
