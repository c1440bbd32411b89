//! Rules about the further axes of `[sweep]`: each is of a device of the scenario, has room for its values, and leaves the
//! flows and ports that are needed at every point. Apart from the other rules because these know points, not one scenario.

use super::axis::Fit;
use super::diagnostic::Diagnostic;
use super::draft::{AxisDraft, Draft};
use super::quantity::{show_count, show_grouped};
use super::section::Spot;
use super::{Dut, Scenario, Traffic};
use method::Count;

/// Apply the rules that need no point: whether devices have the axes, and room for the values.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let scenario = draft.build(false);
    for axis in &draft.axes {
        super::check::repeated(&axis.values, |&n| format!("`{}`", show_count(n)), log);
        devices(axis, &scenario, log);
        outside_ports(draft, axis, &scenario, log);
    }
    who_subscribes(draft, log);
    // With connections their rules look at the flows.
    if !draft.axes.is_empty() && [&draft.quick, &draft.full].iter().all(|m| m.connections.place.is_none()) {
        super::check::flows(draft, log);
    }
}

/// Some device has the axis, and room for all its values.
fn devices(axis: &AxisDraft, scenario: &Scenario, log: &mut Vec<Diagnostic>) {
    let name = axis.axis.name;
    let fits: Vec<(&Dut, Fit)> =
        scenario.duts.iter().map(|dut| (dut, (axis.axis.fit)(dut, &scenario.traffic))).collect();
    if !fits.is_empty() && fits.iter().all(|(_, fit)| *fit == Fit::Lacks) {
        let names: Vec<String> = fits.iter().map(|(dut, _)| format!("`{}`", dut.name())).collect();
        let diagnostic = Diagnostic::new(format!("no device of this scenario has {} to be swept", axis.axis.heading));
        let diagnostic = diagnostic.at(axis.place, format!("not of {}", names.join(" or ")));
        log.push(diagnostic.instead(format!("leave `{name}` out; {} can have it", axis.axis.who)));
    }
    for (dut, fit) in fits {
        match fit {
            Fit::Lacks => {}
            Fit::Refused(way_out) => {
                let diagnostic = Diagnostic::new(format!("`{name}` cannot be swept on `{}` as it is here", dut.name()));
                log.push(diagnostic.at(axis.place, "this axis").instead(way_out));
            }
            Fit::UpTo(most, why, wider) | Fit::Powers(most, why, wider) => {
                if matches!(fit, Fit::Powers(..)) {
                    powers(axis, dut, most, log);
                }
                for n in axis.values.iter().filter(|n| n.value > most) {
                    let [have, want] = [most, n.value].map(show_grouped);
                    let title = format!("`{}` has room for {have} {}, not for {want}", dut.name(), axis.axis.heading);
                    let diagnostic = Diagnostic::new(title).at(n.place, why);
                    log.push(diagnostic.instead(match most {
                        0 => wider.to_owned(),
                        _ => format!("write {} at most, or {wider}", show_count(most)),
                    }));
                }
            }
        }
    }
}

/// Addresses of a prefix are a power of two.
fn powers(axis: &AxisDraft, dut: &Dut, most: Count, log: &mut Vec<Diagnostic>) {
    for n in axis.values.iter().filter(|n| n.value <= most && !n.value.is_power_of_two()) {
        let above = n.value.next_power_of_two();
        let title = format!("{} {} are no prefix of `{}`", show_grouped(n.value), axis.axis.heading, dut.name());
        let diagnostic = Diagnostic::new(title).at(n.place, "no power of two");
        log.push(diagnostic.instead(format!("write {} or {}", show_count(above / 2), show_count(above))));
    }
}

