add() {
  nft add table ip natmeter
  nft 'add chain ip natmeter postrouting { type nat hook postrouting priority srcnat; }'
  for protocol in udp tcp; do
    nft add rule ip natmeter postrouting oifname "$right" meta l4proto $protocol snat to "$pool:$pool_ports"
  done
  table
}
remove() { nft delete table ip natmeter; }
