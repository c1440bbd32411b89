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
# Succeeds if the table has the ssh connection through which natmeter asks. After `clear` the answer may have come first.
has_own() {
  set -- ${SSH_CONNECTION:-}
  [ $# -eq 4 ] && { has "${1%\%*}" "$2" "${3%\%*}" "$4" || has "${3%\%*}" "$4" "${1%\%*}" "$2"; }
}
has() { conntrack -G -p tcp -s "$1" --sport "$2" -d "$3" --dport "$4" >/dev/null 2>&1; }
# Prints the number of entries without that one. The kernel finds it by its addresses and ports, however many others there are.
count() {
  entries=$(cat /proc/sys/net/netfilter/nf_conntrack_count)
  if has_own; then entries=$((entries - 1)); fi
  echo "$entries"
}
