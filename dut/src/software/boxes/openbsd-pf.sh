# OpenBSD PF: NAT64 by af-to (pf.conf(5)), in an anchor of its own, so that other rules stay. /etc/pf.conf has: anchor "natmeter"
# No image of OpenBSD was run: these commands follow its manuals.
settings='net.inet.ip.forwarding=1 net.inet6.ip6.forwarding=1'
# The tester's addresses stay in the neighbour tables (arp(8), ndp(8)): lines of side, address and Ethernet address. Both
# commands fail for a network in which the box has no address.
each_neighbour() {
  echo "$neighbours" | while read -r _ address mac; do
    case $address in *:*) ndp $1 "$address" ${2:+"$mac"} ;; ?*) arp $1 "$address" ${2:+"$mac" permanent} ;; esac || true
  done
}
add() {
  each_neighbour -s with
  pfctl -s memory | grep -q . || { echo 'PF is disabled: run pfctl -e' >&2; exit 1; }
  # What replaces the present limit and time-outs again.
  {
    pfctl -s memory | awk '$1 == "states" { print "set limit states " $NF }'
    pfctl -s timeouts | awk '$1 ~ /^udp/ { sub("s$", "", $2); print "set timeout " $1 " " $2 }'
  } >"$kept.pf"
  {
    echo "set limit states $((connections + connections / 4 + 10000))"
    echo "set timeout { udp.first $udp_timeout, udp.single $udp_timeout, udp.multiple $udp_timeout }"
  } | pfctl -m -f -
  echo "pass in quick on $left inet6 from any to $pref64 af-to inet from ${pool%-*}" | pfctl -a natmeter -f -
}
remove() {
  each_neighbour -d
  pfctl -a natmeter -F rules
  pfctl -m -f "$kept.pf" && rm "$kept.pf"
}
clear() { pfctl -F states; }
count() { pfctl -s info | awk '/current entries/ { print $3 }'; }
# The octets of the pools of states, their keys and items (vmstat(8)): the size of an entry, and those in use.
states() { vmstat -m | awk '$1 ~ /^pfst(ate|key|item)/ && NF > 4 { sum += $2 * $5 } END { printf "%.0f\n", sum }'; }
