//! The commands about guests as types.

use clap::Args;
use dut::guest;
use std::net::IpAddr;
use std::path::PathBuf;

/// `natmeter guest`
#[derive(Args, Debug)]
pub(crate) struct GuestArgs {
    /// Folder of the guests; default: $NATMETER_GUESTS, or natmeter/guest in your cache folder
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cache: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: GuestCommand,
}

/// `natmeter guest …`
#[derive(clap::Subcommand, Debug)]
pub(crate) enum GuestCommand {
    /// Build a guest from Debian packages; needs apt and a network, but no root
    Build {
        /// What runs its kernel
        #[arg(default_value = "uml", value_parser = guest_kind)]
        kind: guest::Hypervisor,
        /// Include perf, for `profile = true`; only for qemu
        #[arg(long)]
        perf: bool,
    },
    /// List the built guests with the versions of their packages
    List,
    /// Boot a guest without interfaces, and run each line of the standard input in it
    #[command(after_help = "Example: natmeter guest shell uml -c 'uname -r'")]
    Shell {
        /// What runs its kernel
        #[arg(default_value = "uml", value_parser = guest_kind)]
        kind: guest::Hypervisor,
        /// Command to run instead of the standard input
        #[arg(short, value_name = "COMMAND")]
        command: Option<String>,
        #[command(flatten)]
        hardware: Hardware,
    },
    /// Boot a guest whose interfaces are those of this namespace, and wait for its end; a box for a bed with `on = "ssh:…"`
    #[command(after_help = "Example: natmeter guest run --left g-left --right g-right --control g-control \\\n  \
        --address 10.0.0.2/24 --ssh-key ~/.ssh/id_ed25519.pub")]
    Run(GuestRun),
    /// Remove all built guests
    Clean,
}

/// What a guest has.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Hardware {
    /// Processors; User-Mode Linux has one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) cpus: u32,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    pub(crate) memory: u32,
}

/// `natmeter guest run`
#[derive(Args, Debug)]
pub(crate) struct GuestRun {
    /// What runs its kernel
    #[arg(default_value = "uml", value_parser = guest_kind)]
    pub(crate) kind: guest::Hypervisor,
    /// Interface whose frames are those of the guest's interface `left`; for QEMU a TAP
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) left: String,
    /// The same for its interface `right`
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) right: String,
    #[command(flatten)]
    pub(crate) control: Option<Control>,
    #[command(flatten)]
    pub(crate) hardware: Hardware,
}

/// How a guest takes commands by ssh.
#[derive(Args, Debug)]
#[group(requires_all = ["interface", "address", "ssh_key"])]
pub(crate) struct Control {
    /// The same for its interface `control`, through which it takes commands by ssh
    #[arg(long = "control", value_name = "INTERFACE", required = false)]
    pub(crate) interface: String,
    /// Address of `control` with its prefix length
    #[arg(long, value_name = "ADDRESS/LENGTH", value_parser = with_length, required = false)]
    pub(crate) address: (IpAddr, u8),
    /// File with the public keys that may log in as root
    #[arg(long, value_name = "FILE", required = false)]
    pub(crate) ssh_key: PathBuf,
}

fn with_length(text: &str) -> Result<(IpAddr, u8), String> {
    scenario::bed::prefix(text).ok_or_else(|| "write an address with its prefix length, such as 10.0.0.2/24".to_owned())
}

fn guest_kind(name: &str) -> Result<guest::Hypervisor, String> {
    let names: Vec<&str> = guest::Hypervisor::ALL.iter().map(|(_, name, _)| *name).collect();
    guest::Hypervisor::named(name).ok_or_else(|| format!("the kinds of guests are: {}", names.join(", ")))
}
