# tayga translates between a TUN device and the kernel's routes. Each address of a customer is mapped, and a prefix stands for the
# Internet. The files are those of the box.
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0'
conf=$kept.tayga
add() {
  mkdir -p "$conf"
  {
    # The source of its errors.
    echo "tun-device natmeter0
ipv4-addr 192.0.0.8
prefix $pref64
data-dir $conf"
    echo "$customers" | while read -r own _ four _; do
      case $four in
      */32) echo "map ${four%/*} ${own%/*}" ;;
      *) echo "tayga maps single addresses: use one inside address, or a range without larger prefixes" >&2; exit 1 ;;
      esac
    done
  } >"$conf/tayga.conf"
  tayga --config "$conf/tayga.conf" --mktun >/dev/null
  ip link set natmeter0 up
  ip rule add iif "$left" lookup 1000 priority 1000
  ip route replace default dev natmeter0 table 1000
  echo "$customers" | while read -r own _; do ip -6 route replace "$own" dev natmeter0; done
  setsid tayga --config "$conf/tayga.conf" --pidfile "$conf/pid" </dev/null >/dev/null 2>&1
}
remove() {
  if [ -e "$conf/pid" ]; then kill "$(cat "$conf/pid")"; fi
  ip rule del iif "$left" lookup 1000 priority 1000
  tayga --config "$conf/tayga.conf" --rmtun
  rm -rf "$conf"
}
