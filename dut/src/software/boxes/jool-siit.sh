# SIIT has its address maps; a CLAT has its prefix, and the PLAT's (RFC 6877).
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1'
add() {
  modprobe jool_siit
  case $technology in
  464xlat)
    jool_siit instance add natmeter --netfilter --pool6 "$pref64"
    echo "$customers" | while read -r own _ four _; do jool_siit -i natmeter eamt add "$four" "$own"; done ;;
  *)
    jool_siit instance add natmeter --netfilter ${pref64:+--pool6 "$pref64"}
    echo "$eam" | tr -d '[]"' | tr ',' '\n' |
      while read -r four six; do jool_siit -i natmeter eamt add "$four" "$six"; done ;;
  esac
}
remove() { jool_siit instance remove natmeter; }
