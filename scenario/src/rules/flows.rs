//! Each number of connections exists in the flow space, fits the tables and exceeds the buffers.

use super::{Check, quoted, shares};
use crate::Link;
use crate::quantity::{show_count, show_grouped};
use key::Fault;
use method::Count;
use tech::{Axis, Flows};

impl Check<'_> {
    pub(super) fn flows(&mut self) {
        let stateful = self.scenario.is_stateful();
        let (path, all) = (self.connections(), &self.scenario.sweep.connections);
        if all.is_empty() {
            if stateful {
                let fault = Fault::new("the scenario does not set the number of connections").needs(path);
                self.fault(fault.instead("write connections = [\"100k\", \"1M\"] in [sweep]"));
            }
            if !self.scenario.sends_queries() {
                self.too_many_flows(&[0]);
            }
            return;
        }
        if !stateful {
            let fault = Fault::new("no device of this scenario keeps connections").at(path, "no device uses these");
            self.fault(fault.instead("remove them, or add a device that keeps connections"));
            return;
        }
        self.twice(path, all, |n| quoted(*n));
        let counted = !self.too_many_flows(all);
        for (at, &n) in all.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let fewest = self.scenario.flows_with(n).into_iter().flatten().min_by_key(Flows::count);
            if let Some(flows) = fewest.filter(|flows| counted && u128::from(n) > flows.count()) {
                self.few_flows(&path, n, &flows);
            }
            // The table is to have fewer entries than the tester has connections.
            let fills = self.scenario.fills_tables();
            let tables = self
                .scenario
                .duts
                .iter()
                .filter(|_| !fills)
                .filter_map(|dut| shares::table(self.scenario, dut, &path, n));
            self.faults.extend(tables);
            self.buffers(path, n);
        }
    }

    /// Connections are far more than buffers hold. DNS queries have no in-process link.
    fn buffers(&mut self, path: String, n: Count) {
        let Link::InProcess { depth } = self.scenario.link else { return };
        let rings = self.scenario.most_rings();
        let least = 100 * depth as u64 * rings;
        if n >= least || self.scenario.sends_queries() {
            return;
        }
        let all = if rings > 1 { format!("{depth} × {rings}") } else { depth.to_string() };
        let title =
            format!("{} connections are buffer-bound: the trial would measure a buffer, not the device", show_count(n));
        self.refuse(title)
            .at(path, format!("below 100 × {all}, the frames that the link can hold"))
            .at("link.in-process.depth", "the link's depth")
            .at("tester.workers", "each worker of the tester has rings")
            .needs("sweep.cores")
            .instead(format!("use at least {} connections, or a smaller depth", show_count(least)));
    }

    /// Whether the ranges give more flows than can be told apart, at any point with these connections.
    fn too_many_flows(&mut self, connections: &[Count]) -> bool {
        let each = connections.iter().filter_map(|&n| self.scenario.flows_with(n));
        let Some(flows) = each.flatten().max_by_key(Flows::count).filter(|flows| flows.count() > 1 << 32) else {
            return false;
        };
        let fault = Fault::new(format!(
            "the ranges span {} flows; at most 4,294,967,296 can be distinguished",
            show_grouped(u64::try_from(flows.count()).unwrap_or(u64::MAX))
        ));
        let fault = self.mark_ranges(fault, &flows).instead("narrow one of the ranges");
        self.fault(fault);
        true
    }

    fn few_flows(&mut self, path: &str, n: Count, f: &Flows) {
        let hosts = f.hosts();
        let [ports, far_ports] = [f.source_ports, f.destination_ports].map(|ports| u64::from(ports.count()));
        let remote = u64::from(f.remote.count);
        let fault = Fault::new(format!(
            "{} connections, but addresses × ports give only {} flows",
            show_count(n),
            show_grouped(hosts * f.of_a_host())
        ));
        let fault = fault.at(path, format!("{hosts} × {ports} × {remote} × {far_ports} flows"));
        let needed = n.div_ceil(hosts * ports * remote);
        let fault = self.mark_ranges(fault, f).instead(if needed <= 65535 {
            format!("widen a range, for example destination-ports = \"1-{needed}\"")
        } else {
            "widen the ranges: more ports, and more addresses in `inside` or `remote`".to_owned()
        });
        self.fault(fault);
    }

    fn mark_ranges(&self, fault: Fault, f: &Flows) -> Fault {
        let largest = self.scenario.host_axis().and_then(|axis| {
            let (at, n) = axis.values.iter().enumerate().max_by_key(|(_, n)| **n)?;
            let heading = Axis::by_name(&axis.axis)?.heading;
            Some((format!("sweep.{}[{at}]", axis.axis), format!("{} {heading}", show_grouped(*n))))
        });
        let fault = match largest {
            Some((path, label)) => fault.at(path, label),
            None => fault,
        };
        fault
            .needs("traffic.subscribers")
            .at("traffic.inside", format!("{} addresses", f.inside.count))
            .at("traffic.source-ports", format!("{} ports", f.source_ports.count()))
            .at("traffic.remote", format!("{} addresses", f.remote.count))
            .at("traffic.destination-ports", format!("{} ports", f.destination_ports.count()))
    }
}
