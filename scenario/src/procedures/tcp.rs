//! What TCP connections do in measurements of them.

use crate::Scenario;
use crate::quantity::show_grouped;
use key::kind::{choice, maybe, number, seconds_from, share};
use key::{computed, or};
use method::trial::TcpClose;
use method::{Count, Nanos};
use procedure::metric::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT};
use procedure::tcp::Life;

key::table! {
    /// TCP connections that are opened, used and closed while others are held.
    pub struct Tcp {
        /// Share of the connections of the point that phase 1 opens and that are held; all others are new ones.
        held_ppm: u32 = "held", share(), or("25 %");
        /// Segments with data from each side of a new connection: requests of the Initiator, each answered by the Responder. They
        /// are as long as UDP frames.
        data: u64 = "data", number(0..=10_000), or("0");
        /// How a new connection ends.
        close: TcpClose = "close", choice(&[
            ("fin", TcpClose::Fin, "FIN of both sides"),
            ("rst", TcpClose::Rst, "RST of the Initiator"),
            ("none", TcpClose::None, "it stays open"),
        ]), or("fin");
        /// After the search, natmeter reads the table of the device until it has forgotten the closed connections, for this long at
        /// most.
        watch: Option<Nanos> = "watch", maybe(seconds_from(1)), computed("the table is not watched");
    }
}

/// Octets of a frame beside the data of its segment: Ethernet, IPv4, TCP and FCS.
const AROUND_DATA: usize = 58;

impl Tcp {
    /// Returns how many of so many connections are held.
    pub fn held(&self, connections: Count) -> Count {
        (u128::from(connections) * u128::from(self.held_ppm) / 1_000_000) as Count
    }
}

impl Scenario {
    /// Whether a metric has TCP connections.
    pub fn has_tcp(&self) -> bool {
        self.measure.metrics.iter().any(|key| is_of_tcp(key))
    }

    /// Octets of data in a TCP segment that has some.
    pub fn tcp_payload(&self) -> Count {
        self.traffic.frame_size.saturating_sub(AROUND_DATA) as Count
    }

    /// Returns the connections that are held at a point with so many, and what the new ones do.
    pub fn tcp_life(&self, connections: Count) -> (Count, Life) {
        let tcp = &self.procedures.tcp;
        let held = tcp.held(connections);
        let exchanges = u16::try_from(tcp.data).unwrap_or(u16::MAX);
        (held, Life { different: connections - held, exchanges, close: tcp.close, watch: tcp.watch })
    }

    /// Says why a number of connections has none to hold, or none that is new.
    pub(crate) fn without_new_tcp(&self, connections: Count) -> Option<String> {
        let held = self.procedures.tcp.held(connections);
        let all = show_grouped(connections);
        match held {
            0 => Some(format!("of {all} TCP connections none is held")),
            _ if held == connections => Some(format!("all {all} TCP connections are held, and none is new")),
            _ => None,
        }
    }

    /// The most segments with data that a side of a connection can send: sequence numbers tell its connection up to 65,535
    /// octets, SYN and FIN included.
    pub(crate) fn most_tcp_data(&self) -> u64 {
        65_533 / self.tcp_payload().max(1)
    }
}

/// Whether trials of the metric with this key have TCP connections.
pub(crate) fn is_of_tcp(key: &str) -> bool {
    [MAX_TCP_CONN_RATE.key, TCP_THROUGHPUT.key].contains(&key)
}
