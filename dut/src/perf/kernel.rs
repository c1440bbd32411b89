//! Names of kernel functions (Linux 6.1 to 6.18): waits for a lock, idle cores, and parts of the kernel.

const LOCKS: &[&str] = &[
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "osq_lock",
    "mutex_spin_on_owner",
    "rwsem_spin_on_owner",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "rtlock_slowlock",
    "rt_spin_lock_slow",
];

const IDLE: &[&str] = &[
    "pv_native_safe_halt",
    "native_safe_halt",
    "default_idle",
    "acpi_safe_halt",
    "acpi_idle",
    "intel_idle",
    "mwait_idle",
    "poll_idle",
    "cpuidle_enter",
    "cpu_do_idle",
];

/// Functions below which the kernel forwards packets.
const SOFTIRQS: &[&str] = &[
    "__do_softirq",
    "do_softirq",
    "handle_softirqs",
    "run_ksoftirqd",
    "__local_bh_enable_ip",
    "napi_threaded_poll",
    "netif_receive_skb",
];

/// Prefixes of functions, and their part of the kernel.
const PARTS: &[(&str, &str)] = &[
    ("nf_nat", "NAT"),
    ("__nf_nat", "NAT"),
    ("nf_conntrack", "connection tracking"),
    ("__nf_conntrack", "connection tracking"),
    ("nf_ct", "connection tracking"),
    ("__nf_ct", "connection tracking"),
    ("ipv4_conntrack", "connection tracking"),
    ("ipv6_conntrack", "connection tracking"),
    ("hash_conntrack", "connection tracking"),
    ("nft_", "nftables"),
    ("nf_tables", "nftables"),
    ("ipt_", "iptables"),
    ("ip6t_", "iptables"),
    ("xt_", "iptables"),
    ("nf_", "netfilter hooks"),
    ("jool", "Jool"),
    ("fib_", "routing"),
    ("fib6_", "routing"),
    ("ip_route", "routing"),
    ("ip6_route", "routing"),
    ("ip6_pol_route", "routing"),
    ("dst_", "routing"),
    ("neigh_", "neighbours"),
    ("ip6_tnl", "IPv6 tunnels"),
    ("ip6_xmit", "IP"),
    ("ip_", "IP"),
    ("ip6_", "IP"),
    ("ipv6_", "IP"),
    ("__ip_", "IP"),
    ("udp", "UDP"),
    ("__udp", "UDP"),
    ("kmem_cache", "memory allocation"),
    ("__kmem_cache", "memory allocation"),
    ("kmalloc", "memory allocation"),
    ("__kmalloc", "memory allocation"),
    ("kfree", "memory allocation"),
    ("__slab", "memory allocation"),
    ("___slab", "memory allocation"),
    ("page_frag", "memory allocation"),
    ("alloc_page", "memory allocation"),
    ("skb_", "socket buffers"),
    ("__skb_", "socket buffers"),
    ("__alloc_skb", "socket buffers"),
    ("build_skb", "socket buffers"),
    ("consume_skb", "socket buffers"),
    ("napi_", "receive path"),
    ("__napi", "receive path"),
    ("netif_", "receive path"),
    ("__netif_", "receive path"),
    ("process_backlog", "receive path"),
    ("net_rx_action", "receive path"),
    ("enqueue_to_backlog", "receive path"),
    ("get_rps_cpu", "receive path"),
    ("dev_", "send path"),
    ("__dev_", "send path"),
    ("sch_direct_xmit", "send path"),
    ("veth_", "veth"),
    ("tun_", "TAP"),
    ("xsk_", "AF_XDP"),
    ("xp_", "AF_XDP"),
    ("xdp_", "AF_XDP"),
    ("packet_", "packet sockets"),
    ("tpacket", "packet sockets"),
    ("__do_softirq", "soft interrupts"),
    ("handle_softirqs", "soft interrupts"),
    ("run_ksoftirqd", "soft interrupts"),
    ("do_syscall", "system calls"),
    ("entry_SYSCALL", "system calls"),
];

fn is_of(function: &str, names: &[&str]) -> bool {
    names.iter().any(|name| function.starts_with(name))
}

pub(super) fn waits(function: &str) -> bool {
    is_of(function, LOCKS)
}

pub(super) fn is_idle(function: &str) -> bool {
    is_of(function, IDLE)
}

pub(super) fn forwards(function: &str) -> bool {
    is_of(function, SOFTIRQS)
}

/// Part of the kernel; the first match counts.
pub(super) fn part(function: &str) -> Option<&'static str> {
    PARTS.iter().find(|(name, _)| function.starts_with(name)).map(|(_, part)| *part)
}
