# What every software does: its settings are 1 while it is in use, and the old values stand in a file until they are restored.
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
# The first cores of the box work, so many, and all others are off.
cores() {
  all=$(ls -d /sys/devices/system/cpu/cpu[0-9]* | sed 's/.*cpu//' | sort -n)
  number=$(echo "$all" | wc -l)
  [ "$1" -le "$number" ] || { echo "this box has cores: $number; it cannot have $1" >&2; exit 1; }
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
}
# The cores of this mask forward what arrives on each queue (receive packet steering).
steer() {
  for file in /sys/class/net/"$left"/queues/rx-*/rps_cpus /sys/class/net/"$right"/queues/rx-*/rps_cpus; do
    write "$file" "$1"
  done
}
# The octets of the kernel's slabs that cannot be reclaimed: they hold the entries of tables.
memory() { echo $((1024 * $(sed -n 's/^SUnreclaim: *\([0-9]*\) kB$/\1/p' /proc/meminfo))); }
prepare() {
  for setting in $settings; do keep "$setting"; done
  add
}
# It may run although `prepare` failed, and more than once. Of another run nothing is restored.
restore() {
  grep -qsxF "# $1" "$kept" || exit 0
  remove >/dev/null 2>&1 || true
  while read -r setting; do case $setting in
    '#'*) ;;
    /*) echo "${setting#*=}" >"${setting%%=*}" ;;
    *) sysctl "$setting" >/dev/null ;;
  esac; done <"$kept"
  rm -f "$kept" "$0"
}
"$@"
