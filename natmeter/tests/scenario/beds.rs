//! Every file in `scenarios/` runs over a bed, or is refused with the key that does not fit and the hook that serves it.

use scenario::bed::BedText;
use scenario::{Options, read};
use std::path::{Path, PathBuf};

fn bed(of_box: &str) -> BedText {
    let port = |side: &str, net: u8| {
        format!(
            "[bed.{side}]\ninterface = \"{side}\"\naddresses = [\"198.{net}.0.2/24\", \"2001:2:0:{net}00::1/64\"]\n\
             gateway = \"198.{net}.0.1\"\n"
        )
    };
    let text = format!("{}{}[dut]\n{of_box}", port("left", 18), port("right", 19));
    BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() }
}

/// All scenarios but those of its folders, which have beds of their own.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The complaints about a file over a bed; `None` if it runs.
fn complaint(file: &Path, full: bool, of_box: &str) -> Option<String> {
    let options = Options { full, bed: Some(bed(of_box)), ..Options::default() };
    read(file, &options, tech::ALL).err().map(|error| error.to_string())
}

/// Files that a box without this hook cannot serve, with the key that does not fit.
const REFUSED: [(&str, &str, &str); 4] = [
    ("gateway-cores", "cores = [1, 2]", "`cores` or `prepare`"),
    ("kernel-cores", "cores = [1, 2]", "`cores` or `prepare`"),
    ("lwaftr-softwires", "softwires = [", "the hook `prepare`"),
    ("map-e-br-rules", "rules = [", "the hook `prepare`"),
];

#[test]
fn every_file_runs_or_is_refused_with_key_and_hook() {
    let hooks = "clear = \"true\"\nprepare = \"./set {cores}\"\n";
    for (file, full) in files().into_iter().flat_map(|file| [(file.clone(), false), (file, true)]) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let said = complaint(&file, full, "clear = \"true\"\n");
        // No box can take the place of the DNS64 server.
        if name == "dns64" {
            let said = said.unwrap_or_default();
            assert!(said.contains("DNS queries only"), "{name}: {said}");
            continue;
        }
        match REFUSED.iter().find(|(refused, ..)| *refused == name) {
            None => assert_eq!(said, None, "{name}"),
            Some((_, key, hook)) => {
                let said = said.unwrap_or_default();
                assert!(said.contains(key) && said.contains(hook), "{name}: {said}");
            }
        }
        assert_eq!(complaint(&file, full, hooks), None, "{name} with its hook");
    }
}

/// Without `clear` a box must forget connections itself, in a time for which natmeter waits.
#[test]
fn a_box_that_never_forgets_needs_a_hook() {
    let nat44 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/plat.toml");
    let said = complaint(&nat44, false, "").unwrap_or_default();
    assert!(said.contains("nothing empties the box's table") && said.contains("the hook `clear`"), "{said}");
}

/// A NAT44 whose table nothing empties, with these keys of the traffic and of `[measure]`: its scenario, or the complaint.
fn uncleared(traffic: &str, of_measure: &str, of_box: &str) -> Result<Box<scenario::Scenario>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("uncleared.toml");
    let text = format!(
        "name = \"uncleared\"\n[dut.external]\n{of_box}\n[technology.nat44]\nudp-timeout = \"1000 s\"\n\
         mapping = \"address-and-port-dependent\"\n[traffic]\n{traffic}\n[sweep]\nconnections = 1000\n\
         [measure]\nmetrics = \"max_conn_est_rate\"\n{of_measure}\n"
    );
    std::fs::write(&file, text).unwrap();
    let options = Options { bed: Some(bed("")), ..Options::default() };
    let read = read(&file, &options, tech::ALL).map_err(|error| error.to_string())?;
    Ok(Box::new(read.scenario))
}

const FRESH: &str = "without-clear = \"fresh-ports\"";

/// Fresh ports take the place of a wait, however long the box keeps connections.
#[test]
fn fresh_ports_serve_a_box_that_keeps_connections_for_long() {
    let said = uncleared("", "", "").unwrap_err();
    assert!(said.contains("without-clear = \"fresh-ports\" to [measure]"), "{said}");
    let scenario = uncleared("", FRESH, "").unwrap();
    let ports = scenario.traffic.flows.source_ports.count() * scenario.traffic.flows.destination_ports.count();
    assert_eq!(ports, 16_000, "ports without ranges have room for 16 phases 1");
}

/// RFC 9693, section 4.4.
#[test]
fn fresh_ports_depart_from_an_empty_table() {
    let all = scenario::conformance(&uncleared("", FRESH, "").unwrap()).sentences();
    let words =
        "each phase 1 has fresh source ports, and the table holds connections of earlier ones (RFC 9693, section 4.4)";
    assert!(all.iter().any(|sentence| sentence == words), "{all:#?}");
}

