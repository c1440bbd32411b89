//! A sizing as text, JSON and HTML: one table of all devices with their choices, and one table for each device that was
//! measured with several numbers of cores.

use super::number::{self, grouped, percent, plural, si};
use super::table::{Row, Table, row};
use super::{html, text};
use crate::printable::{escaped_json, printable};
use crate::size::{Choice, Kind, Limit, Measured, Restart, Sized, Sizing};
use crate::versioned::Versioned;
use scenario::axis::more_in_words;

/// A format of a sizing.
#[derive(Clone, Copy, Debug)]
pub struct SizingFormat {
    /// Name on the command line.
    pub name: &'static str,
    render: fn(&Sizing, usize) -> String,
}

/// The known formats.
pub const SIZING_FORMATS: &[SizingFormat] = &[
    SizingFormat { name: "text", render: of_text },
    SizingFormat { name: "json", render: of_json },
    SizingFormat { name: "html", render: of_html },
];

impl SizingFormat {
    /// Renders a sizing; text is at most `columns` wide.
    pub fn render(self, sizing: &Sizing, columns: usize) -> String {
        printable(&(self.render)(sizing, columns)).into_owned()
    }
}

fn of_text(sizing: &Sizing, columns: usize) -> String {
    text::tables_only(&head(sizing), &tables(sizing), columns)
}

fn of_json(sizing: &Sizing, _: usize) -> String {
    let text = serde_json::to_string_pretty(&Versioned::of(sizing)).expect("a sizing has only names and numbers");
    format!("{}\n", escaped_json(&text))
}

fn of_html(sizing: &Sizing, _: usize) -> String {
    html::tables_only("Sizing", &head(sizing), &tables(sizing))
}

/// The demand, in sentences.
fn head(sizing: &Sizing) -> Vec<String> {
    let demand = &sizing.demand;
    let number = |value: f64| number::significant(value, 4);
    vec![
        format!(
            "Demand: {} subscribers with {} sessions, {} new sessions/s and {} Mbit/s in the busier direction each; packets \
             of {} octets.",
            grouped(demand.subscribers as u64),
            number(demand.sessions),
            number(demand.new_sessions),
            number(demand.mbit),
            number(demand.packet_size)
        ),
        format!(
            "All together: {} sessions, {} new sessions/s, {} per direction. {} of each limit stays free.",
            si(sizing.sessions, 3),
            si(sizing.new_sessions, 3),
            number::si_unit(sizing.packets, 3, "fps"),
            percent(demand.headroom * 100.0)
        ),
        "Loads are those of one device at the demand, of the lower end of the interval or range measured. Several devices \
         share the subscribers equally. Nothing is extrapolated."
            .to_owned(),
    ]
}

fn tables(sizing: &Sizing) -> Vec<Table> {
    let with_choice = |device: &'_ Sized| device.options.first().cloned().map(|choice| (column(device), choice));
    let chosen: Vec<(String, Choice)> = sizing.devices.iter().filter_map(with_choice).collect();
    let mut tables = vec![table("Needed", "device", &chosen, notes(sizing))];
    for device in sizing.devices.iter().filter(|device| device.options.len() > 1) {
        let mut options = device.options.clone();
        options.sort_by_key(|choice| choice.cores);
        let of_cores = |choice: Choice| (cores(&choice), choice);
        let title = format!("{} by number of cores", column(device));
        tables.push(table(
            &title,
            "cores of a device",
            &options.into_iter().map(of_cores).collect::<Vec<_>>(),
            Vec::new(),
        ));
    }
    tables
}

fn column(device: &Sized) -> String {
    let technology =
        if device.technology == device.device { String::new() } else { format!(", {}", device.technology) };
    format!("{}{technology}{}", device.device, more_in_words(&device.axes))
}

fn notes(sizing: &Sizing) -> Vec<String> {
    let of_device = |device: &Sized| {
        let missing = device.options.first().map(|choice| {
            let kinds: Vec<&str> = choice.missing.iter().map(|kind| kind.in_words()).collect();
            if kinds.is_empty() { String::new() } else { format!(" Not measured: {}.", kinds.join(", ")) }
        });
        let nothing = " Neither throughput nor set-up rate was measured.".to_owned();
        let rests = missing.unwrap_or(nothing);
        let more: String = device.notes.iter().map(|note| format!(" {note}")).collect();
        format!("{}: from {}, frames of {} octets.{rests}{more}", column(device), device.run, device.frame_size)
    };
    sizing.devices.iter().map(of_device).collect()
}

