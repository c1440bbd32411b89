//! Received packets of each queue of an interface (`ethtool -S`), and whether they are spread evenly.

use std::collections::BTreeMap;

/// What surrounds the number of a queue in names of counters: virtio, igb, ixgbe, gve; mlx4, mlx5,
/// virtio since Linux 6.8; i40e, ice; ena; bnxt.
const NAMES: &[(&str, &str)] = &[
    ("rx_queue_", "_packets"),
    ("rx", "_packets"),
    ("rx-", ".packets"),
    ("queue_", "_rx_cnt"),
    ("[", "]: rx_ucast_packets"),
];
/// Percent of an even share, as in `natmeter doctor`.
const LEAST: u64 = 50;
const ENOUGH: u64 = 1_000;

/// Packets by the number of the queue.
pub type Queues = BTreeMap<u32, u64>;

/// Received packets of each queue in the output of `ethtool -S`, as far as the driver counts them.
pub fn received(statistics: &str) -> Queues {
    let lines: Vec<(&str, u64)> = statistics.lines().filter_map(counter).collect();
    let of_name = |&(before, after): &(&str, &str)| -> Queues {
        let queue = |name: &str| name.strip_prefix(before)?.strip_suffix(after)?.parse().ok();
        lines.iter().filter_map(|(name, packets)| Some((queue(name)?, *packets))).collect()
    };
    NAMES.iter().map(of_name).find(|queues| !queues.is_empty()).unwrap_or_default()
}

fn counter(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.trim().rsplit_once(':')?;
    Some((name, value.trim().parse().ok()?))
}

/// What is wrong with the spread between two readings; none if it is even, or there is too little to tell.
pub fn lopsided(before: &Queues, after: &Queues) -> Option<String> {
    let since = |(queue, packets): (&u32, &u64)| {
        let earlier = before.get(queue).copied().unwrap_or(0);
        (*queue, packets.saturating_sub(earlier))
    };
    let each: Queues = after.iter().map(since).collect();
    let (queues, total) = (each.len() as u64, each.values().sum::<u64>());
    let (fewest, packets) = each.iter().min_by_key(|(_, packets)| **packets)?;
    let share = packets.saturating_mul(100 * queues) / total.max(1);
    let shows = queues > 1 && total >= ENOUGH * queues && share < LEAST;
    let all: Vec<String> = each.iter().map(|(queue, packets)| format!("queue {queue} {packets}")).collect();
    shows.then(|| format!("queue {fewest} received {share} % of an even share ({})", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// QEMU guest with two processors (virtio_net of Linux 6.1), shortened.
    const VIRTIO: &str = "NIC statistics:\n     rx_queue_0_packets: 752\n     rx_queue_0_bytes: 45120\n     \
                          rx_queue_0_xdp_packets: 0\n     rx_queue_1_packets: 800\n     rx_queue_1_bytes: 48000\n     \
                          rx_queue_1_xdp_packets: 0\n     tx_queue_0_packets: 280\n     tx_queue_1_packets: 271\n";

    #[test]
    fn the_queues_of_each_driver_are_read() {
        let both = Queues::from([(0, 512), (1, 7)]);
        assert_eq!(received(VIRTIO), Queues::from([(0, 752), (1, 800)]));
        for text in [
            "     rx_packets: 519\n     rx0_packets: 512\n     rx1_packets: 7\n     rx0_bytes: 1\n",
            "     rx-0.packets: 512\n     rx-1.packets: 7\n     tx-0.packets: 3\n",
            "     queue_0_rx_cnt: 512\n     queue_1_rx_cnt: 7\n     queue_0_tx_cnt: 3\n",
            "     [0]: rx_ucast_packets: 512\n     [1]: rx_ucast_packets: 7\n     [0]: tx_ucast_packets: 1\n",
        ] {
            assert_eq!(received(text), both, "{text}");
        }
        assert_eq!(received("NIC statistics:\n     peer_ifindex: 3\n     rx_queue_0_xdp_packets: 5\n"), Queues::new());
        assert_eq!(received("no stats available\n"), Queues::new());
    }

    #[test]
    fn a_queue_with_less_than_half_an_even_share_is_named() {
        let of = |packets: &[u64]| -> Queues { (0..).zip(packets.iter().copied()).collect() };
        let before = of(&[1_000_000, 0]);
        let says = lopsided(&before, &of(&[1_009_000, 1_000])).unwrap();
        assert_eq!(says, "queue 1 received 20 % of an even share (queue 0 9000, queue 1 1000)");
        assert_eq!(lopsided(&before, &of(&[1_007_500, 2_500])), None, "half of an even share");
        assert_eq!(lopsided(&before, &of(&[1_000_900, 10])), None, "too few packets");
        assert_eq!(lopsided(&Queues::new(), &of(&[9_000])), None, "one queue");
        assert_eq!(lopsided(&Queues::new(), &Queues::new()), None);
    }
}