#[test]
fn fresh_ports_that_do_not_suffice_are_refused() {
    let narrow = "source-ports = \"2000-3500\"\ndestination-ports = \"80\"";
    let said = uncleared(narrow, FRESH, "").unwrap_err();
    assert!(said.contains("1501 source ports are not enough for the connections of two phases 1"), "{said}");
    assert!(said.contains("widen `source-ports`"), "{said}");
    let said = uncleared("", FRESH, "table = 1999").unwrap_err();
    assert!(said.contains("no room for the connections of two phases 1"), "{said}");
}

/// A plan has the waits: 1,101 s before each trial, or that time divided by the other parts of the ports.
#[test]
fn a_plan_has_the_waits_of_a_box_that_nothing_empties() {
    let fresh = uncleared("", FRESH, "").unwrap();
    let dut = &fresh.duts[0];
    let wait = |seconds| fresh.mean_wait(dut, 1000, method::Nanos::from_secs(seconds));
    assert_eq!([wait(0), wait(10), wait(80)].map(|wait| wait.0 / 100_000_000), [734, 634, 0]);
    let hours = |scenario: &scenario::Scenario| natmeter::forecast::plan(scenario).predicted().as_secs_f64();
    let mut waits = fresh.clone();
    waits.measure.without_clear = scenario::WithoutClear::Wait;
    let mut cleared = fresh.clone();
    cleared.bed = None;
    let [fresh, waits, cleared] = [hours(&fresh), hours(&waits), hours(&cleared)];
    assert!(cleared < fresh && fresh < waits / 10.0, "{cleared} s, {fresh} s, {waits} s");
}

/// A profile needs a Linux kernel for which perf exists.
#[test]
fn boxes_with_a_kernel_of_linux_are_profiled() {
    const REFUSED: &str = "a Linux box over ssh or a guest of QEMU can be profiled";
    let said = |of_box: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("profiled.toml");
        let text = "name = \"profiled\"\n[dut.external]\n[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n\
            [sweep]\nconnections = 1000\n[measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\nprofile = true\n";
        std::fs::write(&file, text).unwrap();
        complaint(&file, false, of_box).unwrap_or_default()
    };
    let ssh = |software: &str| format!("on = \"ssh:dut\"\nsoftware = \"{software}\"\ninterfaces = [\"a\", \"b\"]\n");
    for (of_box, refused) in [
        (ssh("jool"), false),
        (ssh("openbsd-pf"), true),
        (ssh("vpp"), true),
        ("on = \"guest:qemu\"\nsoftware = \"jool\"\n".to_owned(), false),
        ("on = \"guest:uml\"\nsoftware = \"jool\"\n".to_owned(), true),
        ("on = \"namespace\"\nclear = \"true\"\n".to_owned(), false),
        ("clear = \"true\"\n".to_owned(), true),
    ] {
        let said = said(&of_box);
        assert_eq!(said.contains(REFUSED), refused, "{of_box}{said}");
    }
}

/// The complaints about cores of boxes, over a bed whose boxes have these keys.
fn complaint_of_cores(cores: &str, boxes: &str) -> Option<String> {
    let text = bed("").text.replace("[dut]\n", boxes);
    let bed = (!boxes.is_empty()).then(|| BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() });
    let set = vec![format!("sweep.cores={cores}")];
    let map_t = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/map-t.toml");
    read(&map_t, &Options { bed, set, ..Options::default() }, tech::ALL).err().map(|error| error.to_string())
}

/// natmeter sets the cores of Linux software in a guest, in a namespace and over ssh.
#[test]
fn cores_that_natmeter_sets_need_no_hook() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/kernel-cores.toml");
    let said = |of_box: &str| complaint(&file, false, &format!("{of_box}\nsoftware = \"nftables\"\n"));
    let interfaces = "\ninterfaces = [\"a\", \"b\"]";
    for on in ["on = \"guest:qemu\"\nguest-cpus = 2", "on = \"namespace\"", &format!("on = \"ssh:p095\"{interfaces}")] {
        assert_eq!(said(on), None, "{on}");
    }
    let refused = said("on = \"guest:qemu\"").unwrap();
    assert!(refused.contains("the guest `dut` has too few processors: 1"), "{refused}");
    assert!(refused.contains("guest-cpus = 2"), "{refused}");
    let refused = said(&format!("on = \"local\"{interfaces}")).unwrap();
    assert!(refused.contains("nothing sets the cores of the box"), "{refused}");
}

