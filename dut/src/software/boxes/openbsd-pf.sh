# OpenBSD PF: NAT64 by af-to (pf.conf(5)), in an anchor of its own, so that other rules stay. /etc/pf.conf has: anchor "natmeter"
settings='net.inet.ip.forwarding=1 net.inet6.ip6.forwarding=1'
add() {
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
  pfctl -a natmeter -F rules
  pfctl -m -f "$kept.pf" && rm "$kept.pf"
}
clear() { pfctl -F states; }
count() { pfctl -s info | awk '/current entries/ { print $3 }'; }
