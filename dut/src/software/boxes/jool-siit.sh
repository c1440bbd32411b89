# SIIT has its address maps and its prefix. A CLAT, and the translator of a CE of MAP-T, maps the addresses of its customer, and
# has the prefix of the other edge (RFC 6877, RFC 7599).
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1'
translator() {
  modprobe jool_siit
  pool6=${pref64:-$dmr}
  jool_siit instance add natmeter --netfilter ${pool6:+--pool6 "$pool6"}
  echo "$customers" | while read -r own _ four _; do
    if [ -n "$own" ]; then jool_siit -i natmeter eamt add "$four" "$own"; fi
  done
}
add() { case $technology-$edge in map-t-ce) customer_edge ;; *) translator ;; esac; }
remove() {
  jool_siit instance remove natmeter
  case $technology-$edge in map-t-ce) no_customer_edge ;; esac
}
