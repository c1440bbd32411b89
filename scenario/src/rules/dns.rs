//! DNS: queries need a device that answers or forwards them, and are not mixed with test frames.

use super::{Check, dut_at};
use crate::bed::PortIo;
use crate::quantity::show_grouped;
use crate::{Dut, Scenario, TestBed};
use key::Fault;
use procedure::Sends;
use procedure::dns::{DNS64_RESOLUTION_RATE, Dns, MOST_QUERY_PORTS};

impl Check<'_> {
    /// Whether the scenario sends DNS queries; then the rules of metrics of test frames do not apply.
    pub(super) fn dns(&mut self) -> bool {
        let scenario = self.scenario;
        if !scenario.sends_queries() {
            let resolvers = scenario.duts.iter().filter(|dut| !dut.gets_frames());
            for dut in resolvers {
                let fault = Fault::new("a DNS64 server receives no test frames").at(dut_at(dut), "answers DNS queries");
                let fault = fault.at(self.measure("metrics"), "metrics of test frames");
                self.faults.push(fault.instead("write metrics = [\"dns64_resolution_rate\"]"));
            }
            return false;
        }
        self.dns_metrics();
        self.dns_devices();
        self.dns_workers();
        self.dns_ports();
        self.dns_names();
        self.dns_links();
        self.dns_boxes();
        true
    }

    /// All metrics are of DNS queries, and each has a device.
    fn dns_metrics(&mut self) {
        let (path, Scenario { measure, duts, .. }) = (self.measure("metrics"), self.scenario);
        for (at, key) in measure.metrics.iter().enumerate() {
            let path = format!("{path}[{at}]");
            if self.scenario.sent(key) != Some(Sends::Queries) {
                let fault = Fault::new("DNS queries and test frames need different links");
                let fault = fault.at(path, "no metric of DNS");
                self.faults.push(fault.instead("measure it in another scenario, or remove it"));
            } else if !duts.iter().any(|dut| dut.dns_metrics().contains(&key.as_str())) {
                let device = if key == DNS64_RESOLUTION_RATE.key { "[dut.unbound]" } else { "[dut.nftables]" };
                let fault = Fault::new(format!("`{key}` has no device")).at(path, "does not apply to the devices");
                self.faults.push(fault.instead(format!("add {device}, or remove the metric")));
            }
        }
    }

    fn dns_devices(&mut self) {
        for dut in &self.scenario.duts {
            if dut.dns_metrics().iter().any(|metric| self.scenario.measures(metric)) {
                continue;
            }
            let fault = Fault::new(format!("nothing is measured on `{}`", dut.name()));
            let fault = fault.at(dut_at(dut), "not with these metrics").at(self.measure("metrics"), "DNS queries only");
            self.faults.push(fault.instead(match dut.dns_metrics().first() {
                Some(metric) => format!("add \"{metric}\" to the metrics, or remove the device"),
                None => "natmeter sends DNS queries to unbound, and through linux-forwarding, nftables, iptables-legacy, \
                         iptables-nft, embedded gateways that keep connections and have IPv4 on both sides, and boxes with IPv4 on \
                         both sides; remove the device"
                    .to_owned(),
            }));
        }
    }

    fn dns_workers(&mut self) {
        let scenario = self.scenario;
        let Some(dut) = scenario.duts.iter().find(|dut| dut.has_workers()) else { return };
        if let Some(at) = scenario.sweep.cores.values.iter().position(|cores| *cores != 1) {
            let fault = Fault::new("the gateway has one worker between DNS client and server");
            let fault = fault.at(format!("sweep.cores[{at}]"), "more").at(dut_at(dut), "runs on packet sockets");
            self.fault(fault.instead("write cores = 1, or measure devices of the kernel in a scenario of their own"));
        }
    }

    /// The source ports are there, and are the connections.
    fn dns_ports(&mut self) {
        let dns = self.scenario.procedures.get::<Dns>();
        let [threads, ports] = ["threads", "ports"].map(|key| self.measure(&format!("dns.{key}")));
        // A simulated device has no ports.
        let has_ports = |dut: &Dut| !dut.dns_metrics().is_empty() && dut.place(self.scenario) != TestBed::Simulated;
        let stateful = self.scenario.duts.iter().any(|dut| dut.is_stateful() && has_ports(dut));
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
                self.faults.push(
                    fault
                        .at(at, "`threads` × `ports`")
                        .instead(format!("write at most {} together", show_grouped(MOST_QUERY_PORTS.into()))),
                );
            }
        }
    }

    fn dns_links(&mut self) {
        for path in ["link.tap", "link.veth", "link.in-process", "link.impair", "link.capture"] {
            if self.spans.has(path) {
                let fault = Fault::new("DNS queries have links of their own: veth pairs between IP stacks");
                self.faults.push(fault.at(key::At::key(path), "not used").instead("remove this table"));
            }
        }
    }

    /// Before each trial, a hook empties the table of a box: source ports are used again, and the tester has no others. The ports
    /// are interfaces, on which natmeter puts those of client and server.
    fn dns_boxes(&mut self) {
        let scenario = self.scenario;
        let Some(bed) = &scenario.bed else { return };
        let metric = self.measure("metrics");
        if let Some(dut) = scenario.duts.iter().find(|dut| scenario.keeps(dut).is_some()) {
            let fault = Fault::new("nothing empties the table of the box before a trial of DNS queries");
            let fault =
                fault.at(dut_at(dut), "keeps the connections of earlier trials").at(metric.clone(), "DNS queries");
            self.faults.push(fault.instead("add the hook `clear`, or `software`, to the box in the bed file"));
        }
        for (side, port) in bed.ports() {
            if port.io == PortIo::Tap {
                let fault = Fault::new(
                    "DNS queries need an interface at each port of the tester; a TAP has one only at the box",
                );
                let fault = fault.at(metric.clone(), "DNS queries").needs(format!("bed.{side}.io"));
                self.faults.push(fault.instead("remove `io`, or write io = \"af-packet\" in the bed file"));
            }
        }
    }

    /// The zone has a name for each query, up to `max-rate`.
    fn dns_names(&mut self) {
        let Some(most) = self.scenario.rate_of_names() else { return };
        let written = self.scenario.measure.max_rate.map(|rate| rate.frames_per_second(self.scenario.widest_frame()));
        let Some(wanted) = written.filter(|wanted| *wanted > most) else { return };
        let title = format!("the zone has too few names for trials of {} queries per second", show_grouped(wanted));
        let fault =
            Fault::new(title).at(self.measure("max-rate"), format!("names for {} per second", show_grouped(most)));
        let fault = fault.needs(self.measure("dns.names")).needs(self.measure("duration"));
        self.faults.push(fault.instead("write more `names` in [measure.dns], a lower max-rate, or a shorter duration"));
    }
}

