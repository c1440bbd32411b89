# tayga translates between a TUN device and the kernel's routes: addresses by maps, and all others by a prefix. What comes from the
# links goes to it; what it has translated follows the routes of the box. The files are those of the box.
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0'
conf=$kept.tayga
configuration() {
  # The sources of its errors.
  echo "tun-device natmeter0
ipv4-addr 192.0.0.8
data-dir $conf"
  case $left_address in *:*) six=$left_address ;; *) six=$right_address ;; esac
  if [ -n "$pref64" ]; then echo "prefix $pref64"; else echo "ipv6-addr ${six:-100::8}"; fi
  echo "$customers" | while read -r own _ four _; do
    if [ -n "$own" ]; then echo "map $four $own"; fi
  done
}
# The addresses that are translated. Other IPv6 is forwarded.
routes() {
  for link in "$left" "$right"; do
    for version in -4 -6; do ip $version rule add iif "$link" lookup 1000 priority 1000; done
  done
  ip route replace default dev natmeter0 table 1000
  { echo "$pref64"; echo "$customers"; } | while read -r six _; do
    if [ -n "$six" ]; then ip -6 route replace "$six" dev natmeter0 table 1000; fi
  done
}
add() {
  mkdir -p "$conf"
  configuration >"$conf/tayga.conf"
  tayga --config "$conf/tayga.conf" --mktun >/dev/null
  ip link set natmeter0 up
  routes
  setsid tayga --config "$conf/tayga.conf" --pidfile "$conf/pid" </dev/null >/dev/null 2>&1
}
remove() {
  if [ -e "$conf/pid" ]; then kill "$(cat "$conf/pid")"; fi
  for link in "$left" "$right"; do
    for version in -4 -6; do ip $version rule del iif "$link" lookup 1000 priority 1000; done
  done
  tayga --config "$conf/tayga.conf" --rmtun
  rm -rf "$conf"
}
