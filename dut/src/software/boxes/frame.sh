# What every software does: its settings are 1 while it is in use, and the old values stand in a file until they are restored.
# Keeps the old value of a setting, and sets it: `key=value`.
keep() {
  echo "${1%%=*}=$(sysctl -n "${1%%=*}")" >>"$kept"
  sysctl "$1" >/dev/null
}
prepare() {
  for setting in $settings; do keep "$setting"; done
  add
}
# It may run although `prepare` failed, and more than once. Of another run nothing is restored.
restore() {
  grep -qsxF "# $1" "$kept" || exit 0
  remove >/dev/null 2>&1 || true
  while read -r setting; do case $setting in '#'*) ;; *) sysctl "$setting" >/dev/null ;; esac; done <"$kept"
  rm -f "$kept" "$0"
}
"$@"