#[cfg(test)]
mod tests {
    use crate::conformance;
    use crate::test_scenarios::{load, load_full, refused};

    const DNS64: &str = "[dut.unbound]\n[measure]\nmetrics = \"dns64_resolution_rate\"\n";

    #[test]
    fn queries_and_frames_are_not_mixed() {
        let text = refused(
            "[dut.nftables]\n[sweep]\nconnections = 1600\n[measure]\nmetrics = [\"dns_queries_resolved\", \"max_conn_est_rate\"]\n",
            &[],
        );
        assert!(text.contains("DNS queries and test frames need different links"), "{text}");
        assert!(text.contains("x.toml:6:"), "{text}");
    }

    #[test]
    fn metrics_and_devices_belong_together() {
        let text = refused("[dut.linux-forwarding]\n[measure]\nmetrics = \"dns64_resolution_rate\"\n", &[]);
        assert!(text.contains("`dns64_resolution_rate` has no device") && text.contains("add [dut.unbound]"), "{text}");
        let text = refused("[dut.unbound]\n[measure]\nmetrics = \"throughput\"\n", &[]);
        assert!(text.contains("a DNS64 server receives no test frames"), "{text}");
    }

    #[test]
    fn source_ports_are_the_connections() {
        let load = "[dut.nftables]\n[sweep]\nconnections = 1601\n[measure]\nmetrics = \"dns_queries_resolved\"\n[measure.dns]\nthreads = 4\n";
        let text = refused(load, &[]);
        assert!(
            text.contains("1,600 source ports are not 1,601 connections") && text.contains("such as 1604"),
            "{text}"
        );
    }

    /// Two threads of three ports each have 6 × 65,536 IDs, and wait 2 s for each answer.
    #[test]
    fn no_port_uses_an_id_again_before_its_time_out() {
        let text = format!(
            "{DNS64}duration = \"1 s\"\n[measure.dns]\nthreads = 2\nports = 3\ntimeout = \"2 s\"\nnames = \"4M\"\n"
        );
        assert_eq!(load(&text, &[]).unwrap().max_rate(), Some(196_608));
    }

    #[test]
    fn the_zone_has_a_name_for_each_query() {
        let text = refused(&format!("{DNS64}duration = \"10 s\"\nmax-rate = \"200k\"\n"), &[]);
        assert!(text.contains("too few names for trials of 200,000 queries per second"), "{text}");
        let text = format!("{DNS64}duration = \"10 s\"\n[measure.dns]\nnames = \"50k\"\n");
        assert_eq!(load(&text, &[]).unwrap().max_rate(), Some(5_000));
    }

    #[test]
    fn a_long_time_out_departs_from_rfc_8219() {
        let text = format!("{DNS64}[measure.dns]\ntimeout = \"2 s\"\n[full.dns]\ntimeout = \"2 s\"\n");
        let departures = conformance(&load_full(&text, &[]).unwrap()).sentences();
        let words = "answers may take 2 s, above 1 s (RFC 8219, section 9.2: SHOULD)";
        assert!(departures.iter().any(|departure| departure == words), "{departures:?}");
    }
}
