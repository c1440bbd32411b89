//! The command line of `natmeter gateway`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `natmeter gateway`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  natmeter gateway --config gateway.toml
  natmeter gateway --config gateway.toml --pcap-in left=a.pcap,right=b.pcap --pcap-out left=c.pcap,right=d.pcap
  natmeter gateway status
  natmeter gateway reload --allow-removal")]
pub(crate) struct GatewayArgs {
    /// Request to a running gateway
    #[arg(value_enum)]
    pub(crate) word: Option<GatewayRequest>,
    /// Configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Captures (pcap, pcapng; Ethernet) to read packets from, instead of interfaces: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "config")]
    pub(crate) pcap_in: Vec<String>,
    /// Captures to write sent packets to: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "pcap_in")]
    pub(crate) pcap_out: Vec<String>,
    /// Seed of the ports and identifications that the gateway draws; default: random on interfaces, 1 with capture
    /// files
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Time to simulate after the last packet, so that timeouts expire: 10s
    #[arg(long, value_name = "TIME", value_parser = scenario::quantity::duration, requires = "pcap_in")]
    pub(crate) linger: Option<method::Nanos>,
    /// With reload: accept a binding table that lacks more than half of the softwires in use
    #[arg(long, requires = "word")]
    pub(crate) allow_removal: bool,
    /// Control socket of the running gateway
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

/// A request to a running gateway.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatewayRequest {
    /// Counters and entries as JSON
    Status,
    /// Counters and entries as OpenMetrics text
    Metrics,
    /// Entries of the state table, one JSON document a line
    Sessions,
    /// Read the configuration file again, and apply what can change without losing state (--allow-removal)
    Reload,
    /// Delete all state
    Clear,
    /// Stop the gateway
    Stop,
}

impl GatewayRequest {
    /// Text as the control socket reads it.
    pub(crate) fn text(self) -> String {
        self.to_possible_value().expect("no word is hidden").get_name().to_owned()
    }
}
