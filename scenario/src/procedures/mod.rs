//! Parameters that belong to one procedure: a table below `[measure]` each, such as `[measure.frame-loss]`. A table below
//! `[full]` has other values for `--full`. A new procedure with parameters is one file beside this one and one entry in
//! [`Procedures`].

mod churn;
mod device;
mod dns;
mod frame_loss;
mod overload;
mod tcp;
mod timing;

pub use churn::Churn;
pub use device::{CpuIdle, Failover, Profiling, Reset, TearDown};
pub use dns::{Dns, MOST_NAMES, MOST_QUERY_PORTS, WARM_NAMES};
pub use frame_loss::FrameLoss;
pub use overload::OverloadScalability;
pub use tcp::Tcp;
pub(crate) use tcp::is_of_tcp;
pub use timing::{BackToBack, Ipdv, Latency, Pdv, SystemRecovery};

use crate::Scenario;
use key::quantity::WrittenRate;
use key::{Chapter, Sections};
use method::Nanos;
use procedure::{back_to_back, cpu_idle, delay, disruption, profiling, recovery};

/// Declares the tables, by their names in the file.
macro_rules! procedures {
    ($( $(#[doc = $about:literal])+ $field:ident: $Keys:ty = $name:literal; )+) => {
        /// The parameters of all procedures that have some.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Procedures {
            $( $(#[doc = $about])+ pub $field: $Keys, )+
        }

        /// Names of their tables, below `[measure]` and `[full]`.
        pub(crate) const TABLES: &[&str] = &[$($name),+];

        impl Procedures {
            /// Their tables below `parent`, for the reference page.
            pub(crate) fn chapters(parent: &str) -> Vec<Chapter> {
                vec![$( Chapter::of::<$Keys>(format!("{parent}.{}", $name)) ),+]
            }

            /// Reads their tables below `parent`.
            pub(crate) fn read(sections: &mut Sections<'_>, parent: &str) -> Option<Procedures> {
                // All are read before one that is refused ends it.
                $( let $field = sections.table::<$Keys>(&format!("{parent}.{}", $name)); )+
                Some(Procedures { $( $field: $field? ),+ })
            }
        }

    };
}

procedures! {
    /// Frame loss rate.
    frame_loss: FrameLoss = "frame-loss";
    /// Churn rate.
    churn: Churn = "churn";
    /// TCP life cycle.
    tcp: Tcp = "tcp";
    /// Latency.
    latency: Latency = "latency";
    /// Packet delay variation.
    pdv: Pdv = "pdv";
    /// Inter packet delay variation.
    ipdv: Ipdv = "ipdv";
    /// Back-to-back frames.
    back_to_back: BackToBack = "back-to-back";
    /// Overload scalability.
    overload_scalability: OverloadScalability = "overload-scalability";
    /// System recovery.
    system_recovery: SystemRecovery = "system-recovery";
    /// Connection tear-down.
    tear_down: TearDown = "tear-down";
    /// CPU idle time.
    cpu_idle: CpuIdle = "cpu-idle";
    /// Profile.
    profiling: Profiling = "profiling";
    /// Reset.
    reset: Reset = "reset";
    /// Failover.
    failover: Failover = "failover";
    /// DNS queries.
    dns: Dns = "dns";
}

/// Departures of the trials of single procedures from their standards, one sentence each.
pub(crate) fn departures(scenario: &Scenario) -> Vec<String> {
    [timing::departures, device::departures, dns::departures].iter().flat_map(|of| of(scenario)).collect()
}

impl Procedures {
    /// The rate that the file gives to a procedure that otherwise has the throughput of the point.
    pub fn rate(&self, procedure: &str) -> Option<WrittenRate> {
        match procedure {
            key if key == delay::LATENCY.key => self.latency.rate,
            key if key == delay::PDV.key => self.pdv.rate,
            key if key == delay::IPDV.key => self.ipdv.rate,
            key if key == back_to_back::PROCEDURE.key => self.back_to_back.rate,
            key if key == recovery::PROCEDURE.key => self.system_recovery.rate,
            key if key == cpu_idle::PROCEDURE.key => self.cpu_idle.rate,
            key if key == profiling::PROCEDURE.key => self.profiling.rate,
            key if key == disruption::RESET.key => self.reset.rate,
            key if key == disruption::FAILOVER.key => self.failover.rate,
            _ => None,
        }
    }

    /// The length of the longest trial of a metric whose procedure has a length of its own; none for the others.
    pub fn longest(&self, metric: &str) -> Option<Nanos> {
        match procedure::of(metric)?.key {
            key if key == delay::LATENCY.key => Some(self.latency.duration),
            key if key == delay::PDV.key => Some(self.pdv.duration),
            key if key == delay::IPDV.key => Some(self.ipdv.duration),
            key if key == back_to_back::PROCEDURE.key => Some(self.back_to_back.longest),
            key if key == recovery::PROCEDURE.key => {
                Some(Nanos(self.system_recovery.overload.0 + self.system_recovery.after.0))
            }
            key if key == cpu_idle::PROCEDURE.key => Some(self.cpu_idle.duration),
            key if key == profiling::PROCEDURE.key => Some(self.profiling.duration),
            key if key == disruption::RESET.key => Some(self.reset.duration),
            key if key == disruption::FAILOVER.key => Some(self.failover.duration),
            _ => None,
        }
    }
}
