//! Each axis of `[sweep]` is of a device, has room for its values, and leaves enough ports at every point.

use super::{Check, quoted};
use crate::axis_values::SweptAxis;
use crate::quantity::{show_count, show_grouped};
use crate::{Dut, Scenario};
use key::Fault;
use method::Count;
use tech::{Axis, Fit, OF_TRAFFIC};

impl Check<'_> {
    pub(super) fn axes(&mut self) {
        self.twice("sweep.cores", &self.scenario.sweep.cores.values, |n| format!("`{n}`"));
        for swept in &self.scenario.axes {
            let Some(axis) = Axis::by_name(&swept.axis) else { continue };
            self.twice(&path(swept), &swept.values, |n| {
                axis.word(*n).map_or_else(|| quoted(*n), |word| format!("`{word}`"))
            });
            self.devices(axis, swept);
            if axis.name() == "outside-addresses" {
                self.outside_addresses(swept);
            }
        }
        self.subscribers();
        self.played_subscribers();
        self.of_traffic();
    }

    /// Some device has the axis, and room for all its values.
    fn devices(&mut self, axis: &Axis, swept: &SweptAxis) {
        let scenario = self.scenario;
        let fits: Vec<(&Dut, Fit)> =
            scenario.duts.iter().map(|dut| (dut, dut.fit(axis.name(), &scenario.traffic.flows))).collect();
        if fits.iter().all(|(_, fit)| *fit == Fit::Lacks) {
            let names: Vec<String> = fits.iter().map(|(dut, _)| format!("`{}`", dut.name())).collect();
            let fault = Fault::new(format!("no device of this scenario can sweep {}", axis.heading));
            let fault = fault.at(key::At::key(path(swept)), format!("not supported by {}", names.join(" or ")));
            self.fault(fault.instead(format!("remove `{}`; {} supports it", axis.name(), axis.devices)));
        }
        for (dut, fit) in fits {
            match fit {
                Fit::Lacks => {}
                Fit::Refused(way_out) => {
                    let fault = Fault::new(format!(
                        "`{}` cannot be swept on `{}` with these settings",
                        axis.name(),
                        dut.name()
                    ));
                    self.fault(fault.at(key::At::key(path(swept)), "this axis").instead(way_out));
                }
                Fit::UpTo(most, why, wider) | Fit::Powers(most, why, wider) => {
                    let is_prefix = matches!(fit, Fit::Powers(..));
                    for (at, &n) in swept.values.iter().enumerate() {
                        let path = format!("{}[{at}]", path(swept));
                        if n > most {
                            self.fault(beyond(axis.heading, dut, &path, n, (most, why, wider)));
                        } else if is_prefix && !n.is_power_of_two() {
                            self.fault(no_prefix(axis, dut, path, n));
                        }
                    }
                }
            }
        }
    }

    /// Refuses an axis whose key stands in `[traffic]`, too.
    fn of_traffic(&mut self) {
        for axis in OF_TRAFFIC {
            let [set, swept] = [format!("traffic.{axis}"), format!("sweep.{axis}")];
            if self.spans.has(&set) && self.spans.has(&swept) {
                let fault = Fault::new(format!("`{axis}` is both swept and set"));
                let fault = fault.at(set, "set for all points").at(key::At::key(swept), "swept");
                self.fault(fault.instead(format!("remove `{axis}` from [traffic]")));
            }
        }
    }

    fn subscribers(&mut self) {
        let sets = |swept: &&SweptAxis| Axis::by_name(&swept.axis).is_some_and(|axis| axis.sets_subscribers);
        let mut setting = self.scenario.axes.iter().filter(sets);
        let Some(first) = setting.next() else { return };
        for second in setting {
            let title = format!("`{}` and `{}` both set the number of subscribers", first.axis, second.axis);
            let fault = Fault::new(title).at(key::At::key(path(second)), "the second");
            self.faults.push(fault.at(key::At::key(path(first)), "the first").instead("keep one of them"));
        }
        if self.spans.has("traffic.subscribers") {
            let fault = Fault::new(format!("`{}` already sets the number of subscribers", first.axis))
                .at("traffic.subscribers", "set again, for all points")
                .at(key::At::key(path(first)), "one subscriber per softwire, or per customer of the rules");
            self.fault(fault.instead("remove `subscribers` from [traffic]"));
        }
    }

    /// Every subscriber is one of the device, which drops frames of others.
    fn played_subscribers(&mut self) {
        let wanted = u64::from(self.scenario.traffic.flows.subscribers);
        for dut in &self.scenario.duts {
            let Fit::UpTo(most, why, wider) = dut.fit("subscribers", &self.scenario.traffic.flows) else { continue };
            if most > 0 && wanted > most {
                self.fault(beyond("subscribers", dut, "traffic.subscribers", wanted, (most, why, wider)));
            }
        }
    }

    /// Fewer outside addresses still have a port for every inside address and port.
    fn outside_addresses(&mut self, swept: &SweptAxis) {
        let scenario: &Scenario = self.scenario;
        let flows = scenario.most_sources();
        let sources = flows.hosts() * u64::from(flows.source_ports.count());
        let clients = sources.min(scenario.most_connections());
        let each = scenario.duts.iter().filter_map(|dut| dut.outside_ports()).min().unwrap_or(u64::MAX);
        for (at, &n) in swept.values.iter().enumerate() {
            if clients > n.saturating_mul(each) {
                let [clients_shown, outside] = [clients, n * each].map(show_grouped);
                let title = format!("the pool runs out: {clients_shown} inside addresses × ports, {outside} outside");
                let fault =
                    Fault::new(title).at(format!("{}[{at}]", path(swept)), format!("{each} outside ports per address"));
                self.fault(fault.instead(format!(
                    "sweep {} addresses or more, or give fewer inside addresses, source ports or connections",
                    clients.div_ceil(each)
                )));
            }
        }
    }
}

fn path(swept: &SweptAxis) -> String {
    format!("sweep.{}", swept.axis)
}

fn beyond(heading: &str, dut: &Dut, path: &str, n: Count, (most, why, wider): (u64, &str, &str)) -> Fault {
    let [have, want] = [most, n].map(show_grouped);
    let title = format!("`{}` has room for {have} {heading}, not for {want}", dut.name());
    Fault::new(title).at(path, why).instead(match most {
        0 => wider.to_owned(),
        _ => format!("write at most {}, or {wider}", show_count(most)),
    })
}

/// Addresses of a prefix are a power of two.
fn no_prefix(axis: &Axis, dut: &Dut, path: String, n: Count) -> Fault {
    let above = n.next_power_of_two();
    let title = format!("{} {} are not a prefix of `{}`", show_grouped(n), axis.heading, dut.name());
    let fault = Fault::new(title).at(path, "not a power of two");
    fault.instead(format!("write {} or {}", show_count(above / 2), show_count(above)))
}
