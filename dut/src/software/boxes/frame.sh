# What every software does: the old values of its settings stand in a file until they are restored.
# Keeps the old value of a setting, and sets it: `key=value`.
keep() {
  echo "${1%%=*}=$(sysctl -n "${1%%=*}")" >>"$kept"
  sysctl "$1" >/dev/null
}
# Writes a file of the kernel, whose old value it keeps.
write() {
  echo "$1=$(cat "$1")" >>"$kept"
  echo "$2" >"$1"
}
# Keeps which cores have the interrupts: the kernel moves those of a core that goes offline, and does not move them back.
keep_interrupts() {
  grep -qs '^/proc/irq/' "$kept" && return
  for file in /proc/irq/[0-9]*/smp_affinity_list; do [ ! -e "$file" ] || echo "$file=$(cat "$file")" >>"$kept"; done
}
# Spreads the interrupts that had a core of their own over the first $1 cores, as far as the kernel lets it.
spread_interrupts() {
  sed -n 's|^\(/proc/irq/[^=]*\)=\([0-9]*\)$|\1 \2|p' "$kept" | while read -r file core; do
    echo "$all" | sed -n "$((core % $1 + 1))p" >"$file"
  done 2>/dev/null
}
# Keeps the first $1 cores of the box online, and takes all others offline.
cores() {
  all=$(ls -d /sys/devices/system/cpu/cpu[0-9]* | sed 's/.*cpu//' | sort -n)
  number=$(echo "$all" | wc -l)
  [ "$1" -le "$number" ] || { echo "too many cores for this box: $1; it has $number; lower \`cores\` of [sweep]" >&2; exit 1; }
  keep_interrupts
  at=0
  for core in $all; do
    at=$((at + 1)) wanted=1 file=/sys/devices/system/cpu/cpu$core/online
    [ $at -le "$1" ] || wanted=0
    if [ -e "$file" ]; then
      [ "$(cat "$file")" = $wanted ] || write "$file" $wanted
    elif [ $wanted = 0 ]; then
      echo "core $core of this box cannot be switched off: its kernel has no $file" >&2
      exit 1
    fi
  done
  spread_interrupts "$1"
}
# The cores of this mask forward what arrives on each queue (receive packet steering).
steer() {
  for file in /sys/class/net/"$left"/queues/rx-*/rps_cpus /sys/class/net/"$right"/queues/rx-*/rps_cpus; do
    write "$file" "$1"
  done
}
# The tester's addresses stay in the neighbour tables of a Linux box, so that no frame waits for their resolution: lines of side,
# address and Ethernet address. Networks in which the box has no address are left out.
keep_neighbours() {
  echo "${linux_neighbours:-}" | while read -r side address mac; do
    case $side in left) interface=$left ;; right) interface=$right ;; *) continue ;; esac
    case "$(ip route get "$address" 2>/dev/null) " in *' via '*) continue ;; *" dev $interface "*) ;; *) continue ;; esac
    old=$(ip neigh show "$address" dev "$interface" nud permanent | sed -n 's/.* lladdr \([^ ]*\).*/\1/p')
    if [ -n "$old" ]; then old="replace $address lladdr $old nud permanent"; else old="del $address"; fi
    echo "neigh $old dev $interface" >>"$kept"
    ip neigh replace "$address" lladdr "$mac" nud permanent dev "$interface"
  done
}
# The octets of the kernel's slabs that cannot be reclaimed: they hold the entries of tables.
memory() { echo $((1024 * $(sed -n 's/^SUnreclaim: *\([0-9]*\) kB$/\1/p' /proc/meminfo))); }
prepare() {
  for setting in $settings; do keep "$setting"; done
  keep_neighbours
  add
}
# It may run although `prepare` failed, and more than once. Of another run nothing is restored. The last change is undone first:
# a core is online before it gets its interrupts back. The kernel keeps some interrupts where they are.
restore() {
  grep -qsxF "# $1" "$kept" || exit 0
  remove >/dev/null 2>&1 || true
  if [ -e "$kept.left" ]; then
    echo "the interface $left is in the namespace ${kept##*/}, and cannot move back; its addresses are in $kept.left" >&2
    exit 1
  fi
  sed '1!G;h;$!d' "$kept" | while read -r setting; do case $setting in
    '#'*) ;;
    /proc/irq/*) echo "${setting#*=}" >"${setting%%=*}" || true ;;
    neigh*) ip $setting || true ;;
    /*) echo "${setting#*=}" >"${setting%%=*}" ;;
    *) sysctl "$setting" >/dev/null ;;
  esac; done
  rm -f "$kept" "$0"
}
"$@"
