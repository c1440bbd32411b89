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

/// Parts of the kernel, each with the prefixes of its functions' names. The first match counts.
const PARTS: &[(&str, &[&str])] = &[
    ("NAT", &["nf_nat", "__nf_nat"]),
    (
        "connection tracking",
        &["nf_conntrack", "__nf_conntrack", "nf_ct", "__nf_ct", "ipv4_conntrack", "ipv6_conntrack", "hash_conntrack"],
    ),
    ("nftables", &["nft_", "nf_tables"]),
    ("iptables", &["ipt_", "ip6t_", "xt_"]),
    ("netfilter hooks", &["nf_"]),
    ("Jool", &["jool"]),
    ("routing", &["fib_", "fib6_", "ip_route", "ip6_route", "ip6_pol_route", "dst_"]),
    ("neighbours", &["neigh_"]),
    ("IPv6 tunnels", &["ip6_tnl"]),
    ("IP", &["ip6_xmit", "ip_", "ip6_", "ipv6_", "__ip_"]),
    ("UDP", &["udp", "__udp"]),
    (
        "memory allocation",
        &[
            "kmem_cache",
            "__kmem_cache",
            "kmalloc",
            "__kmalloc",
            "kfree",
            "__slab",
            "___slab",
            "page_frag",
            "alloc_page",
        ],
    ),
    ("socket buffers", &["skb_", "__skb_", "__alloc_skb", "build_skb", "consume_skb"]),
    (
        "receive path",
        &[
            "napi_",
            "__napi",
            "netif_",
            "__netif_",
            "process_backlog",
            "net_rx_action",
            "enqueue_to_backlog",
            "get_rps_cpu",
        ],
    ),
    ("send path", &["dev_", "__dev_", "sch_direct_xmit"]),
    ("veth", &["veth_"]),
    ("TAP", &["tun_"]),
    ("AF_XDP", &["xsk_", "xp_", "xdp_"]),
    ("packet sockets", &["packet_", "tpacket"]),
    ("soft interrupts", &["__do_softirq", "handle_softirqs", "run_ksoftirqd"]),
    ("system calls", &["do_syscall", "entry_SYSCALL"]),
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

pub(super) fn part(function: &str) -> Option<&'static str> {
    PARTS.iter().find(|(_, names)| is_of(function, names)).map(|(part, _)| *part)
}
