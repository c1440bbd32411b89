//! DNS: queries need a device that answers or forwards them, and are not mixed with test frames.

use super::{Check, dut_at};
use crate::procedure::MOST_QUERY_PORTS;
use crate::quantity::show_grouped;
use crate::tables::IPV6_FORWARDING;
use crate::{Dut, Scenario};
use key::Fault;
use method::metric::{DNS_QUERIES_RESOLVED, DNS64_RESOLUTION_RATE, is_of_queries};

/// The metric of a device's DNS queries; `None` for a device that has none.
fn metric_of(dut: &Dut) -> Option<&'static str> {
    match dut {
        Dut::Resolver => Some(DNS64_RESOLUTION_RATE.key),
        Dut::Kernel { software, .. } if *software != IPV6_FORWARDING => Some(DNS_QUERIES_RESOLVED.key),
        Dut::Kernel { .. } | Dut::Gateway { .. } | Dut::External { .. } | Dut::Simulated(_) => None,
    }
}

impl Check<'_> {
    /// Whether the scenario sends DNS queries; then the rules of metrics of test frames do not apply.
    pub(super) fn dns(&mut self) -> bool {
        let scenario = self.scenario;
        if !scenario.sends_queries() {
            let resolvers = scenario.duts.iter().filter(|dut| matches!(dut, Dut::Resolver));
            for dut in resolvers {
                let fault = Fault::new("a DNS64 server receives no test frames").at(dut_at(dut), "answers DNS queries");
                let fault = fault.at(self.measure("metrics"), "metrics of test frames");
                self.faults.push(fault.instead("write metrics = [\"dns64_resolution_rate\"]"));
            }
            return false;
        }
        self.dns_metrics();
        self.dns_devices();
        self.dns_ports();
        self.dns_names();
        self.dns_links();
        true
    }

    /// All metrics are of DNS queries, and each has a device.
    fn dns_metrics(&mut self) {
        let (path, Scenario { measure, duts, .. }) = (self.measure("metrics"), self.scenario);
        let simulated = duts.iter().any(|dut| matches!(dut, Dut::Simulated(_)));
        for (at, key) in measure.metrics.iter().enumerate() {
            let path = format!("{path}[{at}]");
            if !is_of_queries(key) {
                let fault = Fault::new("DNS queries and test frames need different links");
                let fault = fault.at(path, "no metric of DNS");
                self.faults.push(fault.instead("measure it in another scenario, or remove it"));
            } else if !simulated && !duts.iter().any(|dut| metric_of(dut) == Some(key.as_str())) {
                let device = if key == DNS64_RESOLUTION_RATE.key { "[dut.unbound]" } else { "[dut.nftables]" };
                let fault = Fault::new(format!("`{key}` has no device")).at(path, "does not apply to the devices");
                self.faults.push(fault.instead(format!("add {device}, or remove the metric")));
            }
        }
    }

    /// Each device has a metric.
    fn dns_devices(&mut self) {
        for dut in &self.scenario.duts {
            let measured = |key: &str| self.scenario.measure.metrics.iter().any(|metric| metric == key);
            if matches!(dut, Dut::Simulated(_)) || metric_of(dut).is_some_and(measured) {
                continue;
            }
            let fault = Fault::new(format!("nothing is measured on `{}`", dut.name()));
            let fault = fault.at(dut_at(dut), "not with these metrics").at(self.measure("metrics"), "DNS queries only");
            self.faults.push(fault.instead(match metric_of(dut) {
                Some(metric) => format!("add \"{metric}\" to the metrics, or remove the device"),
                None => "natmeter sends DNS queries to unbound, and through linux-forwarding, nftables, iptables-legacy and \
                         iptables-nft; remove the device"
                    .to_owned(),
            }));
        }
    }

    /// The source ports are there, and are the connections.
    fn dns_ports(&mut self) {
        let dns = &self.scenario.procedures.dns;
        let [threads, ports] = ["threads", "ports"].map(|key| self.measure(&format!("dns.{key}")));
        let stateful = self.scenario.duts.iter().any(|dut| dut.is_stateful() && metric_of(dut).is_some());
        let connections = if stateful { &self.scenario.sweep.connections[..] } else { &[0] };
        for (at, &n) in connections.iter().enumerate() {
            let all = u64::from(dns.threads) * u64::from(dns.ports(n));
            if n > 0 && all != n {
                let title = format!("{} source ports are not {} connections", show_grouped(all), show_grouped(n));
                let fault = Fault::new(title).at(format!("{}[{at}]", self.connections()), "one a source port");
                let fault = fault.needs(ports.clone()).needs(threads.clone());
                self.faults.push(fault.instead(format!(
                    "remove `ports`, and write a multiple of `threads` = {} connections, such as {}",
                    dns.threads,
                    n.next_multiple_of(u64::from(dns.threads))
                )));
            } else if all > u64::from(MOST_QUERY_PORTS) {
                let fault = Fault::new(format!("{} source ports are too many for a client", show_grouped(all)));
                let at = key::At::first([
                    ports.clone().into(),
                    format!("{}[{at}]", self.connections()).into(),
                    threads.clone().into(),
                ]);
                self.faults.push(fault.at(at, "`threads` × `ports`").instead(format!(
                    "write at most {} together",
                    show_grouped(MOST_QUERY_PORTS.into())
                )));
            }
        }
    }

    /// The links are those of the bed for DNS.
    fn dns_links(&mut self) {
        for path in ["link.tap", "link.veth", "link.in-process", "link.impair", "link.capture"] {
            if self.spans.has(path) {
                let fault = Fault::new("DNS queries have links of their own: veth pairs between IP stacks");
                self.faults.push(fault.at(key::At::key(path), "not used").instead("remove this table"));
            }
        }
    }

    /// The zone has a name for each query, up to `max-rate`.
    fn dns_names(&mut self) {
        let Some(most) = self.scenario.rate_of_names() else { return };
        let written = self.scenario.measure.max_rate.map(|rate| rate.frames_per_second(self.scenario.widest_frame()));
        let Some(wanted) = written.filter(|wanted| *wanted > most) else { return };
        let title = format!("the zone has too few names for trials of {} queries per second", show_grouped(wanted));
        let fault = Fault::new(title).at(self.measure("max-rate"), format!("names for {} per second", show_grouped(most)));
        let fault = fault.needs(self.measure("dns.names")).needs(self.measure("duration"));
        self.faults.push(fault.instead("write more `names` in [measure.dns], a lower max-rate, or a shorter duration"));
    }
}
