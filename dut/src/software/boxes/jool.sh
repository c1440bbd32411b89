# One instance in netfilter mode. Jool has no command that empties its tables, so a new instance does.
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1'
add() {
  modprobe jool
  jool instance add natmeter --netfilter --pool6 "$pref64"
  for protocol in udp tcp icmp; do jool -i natmeter pool4 add "$pool" "$pool_ports" --$protocol; done
  jool -i natmeter global update udp-timeout "$udp_timeout"
}
remove() { jool instance remove natmeter; }
clear() { remove; add; }
count() { jool -i natmeter session display --udp --numeric --csv --no-headers | wc -l; }
