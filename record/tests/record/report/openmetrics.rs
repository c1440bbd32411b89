//! Reports as OpenMetrics text.

use super::{examples, fixture, report};
use std::collections::BTreeSet;

#[test]
fn the_values_of_a_run_as_gauges() {
    let mut run = fixture::quickstart();
    run.header.scenario.sweep.connections.truncate(1);
    run.header.plan.measurements.retain(|m| m.point.connections == 100_000);
    run.outcomes.retain(|outcome| outcome.measurement.point.connections == 100_000);
    insta::assert_snapshot!(report(&run).render("openmetrics").unwrap());
}

/// Section 5.2 of OpenMetrics 1.0.0: families have one type, are not interleaved, and have the unit as the end of their name.
#[test]
fn families_are_declared_once_and_the_text_ends() {
    for (name, run) in examples() {
        let text = report(&run).render("openmetrics").unwrap();
        assert!(text.ends_with("\n# EOF\n"), "{name}");
        let (mut families, mut samples): (Vec<&str>, BTreeSet<&str>) = (Vec::new(), BTreeSet::new());
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                families.push(rest.split(' ').next().unwrap());
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (family, unit) = rest.split_once(' ').unwrap();
                assert!(Some(&family) == families.last() && family.ends_with(&format!("_{unit}")), "{name}: {line}");
            } else if !line.starts_with("# HELP ") {
                let (sample, rest) = line.split_once('{').unwrap();
                assert_eq!(families.last().copied(), Some(sample.trim_end_matches("_info")), "{name}: {line}");
                assert!(rest.rsplit_once("} ").unwrap().1.parse::<f64>().is_ok(), "{name}: {line}");
                assert!(samples.insert(&line[..line.rfind(' ').unwrap()]), "{name}: {line} is there twice");
            }
        }
        let distinct: BTreeSet<&&str> = families.iter().collect();
        assert_eq!(distinct.len(), families.len(), "{name}");
    }
}
