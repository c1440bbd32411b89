//! Native IPv6 beside every technology of the embedded gateway (RFC 8219, section 5.3): all frames of both kinds return.

use crate::program::{natmeter, only_run, stderr, top};
use crate::simulated::trials;
use crate::tester_workers::trial_of;
use method::{NativeFrames, Trials};
use natmeter::rig::cores::Cores;
use natmeter::rig::{RunContext, technology};
use record::plan::Plan;
use scenario::{Link, Options, Scenario, parse};

/// Connections, and frames of phase 2 in each direction: the rings hold all of them, so that a busy machine loses none.
const N: u64 = 4096;

/// A shipped scenario with half of its frames native.
fn mixed(name: &str) -> Scenario {
    let path = top().join("scenarios").join(name).with_extension("toml");
    let set = [
        "foreground=50 %",
        "metrics=throughput",
        "phase1-rate=100k",
        "phase1-drain=200 ms",
        "drain=200 ms",
        "settle=0",
    ];
    let options = Options { set: set.map(str::to_owned).to_vec(), ..Options::default() };
    let text = std::fs::read_to_string(&path).unwrap();
    let read = parse(name, &text, &options, tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let mut scenario = Scenario { link: Link::InProcess { depth: 2 * N as usize }, ..read.scenario };
    if scenario.most_connections() > 0 {
        scenario.sweep.connections = vec![N];
    }
    scenario
}

#[test]
fn both_kinds_return_beside_every_technology() {
    let stateful = ["464xlat", "aftr", "ds-lite", "lw4o6", "map-e", "map-t", "nat46", "plat", "quickstart"];
    let stateless = ["lwaftr", "map-e-br", "map-t-br"];
    for name in stateful.into_iter().chain(stateless) {
        let scenario = mixed(name);
        let point = Plan::new(&scenario).measurements[0].point.clone();
        let scenario = point.of(&scenario);
        let (plays, technology) = scenario.duts[0].technology().unwrap();
        let one = Cores::one_thread(1);
        let mut rig = technology::build_on(&scenario, plays, technology, &point, &RunContext::new(), &one).unwrap();
        // Other programs can keep the thread from sending in time.
        let sent_all = |o: &method::TrialOutcome| [&o.forward, &o.reverse].iter().all(|leg| leg.sent == N);
        let outcome = (0..100).map(|_| rig.run(&trial_of(&point, N)).unwrap()).find(sent_all);
        let outcome = outcome.unwrap_or_else(|| panic!("{name}: no trial of a hundred sent all frames"));
        for leg in [&outcome.forward, &outcome.reverse] {
            assert_eq!((leg.received, leg.faults.total()), (N, 0), "{name}: {outcome:?}");
            assert_eq!(leg.native, Some(NativeFrames { sent: N / 2, received: N / 2 }), "{name}");
        }
    }
}

/// Loss on purpose is that of each kind.
#[test]
fn a_report_has_the_loss_of_each_kind() {
    let dir = tempfile::tempdir().unwrap();
    let set = [
        "foreground=50 %",
        "metrics=throughput, frame_loss_rate",
        "max-rate=100k",
        "repetitions=1",
        "duration=100 ms",
        "error=50 %",
        "settle=10 ms",
        "link.impair.loss=10 %",
    ];
    let mut args = vec!["run", "scenarios/map-t-br.toml", "--beside", "--quiet", "--skip-self-test", "--runs"];
    args.push(dir.path().to_str().unwrap());
    args.extend(set.iter().flat_map(|set| ["--set", set]));
    let said = stderr(&natmeter(&top(), &args));
    let run = only_run(dir.path()).expect(&said);
    let page = std::fs::read_to_string(run.join("report.html")).expect(&said);
    for words in
        ["50 % foreground, the rest native IPv6", "Frame loss of each kind", "loss of native frames", ", native"]
    {
        assert!(page.contains(words), "no {words}: {said}");
    }
    let trials = trials(&run);
    // 5,000 frames of each kind, of which a tenth is lost, unless the host loses some, too.
    let largest = trials.iter().filter(|trial| trial.outcome.forward.sent == 10_000);
    let lost: Vec<[u64; 2]> = largest.filter_map(|trial| trial.outcome.forward.lost_by_kind()).collect();
    assert!(lost.iter().any(|kinds| kinds.iter().all(|lost| (400..600).contains(lost))), "{lost:?}");
}
