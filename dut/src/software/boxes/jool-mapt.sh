# MAP-T by Jool 4.2. A relay has all mapping rules; a customer edge has its own, and its end-user prefix.
settings='net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1'
translator() {
  modprobe jool_mapt
  jool_mapt instance add natmeter --netfilter --dmr "$dmr"
  case $edge in
  pe)
    each_rule jool_mapt -i natmeter fmrt add
    jool_mapt -i natmeter global update map-t-type BR ;;
  *)
    echo "$customers" | while read -r _ _ _ _ _ _ _ prefix; do
      jool_mapt -i natmeter global update end-user-ipv6-prefix "$prefix"
    done
    each_rule jool_mapt -i natmeter global update bmr
    jool_mapt -i natmeter global update map-t-type CE ;;
  esac
}
add() { case $edge in ce) customer_edge ;; *) translator ;; esac; }
remove() {
  jool_mapt instance remove natmeter
  case $edge in ce) no_customer_edge ;; esac
}
