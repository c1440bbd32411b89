//! `cores` of `[sweep]`. Over a bed of several boxes, those of one box vary, and the others have
//! numbers of their own: `cores = { pe = [1, 2, 4], ce = 32 }`.

use key::kind::{Series, Shape, ValueKind, number, series};
use key::{Node, Refuse, TreeEntry, Value, Wrong};
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The axis: cores of the device, or of the box whose cores vary.
    pub values: Vec<u32>,
    /// Boxes of a bed, if the scenario names them.
    pub boxes: Option<BoxCores>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxCores {
    /// Box with the cores of the axis.
    pub varying: String,
    /// Names of the others, and cores of each at every point.
    pub fixed: Vec<(String, u32)>,
}

impl From<Vec<u32>> for Cores {
    fn from(values: Vec<u32>) -> Cores {
        Cores { values, boxes: None }
    }
}

impl Cores {
    pub fn is_default(&self) -> bool {
        self.values == [1] && self.boxes.is_none()
    }

    /// Cores of a box at a point whose device has `at_point`.
    pub fn of_box(&self, role: &str, at_point: u32) -> u32 {
        let fixed = self.boxes.iter().flat_map(|boxes| &boxes.fixed);
        fixed.into_iter().find(|(name, _)| name == role).map_or(at_point, |(_, cores)| *cores)
    }

    /// Whether the scenario says how many cores a box has.
    pub fn sets(&self, role: &str) -> bool {
        self.boxes.as_ref().map_or(!self.is_default(), |boxes| boxes.names().any(|name| name == role))
    }

    /// `1, 2, 4`, or `pe 1, 2, 4; ce 32`.
    pub fn in_words(&self) -> String {
        let values = self.values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let Some(BoxCores { varying, fixed }) = &self.boxes else { return values };
        let fixed: Vec<String> = fixed.iter().map(|(name, cores)| format!("; {name} {cores}")).collect();
        format!("{varying} {values}{}", fixed.concat())
    }
}

impl BoxCores {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.varying.as_str()).chain(self.fixed.iter().map(|(name, _)| name.as_str()))
    }
}

/// Numbers, or a table with those of each box.
pub(crate) struct CoresOf;

fn of_one() -> Series<u32> {
    series(number(1..=1024))
}

impl ValueKind for CoresOf {
    type Out = Cores;

    fn shape(&self) -> Shape {
        let Shape { words, json, .. } = of_one().shape();
        let json = json!({ "anyOf": [json, { "type": "object", "additionalProperties": json }] });
        Shape { is_list: true, ..Shape::one(format!("{words}; over a bed of several boxes a table of them"), json) }
    }

    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Cores> {
        let Value::Table(table) = &node.value else {
            return of_one().read(node, path, refuse).map(Cores::from);
        };
        let mut of_box = |entry: &TreeEntry| {
            let path = format!("{path}.{}", entry.name);
            Some((entry.name.clone(), of_one().read(&entry.node, &path, refuse)?))
        };
        // Every mistake is reported.
        let all: Vec<Option<(String, Vec<u32>)>> = table.entries().iter().map(&mut of_box).collect();
        of_boxes(all.into_iter().collect::<Option<_>>()?).map_err(|wrong| refuse(path, node.place, wrong)).ok()
    }
}

/// The box whose cores vary, or else the last one, has the axis.
fn of_boxes(mut all: Vec<(String, Vec<u32>)>) -> Result<Cores, Wrong> {
    let several: Vec<usize> = (0..all.len()).filter(|&at| all[at].1.len() > 1).collect();
    let at = match several[..] {
        [] if all.is_empty() => {
            return Err(Wrong::new("no box has cores", "name the boxes: cores = { pe = [1, 2, 4], ce = 32 }"));
        }
        [] => all.len() - 1,
        [at] => at,
        [first, second, ..] => {
            let what = format!("the cores of `{}` and `{}` vary", all[first].0, all[second].0);
            return Err(Wrong::new(
                what,
                "give all boxes but one a single number; measure the other in another scenario",
            ));
        }
    };
    let (varying, values) = all.remove(at);
    let fixed = all.into_iter().map(|(name, cores)| (name, cores[0])).collect();
    Ok(Cores { values, boxes: Some(BoxCores { varying, fixed }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[(&str, &[u32])]) -> Result<Cores, String> {
        let all = all.iter().map(|(name, cores)| ((*name).to_owned(), cores.to_vec())).collect();
        of_boxes(all).map_err(|wrong| wrong.what)
    }

    #[test]
    fn one_box_varies_and_the_others_have_their_own_number() {
        let cores = of(&[("ce", &[32]), ("pe", &[1, 2, 4])]).unwrap();
        assert_eq!(cores.in_words(), "pe 1, 2, 4; ce 32");
        assert_eq!((cores.of_box("pe", 2), cores.of_box("ce", 2)), (2, 32));
        assert_eq!(of(&[("ce", &[32]), ("pe", &[4])]).unwrap().in_words(), "pe 4; ce 32");
        assert_eq!(of(&[("ce", &[1, 2]), ("pe", &[1, 2])]).unwrap_err(), "the cores of `ce` and `pe` vary");
        assert_eq!(of(&[]).unwrap_err(), "no box has cores");
    }

    #[test]
    fn a_device_without_boxes_has_the_cores_of_the_point() {
        let cores = Cores::from(vec![1, 2]);
        assert_eq!((cores.in_words().as_str(), cores.of_box("dut", 2)), ("1, 2", 2));
    }
}
