//! `exclude` of `[sweep]`: measurements that the matrix leaves out. An item leaves out a measurement that meets all its
//! conditions: `exclude = [{ device = "nftables", connections = "10M..100M tenfold", cores = 1 }]`.

use crate::Point;
use key::kind::{Series, Shape, ValueKind, list, number, series, text};
use key::{Node, Refuse, TreeTable, Value, Wrong, did_you_mean};
use method::Count;
use serde_json::json;
use tech::{AXES, Axis};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusion {
    /// Devices by name; empty: every device.
    pub devices: Vec<String>,
    /// Metrics; empty: every metric.
    pub metrics: Vec<String>,
    /// Names of axes, each with the values at which it applies.
    pub axes: Vec<(String, Vec<Count>)>,
}

const DEVICE: &str = "device";
const METRIC: &str = "metric";
pub const CONNECTIONS: &str = "connections";
pub const CORES: &str = "cores";

impl Exclusion {
    /// Whether it leaves out a metric at a point. A condition on an axis that the point does not have never holds.
    pub fn leaves_out(&self, point: &Point, metric: &str) -> bool {
        let among = |names: &[String], name: &str| names.is_empty() || names.iter().any(|known| known == name);
        let holds =
            |(axis, values): &(String, Vec<Count>)| value_of(point, axis).is_some_and(|value| values.contains(&value));
        among(&self.devices, &point.dut_name) && among(&self.metrics, metric) && self.axes.iter().all(holds)
    }
}

fn value_of(point: &Point, axis: &str) -> Option<Count> {
    match axis {
        CONNECTIONS => Some(point.connections),
        CORES => Some(point.cores.into()),
        axis => point.axes.get(axis).copied(),
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    [DEVICE, METRIC, CONNECTIONS, CORES].into_iter().chain(AXES.iter().map(Axis::name))
}

pub(crate) struct Exclusions;

impl Exclusions {
    fn tables(value: &Value) -> Option<Vec<&TreeTable>> {
        match value {
            Value::List(nodes) => nodes.iter().map(|node| node.value.as_table()).collect(),
            one => one.as_table().map(|table| vec![table]),
        }
    }
}

impl ValueKind for Exclusions {
    type Out = Vec<Exclusion>;

    fn shape(&self) -> Shape {
        let conditions: serde_json::Map<String, serde_json::Value> =
            names().map(|name| (name.to_owned(), shape_of(name).json)).collect();
        let item =
            json!({ "type": "object", "minProperties": 1, "additionalProperties": false, "properties": conditions });
        let json = json!({ "anyOf": [item, { "type": "array", "items": item, "minItems": 1 }] });
        Shape::one(
            "list of tables, each with conditions: `device`, `metric`, `connections`, `cores` or another axis",
            json,
        )
    }

    fn absent(&self) -> Option<Vec<Exclusion>> {
        Some(Vec::new())
    }

    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Vec<Exclusion>> {
        let Some(tables) =
            Exclusions::tables(&node.value).filter(|tables| tables.iter().all(|t| !t.entries().is_empty()))
        else {
            let instead = "write exclude = [{ connections = \"100M\", cores = 1 }]";
            refuse(path, node.place, Wrong::new("not a table of conditions", instead));
            return None;
        };
        let read: Vec<Option<Exclusion>> = tables
            .into_iter()
            .enumerate()
            .map(|(at, table)| item(table, "", &format!("{path}[{at}]"), refuse))
            .collect();
        read.into_iter().collect()
    }
}

fn numbers() -> Series<Count> {
    series(number(1..=1 << 32))
}

fn shape_of(name: &str) -> Shape {
    match (name, Axis::by_name(name)) {
        (_, Some(axis)) => axis.kind.shape(),
        (CONNECTIONS | CORES, _) => numbers().shape(),
        _ => list(text()).shape(),
    }
}

/// Reads the conditions of one item, `beside` another key; every one that is refused is reported.
pub(crate) fn item(table: &TreeTable, beside: &str, path: &str, refuse: &mut Refuse<'_>) -> Option<Exclusion> {
    let mut exclusion = Exclusion::default();
    let mut complete = true;
    for entry in table.entries().iter().filter(|entry| entry.name != beside) {
        let (name, node) = (entry.name.as_str(), &entry.node);
        let path = format!("{path}.{name}");
        let add = |values: Vec<Count>| exclusion.axes.push((name.to_owned(), values));
        let read = match (name, Axis::by_name(name)) {
            (DEVICE, _) => list(text()).read(node, &path, refuse).map(|names| exclusion.devices = names),
            (METRIC, _) => list(text()).read(node, &path, refuse).map(|names| exclusion.metrics = names),
            (CONNECTIONS | CORES, _) => numbers().read(node, &path, refuse).map(add),
            (_, Some(axis)) => axis.kind.read(node, &path, refuse).map(add),
            (_, None) => {
                let instead = match did_you_mean(name, names()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("conditions are {}", names().collect::<Vec<_>>().join(", ")),
                };
                refuse(&path, entry.key, Wrong::new(format!("unknown condition `{name}`"), instead));
                None
            }
        };
        complete &= read.is_some();
    }
    complete.then_some(exclusion)
}
