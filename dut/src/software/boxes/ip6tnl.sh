# Tunnels of IPv4 in IPv6 (RFC 2473). `customers` has a line for each: its IPv6 address, that of the provider edge, its IPv4
# address, its ports, their PSID offset, PSID length and PSID, and its end-user prefix.
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0'
tunnel() { echo "tunnel add $1 mode ipip6 local $2 remote $3 dev $4 encaplimit none"; }
add() {
  modprobe ip6_tunnel
  case $edge in ce) customer_edge ;; pe) provider_edge ;; esac
  case $technology-$edge in ds-lite-ce | lw4o6-pe) ;; *) table ;; esac
}
# The tunnel carries everything to the Internet. Behind it are no addresses of the provider's, so a NAT44 keeps to the ports.
customer_edge() {
  echo "$customers" | while read -r own pe four _; do
    ip -6 addr replace "$own" dev lo
    tunnel natmeter0 "${own%/*}" "${pe%/*}" "$right" | ip -6 -batch -
    ip link set natmeter0 up
    # A default route of the box stays.
    for half in 0.0.0.0/1 128.0.0.0/1; do ip route replace $half dev natmeter0; done
    if [ "$four" != - ]; then napt natmeter0 | nft -f -; fi
  done
}
provider_edge() {
  echo "$customers" | {
    at=0
    while read -r own pe four ports _; do
      at=$((at + 1))
      tunnel natmeter$at "${pe%/*}" "${own%/*}" "$left" >&3
      echo "link set natmeter$at up" >&4
      echo "route replace default dev natmeter$at table $((1000 + at))" >&4
      echo "rule add fwmark $at lookup $((1000 + at)) priority 1000" >&4
      echo "$at ${four%/*} $ports" >&5
      if [ $at -eq 1 ]; then echo "addr replace $pe dev lo" >&3; fi
    done
  } 3>"$kept.tunnels" 4>"$kept.links" 5>"$kept.customers"
  ip -6 -batch "$kept.tunnels"
  ip -batch "$kept.links"
  case $technology in ds-lite) aftr ;; *) lwaftr ;; esac | nft -f -
}
# Customers have the same addresses: each is a zone of connection tracking, and a mark brings answers to its tunnel.
aftr() {
  echo "table ip natmeter {"
  tunnels=$(while read -r at _; do printf '"natmeter%s" : %s, ' "$at" "$at"; done <"$kept.customers")
  echo " chain raw { type filter hook prerouting priority raw; ct original zone set iifname map { $tunnels }; }"
  echo " chain marks { type filter hook prerouting priority mangle;"
  echo "  ct mark set iifname map { $tunnels }; iifname \"$right\" meta mark set ct mark; }"
  echo " chain postrouting { type nat hook postrouting priority srcnat;"
  for protocol in udp tcp; do echo "  oifname \"$right\" meta l4proto $protocol snat to $pool:$pool_ports;"; done
  echo " }"; echo "}"
}
# Address and port say the customer, without state; what a customer sends from other ports is dropped (RFC 7596, section 5.2).
lwaftr() {
  echo "table ip natmeter {"
  echo " map customers { type ipv4_addr . inet_service : mark; flags interval; elements = { $(blocks '%s . %s : %s') } }"
  echo " set sources { type ifname . ipv4_addr . inet_service; flags interval; elements = { $(blocks '"natmeter%s" . %s . %s' own) } }"
  echo " chain raw { type filter hook prerouting priority raw; notrack;"
  echo "  iifname \"$right\" meta l4proto { udp, tcp } meta mark set ip daddr . th dport map @customers;"
  echo "  iifname \"natmeter*\" meta l4proto { udp, tcp } iifname . ip saddr . th sport != @sources drop; }"; echo "}"
}
# Each block of ports of each customer, printed with a format.
blocks() {
  while read -r at four ports; do
    for block in $(echo "$ports" | tr ',' ' '); do
      if [ -n "${2:-}" ]; then printf "$1, " "$at" "$four" "$block"; else printf "$1, " "$four" "$block" "$at"; fi
    done
  done <"$kept.customers"
}
remove() {
  rm -f "$kept.tunnels" "$kept.links" "$kept.customers"
  nft delete table ip natmeter
  for link in $(ip -o link show type ip6tnl | sed -n 's/^[0-9]*: \(natmeter[0-9]*\)@.*/\1/p'); do ip link del "$link"; done
  ip rule show | sed -n 's/^1000:.*fwmark 0x\([0-9a-f]*\) lookup 1[0-9]*$/\1/p' |
    while read -r mark; do ip rule del fwmark "0x$mark" priority 1000; done
  echo "$customers" | while read -r own pe _; do for six in "$own" "$pe"; do ip -6 addr del "$six" dev lo; done; done
}