fn table(title: &str, axis: &'static str, columns: &[(String, Choice)], notes: Vec<String>) -> Table {
    let line = |label: &str, of: &dyn Fn(&Choice) -> Option<String>| row(label, columns.iter().map(|(_, c)| of(c)));
    let mut rows = vec![
        Row { strong: true, ..line("devices", &|choice| Some(grouped(choice.devices))) },
        Row { strong: true, ..line("cores of each", &|choice| Some(cores(choice))) },
        line("memory of each table", &|choice| choice.memory.map(octets)),
        line("binding limit", &|choice| choice.binding.map(|kind| kind.in_words().to_owned())),
        line("headroom", &|choice| choice.headroom.map(|share| percent(share * 100.0))),
    ];
    for kind in [Kind::Throughput, Kind::SetUpRate, Kind::Table, Kind::Subscribers] {
        let limit = move |choice: &Choice| choice.limits.iter().find(|limit| limit.kind == kind).cloned();
        if columns.iter().any(|(_, choice)| limit(choice).is_some()) {
            let name = kind.in_words();
            rows.push(line(&format!("{name}, load"), &|choice| limit(choice).map(|l| percent(l.load * 100.0))));
            rows.push(line(&format!("{name}, measured"), &|choice| limit(choice).map(|limit| measured(&limit))));
        }
    }
    rows.extend([
        line("measured at", &|choice| Some(place(choice))),
        line("sessions lost at a restart", &|choice| choice.restart.map(|restart| si(restart.sessions, 3))),
        line("set up again after", &|choice| choice.restart.and_then(|restart: Restart| restart.seconds).map(seconds)),
        line("not measured", &|choice| {
            let kinds: Vec<&str> = choice.missing.iter().map(|kind| kind.in_words()).collect();
            (!kinds.is_empty()).then(|| kinds.join(", "))
        }),
    ]);
    Table {
        title: title.to_owned(),
        axis,
        columns: columns.iter().map(|(name, _)| name.clone()).collect(),
        parameters: rows,
        groups: Vec::new(),
        notes,
        same: Vec::new(),
    }
}

fn cores(choice: &Choice) -> String {
    choice.cores.map_or_else(|| "as found".to_owned(), |cores| cores.to_string())
}

fn place(choice: &Choice) -> String {
    match choice.connections {
        0 => plural(choice.subscribers, "subscriber"),
        n => format!("{} connections", si(n as f64, 3)),
    }
}

/// "6.7 (6.6–6.8) Mfps"; a setting is a single number.
fn measured(limit: &Limit) -> String {
    let unit = if limit.kind == Kind::Throughput { "fps" } else { "" };
    let Measured { value, low, high, repetitions, at_least } = limit.measured;
    let sign = if at_least { "≥ " } else { "" };
    match repetitions {
        0 | 1 => format!("{sign}{}", number::si_unit(number::bound(sign, value, 3), 3, unit)).trim_end().to_owned(),
        _ => format!("{sign}{}", number::si_between(value, (low, high), 3, "", unit)),
    }
}

fn octets(measured: Measured) -> String {
    let Measured { value, low, high, .. } = measured;
    let (factor, unit) =
        [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")].into_iter().find(|(f, _)| value >= *f).unwrap_or((1.0, "B"));
    ranged([value, low, high].map(|v| v / factor), unit)
}

fn seconds(measured: Measured) -> String {
    let Measured { value, low, high, at_least, .. } = measured;
    // A set-up rate that may be higher is a time that may be shorter.
    let sign = if at_least { "≤ " } else { "" };
    format!("{sign}{}", ranged([value, low, high], "s"))
}

fn ranged([value, low, high]: [f64; 3], unit: &str) -> String {
    let text = |value: f64| number::significant(value, 3);
    if low == high {
        format!("{} {unit}", text(value))
    } else {
        format!("{} ({}–{}) {unit}", text(value), text(low), text(high))
    }
}
