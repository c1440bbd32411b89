//! Counters of a network card, and which of them count frames lost on the tester's side.

use super::ethtool::Ethtool;
use super::{IFINFOMSG, Interfaces, NLMSG_HEADER, attributes, no_error};
use crate::{Netns, PortError};
use std::collections::BTreeMap;

/// Counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Statistics {
    /// Kind in the kernel's words ("veth", "tun", …); empty for hardware.
    pub kind: String,
    /// The driver's (`ethtool -S`), and the kernel's (`ip -s -s link`) with the prefix `link.`.
    pub counters: BTreeMap<String, u64>,
}

/// Names in the order of `struct rtnl_link_stats64`.
const OF_KERNEL: [&str; 25] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
];
const LINK: &str = "link.";

/// The kernel's counters of losses, with reasons.
const LOSSES_OF_KERNEL: &[(&str, &str)] = &[
    ("rx_dropped", "no memory or no place in the host; also frames that the kernel did not know, unless it is muted"),
    ("rx_missed_errors", "the host did not take frames out of the card in time"),
    ("rx_fifo_errors", "the card's memory was full"),
    ("rx_over_errors", "the receive ring was full"),
    ("tx_errors", "the card did not send a frame that it had accepted"),
];

/// Parts of names, with reasons. Omitted are counters that also rise without a loss on the tester's
/// side: repeated allocations, frames to other addresses, frames damaged on the cable.
const LOSSES_OF_DRIVERS: &[(&str, &str)] = &[
    ("rx_dropped", "no memory or no place in the host (ice, i40e)"),
    ("rx_drops", "no memory or no place in the host (virtio_net, ena)"),
    ("rx_missed", "the host did not take frames out of the card in time (igb, ixgbe, e1000e)"),
    ("rx_fifo_err", "the card's memory was full"),
    ("rx_over_err", "the receive ring was full"),
    ("rx_overruns", "the receive ring was full (ena)"),
    ("rx_no_buffer", "no free buffer in the receive ring (igb, e1000e)"),
    ("no_dma_resources", "no free buffer in the receive ring (ixgbe: rx_no_dma_resources)"),
    ("out_of_buffer", "no free buffer in the receive ring (mlx5: rx_out_of_buffer)"),
    ("buff_alloc_err", "no memory for a received frame, or an empty fill ring (mlx5: rx_xsk_buff_alloc_err)"),
    ("rx_discards_phy", "the card's memory was full (mlx5)"),
    ("fill_ring_empty", "no free frame in the fill ring of an XDP socket"),
    ("xdp_drop", "a frame could not be given to an XDP socket: natmeter's programs drop none themselves"),
    ("xdp_redirect_err", "a frame could not be given to an XDP socket"),
    ("xdp_redirect_fail", "a frame could not be given to an XDP socket"),
];

/// Parts of names of drivers that natmeter does not know: a counter of received frames that has one counts as a loss, unless
/// it has one of [`NO_LOSSES`].
const SIGNS_OF_LOSS: &[&str] = &["drop", "miss", "err", "oob", "no_buf"];

/// Sent frames, damage on the cable, repeated allocations, offloads, and frames to other addresses.
const NO_LOSSES: &[&str] = &[
    "tx",
    "crc",
    "fcs",
    "align",
    "length",
    "_len",
    "frame_err",
    "symbol",
    "phy",
    "ecc",
    "fec",
    "csum",
    "checksum",
    "rxerrors",
    "rxerror",
    "steer",
    "arfs",
    "smbus",
    "interrupt",
    "deferred",
    "transmi",
];

/// Drivers without a card, whose counters count other losses too. Ports count losses of XDP sockets
/// and TAPs themselves.
const WITHOUT_A_CARD: [&str; 2] = ["veth", "tun"];

impl Statistics {
    /// Reads the counters of an interface of the namespace `ns`.
    ///
    /// # Errors
    /// No interface has this name, or the namespace cannot be entered.
    pub fn of(ns: &Netns, interface: &str) -> Result<Statistics, PortError> {
        ns.run_in(|| Interfaces::here()?.statistics(interface))?
    }

    /// Frames lost on the tester's side since `before`; 0 exactly if no loss counter rose. Kernel,
    /// card and queue may count the same frame, so it is the largest of their sums.
    #[must_use]
    pub fn own_losses(&self, before: &Statistics) -> u64 {
        if !has_card(&self.kind) {
            return 0;
        }
        let (mut of_kernel, mut of_card, mut of_queues) = (0, 0, 0);
        for (name, rise) in self.rises(before) {
            match name.strip_prefix(LINK) {
                Some(name) if LOSSES_OF_KERNEL.iter().any(|(loss, _)| *loss == name) => of_kernel += rise,
                None if is_loss(name) && name.contains(|c: char| c.is_ascii_digit()) => of_queues += rise,
                None if is_loss(name) => of_card += rise,
                _ => {}
            }
        }
        of_kernel.max(of_card).max(of_queues)
    }

    /// Loss counters that rose since `before`, with the increase.
    pub fn losses<'a>(&'a self, before: &'a Statistics) -> impl Iterator<Item = (&'a str, u64)> {
        let counts = has_card(&self.kind);
        self.rises(before).filter(move |(name, _)| counts && is_loss(name))
    }

    fn rises<'a>(&'a self, before: &'a Statistics) -> impl Iterator<Item = (&'a str, u64)> {
        let rise = |(name, now): (&'a String, &u64)| {
            // New or reset counters say nothing.
            let rise = now.saturating_sub(*before.counters.get(name)?);
            (rise > 0).then_some((name.as_str(), rise))
        };
        self.counters.iter().filter_map(rise)
    }
}

