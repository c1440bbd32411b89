rules() {
  for protocol in udp tcp; do
    $program -w 10 -t nat $1 POSTROUTING -o "$right" -p $protocol -j SNAT --to-source "$pool:$pool_ports" || return
  done
}
add() { rules -A; table; }
remove() { rules -D; }
