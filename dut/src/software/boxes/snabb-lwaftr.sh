# Snabb lwAFTR: one instance with a softwire for each customer, in the words of its schema snabb-softwire-v3. `interfaces` of the bed
# file names Linux interfaces or PCI addresses. Snabb takes the devices from the kernel, answers for the box's addresses, and asks
# for those of the next hops.
settings=''
conf=$kept.snabb
# The Ethernet address that the kernel has seen, or one of our own.
mac() {
  cat /sys/class/net/"$1"/address /sys/bus/pci/devices/*"$1"/net/*/address 2>/dev/null | grep . || echo "02:00:00:00:00:0$2"
}
interface() {
  echo "      $1 { ip $2; mac $(mac "$3" "$4" | head -n 1); next-hop { ip $5; } }"
}
configuration() {
  echo "softwire-config {
  instance {
    device \"$left\"; external-device \"$right\";
    queue {
      id 0;"
  interface internal-interface "$left_address" "$left" 1 "$left_next_hop"
  interface external-interface "$right_address" "$right" 2 "$right_next_hop"
  echo "    }
  }
  internal-interface { mtu 1540; mru 1540; }
  external-interface { mtu 1500; mru 1500; }
  binding-table {"
  echo "$customers" | while read -r own pe four _ offset length psid _; do
    echo "    softwire { ipv4 ${four%/*}; psid $psid; b4-ipv6 ${own%/*}; br-address ${pe%/*};" \
      "port-set { psid-length $length; reserved-ports-bit-count $offset; } }"
  done
  echo "  }
}"
}
# It is ready when it answers.
is_ready() { snabb config get natmeter /softwire-config/internal-interface >/dev/null 2>&1; }
add() {
  if [ -z "$left_address" ] || [ -z "$right_address" ]; then
    echo 'Snabb needs the addresses of the box: add `gateway` to [bed.left] and [bed.right]' >&2
    exit 1
  fi
  configuration >"$conf"
  setsid --fork sh -c 'echo $$ >"$0.pid"; exec snabb lwaftr run --name natmeter --conf "$0"' "$conf" </dev/null >"$conf.log" 2>&1
  for second in 1 2 3 4 5 6 7 8 9 10; do
    if is_ready; then return; fi
    sleep 1
  done
  tail -n 5 "$conf.log" >&2
  exit 1
}
remove() {
  kill "$(cat "$conf.pid")"
  rm -f "$conf" "$conf.pid" "$conf.log"
}
