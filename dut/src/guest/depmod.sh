# Writes the list of the modules in `tree` with the guest's own kmod. Argument: the folder of the guest's programs.
set -eu
root=$1
release=$(ls tree/lib/modules)
for kmod in "$root/bin/kmod" "$root/usr/bin/kmod"; do [ ! -e "$kmod" ] || break; done
for loader in "$root/lib64" "$root/usr/lib64" "$root/usr/lib/x86_64-linux-gnu"; do
    [ ! -e "$loader/ld-linux-x86-64.so.2" ] || break
done
"$loader/ld-linux-x86-64.so.2" --library-path "$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu" \
    --argv0 depmod "$kmod" -b "$PWD/tree" "$release"
