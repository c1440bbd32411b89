# The outside address and blocks of ports of a NAT44: those of its pool, or those of the customer whose edge it is a part of.
outside() {
  case $edge in
  whole) echo "$pool $pool_ports" ;;
  *) echo "$customers" | while read -r _ _ four ports _; do echo "${four%/*} $ports"; done ;;
  esac
}
# Runs a command for each protocol and block: with the protocol, address and block, and n where the rule is for every n-th
# connection of those that no rule before has taken.
each_block() {
  outside | while read -r address blocks; do
    for protocol in udp tcp; do
      n=$(echo "$blocks" | tr ',' '\n' | wc -l)
      for block in $(echo "$blocks" | tr ',' ' '); do
        "$@" $protocol "$address:$block" "$n" || exit
        n=$((n - 1))
      done
    done
  done
}
# Prints the commands of nft for a NAT44 on an interface. One rule a block: nft has no set of ports for one address.
napt() {
  echo "table ip natmeter { chain postrouting { type nat hook postrouting priority srcnat; }; }"
  each_block nft_rule "$1"
}
nft_rule() {
  some=; if [ "$4" -gt 1 ]; then some=" numgen inc mod $4 0"; fi
  echo "add rule ip natmeter postrouting oifname \"$1\" meta l4proto $2$some snat to $3"
}
