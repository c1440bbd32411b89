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
pub struct GatewayArgs {
    /// Request to a running gateway
    #[arg(value_enum)]
    pub word: Option<Word>,
    /// Configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Captures (pcap, pcapng; Ethernet) to read packets from, instead of interfaces: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "config")]
    pub pcap_in: Vec<String>,
    /// Captures to write sent packets to: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "pcap_in")]
    pub pcap_out: Vec<String>,
    /// Seed of the ports and identifications that the gateway draws; default: random on interfaces, 1 with capture
    /// files
    #[arg(long)]
    pub seed: Option<u64>,
    /// Time to simulate after the last packet, so that timeouts expire: 10s
    #[arg(long, value_name = "TIME", value_parser = scenario::quantity::duration, requires = "pcap_in")]
    pub linger: Option<method::Nanos>,
    /// With reload: accept a binding table that lacks more than half of the softwires in use
    #[arg(long, requires = "word")]
    pub allow_removal: bool,
    /// Control socket of the running gateway
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// A request to a running gateway.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
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

impl Word {
    /// Text as the control socket reads it.
    pub fn text(self) -> String {
        self.to_possible_value().expect("no word is hidden").get_name().to_owned()
    }
}
