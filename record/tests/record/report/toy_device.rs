//! A device that does not ship: refusals, label, remarks and every report have it as soon as a caller passes its kind.

use super::fixture::{Run, Truth};
use super::{report, whole_text};
use method::trial::Disruption;
use record::folder::SHARED_CORES;
use record::report::KNOWN;
use scenario::device::{Absence, Chapter, Device, DeviceKind, Kinds, Setup, TestBed};
use scenario::{Lists, Options, Scenario, Simulated, parse};

/// A box on this machine whose frames are numbers.
#[derive(Clone, Debug)]
struct Toy(Simulated);

static TOY: DeviceKind = DeviceKind {
    table: "toy",
    keys: Chapter::of::<Simulated>,
    read: |given| vec![given.sections.table::<Simulated>("dut.toy").map(|keys| Toy(keys).into())],
};
const KINDS: Kinds = &[&TOY];

impl Device for Toy {
    fn table(&self) -> &'static str {
        TOY.table
    }
    fn function(&self) -> &'static str {
        "NAT44 of tin"
    }
    fn published(&self) -> Option<&'static str> {
        Some("stateful NAT44")
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Simulated(&self.0)
    }
    fn place(&self, _: &Scenario) -> TestBed {
        TestBed::SameMachine
    }
    fn is_in_process(&self) -> bool {
        true
    }
    fn is_stateful(&self) -> bool {
        true
    }
    fn has_disruption(&self, what: Disruption, _: &Scenario) -> bool {
        what == Disruption::Reset
    }
    fn no_memory(&self, _: &Scenario) -> Option<Absence> {
        Some(("tin has no memory", "measure another device"))
    }
}

fn read(metrics: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"tin\"\n[dut.toy]\n[sweep]\nconnections = \"1M\"\n[measure]\nmetrics = {metrics}\nrepetitions = 2\n"
    );
    let loaded = parse("toy.toml", &text, &Options::default(), Lists { kinds: KINDS, ..tech::ALL.into() });
    loaded.map(|loaded| loaded.scenario).map_err(|complaints| complaints.render(false))
}

#[test]
fn what_it_cannot_do_is_refused_in_its_words() {
    let said = read("[\"max_conn_est_rate\", \"memory_per_conntrack_entry\"]").unwrap_err();
    assert!(said.contains("tin has no memory") && said.contains("measure another device"), "{said}");
    let said = read("[\"max_conn_est_rate\", \"failover\"]").unwrap_err();
    assert!(said.contains("`toy` has no hook for `failover`"), "{said}");
    read("[\"max_conn_est_rate\", \"throughput\", \"reset\"]").unwrap();
}

#[test]
fn label_doubts_remarks_and_reports_have_it() {
    let scenario = read("[\"max_conn_est_rate\", \"throughput\"]").unwrap();
    let truth = |capacity| Truth { capacity, tester: 14_000_000, noise: 30 };
    let mut run =
        Run::new(scenario).measure(|m| if m.metric == "throughput" { truth(5_000_000) } else { truth(3_000_000) });
    run.outcomes.iter_mut().for_each(|outcome| outcome.shares_core = true);
    run.facts.duts = [("toy".to_owned(), [(SHARED_CORES.to_owned(), "0, 3".to_owned())].into())].into();
    let report = report(&run);
    assert!(report.conformance.label.ends_with("test bed: same machine"), "{}", report.conformance.label);
    let text = whole_text(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Tester and device are on one machine",
        "tester and device on machines of their own (here on one machine)",
        "Tester and device share a core (number 0, 3)",
        "NAT44 of tin",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for format in KNOWN {
        let text = report.render(format.name).unwrap();
        assert!(text.contains("toy"), "{}: {text}", format.name);
    }
}
