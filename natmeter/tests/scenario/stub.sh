#!/bin/sh
# Stands for a program of a box: writes down what it is given, and changes nothing.
name=${0##*/}
case "$name $*" in
"ip netns exec"*)
  export STUB_IN="in $3: "
  shift 3
  exec "$@" ;;
esac
echo "$STUB_IN$name $*" >>"$STUB_LOG"
# Commands and configuration in files.
last=
for word; do
  case "$last $name" in
  -batch* | -f* | *setsid)
    if [ "$word" = - ]; then sed 's/^/    /' >>"$STUB_LOG"; elif [ -f "$word" ]; then sed 's/^/    /' "$word" >>"$STUB_LOG"; fi ;;
  esac
  last=$word
done
case "$name $*" in
"sysctl -n"*) echo 0 ;;
"pfctl -s memory") echo 'states hard limit 100000' ;;
"ip -o -4 addr show dev"*) echo '2: left    inet 198.18.0.1/24 scope global left' ;;
"ip -4 route show dev"*) echo 'default via 198.18.0.2' ;;
esac
