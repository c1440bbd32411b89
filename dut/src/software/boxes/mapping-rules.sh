# Runs a command for each mapping rule, with its IPv6 prefix, IPv4 prefix, EA bits and PSID offset.
each_rule() {
  echo "$mapping_rules" | while read -r six four bits offset psid _; do
    if [ "$psid" != - ]; then
      echo "the mapping rule of $six has an explicit PSID, which this software does not support: remove psid and psid-length" >&2
      exit 1
    fi
    "$@" "$six" "$four" "$bits" "$offset"
  done
}
