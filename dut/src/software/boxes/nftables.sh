add() {
  napt "$right" | nft -f -
  if [ "$fast" = yes ]; then flowtable; fi
  table
}
# Packets of a connection that has passed once in each direction bypass most of the kernel's path.
flowtable() {
  nft "add flowtable ip natmeter fast { hook ingress priority filter; devices = { $left, $right }; }"
  nft 'add chain ip natmeter forward { type filter hook forward priority filter; }'
  nft 'add rule ip natmeter forward meta l4proto { tcp, udp } flow add @fast'
}
remove() { nft delete table ip natmeter; }
