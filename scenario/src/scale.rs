//! `--scale NAME`: the values of `[scale.NAME]` in place of those of the scenario, for example on a smaller machine.

use crate::tables::SCALE;
use key::{At, Fault, SourceSpan, Tree, TreeTable, did_you_mean};

/// Tables whose tables are kinds: if a scale has one of them, the scenario keeps only the kinds that the scale names.
const OF_KINDS: [&str; 3] = ["dut", "link", "technology"];

/// Tables below `[link]` that stand beside any kind of link.
const BESIDE_LINKS: [&str; 2] = ["impair", "capture"];

/// Puts the values of `[scale.NAME]` in the place of those of the scenario, and takes the table out.
///
/// # Errors
/// If the file has no such scale; the error lists those that it has.
pub(crate) fn apply(tree: &mut Tree, name: &str) -> Result<(), Box<Fault>> {
    let mut known: Vec<String> = Vec::new();
    if let Some(scales) = tree.root.table_mut(SCALE) {
        known = scales.entries().iter().map(|entry| entry.name.clone()).collect();
        if let Some(scale) = scales.take(name).as_ref().and_then(|entry| entry.node.value.as_table()) {
            merge_scenario(&mut tree.root, scale);
            return Ok(());
        }
    }
    let fault = Fault::new(format!("the scenario has no scale `{name}`"));
    if known.is_empty() {
        return Err(Box::new(fault.instead(format!("remove --scale, or write a table [{SCALE}.{name}]"))));
    }
    let fault = fault.at(At::key(SCALE), "the scales of the scenario");
    let meant = did_you_mean(name, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`? "));
    Err(Box::new(fault.instead(format!("{meant}scales are {}", known.join(", ")))))
}

/// The `bed` of a file under this scale: the scale's own, or the scenario's if the scale has no devices of its own.
pub(crate) fn bed_of<'a>(tree: &'a Tree, name: Option<&str>) -> Option<&'a str> {
    let scale = name.and_then(|name| tree.root.table(SCALE)?.table(name));
    let has_devices = scale.is_some_and(|scale| scale.get("dut").is_some());
    let own = scale.and_then(|scale| scale.get("bed"));
    own.or(tree.root.get("bed").filter(|_| !has_devices))?.node.value.as_text()
}

pub(crate) fn refuse_path(name: &str, place: SourceSpan) -> Result<(), Box<Fault>> {
    let Some(below) = name.strip_prefix(SCALE).and_then(|rest| rest.strip_prefix('.')) else { return Ok(()) };
    let fault = Fault::new("--set cannot change the table of a scale").at(place, "has no effect");
    let path = below.split_once('.').map_or("KEY", |(_, path)| path);
    Err(Box::new(fault.instead(format!("write {path}=…: --set changes the scenario after --scale"))))
}

fn merge_scenario(root: &mut TreeTable, scale: &TreeTable) {
    for kinds in OF_KINDS {
        let Some(named) = scale.table(kinds) else { continue };
        let is_kept = |name: &str| named.get(name).is_some() || (kinds == "link" && BESIDE_LINKS.contains(&name));
        if let Some(table) = root.table_mut(kinds) {
            table.retain(is_kept);
        }
    }
    if scale.get("dut").is_some() {
        root.take("bed");
    }
    merge(root, scale);
    for kinds in OF_KINDS {
        if root.table(kinds).is_some_and(|table| table.entries().is_empty()) {
            root.take(kinds);
        }
    }
}

/// Puts each value of `from` in the place of the one of `to`; tables are merged key by key.
fn merge(to: &mut TreeTable, from: &TreeTable) {
    for entry in from.entries() {
        match (to.table_mut(&entry.name), entry.node.value.as_table()) {
            (Some(to), Some(from)) => merge(to, from),
            _ => to.put(entry.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Link, Options, Scenario, SearchError, parse};

    const TEXT: &str = "name = \"x\"\n[dut.external]\n[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n[sweep]\n\
        connections = [\"1M\", \"2M\"]\ncores = [1, 2, 4]\n[measure]\nrepetitions = 20\nerror = \"1 %\"\n\
        [scale.laptop.dut.embedded]\n[scale.laptop.sweep]\nconnections = \"20k\"\n[scale.laptop.measure]\nrepetitions = 2\n\
        [scale.laptop.full]\nrepetitions = 11\n\
        [scale.kernel.dut.nftables]\n[scale.kernel.technology]\n[scale.kernel.link.veth]\n";

    fn load(text: &str, scale: &str, set: &[&str]) -> Result<Scenario, String> {
        let set = set.iter().map(|&set| set.to_owned()).collect();
        let options = Options { scale: Some(scale.to_owned()), set, ..Options::default() };
        parse("x.toml", text, &options, tech::ALL).map(|loaded| loaded.scenario).map_err(|e| e.render(false))
    }

    fn names(scenario: &Scenario) -> Vec<&str> {
        scenario.duts.iter().map(|dut| dut.name()).collect()
    }

    #[test]
    fn a_scale_replaces_devices_and_single_values() {
        let laptop = load(TEXT, "laptop", &[]).unwrap();
        assert_eq!(names(&laptop), ["nat64"]);
        assert_eq!((laptop.sweep.connections, laptop.sweep.cores.values), (vec![20_000], vec![1, 2, 4]));
        assert_eq!((laptop.measure.repetitions.most, laptop.measure.error), (2, SearchError::Share(10_000)));
        let kernel = load(TEXT, "kernel", &[]).unwrap();
        assert_eq!(names(&kernel), ["nftables"]);
        assert!(matches!(kernel.link, Link::Veth { .. }));
        assert_eq!(kernel.sweep.connections, [1_000_000, 2_000_000]);
    }

    #[test]
    fn overrides_come_after_the_scale_and_full_too() {
        assert_eq!(load(TEXT, "laptop", &["connections=15k"]).unwrap().sweep.connections, [15_000]);
        let options = Options { full: true, scale: Some("laptop".to_owned()), ..Options::default() };
        let full = parse("x.toml", TEXT, &options, tech::ALL).unwrap().scenario;
        assert_eq!((full.measure.repetitions.most, full.sweep.connections), (11, vec![20_000]));
        let error = load(TEXT, "laptop", &["scale.laptop.sweep.connections=30k"]).unwrap_err();
        assert!(error.contains("write sweep.connections=…"), "{error}");
    }

    #[test]
    fn an_unknown_scale_is_refused_with_those_of_the_file() {
        let error = load(TEXT, "labtop", &[]).unwrap_err();
        assert!(error.contains("did you mean `laptop`? scales are kernel, laptop"), "{error}");
        let error = load("name = \"x\"\n[dut.embedded]\n[sweep]\nconnections = 1\n", "laptop", &[]).unwrap_err();
        assert!(error.contains("no scale `laptop`") && error.contains("remove --scale"), "{error}");
    }

    #[test]
    fn mistakes_in_any_scale_are_found() {
        let wrong = TEXT.replace("cores = [1, 2, 4]", "cores = 1").replace("[scale.kernel.dut.", "[scale.kernel.duts.");
        let error = load(&wrong, "laptop", &[]).unwrap_err();
        assert!(error.contains("unknown table [scale.kernel.duts]"), "{error}");
        let nested = format!("{TEXT}[scale.kernel.scale.laptop]\n");
        assert!(load(&nested, "laptop", &[]).unwrap_err().contains("unknown table [scale.kernel.scale]"));
        let no_table = TEXT.replace("[dut.external]", "scale.size = 3\n[dut.external]");
        assert!(load(&no_table, "laptop", &[]).unwrap_err().contains("`scale.size` must be a table"));
    }
}
