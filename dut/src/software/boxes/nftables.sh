add() {
  nft add table ip natmeter
  if [ "$fast" = yes ]; then flowtable; fi
  nft 'add chain ip natmeter postrouting { type nat hook postrouting priority srcnat; }'
  for protocol in udp tcp; do
    nft add rule ip natmeter postrouting oifname "$right" meta l4proto $protocol snat to "$pool:$pool_ports"
  done
  table
}
# Packets of a connection that has passed once in each direction bypass most of the kernel's path.
flowtable() {
  nft "add flowtable ip natmeter fast { hook ingress priority filter; devices = { $left, $right }; }"
  nft 'add chain ip natmeter forward { type filter hook forward priority filter; }'
  nft 'add rule ip natmeter forward meta l4proto { tcp, udp } flow add @fast'
}
remove() { nft delete table ip natmeter; }
