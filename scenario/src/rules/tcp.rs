//! TCP connections: some are held, some are new, their data fit their sequence numbers, and the device translates them.

use super::Check;
use crate::quantity::show_grouped;
use key::Fault;
use procedure::metric::MAX_TCP_CONN_RATE;

impl Check<'_> {
    pub(super) fn tcp(&mut self) {
        if !self.scenario.has_tcp() {
            return;
        }
        let metrics = &self.scenario.measure.metrics;
        if let Some(at) = metrics.iter().position(|key| key == MAX_TCP_CONN_RATE.key) {
            let metric = format!("{}[{at}]", self.measure("metrics"));
            self.new_connections(&metric);
            self.data(&metric);
        }
        self.initiator();
    }

    /// Some connections are held, and some are new.
    fn new_connections(&mut self, metric: &str) {
        let held = self.measure("tcp.held");
        for (at, &n) in self.scenario.sweep.connections.iter().enumerate() {
            let Some(title) = self.scenario.without_new_tcp(n) else { continue };
            let fault = Fault::new(title).at(metric, "needs both").needs(held.clone());
            let fault = fault.at(format!("{}[{at}]", self.connections()), "held and new connections together");
            self.fault(fault.instead("write a share between, such as held = \"25 %\""));
        }
    }

    /// Sequence numbers tell all data of a connection.
    fn data(&mut self, metric: &str) {
        let (data, most) = (self.scenario.procedures.tcp.data, self.scenario.most_tcp_data());
        if data <= most {
            return;
        }
        let octets = self.scenario.tcp_payload();
        let fault =
            Fault::new(format!("a TCP connection cannot have {} segments of {octets} octets", show_grouped(data)));
        let fault =
            fault.at(self.measure("tcp.data"), "of each side: more than 65,533 octets").at(metric, "has these data");
        self.fault(fault.instead(format!("write data = {most}, or a smaller frame-size")));
    }

    /// The Initiator begins everything.
    fn initiator(&mut self) {
        if let Some(direction) = self.reverse_of(MAX_TCP_CONN_RATE.key) {
            let fault = Fault::new("no TCP connection is opened");
            let fault = fault.at(direction, "the Initiator sends nothing");
            let fault = fault.at(self.measure("metrics"), "the Initiator opens connections");
            self.fault(fault.instead("write \"forward\" or \"both\" in place of \"reverse\""));
        }
    }
}
