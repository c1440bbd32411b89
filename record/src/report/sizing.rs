//! A sizing as text, JSON and HTML: one table of all devices with their choices, and one table for each device that was
//! measured with several numbers of cores.

use super::number::{self, grouped, percent, plural, si};
use crate::printable::{escaped_json, printable};
use crate::size::{Choice, DeviceSizing, Limit, LimitKind, MeasuredValue, Sizing};
use crate::versioned::VersionedDocument;
use document::{Bound, Cell, Form, Group, Quantity, Row, RowRole, Table, html, row, text};
use scenario::axis::{in_words, more_in_words};

#[derive(Clone, Copy, Debug)]
pub struct SizingFormat {
    pub name: &'static str,
    render: fn(&Sizing, usize) -> String,
}

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
    let text =
        serde_json::to_string_pretty(&VersionedDocument::of(sizing)).expect("a sizing has only names and numbers");
    format!("{}\n", escaped_json(&text))
}

fn of_html(sizing: &Sizing, _: usize) -> String {
    html::page("Sizing", &head(sizing), &[], &tables(sizing))
}

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
        "Both at once: the load of throughput plus that of the set-up rate. This assumes that the costs of forwarding and \
         set-ups add; both at once were not measured."
            .to_owned(),
    ]
}

/// A column of a table: its heading, the technology and further axes, and the choice.
struct Column {
    heading: String,
    about: [Option<String>; 3],
    choice: Choice,
}

fn tables(sizing: &Sizing) -> Vec<Table> {
    let chosen = sizing.devices.iter().enumerate().filter_map(|(at, device)| {
        let axes = (!device.axes.is_empty()).then(|| in_words(&device.axes));
        let about = [Some(device.technology.clone()), axes, Some(format!("[{}]", at + 1))];
        Some(Column { heading: device.device.clone(), about, choice: device.options.first()?.clone() })
    });
    let mut tables = vec![table("Sizing".to_owned(), "device", &chosen.collect::<Vec<_>>(), notes(sizing))];
    for device in sizing.devices.iter().filter(|device| device.options.len() > 1) {
        let mut options = device.options.clone();
        options.sort_by_key(|choice| choice.cores);
        let column = |choice: Choice| Column { heading: cores(&choice), about: [None, None, None], choice };
        let columns: Vec<Column> = options.into_iter().map(column).collect();
        tables.push(table(format!("{} by number of cores", name(device)), "cores of a device", &columns, Vec::new()));
    }
    tables
}

fn name(device: &DeviceSizing) -> String {
    format!("{}, {}{}", device.device, device.technology, more_in_words(&device.axes))
}

/// For each device, the measurements behind its figures, and the notes.
fn notes(sizing: &Sizing) -> Vec<String> {
    let of_device = |device: &DeviceSizing| {
        let rests = match device.options.first() {
            None => " Neither throughput nor set-up rate was measured.".to_owned(),
            Some(choice) => {
                in_words_of(&choice.missing).map_or_else(String::new, |kinds| format!(" Not measured: {kinds}."))
            }
        };
        let first = format!("{}: from {}, frames of {} octets.{rests}", name(device), device.run, device.frame_size);
        [&[first], &device.notes[..]].concat().join(" ")
    };
    sizing.devices.iter().map(of_device).collect()
}

fn in_words_of(kinds: &[LimitKind]) -> Option<String> {
    let words: Vec<&str> = kinds.iter().map(|kind| kind.in_words()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn table(title: String, axis: &'static str, columns: &[Column], notes: Vec<String>) -> Table {
    let line =
        |label: &str, of: &dyn Fn(&Choice) -> Option<Cell>| row(label, columns.iter().map(|column| of(&column.choice)));
    let about = ["technology", "with", "note"].into_iter().enumerate();
    let about = about.map(|(at, label)| row(label, columns.iter().map(|column| column.about[at].clone())));
    let needed = vec![
        line("devices", &|choice| Some(Quantity::count(choice.devices).into())).with_role(RowRole::Main),
        line("cores of each", &|choice| Some(cores(choice).into())).with_role(RowRole::Main),
        line("memory of its table", &|choice| choice.memory.map(|memory| octets(memory).into())),
        line("binding limit", &|choice| choice.binding.map(|kind| kind.in_words().into())),
        line("headroom", &|choice| choice.headroom.map(|share| percent(share * 100.0).into())),
        line("not measured", &|choice| in_words_of(&choice.missing).map(Cell::from)),
    ];
    let mut limits = vec![line("at", &|choice| Some(place(choice).into())), line("repetitions", &repetitions)];
    for kind in [LimitKind::Throughput, LimitKind::SetUpRate, LimitKind::Both, LimitKind::Table, LimitKind::Subscribers]
    {
        let limit = move |choice: &Choice| choice.limits.iter().find(|limit| limit.kind == kind).cloned();
        let name = kind.in_words();
        if kind != LimitKind::Both {
            limits.push(line(name, &|choice| limit(choice).map(|limit| measured(&limit).into())));
        }
        limits.push(line(&format!("{name}, load"), &|choice| limit(choice).map(|l| percent(l.load * 100.0).into())));
    }
    let restart = vec![
        line("sessions lost", &|choice| choice.restart.map(|restart| si(restart.sessions, 3).into())),
        line("set up again after", &|choice| choice.restart?.seconds.map(|measured| seconds(measured).into())),
    ];
    let group = |(title, rows): (&str, Vec<Row>)| {
        let rows: Vec<Row> = rows.into_iter().filter(Row::has_value).collect();
        (!rows.is_empty()).then(|| Group { title: title.to_owned(), rows, bars: Vec::new() })
    };
    let groups = [("Needed", needed), ("Measured, and load of one device", limits), ("Restart of one device", restart)];
    let groups = groups.into_iter().filter_map(group).collect();
    let table = Table::new(title, axis, columns.iter().map(|column| column.heading.as_str()));
    Table { groups, notes, ..table.with_parameters(about.filter(Row::has_value)) }
}

fn repetitions(choice: &Choice) -> Option<Cell> {
    let measured = choice.limits.iter().map(|limit| limit.measured.repetitions).filter(|&n| n > 0);
    measured.min().map(|n| n.to_string().into())
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

/// "6.7 (6.6–6.8) Mfps"; a setting, and repetitions with one value, are a single number.
fn measured(limit: &Limit) -> Quantity {
    let unit = match limit.kind {
        LimitKind::Throughput => "fps",
        LimitKind::SetUpRate => "/s",
        _ => "",
    };
    let bound = if limit.measured.at_least { Bound::AtLeast } else { Bound::Exact };
    ranged(limit.measured, 1.0, Form::Si(3, unit, "")).bounded(bound)
}

fn octets(measured: MeasuredValue) -> Quantity {
    let units = [(1e9, " GB"), (1e6, " MB"), (1e3, " kB")];
    let (factor, unit) = units.into_iter().find(|(f, _)| measured.value >= *f).unwrap_or((1.0, " B"));
    ranged(measured, factor, Form::Digits(3, unit))
}

fn seconds(measured: MeasuredValue) -> Quantity {
    // A set-up rate that may be higher is a time that may be shorter.
    let bound = if measured.at_least { Bound::AtMost } else { Bound::Exact };
    ranged(measured, 1.0, Form::Digits(3, " s")).bounded(bound)
}

fn ranged(MeasuredValue { value, low, high, .. }: MeasuredValue, factor: f64, form: Form) -> Quantity {
    let value = Quantity::new(value / factor, form);
    if low == high { value } else { value.with_interval(low / factor, high / factor) }
}
