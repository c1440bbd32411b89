# A CE of MAP-T has its NAT44 before its translator. The kernel's NAT44 comes after routing, and Jool translates before it, so each
# has a network namespace (Jool's documentation, "MAP-T Run"). That of the NAT44 takes the left interface; a pair of interfaces
# connects it to the box, to which `translator` adds Jool's instance.
netns=${kept##*/}
inside() { ip netns exec "$netns" "$@"; }
# Prints the commands of ip that give the left interface what it loses when it moves.
of_left() {
  for family in 4 6; do
    ip -o -$family addr show dev "$left" scope global | while read -r _ _ _ address _; do echo "addr replace $address dev $left"; done
    ip -$family route show dev "$left" | sed "/proto kernel/d; s/ linkdown//; s/ pref medium//; s/.*/route replace & dev $left/"
    ip -$family neigh show dev "$left" nud permanent |
      sed "s/ PERMANENT.*//; s/.*/neigh replace & nud permanent dev $left/"
  done
}
customer_edge() {
  if grep -q 'User Mode Linux' /proc/cpuinfo; then
    echo 'an interface of User-Mode Linux cannot move to a namespace: write on = "guest:qemu", or describe the CE as two boxes,' \
      '[dut.ce-nat44] and [dut.ce-nat46]' >&2
    exit 1
  fi
  of_left >"$kept.left"
  ip netns add "$netns"
  ip link add natmeter0 type veth peer name natmeter1 netns "$netns"
  ip link set "$left" netns "$netns"
  for link in lo "$left" natmeter1; do inside ip link set $link up; done
  ip link set natmeter0 up
  inside ip -batch "$kept.left"
  ip addr add 192.0.0.1/29 dev natmeter0
  inside ip addr add 192.0.0.2/29 dev natmeter1
  # The interface may have brought a default route.
  for half in 0.0.0.0/1 128.0.0.0/1; do inside ip route replace $half via 192.0.0.1; done
  echo "$customers" | while read -r _ _ four _; do ip route replace "$four" via 192.0.0.2; done
  napt natmeter1 | inside nft -f -
  table
  inside sysctl -q net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.netfilter.nf_conntrack_udp_timeout="$udp_timeout" \
    net.netfilter.nf_conntrack_udp_timeout_stream="$udp_timeout"
  translator
}
no_customer_edge() {
  if ip -n "$netns" link show dev "$left" >/dev/null 2>&1; then
    # Without its interface the namespace must stay: the file has what it loses when it moves.
    ip -n "$netns" link set "$left" netns $$ || return
    ip link set "$left" up
    ip -batch "$kept.left"
  fi
  ip link del natmeter0
  ip netns del "$netns"
  rm -f "$kept.left"
}
clear() { inside conntrack -F; }
count() { inside cat /proc/sys/net/netfilter/nf_conntrack_count; }
