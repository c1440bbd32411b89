# The connection tracking table: large enough, and with time-outs that outlast a trial.
settings="net.ipv4.ip_forward=1"
table() {
  modprobe nf_conntrack 2>/dev/null || true
  need=$((connections + slack))
  if [ "$(sysctl -n net.netfilter.nf_conntrack_max)" -lt $need ]; then
    keep net.netfilter.nf_conntrack_buckets=$need
    keep net.netfilter.nf_conntrack_max=$need
  fi
  keep net.netfilter.nf_conntrack_udp_timeout=$udp_timeout
  keep net.netfilter.nf_conntrack_udp_timeout_stream=$udp_timeout
}
clear() { conntrack -F; }
count() { cat /proc/sys/net/netfilter/nf_conntrack_count; }
