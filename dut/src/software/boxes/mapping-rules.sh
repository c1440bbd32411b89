# Runs a command for each mapping rule, with its IPv6 prefix, IPv4 prefix, EA bits and PSID offset.
each_rule() {
  echo "$mapping_rules" | while read -r six four bits offset psid _; do
    if [ "$psid" != - ]; then
      echo "the mapping rule of $six has a PSID of its own, which this software cannot have: remove psid and psid-length" >&2
      exit 1
    fi
    "$@" "$six" "$four" "$bits" "$offset"
  done
}
