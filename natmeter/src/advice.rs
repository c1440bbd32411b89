//! Notes on how a valid scenario will run on this machine, such as too few cores.

use crate::rig::boxes;
use crate::rig::checks::what_takes_root;
use crate::rig::cores::{are_too_few, listed, testers};
use record::plan::Plan;
use scenario::{Dut, LoadedScenario, Point, Scenario};
use std::collections::BTreeSet;

/// What the notes depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    /// Root of the machine, and not only of a user namespace.
    pub(crate) root: bool,
}

impl Machine {
    pub(crate) fn here() -> Machine {
        let root = rustix::process::geteuid().is_root() && !port::netns::in_user_namespace();
        Machine { cores: port::host::cores().len(), root }
    }
}

/// Notes, one sentence each.
pub(crate) fn advice(loaded: &LoadedScenario, plan: &Plan, machine: Machine) -> Vec<String> {
    let scenario = &loaded.scenario;
    let points: Vec<&Point> = plan.points().collect();
    let mut advice: Vec<String> = loaded.advice.clone();
    advice.extend(shared_cores(scenario, &points, machine));
    advice.extend(one_core(scenario, machine));
    advice.extend(boxes_here(scenario, &points));
    if !machine.root {
        advice.extend(root(scenario, &points));
    }
    advice
}

fn shared_cores(scenario: &Scenario, points: &[&Point], machine: Machine) -> Option<String> {
    // Without cores as an axis, the kernel works on the sender's core. The self-test of RFC 8219
    // finds what client and server can do beside a DNS64 server.
    let has_cores = |dut: &Dut| {
        let is_kernel = dut.is_kernel_of_tester(scenario) && !dut.is_run_by_sender(scenario);
        dut.has_workers() || scenario.bed.is_none() && is_kernel
    };
    let shares = |point: &&&Point| {
        let too_few = are_too_few(machine.cores, testers(scenario, machine.cores), point.cores as usize);
        has_cores(&scenario.duts[point.dut]) && too_few
    };
    let cores: BTreeSet<u32> = points.iter().filter(shares).map(|point| point.cores).collect();
    if cores.is_empty() {
        return None;
    }
    let values = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let have = if machine.cores == 1 { "1 core".to_owned() } else { format!("{} cores", machine.cores) };
    let testers = testers(scenario, machine.cores);
    let remedy = match machine.cores.saturating_sub(testers) {
        0 if testers > 1 && machine.cores > 1 => {
            format!("use workers = {} or fewer in [tester], or a machine with more cores", machine.cores - 1)
        }
        0 => "use a machine with more cores".to_owned(),
        n => format!("use cores = {n} or fewer, or a machine with more cores"),
    };
    Some(format!(
        "this machine has {have}: with cores = {values} tester and device share them, so the rate is that of both together and \
         not a scaling result; {remedy}"
    ))
}

/// The boxes here, with the cores that they share with the tester.
fn boxes_here(scenario: &Scenario, points: &[&Point]) -> Option<String> {
    let bed = scenario.bed.as_ref()?;
    let all = points.iter().filter_map(|point| boxes::on_this_machine(scenario, bed, point));
    let shared: BTreeSet<usize> = all.flat_map(|cores| cores.shared()).collect();
    let cores = listed(&shared.into_iter().collect::<Vec<_>>());
    (!cores.is_empty()).then(|| {
        format!(
            "the box is on this machine, and works on cores of the tester (number {cores}): each rate is that of both together"
        )
    })
}

/// One thread is tester and device.
fn one_core(scenario: &Scenario, machine: Machine) -> Option<String> {
    let wanted = scenario.tester.workers as usize;
    let words = format!("this machine has 1 core: the tester uses 1 worker instead of {wanted}");
    (testers(scenario, machine.cores) < wanted).then_some(words)
}

/// What a run without root refuses.
fn root(scenario: &Scenario, points: &[&Point]) -> Vec<String> {
    let refused = points.iter().filter_map(|point| what_takes_root(&point.of(scenario), point));
    document::distinct(refused.map(|refused| format!("needs root: {refused}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    const KERNEL_CORES: &str = include_str!("../../scenarios/kernel-cores.toml");
    const GATEWAY_CORES: &str = include_str!("../../scenarios/gateway-cores.toml");
    const KERNEL_XDP: &str = include_str!("../../scenarios/kernel-nat44-xdp.toml");

    fn of(text: &str, set: &[&str], machine: Machine) -> Vec<String> {
        let set = set.iter().map(|&text| text.to_owned()).collect();
        let loaded = parse("test.toml", text, &Options { full: false, set, ..Options::default() }, tech::ALL).unwrap();
        advice(&loaded, &Plan::new(&loaded.scenario), machine)
    }

    #[test]
    fn a_machine_with_too_few_cores_is_named() {
        let machine = |cores| Machine { cores, root: true };
        for text in [KERNEL_CORES, GATEWAY_CORES] {
            assert!(of(text, &["cores=1,2"], machine(3)).is_empty());
            let [note] = &of(text, &["cores=1,2"], machine(2))[..] else { panic!("one note") };
            assert!(note.contains("has 2 cores: with cores = 2 tester and device share them"), "{note}");
            assert!(note.contains("not a scaling result; use cores = 1 or fewer"), "{note}");
        }
    }

    /// The tester's workers count as those of the gateway do.
    #[test]
    fn workers_of_the_tester_take_cores() {
        let machine = |cores| Machine { cores, root: true };
        let set = ["cores=1,2", "tester.workers=2"];
        assert!(of(GATEWAY_CORES, &set, machine(4)).is_empty());
        for (cores, shared, remedy) in [
            (3, "with cores = 2 tester", "use cores = 1 or fewer"),
            (2, "with cores = 1, 2 tester", "use workers = 1 or fewer in [tester]"),
        ] {
            let [note] = &of(GATEWAY_CORES, &set, machine(cores))[..] else { panic!("one note") };
            assert!(note.contains(shared) && note.contains(remedy), "{note}");
        }
        let notes = of(GATEWAY_CORES, &set, machine(1));
        assert!(notes.iter().any(|n| n.contains("the tester uses 1 worker instead of 2")), "{notes:?}");
    }

    /// 4,500 sources on a set of 8,192 ports are valid, but slow in many gateways.
    #[test]
    fn a_port_set_in_use_by_more_than_half() {
        let machine = Machine { cores: 8, root: true };
        let of = |ports: &str| {
            let set = format!("source-ports={ports}");
            of(include_str!("../../scenarios/map-e.toml"), &[&set, "connections=100k"], machine)
        };
        assert_eq!(of("1024-5023"), Vec::<String>::new());
        let [note] = &of("1024-5523")[..] else { panic!("one note: {:?}", of("1024-5523")) };
        assert!(note.contains("4,500 inside addresses × ports") && note.contains("more than half"), "{note}");
    }

    #[test]
    fn what_takes_root_is_said_to_others() {
        let machine = |root| Machine { cores: 8, root };
        for (text, words) in [(KERNEL_CORES, "pinning the DUT to cores needs root"), (KERNEL_XDP, "AF_XDP needs root")]
        {
            let notes = of(text, &[], machine(false));
            assert!(notes.iter().any(|n| n.starts_with("needs root: ") && n.contains(words)), "{notes:?}");
            assert!(of(text, &[], machine(true)).is_empty());
        }
        assert!(of(GATEWAY_CORES, &["cores=1"], machine(false)).is_empty());
    }
}