/// Two boxes have cores of their own; each is in the bed, and has a hook for them.
#[test]
fn cores_of_boxes_are_those_of_the_bed() {
    let of = |ce: &str| {
        format!("[dut.ce]\n{ce}clear = \"true\"\n[dut.pe]\ncores = \"./cores {{cores}}\"\nclear = \"true\"\n")
    };
    let hook = "prepare = \"./set {cores}\"\n";
    assert_eq!(complaint_of_cores("{ pe = [1, 2, 4], ce = 32 }", &of(hook)), None);
    for (cores, boxes, says) in [
        ("{ pe = [1, 2], ce = [1, 2] }", of(hook), "the cores of `ce` and `pe` vary"),
        ("{ br = [1, 2], ce = 32 }", of(hook), "the bed has no box `br`"),
        ("{ pe = [1, 2], ce = 32 }", of(""), "nothing sets the cores of the box `ce`"),
        ("{ pe = [1, 0], ce = 32 }", of(hook), "0 is out of range"),
        ("{ pe = [1, 2], ce = 32 }", String::new(), "no boxes with cores of their own"),
    ] {
        let said = complaint_of_cores(cores, &boxes).unwrap_or_default();
        assert!(said.contains(says) && said.contains("sweep.cores"), "{cores}: {said}");
    }
}

const SEVERAL: &str = "name = \"x\"\n[dut.external]\n[technology.nat44]\nmapping = \"address-and-port-dependent\"\n\
    [technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n[sweep]\nconnections = \"1k\"\n";

/// A scenario with two technologies, over a guest with this software.
fn of_several(of_box: &str, gateway: &str) -> Result<scenario::Scenario, String> {
    let text = format!(
        "[bed.left]\ninterface = \"a\"\naddresses = [\"198.18.0.2/24\", \"2001:2::2/64\"]\ngateway = \"198.18.0.1\"\n{gateway}\n\
         [bed.right]\ninterface = \"b\"\naddresses = [\"198.19.0.2/24\"]\ngateway = \"198.19.0.1\"\n\
         [dut]\non = \"guest\"\n{of_box}\n"
    );
    let bed = Some(BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() });
    let options = Options { bed, ..Options::default() };
    scenario::parse("x.toml", SEVERAL, &options, tech::ALL).map(|read| read.scenario).map_err(|error| error.to_string())
}

/// A hook may configure the box for each technology; cores are those of the software of each technology.
#[test]
fn hooks_of_several_technologies_have_their_name() {
    let six = "gateway-ipv6 = \"2001:2::1\"";
    assert!(of_several("prepare = \"./set {technology} {part}\"\nclear = \"true\"", six).is_ok());
}

/// Each technology is a device with its own software, and the address of the box that its packets need.
#[test]
fn a_box_has_several_technologies() {
    let of_box = "software-of = { nat44 = \"nftables\", nat64 = \"jool\" }";
    let scenario = of_several(of_box, "gateway-ipv6 = \"2001:2::1\"").unwrap();
    let each: Vec<(String, String, String)> = scenario
        .points()
        .map(|point| {
            let bed = point.of(&scenario).bed.clone().unwrap();
            let gateway = bed.left.gateway.unwrap().to_string();
            (point.dut_name, bed.boxes[0].1.software.unwrap().name.to_owned(), gateway)
        })
        .collect();
    let of = |name: &str, software: &str, gateway: &str| (name.to_owned(), software.to_owned(), gateway.to_owned());
    assert_eq!(each, [of("nat44", "nftables", "198.18.0.1"), of("nat64", "jool", "2001:2::1")]);
}

#[test]
fn software_of_a_technology_is_refused_where_it_is_wrong() {
    let six = "gateway-ipv6 = \"2001:2::1\"";
    for (of_box, gateway, says) in [
        ("software-of = { nat44 = \"jool\" }", six, "natmeter does not configure `jool` for the technology `nat44`"),
        ("software-of = { nat44 = \"nftables\" }", six, "nothing configures the box `dut` for each technology"),
        ("software-of = \"jool\"", six, "write software by technology"),
        ("software = \"jool\"", six, "write nat44 = "),
        ("on-hooks", six, "nothing configures the box `dut` for each technology"),
        ("software-of = { nat44 = \"nftables\", nat64 = \"jool\" }", "", "the box has no IPv6 address on the left"),
        ("software = \"jool\"", "gateway-ipv6 = \"2001:2::2\"", "tester and box both have the address 2001:2::2"),
        ("software = \"jool\"", "gateway-ipv6 = \"2001:3::1\"", "is in no network of the left port"),
    ] {
        let of_box = of_box.replace("on-hooks", "prepare = \"./set {pref64}\"\nclear = \"true\"");
        let said = of_several(&of_box, gateway).unwrap_err();
        assert!(said.contains(says), "{said}");
    }
}