/// The number of subscribers is said once.
fn who_subscribes(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let mut setting = draft.axes.iter().filter(|axis| axis.axis.sets_subscribers);
    let Some(first) = setting.next() else { return };
    for second in setting {
        let diagnostic = Diagnostic::new(format!(
            "`{}` and `{}` both say how many subscribers there are",
            first.axis.name, second.axis.name
        ));
        log.push(diagnostic.at(second.place, "the second").at(first.place, "the first").instead("keep one of them"));
    }
    if let Some(place) = draft.traffic.subscribers.place {
        let diagnostic = Diagnostic::new(format!("`{}` says how many subscribers there are", first.axis.name));
        log.push(
            diagnostic
                .at(place, "said again, for all points")
                .at(first.place, "one for each softwire, or customer of the rules")
                .instead("leave `subscribers` out of [traffic]"),
        );
    }
}

/// With fewer outside addresses the pool still has a port for every inside address and port.
fn outside_ports(draft: &Draft, axis: &AxisDraft, scenario: &Scenario, log: &mut Vec<Diagnostic>) {
    if axis.axis.name != "outside-addresses" {
        return;
    }
    let largest = [&draft.quick, &draft.full].into_iter().filter_map(|measure| measure.connections.value.as_ref());
    let largest = largest.flatten().map(|n| n.value).max().unwrap_or(0);
    let inside = insides(scenario).map_or(0, |(_, most)| most);
    let clients = (inside * u64::from(scenario.traffic.source_ports.count())).min(largest);
    for n in &axis.values {
        let ports = scenario.duts.iter().filter_map(pool_ports).min().unwrap_or(u64::MAX);
        if clients > n.value.saturating_mul(ports) {
            let [clients_shown, outside] = [clients, n.value * ports].map(show_grouped);
            let title = format!("the pool runs out: {clients_shown} inside addresses × ports, {outside} outside");
            let diagnostic = Diagnostic::new(title).at(n.place, format!("{ports} outside ports an address"));
            log.push(diagnostic.instead(format!(
                "sweep {} addresses or more, or give fewer inside addresses, source ports or connections",
                clients.div_ceil(ports)
            )));
        }
    }
}

/// Outside ports an address.
fn pool_ports(dut: &Dut) -> Option<u64> {
    let ports = match dut {
        Dut::Embedded(nat) | Dut::Kernel { nat44: Some(nat), .. } => nat.pool_ports,
        Dut::Technology { technology, .. } => match technology.nat6() {
            Some(nat) => nat.pool_ports,
            None => technology.nat()?.pool_ports,
        },
        Dut::Kernel { nat44: None, .. } | Dut::Simulated { .. } => return None,
    };
    Some(ports.count().into())
}

/// Subscribers, or inside addresses, that a point's flows are spread over.
pub fn inside(traffic: &Traffic) -> u64 {
    // Subscribers stand in the place of inside addresses, whether they share one or not.
    u64::from(traffic.inside.count.max(traffic.subscribers))
}

/// The fewest and the most of these at any point; none where a value is not possible anyway.
pub fn insides(scenario: &Scenario) -> Option<(u64, u64)> {
    let mut all: Option<(u64, u64)> = None;
    for (at, dut) in scenario.duts.iter().enumerate() {
        for values in scenario.combinations(dut) {
            let refused = |axis: &super::axis::Axis| matches!((axis.fit)(dut, &scenario.traffic), Fit::Refused(_));
            if super::axis::in_order(&values).any(|(axis, _)| refused(axis)) {
                return None;
            }
            let n = inside(&scenario.at(at, &values).traffic);
            all = Some(all.map_or((n, n), |(least, most)| (least.min(n), most.max(n))));
        }
    }
    Some(all.unwrap_or_else(|| (inside(&scenario.traffic), inside(&scenario.traffic))))
}

/// The axis that says how many inside addresses or subscribers there are, if one does, and its largest value.
pub fn said_by(draft: &Draft) -> Option<(&AxisDraft, Option<&Spot<Count>>)> {
    let axis = draft.axes.iter().find(|a| a.axis.sets_subscribers || a.axis.name == "inside-addresses")?;
    Some((axis, axis.values.iter().max_by_key(|n| n.value)))
}