/// Whether its counters count losses on the tester's side.
pub(super) fn has_card(kind: &str) -> bool {
    !WITHOUT_A_CARD.contains(&kind)
}

fn is_loss(name: &str) -> bool {
    if let Some(name) = name.strip_prefix(LINK) {
        return LOSSES_OF_KERNEL.iter().any(|(loss, _)| *loss == name);
    }
    // Names contain queue numbers: rx0_drops, rx_queue_0_drops.
    let plain: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
    let plain = plain.to_ascii_lowercase().replace("rx_queue_", "rx").replace("rx_", "rx").replace("rx-", "rx");
    let has = |parts: &[&str]| parts.iter().any(|part| plain.contains(part));
    LOSSES_OF_DRIVERS.iter().any(|(loss, _)| plain.contains(&loss.replace("rx_", "rx")))
        || (has(SIGNS_OF_LOSS) && !has(NO_LOSSES))
}

impl Interfaces {
    /// Reads the counters of one interface, if any.
    ///
    /// # Errors
    /// No interface has this name.
    pub fn statistics(&mut self, name: &str) -> Result<Statistics, PortError> {
        let kind = self.get(name)?.kind;
        let of_kernel = self.counters_of_kernel(name).map_err(|e| {
            PortError::system(format!("reading the counters of {name}"), e, "was the interface deleted?")
        })?;
        let mut counters: BTreeMap<String, u64> =
            OF_KERNEL.iter().zip(of_kernel).map(|(name, value)| (format!("{LINK}{name}"), value)).collect();
        for (name, value) in (Ethtool { socket: &self.socket, name }).statistics().unwrap_or_default() {
            // Some drivers repeat names.
            *counters.entry(name).or_default() += value;
        }
        Ok(Statistics { kind, counters })
    }

    fn counters_of_kernel(&mut self, name: &str) -> std::io::Result<Vec<u64>> {
        let message = self.exchange(libc::RTM_GETLINK, 0, name, 0, &[])?;
        no_error(&message)?;
        let all = attributes(message.get(NLMSG_HEADER + IFINFOMSG..).unwrap_or_default());
        let stats = all.into_iter().find(|(kind, _)| *kind == libc::IFLA_STATS64);
        let values = stats.map_or(&[][..], |(_, value)| value).chunks_exact(8);
        Ok(values.map(|value| u64::from_ne_bytes(value.try_into().unwrap_or_default())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(kind: &str, counters: &[(&str, u64)]) -> Statistics {
        let counters = counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Statistics { kind: kind.to_owned(), counters }
    }

    /// The losses of a card whose counters rose by these values.
    fn losses(counters: &[(&str, u64)]) -> u64 {
        let before: Vec<_> = counters.iter().map(|(name, _)| (*name, 1000)).collect();
        let after: Vec<_> = counters.iter().map(|(name, rise)| (*name, 1000 + rise)).collect();
        statistics("", &after).own_losses(&statistics("", &before))
    }

    #[test]
    fn counters_of_known_drivers_are_recognised() {
        let all = [
            "link.rx_dropped",
            "link.rx_missed_errors",
            "link.rx_fifo_errors",
            "rx_missed_errors",
            "rx_no_buffer_count",
            "rx_no_dma_resources",
            "rx_queue_3_drops",
            "port.rx_dropped",
            "rx_dropped.nic",
            "rx_out_of_buffer",
            "rx12_xsk_buff_alloc_err",
            "rx_discards_phy",
            "rx0_xdp_drops",
            "rx_xdp_drop",
            "rx_queue_7_fill_ring_empty",
            // vmxnet3, and names that no driver has yet.
            "  pkts rx OOB",
            "  drv dropped rx total",
            "rx_q3_missed_deadline",
            "rx-2.no_buf",
            "dev_internal_queue_oob",
            "port.rx_internal_err",
        ];
        for name in all {
            assert_eq!(losses(&[(name, 7)]), 7, "{name}");
        }
    }

    #[test]
    fn other_counters_are_no_losses() {
        let all = [
            "link.rx_packets",
            "link.rx_crc_errors",
            "link.rx_nohandler",
            "link.rx_otherhost_dropped",
            "link.tx_dropped",
            "rx_steer_missed_packets",
            "alloc_rx_buff_failed",
            "rx_xdp_redirects",
            "rx_64_bytes_phy",
            "rx_kicks",
            "tx_dropped",
            "tx0_xdp_tx_drops",
            "  pkts tx err",
            "rx_csum_offload_errors",
            "rx_long_length_errors",
            "rx_errors",
            "rx_pcs_symbol_err_phy",
            "dropped_smbus",
            "rx_interrupts",
            "rx_fcs_errors",
        ];
        for name in all {
            assert_eq!(losses(&[(name, 7)]), 0, "{name}");
        }
    }

    #[test]
    fn a_frame_in_several_counters_is_one() {
        assert_eq!(losses(&[("link.rx_dropped", 5), ("rx_drops", 5), ("rx0_drops", 2), ("rx1_drops", 3)]), 5);
        assert_eq!(losses(&[("link.rx_missed_errors", 5), ("link.rx_dropped", 2)]), 7);
    }

    #[test]
    fn a_counter_that_is_new_or_was_reset_tells_nothing() {
        let (before, after) =
            (statistics("", &[("rx_drops", 9)]), statistics("", &[("rx_drops", 3), ("rx_dropped", 8)]));
        assert_eq!((after.own_losses(&before), after.losses(&before).count()), (0, 0));
    }

    #[test]
    fn a_veth_counts_what_others_lost() {
        let at = |value| statistics("veth", &[("link.rx_dropped", value), ("rx_queue_0_drops", value)]);
        assert_eq!((at(9).own_losses(&at(0)), at(9).losses(&at(0)).count()), (0, 0));
    }
}
