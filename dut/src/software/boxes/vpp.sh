# FD.io VPP runs, and owns both interfaces, which are up and have addresses, routes and neighbours; its command line does the rest.
settings=''
# vppctl succeeds although a command fails, and prints why.
vpp() {
  said=$(vppctl "$@")
  case $said in *rror* | *ailed* | *nknown*) echo "vppctl $*: $said" >&2; return 1 ;; esac
  echo "$said"
}
add() {
  case $technology-$edge in
  nat44-whole)
    vpp nat44 plugin enable sessions $((connections + connections / 4 + 1024))
    vpp nat44 add address "${pool%-*}" - "${pool#*-}"
    vpp set interface nat44 in "$left" out "$right"
    vpp set nat timeout udp "$udp_timeout" ;;
  nat64-whole | 464xlat-pe)
    vpp nat64 plugin enable bib-buckets 16384 bib-memory 268435456 st-buckets 32768 st-memory 536870912
    vpp nat64 add prefix "$pref64"
    vpp nat64 add pool address "${pool%-*}" - "${pool#*-}"
    vpp set interface nat64 in "$left"
    vpp set interface nat64 out "$right" ;;
  ds-lite-pe)
    vpp dslite set aftr-tunnel-endpoint-address "$aftr"
    vpp dslite add pool address "$pool" ;;
  map-e-pe | map-t-pe) map_domains ;;
  lw4o6-pe) bindings ;;
  esac
}
# A mapping rule is a domain. Its PSID is what its EA bits have beside the IPv4 address.
map_domain() {
  source=${br:+$br/128} source=${source:-$dmr} psid=$(($3 - 32 + ${2#*/}))
  vpp map add domain ip4-pfx "$2" ip6-pfx "$1" ip6-src "$source" ea-bits-len "$3" psid-offset "$4" \
    psid-len $((psid > 0 ? psid : 0))
}
map_domains() {
  each_rule map_domain
  vpp map params security-check enable fragments on
  for interface in "$left" "$right"; do
    if [ "$technology" = map-t ]; then vpp map interface "$interface" map-t; else vpp map interface "$interface"; fi
  done
}
# A domain for each public address, and a rule for each PSID.
bindings() {
  index=-1 last=
  echo "$customers" | sort -s -k 3,3 | while read -r own pe four _ offset length psid _; do
    if [ "$four" != "$last" ]; then
      index=$((index + 1)) last=$four
      vpp map add domain ip4-pfx "$four" ip6-pfx ::/0 ip6-src "${pe%/*}" ea-bits-len 0 psid-offset "$offset" psid-len "$length"
    fi
    vpp map add rule index $index psid "$psid" ip6-dst "${own%/*}"
  done
  for interface in "$left" "$right"; do vpp map interface "$interface"; done
}
remove() {
  case $technology-$edge in
  nat44-whole) vpp nat44 plugin disable ;;
  nat64-whole | 464xlat-pe) vpp nat64 plugin disable ;;
  ds-lite-pe) vpp dslite add pool address "$pool" del ;;
  *)
    for interface in "$left" "$right"; do vpp map interface "$interface" del; done
    vpp show map domain | sed -n 's/^\[\([0-9]*\)\].*/\1/p' | while read -r index; do vpp map del domain index "$index"; done ;;
  esac
}
clear() { remove; add; }
count() {
  case $technology in
  nat44) vpp show nat44 summary | sed -n 's/.*total sessions: *\([0-9]*\).*/\1/p' ;;
  ds-lite) vpp show dslite sessions | grep -c . ;;
  *) vpp show nat64 session table all | grep -c '^ *\[' ;;
  esac
}
